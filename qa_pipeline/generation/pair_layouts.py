"""Layouts of existing pairs, told by their fields: each becomes question, answer and what they rest on."""

from collections.abc import Collection
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


MESSAGES = "messages"
PAIR = ("question", "answer")
LAYOUT_FIELDS = frozenset({*PAIR, MESSAGES})
COLUMNS = LAYOUT_FIELDS | {
    "citations", "sources", "contexts", "language", "coverage", "id", "expected_verdict", "expected_kind",
}  # fmt: skip
"""Names that columns of CSV files may have in any case."""
EXPECTED = "expected question + answer or messages"


def read_pair(entry: Entry) -> Entry:
    """Return the fields of a pair and the further fields of its entry; empty values count as absent.

    Raises:
        UnusableEntry: it fits no layout or both, or not the one it fits.
    """
    value = {name: field for name, field in entry.items() if field is not None}
    check_layout(value)
    if MESSAGES in value:
        value |= _turn(value.pop(MESSAGES))
    return value


def check_layout(names: Collection[str]) -> None:
    """Report fields that are not those of exactly one layout.

    Raises:
        UnusableEntry: they fit none, or both.
    """
    if MESSAGES in names:
        if both := [name for name in PAIR if name in names]:
            raise UnusableEntry("two_layouts", f"field {both[0]} beside messages; leave one out")
        return
    missing = [name for name in PAIR if name not in names]
    if len(missing) == 1:
        raise UnusableEntry("missing_field", f"field {missing[0]} is missing or empty")
    if missing:
        found = first_names([_short(name) for name in names], _NAMED_FIELDS) or "no field with a value"
        raise UnusableEntry("unknown_layout", f"found {found}; {EXPECTED}")


_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_ONE_TURN = "a later question may rest on the turns before it: write each as a pair that stands alone"


def _turn(messages: object) -> Entry:
    """Return the single question and answer of a chat, in the fields of OpenAI."""
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
    speaker = message.get("role")
    role = _ROLES.get(speaker) if isinstance(speaker, str) else None
    if role is None:
        raise UnusableEntry(
            "wrong_type", f"a message of role {_short(speaker)}; expected {', '.join(_ROLES)}"
        )
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    written = [text for text in texts if isinstance(text, str)]
    if len(written) < len(texts):
        raise UnusableEntry("wrong_type", f"a message of role {role} holds something else than text")
    return role, "\n".join(written)


_NAMED_FIELDS = 12
"""Fields of an entry shown in a detail: those of most layouts, in one line."""


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
