"""Signals of sections of laws and handbooks that an answer names: whether they are there, and bear it out.

A section is a sign or word and a number, as answers and passages write it: § 12, 12 a §, 3 kap., Article 5,
Section 4. What a passage prints at the beginning of a line is the section that stands there; what it says
within a line is a mention.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from qa_pipeline.evaluation.signals.base import RULES, Means, Row
from qa_pipeline.evaluation.signals.statements import as_one, verify
from qa_pipeline.text.lexicon.languages import any_of_all
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK, without_marks
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.verify import Statement

CITED_SECTION = pl.Struct({"exists": pl.Boolean(), "supported": pl.Boolean(), "decided_by": pl.String()})
"""A section that an answer names: whether a context has or mentions it, and whether the words of that section
alone support the sentence that names it (null where that is undecided)."""
CHAPTER = "kap"
_SECTION = re.compile(
    r"(?<![\w§.,])(?P<before>\d{1,4}(?: ?[a-z])?) ?(?P<sign>§|kap\b)(?! ?\d)"
    rf"|(?P<mark>§|\b(?:{any_of_all('layout.clauses')}|{any_of_all('layout.sections')}))§? ?"
    r"(?P<behind>\d{1,4}[a-z]?\b)",
    re.IGNORECASE,
)
_SIGNS = {"sec": "§"}
"""Words of English laws that say what the sign does; other words are told apart by their beginning."""


class Section(NamedTuple):
    """A section of a law or handbook."""

    kind: str
    number: str


def read_sections(text: str) -> list[tuple[int, Section]]:
    """Return the sections that a text names, in order, each with its offset."""
    sections = []
    for match in _SECTION.finditer(text):
        kind = (match["sign"] or match["mark"]).casefold()[:3]
        number = (match["before"] or match["behind"]).casefold().replace(" ", "")
        sections.append((match.start(), Section(_SIGNS.get(kind, kind), number)))
    return sections


def find_cited_sections(rows: pl.DataFrame, means: Means) -> list[list[Row]]:
    """Return the sections that each answer names (`CITED_SECTION`); none of a refusal."""
    cited = [_cited_sections(row) for row in rows.iter_rows(named=True)]
    verified = verify((sentence for of_row in cited for sentence in of_row), means)
    return [
        [
            {
                "exists": bool(sentence.passages),
                "supported": claim["supported"] if sentence.passages else False,
                "decided_by": claim["decided_by"] or RULES,
            }
            for sentence in of_row
            for claim in [as_one(verified[sentence] or ())]
        ]
        for of_row in cited
    ]


def _cited_sections(row: Row) -> list[Statement]:
    """Return the sentence of each section that an answer names, held against what contexts say under it.

    A chapter counts where a context names one; laws are often quoted without.
    """
    answer = row["answer"] if not row["refused"] else ""
    marks = [*SOURCE_MARK.finditer(answer), *NUMBER_MARK.finditer(answer)]
    contexts = [(context["text"] or "", tuple(context["headings"] or ())) for context in row["contexts"]]
    context_texts = [text for words, above in contexts for text in (words, *above)]
    kinds = {section.kind for text in context_texts for _, section in read_sections(text)}
    cited = []
    for at, section in read_sections(answer):
        in_mark = any(mark.start() <= at < mark.end() for mark in marks)
        if in_mark or (section.kind == CHAPTER and CHAPTER not in kinds):
            continue
        spans = sentence_spans(answer, row["language"])
        start, end = next((span for span in spans if span[0] <= at < span[1]), (0, len(answer)))
        passages, headings = [], []
        for text, above in contexts:
            words = _words_under(section, text, above)
            if words is not None:
                passages.append(words)
                headings.append(above)
        sentence = without_marks(answer[start:end])
        cited.append(Statement(sentence, (*passages,), row["language"], row["query"], (*headings,)))
    return cited


def _words_under(section: Section, text: str, headings: Sequence[str]) -> str | None:
    """Return what a context says under a section, else the lines that mention it; None where it does not.

    A section begins at a line that begins with it, or with the text where a heading above names it, and ends
    at the next of its kind.
    """
    begins = [
        (at, other)
        for at, other in read_sections(text)
        if other.kind == section.kind and _begins_line(text, at)
    ]
    ends = [*(at for at, _ in begins), len(text)]
    if any(section == other for heading in headings for _, other in read_sections(heading)):
        return text[: ends[0]] or text
    for (start, other), end in zip(begins, ends[1:], strict=True):
        if other == section:
            return text[start:end]
    lines = [line for line in text.splitlines() if section in (other for _, other in read_sections(line))]
    return "\n".join(lines) or None


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" #*_")
