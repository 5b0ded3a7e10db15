"""The scorers and baselines an evaluation can name: where each has its score, and when it accepts."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from qa_pipeline.errors import InputError
from qa_pipeline.models.base import Encoder
from qa_pipeline.models.text_vectors import TextVectors
from qa_pipeline.settings.verification import VerificationSettings

Floats = npt.NDArray[np.float64]
NAMES = ("length", "overlap", "cosine")
"""length: shorter is more likely supported. overlap: share of the answer's words that the context has.
cosine: the best of the whole answer to a passage."""

_WORD = re.compile(r"\w+")


def threshold(name: str, settings: VerificationSettings) -> float | None:
    """Return the value from which the shipped rule accepts; None where no rule is shipped."""
    return settings.similarity_pass if name == "cosine" else None


def baselines(items: pl.DataFrame, encoder: Encoder) -> dict[str, Floats]:
    """Compute every baseline of the items (`ITEMS`); NaN where there is no text to compare."""
    answers: list[str] = items["answer"].to_list()
    contexts: list[list[str]] = items["context"].to_list()
    return {
        "length": np.array([-float(len(_words(answer))) for answer in answers]),
        "overlap": word_overlap(answers, contexts),
        "cosine": _cosines(answers, contexts, encoder),
    }


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def word_overlap(answers: Sequence[str], contexts: Sequence[Sequence[str]]) -> Floats:
    """Return the share of each answer's distinct words that its context has; NaN where either has none."""
    shares = []
    for answer, context in zip(answers, contexts, strict=True):
        answer_words, context_words = set(_words(answer)), set(_words(" ".join(context)))
        shares.append(
            len(answer_words & context_words) / len(answer_words)
            if answer_words and context_words
            else np.nan
        )
    return np.array(shares)


def _cosines(answers: Sequence[str], contexts: Sequence[Sequence[str]], encoder: Encoder) -> Floats:
    passages = [[passage for passage in context if passage.strip()] for context in contexts]
    vectors = TextVectors([*answers, *(passage for context in passages for passage in context)], encoder)
    best = [
        max(vectors.cosines(answer, context), default=np.nan)
        for answer, context in zip(answers, passages, strict=True)
    ]
    return np.array(best, dtype=np.float64)


SCORED = pl.Schema({"pair_id": pl.String(), "score": pl.Float64()})
HALF = 0.5
"""Of a probability: above it the claim is more likely supported than not."""


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """How a scorer's score of a claim is read.

    Args:
        name: of the scorer.
        column: with the score, 0 to 1 (a cosine may be lower); null is unknown, and so is every claim of a
            table without it.
        threshold: from which score on a claim is supported, under the settings.
        codes: scores of the codes that the column holds in place of numbers; others are unknown.
        probability: whether the score claims to be a probability, so that its calibration can be asked for.
        marks: column with the spans it finds unsupported, where it marks less than whole claims.
        decides: whether it may also leave a claim open: scores are then 1 accepted, 0 rejected, else open.
    """

    name: str
    column: str
    threshold: Callable[[VerificationSettings], float] = lambda _: HALF
    codes: Mapping[str, float] | None = None
    probability: bool = True
    marks: str | None = None
    decides: bool = False


_REPLIES = {"accept": 1.0, "unsure": HALF, "reject": 0.0}
_VERDICTS = {"supported": 1.0, "undecided": HALF, "unsupported": 0.0, "contradicted": 0.0}
SCORERS = {
    one.name: one
    for one in (
        ScoreColumn("similarity", "similarity", lambda s: s.similarity_pass, probability=False),
        ScoreColumn("entailment", "entailment"),
        ScoreColumn("llm", "llm_said", lambda _: 1.0, codes=_REPLIES),
        ScoreColumn("spans", "span_support", marks="flagged_spans"),
        ScoreColumn("cascade", "verdict", lambda _: 1.0, codes=_VERDICTS, probability=False, decides=True),
    )
}
"""By name, in the order they are reported."""
UNASKED = ("llm",)
"""Scorers that cost money: they run only where they are named."""


def chosen_scorers(names: "list[str] | None") -> list[ScoreColumn]:
    """Return the scorers of these names, or all that cost nothing.

    Raises:
        InputError: there is no such scorer.
    """
    unknown = [name for name in names or [] if name not in SCORERS]
    if unknown:
        raise InputError(f"--scorer {unknown[0]}: there is no such scorer; there are {', '.join(SCORERS)}")
    chosen = names or [name for name in SCORERS if name not in UNASKED]
    return [SCORERS[name] for name in SCORERS if name in chosen]


def claim_scores(claims: pl.DataFrame, scorer: ScoreColumn) -> pl.Series:
    """Return the score of each claim; null where the table lacks the scorer's column."""
    if scorer.column not in claims.columns:
        return pl.Series("score", [None] * claims.height, dtype=pl.Float64())
    score = pl.col(scorer.column)
    if scorer.codes is not None:
        score = score.replace_strict(scorer.codes, default=None, return_dtype=pl.Float64())
    score = score.cast(pl.Float64())
    return claims.select(pl.when(score.is_finite()).then(score).alias("score"))["score"]


def pair_scores(claims: pl.DataFrame, scorer: ScoreColumn) -> pl.DataFrame:
    """Return the score of each answer (`SCORED`): the smallest of its claims'.

    With a claim unknown the smallest is unknown too, unless another claim has 0, below which there is none.
    """
    score = pl.col("score")
    is_known = (score.null_count() == 0) | (score.min() <= 0)
    return (
        claims.select("pair_id", claim_scores(claims, scorer))
        .group_by("pair_id", maintain_order=True)
        .agg(pl.when(is_known).then(score.min()).alias("score"))
        .match_to_schema(SCORED)
    )
