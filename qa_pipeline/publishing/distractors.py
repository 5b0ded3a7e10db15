"""Passages beside the proof: none of a document that stands in another split.

A batch draws them before anybody knows of splits, so a release leaves them out where it must.
"""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from qa_pipeline.curation.training import user_message
from qa_pipeline.publishing.keys import Places, document_keys
from qa_pipeline.records import passages_by_id
from qa_pipeline.storage.tables import MESSAGE_COLUMNS

LAYOUT = "with_distractors"
_MESSAGES = MESSAGE_COLUMNS[LAYOUT]


def of_own_split(
    rows: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    places: Places,
    count_tokens: Callable[[Sequence[str]], list[int]],
) -> pl.DataFrame:
    """Return the rows of a batch without distractors of other splits; without any, they lack that layout."""
    documents = tables["documents"].drop_nulls("content_sha256")
    splits = places.splits_of(document_keys(documents["content_sha256"]))
    placed = documents.select("document_id", placed=splits).drop_nulls("placed")
    distractors = rows.select("pair_id", "split", chunk_id=pl.col("passages").struct.field(LAYOUT))
    foreign = (
        distractors.explode("chunk_id", empty_as_null=True)
        .join(tables["chunks"].select("chunk_id", "document_id"), on="chunk_id")
        .join(placed, on="document_id")
        .filter(pl.col("placed") != pl.col("split"))
    )
    if foreign.is_empty():
        return rows
    passages, drop = passages_by_id(tables["chunks"]), set(foreign.select("pair_id", "chunk_id").iter_rows())
    changed = []
    for row in rows.join(foreign, on="pair_id", how="semi", maintain_order="left").iter_rows(named=True):
        remaining = [
            chunk_id for chunk_id in row["passages"][LAYOUT] if (row["pair_id"], chunk_id) not in drop
        ]
        system, _, assistant = row[_MESSAGES]
        user = user_message([passages[chunk_id] for chunk_id in remaining], row["question"])
        messages = [system, {"role": "user", "content": user}, assistant]
        (tokens,) = count_tokens(["\n".join(message["content"] for message in messages)])
        has_distractors = len(remaining) > len(row["passages"]["with_context"])
        changed.append(
            (row["pair_id"], messages, remaining, tokens)
            if has_distractors
            else (row["pair_id"], *[None] * 3)
        )
    new = {
        "new_messages": rows.schema[_MESSAGES],
        "new_passages": pl.List(pl.String()),
        "new_tokens": pl.Int32(),
    }
    joined = rows.join(
        pl.DataFrame(changed, {"pair_id": pl.String(), **new}, orient="row"),
        on="pair_id",
        how="left",
        maintain_order="left",
    )
    is_changed = pl.col("pair_id").is_in([pair_id for pair_id, *_ in changed])
    columns = {_MESSAGES: pl.col("new_messages")} | {
        name: pl.col(name).struct.with_fields(pl.col(f"new_{name}").alias(LAYOUT))
        for name in ("passages", "tokens")
    }
    return joined.with_columns(
        pl.when(is_changed).then(value).otherwise(name).alias(name) for name, value in columns.items()
    ).select(rows.columns)
