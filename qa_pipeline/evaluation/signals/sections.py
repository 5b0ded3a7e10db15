"""Signals of sections of laws and handbooks that an answer names: whether they are there, and bear it out.

A section is a sign or word and a number, as answers and passages write it: § 12, 12 a §, 3 kap., Article 5,
Section 4. What a passage prints at the beginning of a line is the section that stands there; what it says
within a line is a mention.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from qa_pipeline.evaluation.signals.base import RULES, Row, SignalValues, Verified
from qa_pipeline.evaluation.signals.statements import as_one
from qa_pipeline.text.lexicon.languages import any_of_all
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK, without_marks
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.verify import Statement

CITED_SECTION = pl.Struct({"raw": pl.String(), "exists": pl.Boolean(), "supported": pl.Boolean()})
"""A section that an answer names: its words, whether a context has or mentions it, and whether the sentence
that names it is supported by the words of that section alone (null where that is undecided)."""
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
    """A section as it is written in a text: its kind and number, and where."""

    kind: str
    number: str
    start: int
    end: int

    def is_same(self, other: "Section") -> bool:
        """Return whether both name one section."""
        return (self.kind, self.number) == (other.kind, other.number)


def read_sections(text: str) -> list[Section]:
    """Return the sections that a text names, in order."""
    sections = []
    for match in _SECTION.finditer(text):
        kind = (match["sign"] or match["mark"]).casefold()[:3]
        number = (match["before"] or match["behind"]).casefold().replace(" ", "")
        sections.append(Section(_SIGNS.get(kind, kind), number, match.start(), match.end()))
    return sections


def state_cited_sections(rows: pl.DataFrame) -> list[list[Statement]]:
    """Return each sentence of an answer that names a section, to be verified against its words alone."""
    return [
        [
            Statement(sentence, tuple(text for text, _ in parts), row["language"], row["query"], headings)
            for _, sentence, parts in _cited_sections(row)
            for headings in [tuple(above for _, above in parts)]
        ]
        for row in rows.iter_rows(named=True)
    ]


def read_cited_sections(rows: pl.DataFrame, verified: Verified) -> SignalValues:
    """Return the sections that each answer names (`CITED_SECTION`), and who decided about them."""
    signals: list[list[Row]] = []
    deciders: list[list[str]] = []
    for row, verdicts in zip(rows.iter_rows(named=True), verified, strict=True):
        bearing = [as_one(statements or ()) for statements in verdicts]
        signals.append(
            [
                {"raw": raw, "exists": bool(parts), "supported": verdict["supported"] if parts else False}
                for (raw, _, parts), verdict in zip(_cited_sections(row), bearing, strict=True)
            ]
        )
        deciders.append([verdict["decided_by"] or RULES for verdict in bearing])
    return signals, deciders


Part = tuple[str, tuple[str, ...]]
"""Words of a section in a context, and the headings above them."""


def _cited_sections(row: Row) -> list[tuple[str, str, list[Part]]]:
    """Return each section that an answer names: its words, the sentence, and what the contexts say under it.

    A chapter counts where a context names one; laws are often quoted without.
    """
    answer = row["answer"] if not row["refused"] else ""
    marks = [*SOURCE_MARK.finditer(answer), *NUMBER_MARK.finditer(answer)]
    contexts = [(context["text"] or "", tuple(context["headings"] or ())) for context in row["contexts"]]
    kinds = {
        section.kind
        for parts in contexts
        for text in (parts[0], *parts[1])
        for section in read_sections(text)
    }
    cited = []
    for section in read_sections(answer):
        in_mark = any(mark.start() <= section.start < mark.end() for mark in marks)
        if in_mark or (section.kind == CHAPTER and CHAPTER not in kinds):
            continue
        spans = sentence_spans(answer, row["language"])
        start, end = next((span for span in spans if span[0] <= section.start < span[1]), (0, len(answer)))
        parts = [
            (words, headings)
            for text, headings in contexts
            if (words := _words_under(section, text, headings)) is not None
        ]
        cited.append((answer[section.start : section.end], without_marks(answer[start:end]), parts))
    return cited


def _words_under(section: Section, text: str, headings: Sequence[str]) -> str | None:
    """Return what a context says under a section, else the lines that mention it; None where it does not.

    A section begins at a line that begins with it, or with the text where a heading above names it, and ends
    at the next of its kind.
    """
    sections = [other for other in read_sections(text) if other.kind == section.kind]
    begins = [other for other in sections if _begins_line(text, other)]
    ends = [other.start for other in begins]
    if any(section.is_same(other) for heading in headings for other in read_sections(heading)):
        return text[: ends[0]] if ends and ends[0] else text
    for place, other in enumerate(begins):
        if section.is_same(other):
            return text[other.start : ends[place + 1] if place + 1 < len(ends) else len(text)]
    lines = [line for line in text.splitlines() if any(map(section.is_same, read_sections(line)))]
    return "\n".join(lines) or None


def _begins_line(text: str, section: Section) -> bool:
    return not text[text.rfind("\n", 0, section.start) + 1 : section.start].strip(" #*_")
