"""Parse the text of a reply into its reply model, strictly or with the smallest repair that works.

A repair may change punctuation, never words. A truncated reply is not repaired, since closing it would make
half an answer look complete.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import ValidationError

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.llm.base import ReplyT, json_schema
from qa_pipeline.records import Repair, ReplyModel
from qa_pipeline.text.rendering import first_names

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
# after the drive, `\n` is part of a path only before a lower-case letter, since `A:\nFirst` is two lines
_PATH = re.compile(
    r"""(?:(?<![^\s"'(\[<=,;])|(?<=\\[nrt])) [A-Za-z]:\\(?!["\\]|n(?![a-z])|u[0-9a-fA-F]{4})
        (?:[^\s"<>|*?\\] | \\(?!"|[nrt]\b))*""",
    re.VERBOSE,
)
_NO_CODE = re.compile(r"\\(?!u[0-9a-fA-F]{4})")
_TAB_COMMANDS = r"anh?|au|binom|ext\w*|frac|herefore|heta|hick\w+|hinspace|ilde|imes|op?|riangle\w*"
_LINE_COMMANDS = "abla|atural|cong|earrow|eq|ewline|leftarrow|leq|geq|otin|rightarrow|subseteq"
# prose never contains `\b` or `\f`, nor `\r` before a letter; \t and \n may begin a LaTeX command
_ESCAPE_OR_BACKSLASH = re.compile(
    rf"""\\(?: ["\\/] | u[0-9a-fA-F]{{4}} | (?P<quote>') | r(?![a-zA-Z])
            | t(?!(?:{_TAB_COMMANDS})(?![a-zA-Z])) | n(?!(?:{_LINE_COMMANDS})(?![a-zA-Z])) )
        | (?P<backslash>\\)""",
    re.VERBOSE,
)


def keep_backslashes(raw: str) -> str:
    """Double the backslashes in JSON strings that are not escapes.

    They belong to Windows paths and LaTeX commands. Escapes such as a line break before a word are kept.
    """
    return _STRING.sub(lambda string: _with_backslashes(string[0]), raw) if "\\" in raw else raw


def _with_backslashes(string: str) -> str:
    r"""Double backslashes outside escapes: `C:\new` to `C:\\new`, `\alpha` to `\\alpha`; `\'` gives `'`."""
    string = _PATH.sub(lambda path: _NO_CODE.sub(r"\\\\", path[0]), string)
    return _ESCAPE_OR_BACKSLASH.sub(
        lambda match: r"\\" if match["backslash"] else match["quote"] or match[0], string
    )


LONGEST_REPAIRED = 200_000  # maximum characters of a repaired reply; the time grows with the damage
_MOST_BREACHES = 3  # enough for a correction; the message goes back to the model
_UNSUPPORTED = frozenset({"$defs", "$ref", "minLength", "maxLength", "pattern", "default"})
"""Keywords that Gemini's subset or OpenAI's strict mode lacks."""
_TAG = "(?:think(?:ing)?|thoughts?|reasoning)"
_ONLY_THOUGHTS = re.compile(rf"\A\s*[<\[]{_TAG}[>\]](?!.*[<\[]/{_TAG}[>\]])", re.DOTALL | re.IGNORECASE)
"""Thoughts that do not end, such as `<think>Draft: {…}`. Their drafts are not replies."""
_THOUGHTS = re.compile(rf"\A(?:\s*[<\[]{_TAG}[>\]])?.*?[<\[]/{_TAG}[>\]]", re.DOTALL | re.IGNORECASE)
"""Thoughts before a reply: `<think>…</think>`, or `…</think>` if a server removed the opening tag."""
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_ESCAPED_MARK = re.compile(r"\\.")
_REFUSALS = re.compile(
    r"\A\W*(?:i['’]?m (?:sorry|not able|unable)|i am (?:sorry|not able|unable)|sorry\b|i can(?:no|['’])t"
    r"|as an ai\b"
    r"|tyvärr|förlåt|jag kan (?:inte|tyvärr)"
    r"|(?:es )?tut mir leid|leider kann ich|ich kann (?:das |dies |ihnen )?(?:leider )?nicht)",
    re.IGNORECASE,
)
"""Beginnings of replies that refuse, such as "I'm sorry" or "leider kann ich"."""


def read_reply(raw: str, reply_model: type[ReplyT]) -> tuple[ReplyT, Repair]:
    """Parse a reply and return it with the kind of repair.

    Raises:
        UnreadableReplyError: `empty`, `refused`, `not_json` or `schema_breach`. The error has the text.
    """
    text = keep_backslashes(raw)
    try:
        return parse_reply(text, reply_model), "none" if text == raw else "repaired"
    except UnreadableReplyError as error:
        problem = error
    if problem.reason == "not_json":
        for repair, candidate in _json_candidates(text):
            try:
                return parse_reply(candidate, reply_model), repair
            except UnreadableReplyError as error:
                if error.reason == "schema_breach":  # more useful to a second request than not_json
                    problem = error
    is_prose = problem.reason == "not_json" and "{" not in raw
    if is_prose and _REFUSALS.match(raw):
        problem = UnreadableReplyError("refused", "the model replied that it will not answer")
    problem.raw = raw
    raise problem


def parse_reply(raw: str, reply_model: type[ReplyT]) -> ReplyT:
    """Parse the JSON text of a reply without repairs.

    Raises:
        UnreadableReplyError: `empty`, `not_json` or `schema_breach`. The detail has fields and kinds of the
            breach. It never repeats the reply, which is untrusted text.
    """
    if not raw.strip():
        raise UnreadableReplyError("empty", "the reply has no text")
    try:
        return reply_model.model_validate_json(raw)
    except ValidationError as error:
        breaches = error.errors(include_url=False, include_context=False, include_input=False)
    if breaches[0]["type"] == "json_invalid":
        raise UnreadableReplyError("not_json", f"the reply of {len(raw)} characters is not one JSON value")
    # the name of an unknown field is untrusted text of the reply, so it is not repeated
    problems = [
        "unknown field"
        if breach["type"] == "extra_forbidden"
        else f"{'.'.join(map(str, breach['loc'])) or 'reply'} {breach['type']}"
        for breach in breaches
    ]
    listed = first_names(problems, _MOST_BREACHES)
    raise UnreadableReplyError("schema_breach", f"{reply_model.__name__}: {listed}")


def _json_candidates(raw: str) -> Iterator[tuple[Repair, str]]:
    """Yield texts that may be the reply's JSON, the likeliest first: without thoughts, then with them."""
    if _ONLY_THOUGHTS.match(raw):
        return  # the reply ends before its thoughts do
    # with them, since the JSON itself may contain a closing tag
    for text in dict.fromkeys((_THOUGHTS.sub("", raw), raw)):
        objects = _objects(text)
        if len(objects) == 1:
            yield "stripped", objects[0]
        if not objects and (repaired := _repaired(text)) is not None:
            yield "repaired", repaired


def _objects(text: str) -> list[str]:
    """Return the distinct outermost JSON objects in a text. The reply is ambiguous with more than one."""
    decoder = json.JSONDecoder()
    objects: dict[str, None] = {}  # an ordered set
    start = text.find("{")
    while start >= 0:
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            # objects inside an unreadable object are parts, not the reply
            return []
        objects[text[start:end]] = None
        start = text.find("{", end)
    return list(objects)


def _repaired(text: str) -> str | None:
    """Return the JSON as repaired by json_repair, if all words are kept and the text was not truncated."""
    start, end = text.find("{"), text.rfind("}")
    has_object = 0 <= start < end
    if not has_object or len(text) > LONGEST_REPAIRED:
        return None
    if any(mark in text[end + 1 :] for mark in '"{['):  # truncated after it: {"a": {"b": 1}, "c": "d
        return None
    from json_repair import repair_json

    broken = text[start : end + 1]
    repaired = repair_json(broken, ensure_ascii=False)
    if not isinstance(repaired, str) or _words(repaired) != _words(broken):
        return None
    return repaired


def _words(text: str) -> Counter[str]:
    """Count the words of JSON text, with escapes read as their characters."""
    unescaped = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), keep_backslashes(text))
    plain = _ESCAPED_MARK.sub(" ", unescaped)
    return Counter(re.findall(r"\w+", plain.lower()))


@cache
def sent_schema(reply_model: type[ReplyModel]) -> dict[str, Any]:
    """Return the schema of a reply model for servers, with resolved references and all properties required.

    Fields keep the order of the model, so that the reasoning precedes the decision. Callers must not change
    the schema. The reply is always validated with the complete model.
    """
    schema = json_schema(reply_model)

    def simplify(node: Any) -> Any:
        if isinstance(node, list):
            return [simplify(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:  # such as "#/$defs/DraftQuestion"
            definition = schema["$defs"][node["$ref"].rpartition("/")[2]]
            node = definition | node  # keywords beside `$ref` override the definition's
        fields = {name: simplify(value) for name, value in node.items() if name not in _UNSUPPORTED}
        if "properties" in fields:
            fields["required"] = list(fields["properties"])
        return fields

    return dict(simplify(schema))
