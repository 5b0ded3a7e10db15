"""The report of an evaluation as one HTML page that needs nothing else: a browser, or paper, is enough."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from qa_pipeline.evaluation.metrics.meanings import MARKS
from qa_pipeline.evaluation.reports.deciders import describe_deciders
from qa_pipeline.evaluation.reports.marked_answers import (
    MOST_STATEMENTS,
    Choices,
    Row,
    cut,
    language_tag,
    marked,
)
from qa_pipeline.evaluation.reports.report import (
    WORST,
    Document,
    reasons,
    sentence_about,
    what_to_know,
    with_bounds,
)
from qa_pipeline.evaluation.reports.summaries import PARTS
from qa_pipeline.text.rendering import render_page

MOST_ROWS = 120
"""Rows in the page: the worst of all, then the worst of each category, difficulty, language and verdict."""
_MOST_PARTS = 12
"""Parts of the data in a picture, the largest, as in the report."""
_MOST_CONTEXTS = 5
"""Contexts of a row in the page, which holds all of its rows and must open fast."""


def report_page(
    document: Document,
    rows: pl.DataFrame,
    ranked: pl.DataFrame,
    statements: pl.DataFrame,
    data: pl.LazyFrame,
    name: str | None,
) -> str:
    """Return the page, the same for the same evaluation.

    Args:
        document: of `report_document`.
        rows: as in `rows.parquet`.
        ranked: those of them that are known, by `by_badness`.
        statements: as in `statements.parquet`.
        data: the rows that were evaluated, `RAG_ROWS`: passages and right answers.
        name: the metric they are ranked by; None where no row has a value of any.
    """
    rows_of_cards = _rows_of_cards(ranked, statements)
    cards, choices = _cards(rows_of_cards, statements, data, name, list(document["metrics"]))
    return render_page(
        "evaluation/reports/report_page.html.j2",
        script="evaluation/reports/report_page.js",
        document=document,
        notes=what_to_know(document),
        headline=None if name is None else sentence_about(document, name),
        name=name,
        unknown=reasons(document["metrics"]),
        details=list(_details(document, rows)),
        cards=cards,
        choices=choices,
        worst=WORST,
        marks=MARKS,
        bounds=with_bounds,
        deciders=describe_deciders,
    )


def _details(document: Document, rows: pl.DataFrame) -> Iterator[Row]:
    """Yield of each metric that has values its meaning, and its values in each part of the data."""
    for name, metric in document["metrics"].items():
        if not metric["known"]:
            continue
        yield {
            "name": name,
            "of": metric,
            "meaning": sentence_about(document, name),
            "parts": [part_rows for column in PARTS if (part_rows := _parts(document, rows, column, name))],
        }


def _parts(document: Document, rows: pl.DataFrame, column: str, name: str) -> Row | None:
    """Return the largest parts by a column, each with its quartiles; None where there are not two."""
    parts: Mapping[str, Mapping[str, Document]] = document[f"per_{column}"]
    measured = {part: of[name] for part, of in parts.items() if of[name]["known"]}
    if len(measured) < 2:
        return None
    largest = sorted(measured, key=lambda part: -measured[part]["known"])[:_MOST_PARTS]
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    quantiles = rows.group_by(column).agg(pl.col(name).quantile(q, "linear").alias(str(q)) for q in shares)
    quartiles = {part: values for part, *values in quantiles.iter_rows()}
    lines = [
        {"name": cut(part, "name"), "of": metric, "quartiles": quartiles.get(part)}
        for part, metric in measured.items()
        if part in largest
    ]
    return {"column": column, "lines": lines, "more": len(measured) - len(lines)}


def _rows_of_cards(ranked: pl.DataFrame, statements: pl.DataFrame) -> pl.DataFrame:
    """Return the worst rows, and the worst of each part and verdict: each choice of a reader has rows."""
    verdicts = statements.group_by("id").agg(pl.col("verdict").unique().sort())
    joined = ranked.join(verdicts, on="id", how="left", maintain_order="left").with_row_index("rank")
    places = [pl.int_range(pl.len()).over(column) for column in PARTS]
    of_verdict = (
        joined.explode("verdict")
        .select("rank", turn=pl.int_range(pl.len()).over("verdict"))
        .group_by("rank")
        .agg(pl.col("turn").min())
    )
    turned = joined.join(of_verdict, on="rank", how="left", maintain_order="left")
    first = pl.when(pl.col("rank") < WORST).then(-1).otherwise(pl.min_horizontal(*places, "turn"))
    chosen = turned.with_columns(first=first).sort("first", "rank").head(MOST_ROWS)
    return chosen.sort("rank").drop("first", "turn")


def _cards(
    rows_of_cards: pl.DataFrame,
    statements: pl.DataFrame,
    data: pl.LazyFrame,
    name: str | None,
    metrics: Sequence[str],
) -> tuple[list[Row], list[Row]]:
    """Return what is shown of each row, and the names a reader can choose, by number, for the script."""
    statements_by_row = statements.join(rows_of_cards.select("id"), on="id", how="semi").partition_by(
        "id", as_dict=True
    )
    inputs_by_row = {row["id"]: row for row in _inputs_of(rows_of_cards, data).iter_rows(named=True)}
    choices = Choices((*PARTS, "verdict"))
    cards = []
    for row in rows_of_cards.iter_rows(named=True):
        statements_of_row = (
            statements_by_row[(row["id"],)].rows(named=True) if (row["id"],) in statements_by_row else []
        )
        values = {column: [row[column] or ""] for column in PARTS} | {"verdict": row["verdict"] or []}
        cards.append(
            {
                **{key: row[key] for key in (*PARTS, "id", "group")},
                "choices": choices.of_card(values),
                "value": None if name is None else row[name],
                "query": cut(row["query"], "query"),
                "answer": list(marked(row["answer"], statements_of_row)),
                "language": language_tag(row["language"]),
                "statements": [
                    {**statement, "number": number, "quote": cut(statement["quote"], "quote")}
                    for number, statement in enumerate(statements_of_row[:MOST_STATEMENTS], start=1)
                ],
                "more": max(0, len(statements_of_row) - MOST_STATEMENTS),
                "values": {metric: row[metric] for metric in metrics if row[metric] is not None},
                **_passages(inputs_by_row[row["id"]]),
            }
        )
    return cards, choices.offered()


def _inputs_of(rows_of_cards: pl.DataFrame, data: pl.LazyFrame) -> pl.DataFrame:
    selected = data.filter(pl.col("id").is_in(rows_of_cards["id"].implode()))
    return selected.select("id", "reference", "contexts").collect(engine="streaming")


def _passages(row: Row) -> Row:
    contexts = row["contexts"] or []
    first = [
        {"document": context["document"], "text": cut(context["text"], "context")}
        for context in contexts[:_MOST_CONTEXTS]
    ]
    return {"reference": cut(row["reference"], "reference"), "contexts": first, "passages": len(contexts)}
