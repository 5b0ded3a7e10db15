"""Questions about key-value lines, table cells, list items and headings, which need no grammar."""

import re
from collections.abc import Iterator
from itertools import groupby

from qa_pipeline.llm.extractive.passages import (
    MAX_ANSWER,
    Candidate,
    Line,
    decapitalised,
    heading_name,
    in_language,
    leans_on_context,
    place_of,
    points_elsewhere,
    split_into_lines,
    split_into_sentences,
    stems,
)
from qa_pipeline.records import Passage, QuestionType
from qa_pipeline.text.lexicon.phrases import Phrases, fill

MAX_VALUE = 300
"""Characters of a value that still reads as an answer."""
MIN_LEAD, MAX_LEAD = 60, 420
"""Characters of a section's first paragraph that answers for the section."""
MIN_SENTENCE, MAX_OPEN = 25, 400
"""A shorter sentence is a mere note; the list at the end of a longer passage may go on in the next."""

Span = tuple[int, int]
Cell = tuple[str, str, int]  # a column or key, its value, and where in the line the value begins

_KEY_VALUE = re.compile(r"([^\W\d_][^:.!?|\n]{1,48}): (\S.{0,300})")
_ITEM = re.compile(r"(?![(\d\"“„])([^:!?|\n]{2,50}?)(?:: | [–—-] )(\S.{14,420})")
_CELL = re.compile(r"([^\W\d_][^:|\n]{1,38}): (\S.{0,300})")
_ROW_NAME = re.compile(r"(?!\+)(?=[^\n]*[^\W\d_])[^\n|:;?!]{1,48}")
_MARKS = re.compile(r"\*\*|`|[\"“”„»«]")
_NOTHING = re.compile(r"[\W_]*|[Nn]/?[Aa]|TBD|TODO")


def find(passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask for what the shape of the passage's text says."""
    where = place_of(passage, phrases).quoted(phrases)
    read = split_into_lines(passage.text)
    if where:
        yield from _pairs(read, _KEY_VALUE, "prose", where, passage, phrases)
        yield from _pairs(read, _ITEM, "list_item", where, passage, phrases)
        yield from _cells(read, where, passage, phrases)
    if passage.section_path and len(read) > 1 and read[0].kind == "heading" != read[1].kind:
        yield from _under_heading(read[1:], where, passage, phrases)


def _pairs(
    read: list[Line], shape: re.Pattern[str], kind: str, where: str, passage: Passage, phrases: Phrases
) -> Iterator[Candidate]:
    """Ask for the values of neighbouring lines of keys or terms; one alone may be a sentence with a colon."""
    listed = kind == "list_item"
    for is_match, group in groupby(read, lambda line: line.kind == kind and not line.number):
        block = list(group) if is_match else []
        matches = [(line, match) for line in block if (match := shape.fullmatch(line.text))]
        keys = [_MARKS.sub("", match[1]).strip() for _, match in matches]
        if len(matches) < 2 or 2 * len(matches) < len(block):
            continue
        for key, (line, match) in zip(keys, matches, strict=True):
            value, quoted = match[2], phrases.quoted(key)
            fits = len(value.split()) > 3 and not value.endswith(",") if listed else key[0].isupper()
            if (
                fits
                and keys.count(key) == 1
                and quoted not in where
                and _nameable(key, passage, phrases, empty=not listed)
                and _answers(value, passage, phrases)
            ):
                template = phrases.item if listed else phrases.key_value
                question = fill(template, {"place": where, "key": quoted}, placed=True)
                cell = (key, value, match.start(2))
                yield _value(question, "fact_single", line, cell, 0, 0.65)


def _cells(read: list[Line], where: str, passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask for the cells of tables whose first column names each row."""
    rows = [(line, cells) for line in read if line.kind == "table_row" and (cells := _row(line))]
    for columns, group in groupby(rows, lambda row: [column for column, _, _ in row[1]]):
        table = list(group)
        names = [_MARKS.sub("", cells[0][1]) for _, cells in table]
        if len(table) < 2 or len(set(columns)) < len(columns):
            continue
        for name, (line, cells) in zip(names, table, strict=True):
            if names.count(name) > 1 or not _ROW_NAME.fullmatch(name) or len(name.split()) > 5:
                continue
            for cell in cells[1:]:
                if _nameable(cell[0], passage, phrases, empty=True) and _answers(cell[1], passage, phrases):
                    quoted = {"row": phrases.quoted(name), "column": phrases.quoted(cell[0]), "place": where}
                    question = fill(phrases.cell, quoted, placed=True)
                    yield _value(question, "table", line, cell, cell[2] - len(cell[0]) - 2, 0.6)


def _row(line: Line) -> list[Cell]:
    """Read "Column: value | Column: value"; nothing when a part of the line is no such cell."""
    cells: list[Cell] = []
    offset = 0
    for part in line.text.split(" | "):
        match = _CELL.fullmatch(part)
        if match is None:
            return []
        cells.append((match[1], match[2].strip(), offset + match.start(2)))
        offset += len(part) + 3
    return cells if len(cells) > 1 else []


def _under_heading(body: list[Line], where: str, passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask what the heading above the passage's text promises: an answer, instructions or a subject."""
    place = place_of(passage, phrases)
    written = " ".join(passage.section_path[-1].replace("`", "").split()).rstrip(" ¶#")
    heading = heading_name(written.rstrip("?"), phrases)
    lead, steps = _lead(body, passage, phrases), _steps(body, passage)
    if written.endswith("?"):
        if lead and len(heading.split()) > 2 and not leans_on_context(heading, phrases):
            yield _passage(f"{heading}?", "fact_single", lead, passage, 0.95)
        return
    goal = _goal(heading, passage, phrases)
    if steps and goal:
        yield _passage(
            fill(phrases.instructions, {"goal": goal}, placed=False), "procedure", steps, passage, 0.9
        )
    elif steps and where and heading:
        yield _passage(fill(phrases.steps, {"place": where}, placed=True), "procedure", steps, passage, 0.4)
    if not lead or not place.title:
        return
    names = {"title": phrases.quoted(place.title), "heading": place.clause or phrases.quoted(heading)}
    is_whole = body[-1].end <= lead[1]
    if place.clause and is_whole:
        yield _passage(phrases.clause.format_map(names), "summary", lead, passage, 0.5)
    elif (
        place.heading
        and place.heading == heading
        and (is_whole or _shares(heading, passage.text[slice(*lead)]))
    ):
        yield _passage(phrases.section.format_map(names), "summary", lead, passage, 0.3)


def _goal(heading: str, passage: Passage, phrases: Phrases) -> str:
    """Turn "Adding a filter" or "Add a filter" into "add a filter"; empty when it is no instruction."""
    match = phrases.how_to.fullmatch(heading)
    if match is None or leans_on_context(heading, phrases):
        return ""
    first, _, rest = match["goal"].partition(" ")
    if phrases.infinitives:
        verb = phrases.infinitives.get(first.lower())
        return f"{verb} {rest}" if verb else ""
    if rest[:1].isupper() and first.endswith(phrases.adjective_endings):
        return heading[:1].lower() + heading[1:]
    return decapitalised(heading, passage, phrases)


def _shares(heading: str, text: str) -> bool:
    """Return whether a paragraph speaks of at least half of its heading's words."""
    promised = stems(heading)
    return bool(promised) and 2 * len(promised & stems(text)) >= len(promised)


def _steps(body: list[Line], passage: Passage) -> Span | None:
    """Return the span of a section's only numbered list, if whole and short enough for an answer."""
    numbered = [position for position, line in enumerate(body) if line.number]
    steps = [body[position] for position in numbered]
    if (
        len(steps) < 2
        or numbered[-1] - numbered[0] + 1 != len(steps)
        or [line.number for line in steps] != list(range(1, len(steps) + 1))
        or any(line.text[-1:] not in ".)!" for line in steps)
        or (steps[-1] is body[-1] and len(passage.text) > MAX_OPEN)
    ):
        return None
    start = passage.text.rfind("\n", 0, steps[0].start) + 1
    return (start, steps[-1].end) if steps[-1].end - start <= MAX_ANSWER else None


def _lead(body: list[Line], passage: Passage, phrases: Phrases) -> Span | None:
    """Return the span of a section's first paragraph, where it is whole and can be read by itself."""
    if body[0].kind != "prose" or (len(body) > 1 and body[1].kind in ("list_item", "code")):
        return None
    read = [sentence for sentence in split_into_sentences(passage) if sentence.start >= body[0].start]
    last = next((place for place, line in enumerate(read[1:], 1) if line.first), len(read))
    paragraph = read[:last]
    while len(paragraph) > 1 and len(paragraph[-1].text) < MIN_SENTENCE:
        paragraph.pop()
    if not paragraph or any(not line.text.endswith((".", "!")) for line in paragraph):
        return None
    start, end = paragraph[0].start, paragraph[-1].end
    text, opening = passage.text[start:end], paragraph[0].text.split()
    alone = (
        MIN_LEAD <= len(text) <= MAX_LEAD
        and text[0].isupper()
        and not leans_on_context(" ".join(opening[:2]), phrases)
        and not any(word.endswith(":") for word in opening[:4])
        and not points_elsewhere(text, phrases)
        and in_language(text, passage.language)
    )
    return (start, end) if alone else None


def _passage(question: str, kind: QuestionType, span: Span, passage: Passage, score: float) -> Candidate:
    """Answer with a part of the passage, its lines joined and the bullets of its items left out."""
    quote = passage.text[slice(*span)]
    answer = " ".join(" ".join(line.strip().removeprefix("- ") for line in quote.split("\n")).split())
    return Candidate(question, kind, answer, quote, *span, score)


def _value(
    question: str, kind: QuestionType, line: Line, cell: Cell, remaining: int, score: float
) -> Candidate:
    """Quote a key with its value; answer with the value, or with both where the value alone is bare."""
    _, value, start = cell
    quote = line.text[remaining : start + len(value)]
    answer = quote if len(value.split()) < 3 else value
    return Candidate(
        question, kind, answer, quote, line.start + remaining, line.start + remaining + len(quote), score
    )


def _nameable(name: str, passage: Passage, phrases: Phrases, *, empty: bool = False) -> bool:
    """Return whether a key, a column or a term can be quoted in a question and names what is asked for."""
    return (
        0 < len(name.split()) <= 5
        and (empty or len(name) < 3 or bool(heading_name(name, phrases)))
        and not any(mark in name for mark in '"“”„«»()[]{}\ufffd.,;?!=')
        and (phrases.leaning | phrases.abstract).isdisjoint(name.lower().split()[:1])
        and in_language(name, passage.language)
    )


def _answers(value: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a value says something by itself, in the language of the passage."""
    return (
        len(value) <= MAX_VALUE
        and _NOTHING.fullmatch(value) is None
        and not value.endswith((":", "…", "..."))
        and not points_elsewhere(value, phrases)
        and in_language(value, passage.language)
    )
