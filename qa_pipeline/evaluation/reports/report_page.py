"""The report of an evaluation as one HTML page that needs nothing else.

Texts of a data set are hostile: they are in no script, style, address or attribute but `lang`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from qa_pipeline.evaluation.reports.deciders import describe_deciders
from qa_pipeline.evaluation.reports.report import (
    Document,
    reasons,
    sentence_about,
    what_to_know,
    with_bounds,
)
from qa_pipeline.text.rendering import render_page

Row = dict[str, Any]
MOST_STATEMENTS = 40
"""Statements of an answer in the page, which must open fast."""
LONGEST = {"query": 1500, "answer": 6000, "quote": 600}
"""Characters of each kind of text in the page."""
MARKS = {"supported": "✓", "unsupported": "✗", "contradicted": "≠", "undecided": "?"}
"""Verdicts on statements, each with a sign that needs no colour."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def report_page(document: Document, worst: pl.DataFrame, statements: pl.DataFrame, name: str | None) -> str:
    """Return the page, the same for the same evaluation.

    Args:
        document: of `report_document`.
        worst: rows by `by_badness`, as many as are shown.
        statements: as in `statements.parquet`.
        name: the metric they are ranked by; None where no row has a value of any.
    """
    of_rows = statements.join(worst.select("id"), on="id", how="semi").partition_by("id", as_dict=True)
    cards = []
    for row in worst.iter_rows(named=True):
        found = of_rows[(row["id"],)].rows(named=True) if (row["id"],) in of_rows else []
        first_statements = [
            {**statement, "quote": _cut(statement["quote"], "quote")} for statement in found[:MOST_STATEMENTS]
        ]
        cards.append(
            {
                **row,
                "value": row[name or "id"],
                "query": _cut(row["query"], "query"),
                "answer": list(marked(row["answer"], found)),
                "language_tag": row["language"] if _LANGUAGE.fullmatch(row["language"] or "") else None,
                "statements": first_statements,
                "more": max(0, len(found) - MOST_STATEMENTS),
            }
        )
    return render_page(
        "evaluation/reports/report_page.html.j2",
        document=document,
        notes=what_to_know(document),
        headline=None if name is None else sentence_about(document, name),
        name=name,
        unknown=reasons(document["metrics"]),
        cards=cards,
        marks=MARKS,
        bounds=with_bounds,
        deciders=describe_deciders,
    )


def _cut(text: str | None, kind: str) -> str | None:
    longest = LONGEST[kind]
    return text if text is None or len(text) <= longest else f"{text[: longest - 1]}…"


def marked(answer: str | None, statements: Sequence[Row]) -> Iterator[Row]:
    """Yield the answer in pieces: statements with their verdict and number, and the text between them.

    A statement that begins within another, or whose place is not in the answer, is only in the list beside.
    """
    text, at = _cut(answer, "answer") or "", 0
    numbered = [(statement["start"], statement["end"], place) for place, statement in enumerate(statements)]
    for start, end, place in sorted(span for span in numbered if None not in span):
        if place >= MOST_STATEMENTS or not at <= start < end <= len(text):
            continue
        if start > at:
            yield {"text": text[at:start], "verdict": None, "number": None}
        yield {"text": text[start:end], "verdict": statements[place]["verdict"], "number": place + 1}
        at = end
    if at < len(text):
        yield {"text": text[at:], "verdict": None, "number": None}
