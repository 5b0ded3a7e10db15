"""The report of an evaluation as Markdown for a pull request, and as a self-contained HTML page.

Texts of a data set are untrusted: they are never in a script, style, address or attribute except `lang`.
"""

import re

import polars as pl

from qa_pipeline.evaluation.report import reasons, what_to_know, with_bounds
from qa_pipeline.evaluation.summaries import Document, describe_deciders
from qa_pipeline.text.rendering import render_markdown, render_page

MOST_STATEMENTS = 40
"""Statements of an answer in the page."""
LONGEST = {"query": 1500, "answer": 6000, "quote": 600}
"""Characters of each kind of text in the page."""
MARKS = {"supported": "✓", "unsupported": "✗", "contradicted": "≠", "undecided": "?"}
"""A sign for each verdict, so that the page is readable without colours."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def markdown_report(document: Document, worst: pl.DataFrame, name: str | None) -> str:
    """Return the report as Markdown, with the worst rows (`by_badness`) by a metric."""
    metrics = document["metrics"]
    return render_markdown(
        "evaluation/report.md.j2",
        document=document,
        notes=what_to_know(document),
        measured={key: metric for key, metric in metrics.items() if metric["known"]},
        unknown=reasons(metrics),
        name=name,
        worst=[] if name is None else worst.select("id", "query", "answer", name).rows(),
        bounds=with_bounds,
        deciders=describe_deciders,
    )


def report_page(document: Document, worst: pl.DataFrame, statements: pl.DataFrame, name: str | None) -> str:
    """Return the report as HTML, with the statements of the worst rows (`by_badness`) by a metric."""
    of_rows = statements.join(worst.select("id"), on="id", how="semi").partition_by("id", as_dict=True)
    cards = []
    for row in worst.iter_rows(named=True):
        row_statements = of_rows[(row["id"],)].rows(named=True) if (row["id"],) in of_rows else []
        first_statements = [
            {**statement, "quote": _cut(statement["quote"], "quote")}
            for statement in row_statements[:MOST_STATEMENTS]
        ]
        cards.append(
            {
                **row,
                "value": row[name or "id"],
                "query": _cut(row["query"], "query"),
                "answer": _cut(row["answer"], "answer"),
                "language_tag": row["language"] if _LANGUAGE.fullmatch(row["language"] or "") else None,
                "statements": first_statements,
                "more": max(0, len(row_statements) - MOST_STATEMENTS),
            }
        )
    headline = None
    if name is not None:
        metric = document["metrics"][name]
        headline = f"{metric['meaning']} {metric['direction'].title()} is better."
    return render_page(
        "evaluation/report_page.html.j2",
        document=document,
        notes=what_to_know(document),
        headline=headline,
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
