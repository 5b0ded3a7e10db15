"""JSONL files: one JSON value a line, each a section of the document.

What belongs here: reading lines one by one, and counting those that cannot be read. What does not: how a row
is written (`rows`).
"""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.text_rows.rows import Fields, TextRow, read_rows, too_deep, too_many_rows
from qa_pipeline.records import LeftOut, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_NO_CHARACTER = re.compile("[\ud800-\udfff]")
_TOLD = 5


class _BrokenLine(ValueError):  # noqa: N818 - it ends as a note of the document
    """A line that cannot be read; the message says why, without text of the line."""


@dataclass(slots=True)
class _Broken:
    """The lines that could not be read: how many, how long, and why the first of them."""

    lines: int = 0
    characters: int = 0
    told: list[str] = field(default_factory=list)

    def add(self, number: int, line: str, problem: str) -> None:
        self.lines += 1
        self.characters += len("".join(line.split()))
        if len(self.told) < _TOLD:
            self.told.append(f"line {number} {problem}")

    def note(self) -> str:
        more = f" and {self.lines - _TOLD} more" if self.lines > _TOLD else ""
        return f"lines that could not be read were left out: {', '.join(self.told)}{more}"


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Parse one JSONL file; a broken line costs that line only.

    Raises:
        DocumentFailure: no line can be read, or there are too many rows or characters.
    """
    rows: list[TextRow] = []
    broken = _Broken()
    for number, line in enumerate(_lines(source.content), start=1):
        if not line.strip():
            continue
        if len(rows) + broken.lines >= settings.max_rows:
            raise too_many_rows(settings)
        try:
            rows.append(TextRow(number, _fields(_value(line, settings))))
        except _BrokenLine as problem:
            broken.add(number, line, str(problem))
    if not rows:
        raise DocumentFailure("damaged", f"no line of the file can be read: {', '.join(broken.told)}")
    parsed = read_rows(rows, source.path, settings)
    if not broken.lines:
        return parsed
    lost = LeftOut("broken_line", broken.lines, broken.characters)
    return replace(parsed, left_out=(*parsed.left_out, lost), notes=(*parsed.notes, broken.note()))


def _lines(content: bytes) -> Iterator[str]:
    """The lines of the file; where no encoding fits, a byte that is not UTF-8 becomes a lone surrogate."""
    try:
        text = decode(content)
    except DocumentFailure:
        for line in content.removeprefix(codecs.BOM_UTF8).split(b"\n"):
            yield line.decode("utf-8", "surrogateescape")
    else:
        yield from text.split("\n")


def _value(line: str, settings: DocumentSettings) -> object:
    """The JSON value of a line, its numbers as they are written.

    Raises:
        _BrokenLine: it is too long, not UTF-8, no JSON, or nested too deep.
    """
    if len(line) > settings.max_characters:
        raise _BrokenLine("is longer than documents.max_characters")
    if not line.isascii() and _NO_CHARACTER.search(line):
        raise _BrokenLine("is not UTF-8")
    try:
        value: object = json.loads(
            line, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_named
        )
    except RecursionError as error:
        raise _BrokenLine("is nested too deep") from error
    except ValueError as error:
        raise _BrokenLine("is no JSON") from error
    if too_deep(value):
        raise _BrokenLine("is nested too deep")
    return value


def _named(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object's values by name; a name that comes again is numbered, so that no value is lost."""
    named = dict(pairs)
    if len(named) == len(pairs):
        return named
    seen: Counter[str] = Counter()
    numbered: dict[str, object] = {}
    for name, value in pairs:
        seen[name] += 1
        numbered[name if seen[name] == 1 else f"{name} ({seen[name]})"] = value
    return numbered


def _fields(value: object) -> Fields:
    if isinstance(value, dict):
        return value
    return {"text" if isinstance(value, str) else "": value}
