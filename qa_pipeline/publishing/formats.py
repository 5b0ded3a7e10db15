"""Files of lines that trainers read, as one table: the columns of each format.

Each row also says where it comes from (`ORIGIN`), so that a consumer can split, cite and forget; trainers
leave fields alone that they do not know.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl

from qa_pipeline.curation.duplicates import ALTERNATIVE
from qa_pipeline.curation.exports import json_lines
from qa_pipeline.curation.training import unmarked_answer
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.storage.tables import MESSAGE_COLUMNS

Tables = Mapping[str, pl.DataFrame]

ORIGIN = ("pair_id", "batch", "language", "question_type", "documents", "licences", "version")
"""The columns that every row carries; `version` is the release that first held it."""


def _content(place: int, messages: pl.Expr) -> pl.Expr:
    return messages.list.get(place).struct.field("content")


def _asked(messages: pl.Expr) -> pl.Expr:
    return messages.list.slice(0, messages.list.len() - 1)


FORMATS: Mapping[str, Callable[[pl.Expr], list[pl.Expr]]] = {
    # OpenAI's fine-tuning format, which most chat trainers read
    "messages": lambda messages: [messages.alias("messages")],
    # TRL's prompt-completion format, in which only the answer is learnt
    "prompt_completion": lambda messages: [
        _asked(messages).alias("prompt"),
        messages.list.tail(1).alias("completion"),
    ],
    # Stanford Alpaca's columns and the system prompt; passages are part of the instruction
    "alpaca": lambda messages: [
        _content(0, messages).alias("system"),
        _content(1, messages).alias("instruction"),
        pl.lit("").alias("input"),
        _content(-1, messages).alias("output"),
    ],
    # conversations as TRL's preference trainers read them
    "preference": lambda messages: [
        _asked(messages).alias("prompt"),
        messages.list.tail(1).alias("chosen"),
        pl.concat_list(pl.struct(role=pl.lit("assistant"), content="said")).alias("rejected"),
        pl.col("rejected_reason"),
        pl.col("rejected_pair_id"),
    ],
}
"""The columns of each format, a value of `release.formats`, from the messages of a layout."""


def trainer_rows(name: str, tables: Tables, released: pl.DataFrame, layout: str) -> pl.DataFrame:
    """Return the rows of a format, with `split`; rows that lack the layout are left out."""
    messages = pl.col(MESSAGE_COLUMNS[layout])
    rows = released.filter(messages.is_not_null())
    if name == "preference":
        rows = _with_worse_drafts(rows, tables, messages)
    return rows.select(*FORMATS[name](messages), *ORIGIN, "split")


def _with_worse_drafts(rows: pl.DataFrame, tables: Tables, messages: pl.Expr) -> pl.DataFrame:
    """Return a row for each draft of its question that was rejected, or is only an alternative.

    Drafts that say the same, or that repeat a row of another question, teach no preference.
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
        .filter(pl.col("same") != "", pl.col("same") != normalised(_content(-1, messages)))
        .unique(["pair_id", "same"], keep="first", maintain_order=True)
    )


@contextmanager
def format_writer(
    folder: Path, name: str, splits: Iterable[str], layout: str
) -> Iterator[Callable[[Tables, pl.DataFrame], None]]:
    """Yield a function that writes tables and released rows of a batch, after the batches before.

    Args:
        folder: where the format's folder is made.
        name: of the format.
        splits: of the release; each has its file, without rows too.
        layout: closed_book, with_context or with_distractors.
    """
    (folder / name).mkdir()
    with ExitStack() as opened:
        files = {
            split: opened.enter_context((folder / name / f"{split}.jsonl").open("xb")) for split in splits
        }

        def write(tables: Tables, released: pl.DataFrame) -> None:
            rows = trainer_rows(name, tables, released, layout)
            for (split,), part in rows.partition_by("split", as_dict=True).items():
                for block in json_lines(part.drop("split")):
                    files[str(split)].write(block)

        yield write
