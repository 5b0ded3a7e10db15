"""Twins: pairs of one batch that ask and answer the same, in equal words or nearly equal ones.

Near twins have the same terms: stems of content words, values of numbers and dates, signs, names, negations
and opposites. That is MinHash at a similarity of 1, found by a join; below 1 it puts questions together that
differ in the one word or number that matters.

Nothing is decided here: the ledger keeps one of each.
"""

import functools
import re
from collections.abc import Sequence, Set

import polars as pl

from qa_pipeline.storage.tables import TWINS
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading

_BETWEEN = "\x1f"
_RUN = re.compile(r"\w+(?:[-./:]\w+)*")
_MARK = re.compile(r"\w[-./:_]\w")

# Punctuation is dropped only at the edge of a word, where it carries no meaning: "C++", "-5", "1.5" and
# ".NET" stay what they are, so that different answers never look equal.
_OPENING = r"""(^|\s)["'“”„«»‚‘’(\[¿¡]+"""
_CLOSING = r"""["'“”„«»‚‘’,.;:!?…)\]]+(\s|$)"""


def normalised(text: pl.Expr) -> pl.Expr:
    """Fold Unicode form (NFKC), case, spacing and punctuation at word edges.

    Text of nothing but punctuation stays itself: it must not equal every other such text.
    """
    folded = text.str.normalize("NFKC").str.to_lowercase()
    folded = folded.str.replace_all(_OPENING, "$1").str.replace_all(_CLOSING, "$1")
    folded = folded.str.replace_all(r"\s+", " ").str.strip_chars()
    return pl.when(folded != "").then(folded).otherwise(text)


def find_twins(pairs: pl.DataFrame) -> pl.DataFrame:
    """Note for each pair with an answer which others may be its twins.

    Known-answer pairs never train and have no row.

    Returns:
        TWINS frame, in the order of the pairs.
    """
    trainable = (
        pl.col("question").is_not_null()
        & pl.col("answer").is_not_null()
        & pl.col("expected_verdict").is_null()
    )
    keys = {f"{name}_key": normalised(pl.col(name)) for name in ("question", "answer")}
    candidates = pairs.filter(trainable).with_columns(**keys)
    candidates = candidates.with_columns(_first("question_key", "answer_key").alias("exact_group"))
    stated = _near_groups(candidates.filter(pl.col("pair_id") == pl.col("exact_group")))
    return TWINS.conform(
        candidates.join(
            stated.select("exact_group", "near_group"), on="exact_group", maintain_order="left"
        ).select(TWINS.schema.names())
    )


def _first(*key: str) -> pl.Expr:
    return pl.col("pair_id").min().over(key)


def _near_groups(candidates: pl.DataFrame) -> pl.DataFrame:
    """Add the first pair with the terms of question and answer.

    Texts without terms are told apart by all they say.
    """
    texts = candidates.select("question", "answer", "language", "question_key", "answer_key").iter_rows()
    question_terms, answer_terms = [], []
    for question, answer, language, question_key, answer_key in texts:
        question_terms.append(sorted(_terms(question, language, _weighty(language))) or [question_key])
        answer_terms.append(
            _terms(answer, language, _weighty(language) | lexicon(language).qualifying) or [answer_key]
        )
    terms = {
        name: pl.Series(rows, dtype=pl.List(pl.String()))
        for name, rows in (("asked", question_terms), ("said", answer_terms))
    }
    keys = [pl.col(name).list.join(_BETWEEN).alias(f"{name}_key") for name in terms]
    keyed = candidates.with_columns(**terms).with_columns(keys)
    return keyed.with_columns(_first("language", "asked_key", "said_key").alias("near_group"))


def _terms(text: str, language: str, weighty: Set[str]) -> Sequence[str]:
    """Return the terms of a text in order, and then its words that are joined by marks."""
    words = Reading(text, language).words
    telling = [word for word in words if word.content or word.folded in weighty]
    stated = [word.stem if word.content else word.folded for word in telling]
    return stated + _compounds(text)


def _compounds(text: str) -> list[str]:
    """Return the words that hold marks: "mod_ssl" and "1.5" are not "mod ssl" and "1 5"."""
    return [run for run in _RUN.findall(text.casefold()) if _MARK.search(run)]


@functools.cache
def _weighty(language: str) -> Set[str]:
    """Return the function words without which a question is another one."""
    return lexicon(language).negations | lexicon(language).contrasted
