"""What must hold for every document and its chunks, whatever the settings; each law lists what breaks it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from qa_pipeline.models.base import TokenCounter
from qa_pipeline.records import index_text
from qa_pipeline.text.blocks import blocks, line_spans
from qa_pipeline.text.sentences import split_sentences

Row = Mapping[str, Any]
Span = tuple[int, int]

_LONGEST_WORD = 256
"""Longer ones are measured in parts, so that no one can say beforehand whether they fit."""
_LONG_HEADING = 3


def broken_document(document: Row) -> Iterator[str]:
    """Sections and pages: in order, disjoint, covering the text, each section beginning with its heading."""
    text = document["text"]
    for name in ("sections", "pages"):
        spans = [(part["start"], part["end"]) for part in document[name]]
        if spans:
            yield from (f"{name}: {problem}" for problem in _broken_cover(text, spans))
    for section in document["sections"]:
        line = text[section["start"] : section["end"]].partition("\n")[0]
        heading = f"{'#' * section['level']} {section['heading_path'][-1]}" if section["level"] else None
        if heading is not None and line != heading:
            yield f"section at {section['start']} does not begin with its heading"


def _broken_cover(text: str, spans: Sequence[Span]) -> Iterator[str]:
    place = 0
    for start, end in spans:
        if not place <= start <= end <= len(text):
            yield f"span {start}-{end} is out of order or of the text"
        if text[place:start].strip():
            yield f"text before {start} is in no span"
        place = end
    if text[place:].strip():
        yield "text after the last span is in none"


def broken_chunks(document: Row, chunks: Sequence[Row], counter: TokenCounter, bound: int) -> Iterator[str]:
    """Chunks: exact slices in order, within the bound and their section, covering what is below headings."""
    text = document["text"]
    texts = [index_text(chunk["section_path"], chunk["text"]) for chunk in chunks]
    for number, (chunk, tokens) in enumerate(zip(chunks, counter.count(texts), strict=True)):
        start, end = chunk["char_start"], chunk["char_end"]
        if chunk["text"] != text[start:end] or not chunk["text"].strip():
            yield f"chunk {number} is not its slice"
        if chunk["position"] != number or chunk["tokens"] != tokens:
            yield f"chunk {number} has another position, or {tokens} tokens"
        if tokens > bound and end - start > 1:
            yield f"chunk {number} has {tokens} tokens"
        if not chunk["section_start"] <= start < end <= chunk["section_end"]:
            yield f"chunk {number} leaves its section"
    for before, after in pairwise(chunks):
        if not (before["char_start"] < after["char_start"] and before["char_end"] < after["char_end"]):
            yield f"chunk {after['position']} is out of order"
    yield from _broken_sections(document, chunks)


def _broken_sections(document: Row, chunks: Sequence[Row]) -> Iterator[str]:
    """Sections and chunks: every section is covered, and every chunk cut from whole sections."""
    text = document["text"]
    starts = {section["start"] for section in document["sections"]}
    ends = {section["end"] for section in document["sections"]}
    for chunk in chunks:
        if chunk["section_start"] not in starts or chunk["section_end"] not in ends:
            yield f"chunk {chunk['position']} is cut from no section"
    lone = [
        not text[part["start"] : part["end"]].partition("\n")[2].strip()
        and 0 < part["level"] < below["level"]
        for part, below in pairwise([*document["sections"], {"level": 0}])
    ]
    order = sorted(starts)
    for start, end in _gaps(chunks, len(text)):
        inside = range(bisect_right(order, start) - 1, bisect_left(order, end))
        for section, alone in zip(
            document["sections"][inside.start : inside.stop], lone[inside.start : inside.stop], strict=True
        ):
            missed = text[max(start, section["start"]) : min(end, section["end"])]
            if missed.strip() and not alone:
                yield f"section at {section['start']} is not covered between {start} and {end}"


def _gaps(chunks: Sequence[Row], length: int) -> Iterator[Span]:
    """Stretches of a text in no chunk."""
    place = 0
    for chunk in chunks:
        if chunk["char_start"] > place:
            yield place, chunk["char_start"]
        place = max(place, chunk["char_end"])
    yield place, length


def overlap(chunks: Sequence[Row], counter: TokenCounter) -> list[int]:
    """Tokens that each chunk repeats of the one before it."""
    shared = [
        before["text"][after["char_start"] - before["char_start"] :]
        for before, after in pairwise(chunks)
        if after["char_start"] < before["char_end"]
    ]
    (special,) = counter.count([""])
    return [tokens - special for tokens in counter.count(shared)] if shared else []


def needless_cuts(document: Row, chunks: Sequence[Row], counter: TokenCounter, bound: int) -> Iterator[str]:
    """Sentences, rows, items and lines of code that a cut falls into although a chunk could hold them."""
    inside = {
        before["char_end"]: before
        for before, after in pairwise(chunks)
        if before["section_start"] == after["section_start"]
    }
    for section in document["sections"]:
        start, end = section["start"], section["end"]
        cuts = [at for at in inside if start <= at < end]
        if cuts:
            chunk = inside[cuts[0]]
            for left, right in _pieces(document, section, chunk["section_path"], counter, bound):
                piece = document["text"][left:right]
                longest = max(map(len, piece.split()))
                if any(left < at < right for at in cuts) and longest <= _LONGEST_WORD:
                    (tokens,) = counter.count([index_text(chunk["section_path"], piece)])
                    if tokens <= bound:
                        yield f"{left}-{right} is cut"


def _pieces(
    document: Row, section: Row, path: Sequence[str], counter: TokenCounter, bound: int
) -> list[Span]:
    """What should stay whole in a section, its heading line, unless it is long, with what follows it."""
    start, end = section["start"], section["end"]
    text = document["text"][start:end]
    spans = list(units(text, document["language"]))
    line = len(text.partition("\n")[0]) if section["level"] else 0
    (special, above, heading) = counter.count(["", index_text(path, ""), text[:line]])
    if line and heading - special <= (bound - above) // _LONG_HEADING:
        below = [span for span in spans if span[0] >= line]
        spans = [(0, below[0][1]), *below[1:]] if below else []
    return [(start + left, start + right) for left, right in spans]


def units(text: str, language: str) -> Iterator[Span]:
    """Sentences, rows and items, and the lines of code blocks."""
    code = {end - len(text[start:end].lstrip()) for start, end, fenced in blocks(text) if fenced}
    for left, right in split_sentences(text, language):
        if left in code:
            lines = [(left + a, left + b) for a, b in line_spans(text[left:right])]
            yield from ((a, a + len(text[a:b].rstrip())) for a, b in lines if text[a:b].strip())
        else:
            yield left, right
