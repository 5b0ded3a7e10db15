"""What the Dagster UI shows of a table: its columns, how many rows of each kind, and its first rows."""

import json
from collections.abc import Iterable
from typing import Any, cast

import dagster as dg
import polars as pl

from qa_pipeline.pipeline.costs import cost_summary
from qa_pipeline.pipeline.funnel import (
    left_out_counts,
    masked_counts,
    summarise,
    text_figures,
)
from qa_pipeline.retrieval.shard import Shard
from qa_pipeline.review.queue import Filters
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.text.rendering import shorten, visible
from qa_pipeline.verification.canaries import canary_rates

PREVIEW_ROWS = 5
CELL_LENGTH = 200
"""Characters of a cell; longer ones are cut, the table has them in full."""


def table_schema(table: Table) -> dg.TableSchema:
    """Return the columns with types and descriptions, as the asset's page lists them."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                _type_name(column.dtype),
                column.description,
                dg.TableColumnConstraints(nullable=column.nullable, unique=table.key == (column.name,)),
            )
            for column in table.columns
        ],
        constraints=dg.TableConstraints(other=[f"key: {', '.join(table.key)}"]),
    )


def _type_name(dtype: pl.DataType) -> str:
    """Return a type that fits its field: structures by the names of their parts only."""
    if isinstance(dtype, pl.List):
        return f"List({_type_name(cast('pl.DataType', dtype.inner))})"
    if isinstance(dtype, pl.Struct):
        return f"Struct({', '.join(field.name for field in dtype.fields)})"
    return str(dtype)


def described(table: Table) -> dict[str, Any]:
    """Return the facts of a table that is not yet written."""
    return {"dagster/column_schema": table_schema(table), "dagster/table_name": table.name}


def frame_metadata(frame: pl.DataFrame, table: Table) -> dict[str, Any]:
    """Return row count, rows of each kind (the first column counted as numbers), and a preview."""
    metadata: dict[str, Any] = {"dagster/partition_row_count": frame.height}
    if not frame.height:
        return metadata
    for name in table.counted:
        counts = frame.group_by(name).len("rows").sort(["rows", name], descending=[True, False])
        if name == table.counted[0]:
            metadata |= {f"{name}: {value}": rows for value, rows in counts.drop_nulls().iter_rows()}
        else:
            metadata[f"rows by {name}"] = frame_table(counts.with_columns(pl.col(name).fill_null("(none)")))
    return {**metadata, "preview": preview(frame, table.preview)}


def table_metadata(header: Iterable[str], rows: Iterable[Iterable[object]]) -> dg.TableMetadataValue:
    """Return a table for the UI, which shows texts as they are and nothing in them as markup."""
    columns = list(header)
    records = [dg.TableRecord(dict(zip(columns, map(_cell, row), strict=True))) for row in rows]
    schema = dg.TableSchema([dg.TableColumn(name) for name in columns])
    return dg.MetadataValue.table(records, schema)


def _cell(value: object) -> str | int | float | bool:
    if value is None:
        return ""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, int):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shorten(text, CELL_LENGTH)


def frame_table(frame: pl.DataFrame) -> dg.TableMetadataValue:
    """Return a frame as a table for the UI."""
    return table_metadata(frame.columns, frame.iter_rows())


def summary_metadata(verdicts: pl.DataFrame) -> dict[str, Any]:
    """Return the figures of a batch that are worth following from run to run."""
    summary = summarise(verdicts)
    figures = {
        "pass rate": summary.pass_rate,
        "accepted, not judged by a model": summary.accepted_not_judged or None,
        "pass rate of all": summary.pass_rate_of_all,
        "average score": summary.average_score,
        "average score of passed": summary.average_score_of_passed,
        "citation accuracy": summary.citation_accuracy,
        "citation quality": summary.citation_quality,
    }
    return {name: round(value, 4) for name, value in figures.items() if value is not None}


def cost_metadata(calls: pl.DataFrame, verdicts: pl.DataFrame | None = None) -> dict[str, Any]:
    """Return the usage of models by stage; nothing where none was asked.

    With verdicts also what each accepted pair cost. Costs are plain numbers, which get plotted.
    """
    summary = cost_summary(calls, verdicts)
    if not summary.calls:
        return {}
    figures = {
        "cost": summary.cost,
        "cost per accepted pair": summary.cost_per_accepted_pair,
        "currency": summary.currency,
        "tokens": summary.tokens,
        "calls without cost": summary.calls_without_cost or None,
        "calls without tokens": summary.calls_without_tokens or None,
    }
    # without the last digits of a sum of floats
    rounded = {
        name: round(value, 8) if isinstance(value, float) else value for name, value in figures.items()
    }
    present = {name: value for name, value in rounded.items() if value is not None}
    return present | {"cost by stage": frame_table(summary.stages)}


def content_metadata(documents: pl.DataFrame) -> dict[str, Any]:
    """Return the amount of text in the documents, their other content, and personal data in them."""
    counts = {"left out of the text": left_out_counts(documents), "personal data": masked_counts(documents)}
    tables = {name: frame_table(frame) for name, frame in counts.items() if frame.height}
    return text_figures(documents) | tables


def canary_metadata(canaries: pl.DataFrame) -> dict[str, Any]:
    """Return recall and false alarms of the canaries: totals, which get plotted, and a table by kind."""
    totals = canary_rates(canaries, ("asks", "expected")).select("asks", "expected", "rejected_share")
    words = {"rejected": "recall", "accepted": "false alarms"}
    figures = {f"{asks} {words[expected]}": share for asks, expected, share in totals.iter_rows()}
    rates = canary_rates(canaries)
    bounds = rates.select("rejected_low", "rejected_high").iter_rows()
    kinds = rates.select(
        "asks",
        "expected",
        "kind",
        "canaries",
        "rejected",
        pl.Series("95 % interval", [f"{low:.2f} to {high:.2f}" for low, high in bounds], pl.String()),
        "accepted",
    )
    return figures | ({"canaries by kind": frame_table(kinds)} if kinds.height else {})


def export_metadata(layout: Layout, batch: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the lines and the place of each file."""
    paths = {name: layout.export(name, batch) for name in names}
    lines = {f"lines: {name}": path.read_bytes().count(b"\n") for name, path in paths.items()}
    return lines | {f"file: {name}": dg.MetadataValue.path(str(path)) for name, path in paths.items()}


def review_metadata(url: str | None, batch: str) -> dict[str, Any]:
    """Return a link to the pairs of the batch that wait in the review app; nothing without its address."""
    if url is None:
        return {}
    return {"review": dg.MetadataValue.url(f"{url}/?{Filters(batch=batch).address()}")}


def shard_metadata(shard: Shard) -> dict[str, Any]:
    """Return the content of the index and the way it is searched."""
    return {
        "vectors": len(shard.chunk_ids),
        "dimension": shard.dimension,
        "model": shard.model,
        "kind": shard.kind,
    }


def verdict_preview(
    verdicts: pl.DataFrame, pairs: pl.DataFrame, claims: pl.DataFrame
) -> dg.TableMetadataValue:
    """Return the first pairs of the ledger with their texts and their first supporting quote."""
    quotes = claims.sort("pair_id", "position").group_by("pair_id", maintain_order=True).first()
    joined = verdicts.head(PREVIEW_ROWS)
    for neighbour in (
        pairs.select("pair_id", "question", "answer"),
        quotes.select("pair_id", quote="evidence_quote"),
    ):
        joined = joined.join(neighbour, on="pair_id", how="left", maintain_order="left")
    return preview(joined, ("question", "answer", "verdict", "quote"))


def preview(frame: pl.DataFrame, columns: Iterable[str]) -> dg.TableMetadataValue:
    """Return the first rows, with the first quote of lists that hold quotes."""
    first_rows = frame.head(PREVIEW_ROWS)
    lists = [name for name in ("evidence", "citations") if name in frame.columns]
    first_quotes = (pl.col(name).list.first().struct.field("quote").alias("quote") for name in lists)
    quoted = first_rows.with_columns(first_quotes)
    return frame_table(quoted.select(name for name in columns if name in quoted.columns))


CARD_LENGTH = 20_000
"""Characters of a data card that the UI shows."""
_LIVE = {"<": "‹", "](": "] (", "://": ":∕∕", "www.": "www․"}


def card_text(card: str) -> str:
    """Return a data card for the UI: without front matter and pictures, and with nothing in it that acts.

    Look-alikes break HTML, links and bare addresses; invisible characters are dropped.
    """
    body = card.split("\n---\n", 1)[-1] if card.startswith("---\n") else card
    lines = [line for line in body.splitlines() if not line.lstrip().startswith("![")]
    text = "\n".join(visible(line) for line in lines).replace("\\<", "<")
    for live, dead in _LIVE.items():
        text = text.replace(live, dead)
    if len(text) <= CARD_LENGTH:
        return text.strip()
    return text[: text.rindex("\n", 0, CARD_LENGTH)].strip() + "\n\n…"
