"""File formats that trainers read, as one table of row mappers: training examples in, JSON lines out.

Each row also says where it comes from (`ORIGIN`), so that a consumer can split, cite and forget; trainers
leave fields alone that they do not know, and those that refuse them read the columns they name.
"""

from collections.abc import Callable, Mapping

import polars as pl

from qa_pipeline.tables import MESSAGE_COLUMNS

ORIGIN = ("pair_id", "batch", "language", "question_type", "documents", "licences")
"""What every row of every format carries."""

_ROLES = {"system": "system", "user": "human", "assistant": "gpt"}


def _chat(messages: str) -> list[pl.Expr]:
    """OpenAI's fine-tuning format, which most chat trainers read."""
    return [pl.col(messages).alias("messages")]


def _sharegpt(messages: str) -> list[pl.Expr]:
    turn = pl.struct(
        pl.element().struct.field("role").replace_strict(_ROLES).alias("from"),
        pl.element().struct.field("content").alias("value"),
    )
    return [pl.col(messages).list.eval(turn).alias("conversations")]


def _gemini(messages: str) -> list[pl.Expr]:
    """Vertex AI's format for tuning: the system prompt apart, the answer said by the model."""

    def parts(text: pl.Expr) -> pl.Expr:
        return pl.concat_list(pl.struct(text=text))

    content = pl.element().struct.field("content")
    said = pl.struct(
        pl.element().struct.field("role").replace({"assistant": "model"}).alias("role"),
        parts(content).alias("parts"),
    )
    first = pl.col(messages).list.first().struct
    return [
        pl.struct(role=pl.lit("system"), parts=parts(first.field("content"))).alias("systemInstruction"),
        pl.col(messages).list.slice(1).list.eval(said).alias("contents"),
    ]


def _alpaca(messages: str) -> list[pl.Expr]:
    """Stanford Alpaca's columns; what the passages say stands in the instruction, as the user was told it."""
    return [
        pl.col(messages).list.get(1).struct.field("content").alias("instruction"),
        pl.lit("").alias("input"),
        pl.col("answer").alias("output"),
    ]


FORMATS: Mapping[str, Callable[[str], list[pl.Expr]]] = {
    "chat": _chat,
    "sharegpt": _sharegpt,
    "gemini": _gemini,
    "alpaca": _alpaca,
}
"""The columns of each format, made from the column of a layout's messages."""


def format_rows(examples: pl.DataFrame, name: str, layout: str) -> pl.DataFrame:
    """The rows of a format; examples without that layout are left out.

    Args:
        examples: TRAINING_EXAMPLES frame.
        name: of the format.
        layout: closed_book, with_context or with_distractors.
    """
    messages = MESSAGE_COLUMNS[layout]
    documents = pl.col("evidence").list.eval(pl.element().struct.field("content_sha256")).list.unique()
    own = examples.filter(pl.col(messages).is_not_null()).with_columns(
        documents=documents.list.sort(), licences=pl.col("provenance").struct.field("licences")
    )
    return own.select(*FORMATS[name](messages), *ORIGIN)
