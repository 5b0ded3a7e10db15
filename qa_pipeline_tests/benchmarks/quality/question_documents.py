"""Question sets as documents that have to be cut, with the places where the answers stand.

Passages of one titled article become one document, four of them to a section: there borders between
passages are borders of paragraphs only. Sets whose passages come from as many pages become documents of ten
sections, a passage each, under its title or first line; of several passages of a question those that hold
the answer count. Lines of a passage are paragraphs.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.records import Block
from qa_pipeline_tests.retrieval.documents import documents

ARTICLES = ("xquad_en", "xquad_de", "squad2")
PAGES = ("swequad_mc", "qed", "clapnq", "hotpotqa")

_IN_SECTION = 4
_IN_DOCUMENT = 10
_MOST_OF_AN_ARTICLE = 12

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; each of `spans` in a document's text answers it. Those of a `group` share a source."""

    question: str
    document_id: str
    spans: tuple[Span, ...]
    group: str


@dataclass(frozen=True, slots=True)
class AskedDocuments:
    """A DOCUMENTS frame, its questions, and how many questions had an answer that was not found in it."""

    name: str
    language: str
    frame: pl.DataFrame
    questions: list[Asked]
    not_found: int


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage with its title and its questions, each with what may be quoted as the answer."""

    title: str
    text: str
    group: str
    questions: tuple[tuple[str, tuple[str, ...], int], ...]


def read_sets(folder: Path, words: int, seed: int) -> Iterator[AskedDocuments]:
    """Samples of all sets in a folder, each of about as many words."""
    for name in (*ARTICLES, *PAGES):
        for file in sorted(folder.glob(f"{name}*.parquet")):
            rows = pl.read_parquet(file).filter(pl.col("answerable") == 1)
            passages = _passages(rows, name)
            documents_of = _articles if name in ARTICLES else _pages
            yield _assembled(name, rows["language"][0], documents_of(passages, words, random.Random(seed)))


def _passages(rows: pl.DataFrame, name: str) -> list[_Passage]:
    """Passages of a set in order, each once."""
    found: dict[str, _Passage] = {}
    for row in rows.iter_rows(named=True):
        extra = json.loads(row["extra"]) if row["extra"] else {}
        for place, text in enumerate(row["context"]):
            title, body = _titled(text, row["title"]) if name in PAGES else (row["title"], text)
            wanted = _wanted(row, extra, title, place)
            if wanted is None and len(row["context"]) > 1:
                continue
            known = found.get(text) or _Passage(title, body, row["group_id"], ())
            asked = ((row["question"], *wanted),) if wanted else ()
            found[text] = _Passage(title, body, row["group_id"], known.questions + asked)
    return list(found.values())


def _titled(text: str, title: str | None) -> tuple[str, str]:
    if title:
        return title, text
    first, _, rest = text.partition("\n")
    return (first, rest) if rest.strip() else (first[:60], text)


def _wanted(row: Mapping[str, Any], extra: Mapping[str, Any], title: str, place: int) -> Any:
    """Quotes that answer a row's question in one of its passages, and which occurrence; None if none does."""
    if "supporting_facts" in extra:
        supports = title in extra["supporting_facts"]["title"] and row["answers"][0] not in ("yes", "no")
        return (tuple(row["answers"]), 0) if supports else None
    if place:
        return None
    if row["answer_start"] is None:
        return tuple(one for group in extra["selected_sentences"] for one in group), 0
    before = _evened(row["context"][0][: row["answer_start"]])
    return (row["answers"][0],), before.count(_evened(row["answers"][0]))


def _evened(text: str) -> str:
    return " ".join(text.split())


def _articles(passages: Sequence[_Passage], words: int, source: random.Random) -> list[list[list[_Passage]]]:
    """A run of passages of every article, so many of each as give the wanted number of words."""
    titles = dict.fromkeys(passage.group for passage in passages)
    size = sum(len(passage.text.split()) for passage in passages) / len(passages)
    most = max(min(int(words / size / len(titles)), _MOST_OF_AN_ARTICLE), _IN_SECTION)
    found = []
    for title in titles:
        own = [passage for passage in passages if passage.group == title]
        first = source.randrange(max(len(own) - most, 0) + 1)
        run = own[first : first + most]
        found.append([run[start : start + _IN_SECTION] for start in range(0, len(run), _IN_SECTION)])
    return found


def _pages(passages: Sequence[_Passage], words: int, source: random.Random) -> list[list[list[_Passage]]]:
    """Pages drawn at random until they have the wanted number of words."""
    drawn: list[list[_Passage]] = []
    for passage in source.sample(passages, len(passages)):
        words -= len(passage.text.split())
        if words < 0:
            break
        drawn.append([passage])
    return [drawn[start : start + _IN_DOCUMENT] for start in range(0, len(drawn), _IN_DOCUMENT)]


def _assembled(name: str, language: str, contents: Sequence[Sequence[Sequence[_Passage]]]) -> AskedDocuments:
    blocks = [list(_blocks(sections, number)) for number, sections in enumerate(contents)]
    frame = documents(*blocks, language=language)
    questions: list[Asked] = []
    wanted = 0
    for row, sections in zip(frame.iter_rows(named=True), contents, strict=True):
        place = 0
        for passage in (one for section in sections for one in section):
            start, place = _find(passage.text, row["text"], place) or (place, place)
            for question, quotes, occurrence in passage.questions:
                spans = _spans(quotes, occurrence, row["text"], start, place)
                wanted += 1
                if spans:
                    questions.append(Asked(question, row["document_id"], spans, passage.group))
    return AskedDocuments(name, language, frame, questions, wanted - len(questions))


def _blocks(sections: Sequence[Sequence[_Passage]], number: int) -> Iterator[Block]:
    article = len(sections[0]) > 1
    yield Block(
        "heading", sections[0][0].title.replace("_", " ") if article else f"Collection {number + 1}", 1
    )
    for part, section in enumerate(sections, start=1):
        yield Block("heading", f"Part {part}" if article else section[0].title.replace("_", " "), 2)
        for passage in section:
            yield from (Block("paragraph", line) for line in passage.text.split("\n") if line.strip())


def _find(quote: str, text: str, start: int, end: int | None = None) -> Span | None:
    """The first place of a quote in a text, however its words are parted there."""
    pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
    found = pattern.search(text, start, len(text) if end is None else end)
    return found.span() if found else None


def _spans(quotes: Sequence[str], occurrence: int, text: str, start: int, end: int) -> tuple[Span, ...]:
    """Where each quote is between two places; of one that is there often, the wanted occurrence."""
    found = []
    for quote in quotes:
        place: Span | None = (start, start)
        for _ in range(occurrence + 1):
            place = _find(quote, text, place[1], end) if place else None
        if place:
            found.append(place)
    return tuple(found)
