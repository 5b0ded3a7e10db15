"""The units of a source that can prove a claim: its sentences, list items and table rows."""

import functools
import re
from dataclasses import dataclass

from qa_pipeline.text.blocks import NUMBERED_ITEM
from qa_pipeline.text.reading import Reading, read
from qa_pipeline.text.sentences import sentence_spans

_HEADING = re.compile(r"#{1,6}\s")
_BAR = " | "
_KEY_VALUE = re.compile(r"(?=.{1,160}$)(?:[-*] )?[^\s:][^:\n]{0,60}: [^\s:][^\n]*$")


@dataclass(frozen=True)
class Unit:
    """A unit of a chunk; the offsets are within the chunk's text."""

    chunk_id: str
    start: int
    end: int
    reading: Reading

    @property
    def text(self) -> str:
        """Return the unit, verbatim."""
        return self.reading.written

    @property
    def is_row(self) -> bool:
        """Return True for a table row or a line of a key and its value."""
        return _BAR in self.text or _KEY_VALUE.match(self.text) is not None


@functools.lru_cache(maxsize=2048)
def units_of(chunk_id: str, text: str, language: str) -> tuple[Unit, ...]:
    """Return the units of a chunk in order; its headings only where it has nothing else."""
    spans = []
    for start, end in sentence_spans(text, language):
        number = NUMBERED_ITEM.match(text, start, end)
        spans.append((number.end(), end) if number and number.end() < end else (start, end))
    stating = [span for span in spans if not _HEADING.match(text, *span)]
    return tuple(
        Unit(chunk_id, start, end, read(text[start:end], language)) for start, end in stating or spans[:1]
    )
