"""Passages beside the proof: none of a document that stands in another split.

A batch draws them before anybody knows of splits, so a release draws again where it must.
"""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from qa_pipeline.curation.training import build_training_examples
from qa_pipeline.publishing.keys import Places, document_keys
from qa_pipeline.settings.verification import TrainingSettings
from qa_pipeline.storage.tables import MESSAGE_COLUMNS

LAYOUT = "with_distractors"
_MESSAGES = MESSAGE_COLUMNS[LAYOUT]
_BY_LAYOUT = ("passages", "tokens")
"""Columns with a field for each layout."""
_INPUTS = ("pairs", "verdicts", "claims", "claim_verdicts", "assessments", "round_trips", "documents")


def placed_chunks(tables: Mapping[str, pl.DataFrame], places: Places) -> pl.DataFrame:
    """Return the chunks of a batch with `placed`, the split in which their document stands; null for none."""
    documents = tables["documents"].drop_nulls("content_sha256")
    placed = documents.select(
        "document_id", placed=places.splits_of(document_keys(documents["content_sha256"]))
    )
    return tables["chunks"].join(placed, on="document_id", how="left", maintain_order="left")


def of_own_split(
    rows: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    count_tokens: Callable[[Sequence[str]], list[int]],
    settings: TrainingSettings,
) -> pl.DataFrame:
    """Return the rows, with other distractors where one was of a document of another split.

    Args:
        rows: released rows of a batch, with split.
        tables: of the batch; `chunks` as `placed_chunks` gives them.
        count_tokens: of the embedding model.
        settings: by which the layout is made.
    """
    parts = []
    for (split,), rows_of_split in rows.partition_by("split", as_dict=True, maintain_order=True).items():
        foreign = (pl.col("placed") != split).fill_null(value=False)
        others = tables["chunks"].filter(foreign)["chunk_id"].to_list()
        has_others = pl.col("passages").struct.field(LAYOUT).list.set_intersection(others).list.len() > 0
        touched = rows_of_split.filter(has_others.fill_null(value=False)).select("pair_id")
        if touched.is_empty():  # as where nothing stands in another split
            parts.append(rows_of_split)
            continue
        needed = {name: tables[name] for name in _INPUTS}
        needed["pairs"] = needed["pairs"].join(touched, on="pair_id", how="semi", maintain_order="left")
        again = build_training_examples(
            **needed,
            chunks=tables["chunks"].filter(~foreign).drop("placed"),
            count_tokens=count_tokens,
            settings=settings.model_copy(update={"max_examples_per_document": None}),
        ).select("pair_id", pl.col(_MESSAGES, *_BY_LAYOUT).name.prefix("new_"))
        drawn = rows_of_split.join(again, on="pair_id", how="left", maintain_order="left")
        mended = pl.col("pair_id").is_in(touched["pair_id"].implode())
        columns = {_MESSAGES: pl.col(f"new_{_MESSAGES}"), **_redrawn(rows_of_split)}
        changed = (pl.when(mended).then(new).otherwise(name).alias(name) for name, new in columns.items())
        parts.append(drawn.with_columns(changed).select(rows_of_split.columns))
    return pl.concat(parts) if parts else rows


def _redrawn(rows: pl.DataFrame) -> dict[str, pl.Expr]:
    """Return the columns with a field for each layout, of which that of `LAYOUT` is new."""
    return {
        name: pl.struct(
            pl.col(f"new_{name}" if field == LAYOUT else name).struct.field(field)
            for field in rows[name].struct.fields
        )
        for name in _BY_LAYOUT
    }
