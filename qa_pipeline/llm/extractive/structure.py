"""Questions about key-value lines and table cells, which need no knowledge of grammar.

What belongs here: finding such lines, naming what they are about, and filling the wording of
`phrases.py`. What does not: sentences (the language modules).
"""

import re
from typing import cast

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.headings import Subject, product_of, subject_of
from qa_pipeline.llm.extractive.phrases import PHRASES, Ask, Phrases
from qa_pipeline.llm.extractive.prose import Line, lines
from qa_pipeline.records import Language, Passage

MAX_VALUE = 300
"""Characters of a value that still reads as an answer."""

_KEY_VALUE = re.compile(r"([^\W\d_][\w /-]{1,38}): (\S.*)")
_COLUMN = re.compile(r"[^\W\d_][\w /-]{1,28}")
_NAME = re.compile(r"[^\W\d_][\w.:/<>*-]*(?: [\w.:/<>*-]+){0,3}(?:\(\))?")
_MARKS = re.compile(r"\*\*|`")


def find(passage: Passage) -> list[Candidate]:
    """Ask for the values of the passage's key-value lines and table rows."""
    phrases = PHRASES.get(cast("Language", passage.language))
    if phrases is None:
        return []
    subject = subject_of(passage, phrases) or product_of(passage, phrases)
    found: list[Candidate] = []
    read = lines(passage.text)
    for position, line in enumerate(read):
        if line.kind == "table_row":
            found += _cells(line, phrases)
        elif line.kind in ("prose", "list_item") and subject is not None:
            neighbours = read[max(position - 1, 0) : position] + read[position + 1 : position + 2]
            found += _value(line, neighbours, subject, phrases)
    return found


def _value(line: Line, neighbours: list[Line], subject: Subject, phrases: Phrases) -> list[Candidate]:
    parts = _KEY_VALUE.fullmatch(line.text)
    if parts is None or len(parts[2]) > MAX_VALUE or line.text.endswith(":"):
        return []
    key = parts[1].strip()
    ask = phrases.keys.get(key.casefold())
    if key.casefold() in phrases.skipped or (ask and not re.search(ask.value, parts[2])):
        return []
    if ask is None and line.kind == "prose" and _in_a_block(neighbours):
        ask = phrases.any_keys if phrases.plural(key) else phrases.any_key
    if ask is None:
        return []
    names = {
        "subject": subject.subject,
        "of": subject.of,
        "states": subject.states,
        "key": _inside(key, phrases),
    }
    template = ask.nominal if ask.nominal and not phrases.verbal(parts[2]) else ask.template
    question = template.format_map(names)
    return [_candidate(line, question, ask, parts[2], start=parts.start(2))]


def _in_a_block(neighbours: list[Line]) -> bool:
    """Tell a table of properties from a sentence that happens to hold a colon."""
    return any(_KEY_VALUE.fullmatch(line.text) is not None for line in neighbours)


def _cells(line: Line, phrases: Phrases) -> list[Candidate]:
    """Ask for every cell of a row whose first cell names what the row is about."""
    cells: list[tuple[str, str, int]] = []
    offset = 0
    for part in line.text.split(" | "):
        column, colon, value = part.partition(": ")
        if not colon or not _COLUMN.fullmatch(column) or not value.strip():
            return []
        cells.append((column, value.strip(), offset))
        offset += len(part) + len(" | ")
    name = _MARKS.sub("", cells[0][1])
    if len(cells) < 2 or not _NAME.fullmatch(name):
        return []
    found = []
    for column, value, start in cells[1:]:
        ask = phrases.cells.get(column.casefold()) or _any_cell(column, phrases)
        if (
            column.casefold() in phrases.skipped
            or not column[1:].replace(" ", "").isalpha()
            or not column[1:].islower()
        ):
            continue
        if ask is not None and len(value) <= MAX_VALUE:
            question = ask.template.format_map({"row": name, "column": _inside(column, phrases)})
            found.append(_candidate(line, question, ask, value, start=start + len(column) + 2))
    return found


def _any_cell(column: str, phrases: Phrases) -> Ask | None:
    """The question for a column of any name; none where it is no noun."""
    if phrases.no_noun is not None and phrases.no_noun.fullmatch(column.casefold()):
        return None
    return phrases.any_cells if phrases.any_cells and phrases.plural(column) else phrases.any_cell


def _candidate(line: Line, question: str, ask: Ask, value: str, *, start: int) -> Candidate:
    """Quote the key with its value; answer with the value, or with both where the value alone is bare."""
    whole = line.text.rfind(" | ", 0, start)
    left = whole + len(" | ") if whole >= 0 else 0
    right = start + len(value.rstrip())
    quote = line.text[left:right]
    bare = len(value.split()) < 3
    return Candidate(
        question=question,
        question_type=ask.question_type,
        answer=quote if bare else value.strip(),
        quote=quote,
        start=line.start + left,
        end=line.start + right,
        score=ask.score,
    )


def _inside(key: str, phrases: Phrases) -> str:
    """Lower the first letter of a word that is capitalised only because it opens a line."""
    if phrases.nouns_capital:
        return key
    return key if key[1:2].isupper() else key[:1].lower() + key[1:]
