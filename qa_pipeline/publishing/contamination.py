"""Rows that give an evaluation away: their question, or many of their words in a row, stand in its files.

Words in a row are compared as Brown et al. (2020, "Language models are few-shot learners", appendix C) do:
lower case, 13 of them, punctuation aside.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from qa_pipeline.errors import ReleaseError
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.generation.pairs_file import read_pairs
from qa_pipeline.settings.generation import PairsFileSettings

WORDS = 13
IN_EVALUATION = "in_evaluation"
_TEXTS = pl.Schema({"question": pl.String(), "answer": pl.String()})


def read_evaluation(files: Sequence[Path], limits: PairsFileSettings) -> pl.DataFrame:
    """The questions and answers of the user's evaluation files, in any layout of pairs.

    Raises:
        PairsFileError: a file cannot be read.
        ReleaseError: a row of one cannot be read, and so could not be kept apart.
    """
    found = [_TEXTS.to_frame()]
    for path in files:
        rows = read_pairs(path, limits)
        unread = rows.filter(pl.col("question").is_null())
        if unread.height:
            first = unread.row(0, named=True)
            raise ReleaseError(
                f"{path}: {unread.height} rows have no question that can be read, the first is row "
                f"{first['line']} ({first['detail'] or first['reason']}); mend or remove them"
            )
        found.append(rows.select(*_TEXTS))
    return pl.concat(found)


def contaminated(rows: pl.DataFrame, evaluation: pl.DataFrame) -> pl.DataFrame:
    """The rows whose question an evaluation asks, or that share `WORDS` words in a row with it.

    Args:
        rows: pair_id, question and answer.
        evaluation: as `read_evaluation` gives it.

    Returns:
        pair_id, each once, in the order of the ids.
    """
    asked = evaluation.select(normalised(pl.col("question")))["question"].implode()
    same = rows.filter(normalised(pl.col("question")).is_in(asked)).select("pair_id")
    theirs = _grams(evaluation.with_row_index("pair_id"))["gram"].unique().implode()
    shared = _grams(rows).filter(pl.col("gram").is_in(theirs)).select("pair_id")
    return pl.concat([same, shared]).unique().sort("pair_id")


def _grams(texts: pl.DataFrame) -> pl.DataFrame:
    """Every run of `WORDS` words of question and answer: pair_id and gram."""
    parts = pl.concat(
        texts.select("pair_id", text=pl.col(name), place=pl.lit(name)).drop_nulls("text") for name in _TEXTS
    )
    words = parts.with_columns(word=pl.col("text").str.to_lowercase().str.extract_all(r"\w+")).select(
        "pair_id", "place", "word"
    )
    single = words.explode("word", empty_as_null=True).drop_nulls("word")
    run = pl.concat_str(
        [pl.col("word").shift(-n).over("pair_id", "place") for n in range(WORDS)], separator=" "
    )
    return single.select("pair_id", gram=run).drop_nulls("gram")
