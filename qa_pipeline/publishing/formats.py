"""Formats of trainers: JSON Lines files and the columns of each.

Each row also carries its origin (`ORIGIN`), so that users can filter, cite and forget rows. Trainers ignore
fields that they do not know.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from qa_pipeline.curation.duplicates import ALTERNATIVE
from qa_pipeline.curation.exports import json_lines
from qa_pipeline.curation.training import unmarked_answer
from qa_pipeline.generation.deduplication import normalised

ORIGIN = ("pair_id", "batch", "language", "question_type", "documents", "licences", "grounding", "composite")
_MESSAGES = pl.col("messages")
_ASKED, _SAID = _MESSAGES.list.slice(0, 2), _MESSAGES.list.tail(1)
_SYSTEM, _USER, _ASSISTANT = (_MESSAGES.list.get(place).struct.field("content") for place in range(3))

FORMATS: Mapping[str, Mapping[str, pl.Expr]] = {
    # OpenAI's fine-tuning format, accepted by most chat trainers
    "messages": {"messages": _MESSAGES},
    # TRL's prompt-completion format: only the answer is trained on
    "prompt_completion": {"prompt": _ASKED, "completion": _SAID},
    # Stanford Alpaca's columns and a system prompt; passages are part of the instruction
    "alpaca": {"system": _SYSTEM, "instruction": _USER, "input": pl.lit(""), "output": _ASSISTANT},
    # conversations for TRL's preference trainers
    "preference": {
        "prompt": _ASKED,
        "chosen": _SAID,
        "rejected": pl.concat_list(pl.struct(role=pl.lit("assistant"), content="said")),
        "rejected_reason": pl.col("rejected_reason"),
        "rejected_pair_id": pl.col("rejected_pair_id"),
    },
}
"""Columns of each format; the names are values of `release.formats`."""
PREFERENCE = "preference"
"""The only format that also uses unreleased drafts."""


def trainer_lines(name: str, released: pl.DataFrame) -> Iterator[bytes]:
    """Yield the lines of a format; for preferences, `released` comes from `with_worse_drafts`."""
    origin = released.select(column for column in ORIGIN if column in released.columns)
    return json_lines(released.select(**FORMATS[name]).hstack(origin))


def with_worse_drafts(rows: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return a row for each worse draft of a question: rejected, or only an alternative.

    Drafts with the same words as the released answer are dropped, since they teach no preference.
    """
    drafts = tables["pairs"].filter(
        pl.col("question_id").is_not_null(),
        pl.col("answer").is_not_null(),
        pl.col("expected_verdict").is_null(),
    )
    worse = tables["verdicts"].filter(
        pl.col("verdict") == "rejected",
        (pl.col("stage") != "deduplication") | (pl.col("reason") == ALTERNATIVE),
    )
    rejected = drafts.join(
        worse.select("pair_id", rejected_reason="reason"), on="pair_id", maintain_order="left"
    ).select("question_id", "rejected_reason", rejected_pair_id="pair_id", said=unmarked_answer())
    return (
        rows.join(drafts.select("pair_id", "question_id"), on="pair_id", maintain_order="left")
        .join(rejected, on="question_id", maintain_order="left_right")
        .with_columns(same=normalised(pl.col("said")))
        .filter(pl.col("same") != "", pl.col("same") != normalised(_ASSISTANT))
        .unique(["pair_id", "same"], keep="first", maintain_order=True)
    )
