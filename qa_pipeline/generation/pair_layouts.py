"""Layouts of existing pairs, told by their fields: each becomes question, answer and what they rest on."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from qa_pipeline.text.rendering import first_names

Entry = dict[str, Any]
"""An entry of a pairs file, or the fields of a pair: whatever its writer put there."""


class UnusableEntry(Exception):  # noqa: N818 - it ends as a failed row, not as an error of the run
    """An entry of a pairs file holds no pair that can be used.

    Args:
        reason: snake_case code stored in the row.
        detail: what was found and what is expected, in words.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to write pairs.

    `known_by` are the fields that tell it, `also` those it reads besides. `pair` gives the fields of a pair:
    `question`, `answer` (None where the entry says that there is none) and `citations`, `coverage` or
    `system` where the layout holds them.
    """

    known_by: tuple[str, ...]
    pair: Callable[[Entry], Entry]
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " + ".join(self.known_by)


def _as_written(value: Entry) -> Entry:
    return {name: value[name] for name in ("question", "answer")}


def _alpaca(value: Entry) -> Entry:
    """Return a pair of alpaca; its input is part of the question, as in alpaca's own prompt."""
    if value.get("history"):
        raise UnusableEntry("several_turns", f"field history holds earlier turns; {_ONE_TURN}")
    parts = [value["instruction"], value.get("input") or ""]
    if not all(isinstance(part, str) for part in parts):
        raise UnusableEntry("wrong_type", "fields instruction and input should be texts")
    return {"question": "\n\n".join(part for part in parts if part.strip()), "answer": value["output"]}


def _completion(value: Entry) -> Entry:
    prompt, completion = value["prompt"], value["completion"]
    if isinstance(prompt, list) and isinstance(completion, list):
        return _turn([*prompt, *completion])
    return {"question": prompt, "answer": completion}


_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
}
_ONE_TURN = "a later question may rest on the turns before it: write each as a pair that stands alone"


def _turn(messages: object) -> Entry:
    """Return the single question and answer of a chat, in the fields of OpenAI, TRL or ShareGPT."""
    if not isinstance(messages, list):
        raise UnusableEntry("wrong_type", f"expected a list of messages, found {type(messages).__name__}")
    turns = [_message(message) for message in messages]
    roles = [role for role, _ in turns if role != "system"]
    if roles != ["user", "assistant"]:
        if len(roles) > 2:
            raise UnusableEntry("several_turns", f"{len(roles)} messages of user and assistant; {_ONE_TURN}")
        roles_text = " then ".join(roles) or "none"
        raise UnusableEntry("missing_field", f"expected messages of user then assistant, found {roles_text}")
    question, answer = (text for role, text in turns if role != "system")
    system = "\n".join(text for role, text in turns if role == "system")
    return {"question": question, "answer": answer, **({"system": system} if system else {})}


def _message(message: object) -> tuple[str, str]:
    """Return the role and text of a message; its text may come in parts."""
    if not isinstance(message, dict):
        raise UnusableEntry("wrong_type", f"expected a message object, found {type(message).__name__}")
    speaker = message.get("role") or message.get("from")
    role = _ROLES.get(speaker) if isinstance(speaker, str) else None
    if role is None:
        raise UnusableEntry(
            "wrong_type", f"a message of role {_short(speaker)}; expected {', '.join(_ROLES)}"
        )
    content = message.get("content") or message.get("value")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    written = [text for text in texts if isinstance(text, str)]
    if len(written) < len(texts):
        raise UnusableEntry("wrong_type", f"a message of role {role} holds something else than text")
    return role, "\n".join(written)


def _squad(value: Entry) -> Entry:
    """Return a pair of SQuAD with the first answer, if any; the context is what it rests on."""
    answers = value["answers"]
    texts = answers.get("text") if isinstance(answers, dict) else answers
    if not isinstance(texts, list):
        raise UnusableEntry("wrong_type", "field answers should be a list, or hold a list of texts")
    answer_texts = [text.get("text") if isinstance(text, dict) else text for text in texts]
    cited = {} if value.get("citations") else {"citations": [{"passage": value["context"]}]}
    if value.get("is_impossible") is True or not answer_texts:
        return {"question": value["question"], "answer": None, "coverage": "none", **cited}
    if not all(isinstance(text, str) for text in answer_texts):
        raise UnusableEntry("wrong_type", "field answers holds something else than texts")
    more = {"answers": answers} if len(set(answer_texts)) > 1 else {}
    return {"question": value["question"], "answer": answer_texts[0], **cited, **more}


LAYOUTS = (
    Layout(("question", "answer"), _as_written),
    Layout(("messages",), lambda value: _turn(value["messages"])),
    Layout(("conversations",), lambda value: _turn(value["conversations"])),
    Layout(("instruction", "output"), _alpaca, also=("input",)),
    Layout(("prompt", "completion"), _completion),
    Layout(("question", "context", "answers"), _squad, also=("is_impossible",)),
)


LAYOUT_FIELDS = frozenset(name for layout in LAYOUTS for name in (*layout.known_by, *layout.also))
COLUMNS = LAYOUT_FIELDS | {
    "citations", "sources", "contexts", "language", "coverage", "id", "expected_verdict", "expected_kind",
}  # fmt: skip
"""Names that columns of CSV files may have in any case."""


def read_pair(entry: Entry) -> Entry:
    """Return the fields of a pair and the further fields of its entry; empty values count as absent.

    Raises:
        UnusableEntry: it fits no layout or two, or not the one it fits.
    """
    value = {name: field for name, field in entry.items() if field is not None}
    layout = layout_of(value)
    read = {*layout.known_by, *layout.also}
    if unread := [name for name in ("question", "answer") if name in value.keys() - read]:
        raise UnusableEntry("two_layouts", f"field {unread[0]} beside {layout}; leave one out")
    return {name: field for name, field in value.items() if name not in read} | layout.pair(value)


def layout_of(names: Collection[str]) -> Layout:
    """Return the one layout whose fields are all among `names`.

    Raises:
        UnusableEntry: there is none, or more than one.
    """
    layout = fitting(names)
    if len(layout) > 1:
        raise UnusableEntry("two_layouts", f"fits {' and '.join(map(str, layout))}; leave one out")
    if layout:
        return layout[0]
    missing = [name for name in LAYOUTS[0].known_by if name not in names]
    if len(missing) == 1:
        raise UnusableEntry("missing_field", f"field {missing[0]} is missing or empty")
    raise UnusableEntry("unknown_layout", f"found {_some(names)}; {EXPECTED}")


def fitting(names: Collection[str]) -> list[Layout]:
    """Return all layouts whose fields are all among `names`."""
    return [layout for layout in LAYOUTS if set(layout.known_by) <= set(names)]


EXPECTED = f"expected {', '.join(map(str, LAYOUTS[:-1]))} or {LAYOUTS[-1]}"


_NAMED_FIELDS = 12
"""Fields of an entry shown in a detail: those of most layouts, in one line."""


def _some(names: Collection[str]) -> str:
    return first_names([_short(name) for name in names], _NAMED_FIELDS) or "no field with a value"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


_NESTED = ("data", "paragraphs", "qas")


def unfolded(entry: Any, levels: tuple[str, ...] = _NESTED) -> Iterator[Any]:
    """Yield the questions of a SQuAD article or paragraph with context and title; others unchanged."""
    inner = next((name for name in levels if _nests(entry, name)), None)
    if inner is None:
        yield entry
        return
    outer = {name: value for name, value in entry.items() if name != inner}
    for member in entry[inner]:
        if not isinstance(member, dict):
            yield member
            continue
        merged = outer | member
        if inner == "qas" and merged.get("is_impossible") is True:
            merged.setdefault("answers", [])
        yield from unfolded(merged, levels[levels.index(inner) + 1 :])


def _nests(entry: Any, name: str) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get(name), list) and not fitting(entry.keys())
