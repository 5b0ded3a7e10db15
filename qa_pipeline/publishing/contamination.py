"""Rows that give an evaluation away: its files ask their question, or hold many of their words in a row.

Words in a row are compared as Brown et al. (2020, "Language models are few-shot learners", appendix C) do:
lower case, 13 of them, punctuation aside. Questions in other words are found by the cosine of their vectors.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from qa_pipeline.errors import ReleaseError
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.generation.pairs_file import read_pairs
from qa_pipeline.models.base import Vectors
from qa_pipeline.settings.generation import PairsFileSettings

WORDS = 13
"""Words in a row that give an evaluation away, as many as Brown et al. take."""
_BLOCK = 1024  # rows compared at once, which bounds the memory
IN_EVALUATION = "in_evaluation"
FindContaminated = Callable[[pl.DataFrame], pl.Series]
"""From rows (pair_id, question, answer) to true or false for each."""
_TEXTS = pl.Schema({"question": pl.String(), "answer": pl.String()})


def read_evaluation(files: Sequence[Path], limits: PairsFileSettings) -> pl.DataFrame:
    """Return the questions and answers of the user's evaluation files, in any layout of pairs.

    Raises:
        InputError: a file cannot be read.
        ReleaseError: a row of one cannot be read, and so could not be kept apart.
    """
    texts = [_TEXTS.to_frame()]
    for path in files:
        pairs = read_pairs(path, limits)
        unread = [pair for pair in pairs if pair.question is None]
        if unread:
            raise ReleaseError(
                f"{path}: {len(unread)} rows have no question that can be read, the first is row "
                f"{unread[0].line} ({unread[0].detail or unread[0].reason}); mend or remove them"
            )
        rows = [(pair.question, pair.answer) for pair in pairs]
        texts.append(pl.DataFrame(rows, schema=_TEXTS, orient="row"))
    return pl.concat(texts)


def evaluation_finder(
    texts: pl.DataFrame, similarity: float | None, embed: Callable[[Sequence[str]], Vectors]
) -> FindContaminated:
    """Return a function that finds rows which give evaluation texts away.

    Such a row asks what one of them asks, shares `WORDS` words in a row with them, or rephrases a question.

    Args:
        texts: as `read_evaluation` gives them.
        similarity: least cosine of two questions that are one by their meaning; None compares no meanings.
        embed: gives unit-length vectors of questions; asked only where meanings are compared.
    """
    questions = texts.select(normalised(pl.col("question")))["question"].implode()
    grams = _grams(texts.with_row_index("pair_id"))["gram"].unique().implode()
    text_vectors = None if similarity is None else embed(texts["question"].to_list())

    def find(rows: pl.DataFrame) -> pl.Series:
        shared = _grams(rows).filter(pl.col("gram").is_in(grams))["pair_id"].unique().implode()
        same = normalised(pl.col("question")).is_in(questions) | pl.col("pair_id").is_in(shared)
        repeated = rows.select(same.alias("found"))["found"]
        if text_vectors is None or similarity is None or rows.is_empty():
            return repeated
        vectors = embed(rows["question"].to_list())
        nearest = [
            (vectors[start : start + _BLOCK] @ text_vectors.T).max(axis=1)
            for start in range(0, len(vectors), _BLOCK)
        ]
        return repeated | pl.Series(np.concatenate(nearest) >= similarity)

    return find


def _grams(texts: pl.DataFrame) -> pl.DataFrame:
    """Return every run of `WORDS` words of question and answer: pair_id and gram."""
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
