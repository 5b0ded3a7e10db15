"""What must hold for every document and its chunks, whatever the settings; each law lists what breaks it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from qa_pipeline.models.encoder import TokenCounter
from qa_pipeline.retrieval.chunks import index_text

Row = Mapping[str, Any]
Span = tuple[int, int]

"""Longer ones are measured in parts, so that no one can say beforehand whether they fit."""


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
