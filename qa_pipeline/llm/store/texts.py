"""Texts of replies as every database takes them.

What belongs here: what one cannot hold, and back again. What does not: columns.
A reply is hostile: Postgres holds no zero character, and neither database half a surrogate pair.
"""

import json
import re

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_MARK = "\ue000json:"
_MOST = 2**63 - 1


def storable(text: str) -> str:
    """The text itself, or a marked form of it that any database holds."""
    if _UNSTORABLE.search(text) or text.startswith(_MARK):
        return _MARK + json.dumps(text)
    return text


def restored(text: str) -> str:
    """The text that `storable` was given."""
    if not text.startswith(_MARK):
        return text
    whole: str = json.loads(text[len(_MARK) :])
    return whole


def name_of(text: str | None, longest: int) -> str | None:
    """A name that a server says it has, as far as a column holds it."""
    return None if text is None else _UNSTORABLE.sub("\ufffd", text)[:longest]


def count_of(number: int | None) -> int | None:
    """A count that a server tells, as far as a column holds it."""
    return None if number is None else max(0, min(number, _MOST))
