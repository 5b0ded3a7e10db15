"""What became of the contents of documents: what reached their text, what did not, what was masked.

What belongs here: counting the documents table, for people and for reports. What does not: counting rows
from stage to stage (`waterfall.py`), printing.
"""

import polars as pl

LEFT_OUT_COUNTS = pl.Schema(
    {"what": pl.String(), "documents": pl.Int64(), "pieces": pl.Int64(), "characters": pl.Int64()}
)
MASKED_COUNTS = pl.Schema({"kind": pl.String(), "documents": pl.Int64(), "items": pl.Int64()})


def left_out_counts(documents: pl.DataFrame) -> pl.DataFrame:
    """What the texts leave out of the files, by kind, most characters first.

    Returns:
        what, documents, pieces and characters.
    """
    counts = [pl.len().alias("documents"), pl.col("pieces").sum(), pl.col("characters").sum()]
    return _counted(documents, "left_out", counts, LEFT_OUT_COUNTS).sort(
        ["characters", "pieces", "what"], descending=[True, True, False]
    )


def masked_counts(documents: pl.DataFrame) -> pl.DataFrame:
    """Items of personal data found, by kind, most first.

    Returns:
        kind, documents and items.
    """
    counts = [pl.len().alias("documents"), pl.col("count").sum().alias("items")]
    return _counted(documents, "masked", counts, MASKED_COUNTS).sort(
        ["items", "kind"], descending=[True, False]
    )


def _counted(documents: pl.DataFrame, column: str, counts: list[pl.Expr], schema: pl.Schema) -> pl.DataFrame:
    """Group the parts that lists of structures hold by the first field of the result."""
    parts = documents.select(column).explode(column).drop_nulls().unnest(column)
    counted = parts.group_by(schema.names()[0]).agg(counts)
    return counted.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def text_figures(documents: pl.DataFrame) -> dict[str, int]:
    """Characters, sections and pages of the texts, and how many documents nearly repeat another."""
    return {
        "characters": int(documents["text"].str.len_chars().sum()),
        "sections": int(documents["sections"].list.len().sum()),
        "pages": int(documents["pages"].list.len().sum()),
        "near duplicates": int(documents["near_duplicate_of"].is_not_null().sum()),
    }
