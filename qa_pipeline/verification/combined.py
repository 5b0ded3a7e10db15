"""The combined score: an additive model over features of a claim, read from a file of coefficients.

Each term is a curve through points: at a value of the feature it adds so much to the log odds that the claim
is supported, straight between the points and level outside them (a generalised additive model, Hastie and
Tibshirani 1990, with curves that only rise or only fall). So the file can be read by a person, and an outlier
moves a score no further than the values the model was fitted on.
"""

import functools
import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from qa_pipeline.errors import SettingsError
from qa_pipeline.verification.consistency.comparing import LONGEST_READ

Matrix = npt.NDArray[np.float64]
Direction = Literal["rising", "falling"]


DIFFERENCES = (
    "number_conflicts",
    "date_conflicts",
    "name_conflicts",
    "polarity_conflicts",
    "quantifier_conflicts",
)


_DIFFERS = pl.any_horizontal(pl.col(column).list.len().fill_null(0) > 0 for column in DIFFERENCES)
FEATURES: dict[str, tuple[pl.Expr, Direction]] = {
    "similarity": (pl.col("similarity"), "rising"),
    "token_recall": (pl.col("token_recall"), "rising"),
    "cited_recall": (pl.col("cited_recall"), "rising"),
    # a difference weighs as much as the evidence is about the same: elsewhere it is another statement
    "near_conflict": (pl.when(_DIFFERS).then("wording_recall").otherwise(0.0), "falling"),
}
"""Numbers of a claim, null where unknown, each with the only way in which it may move the score.

Chosen on the sets whose licence lets coefficients be shipped, each left out in turn.

Tried there and left out, since they added nothing: differences counted by kind, share of words in order, open
points, words of the question, lengths of claim and context, word pairs held, the number of words missing,
cosines ranked among the passage's sentences, products of the two vectors' elements, and single tokens matched
by their vectors.
"""


def feature_matrix(claims: pl.DataFrame, names: Sequence[str]) -> Matrix:
    """Features of each claim, one row a claim and one column a name; NaN where unknown."""
    exprs = [FEATURES[name][0].cast(pl.Float64()).alias(name) for name in names]
    columns = claims.select(exprs)
    return columns.fill_null(float("nan")).to_numpy().astype(np.float64, copy=False)


SHIPPED = Path(__file__).with_name("coefficients.json")
LARGEST_FILE = 1_000_000
"""Bytes; a file of coefficients has a few thousand."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
Scores = npt.NDArray[np.float64]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Term(_Part):
    """What one feature adds to the log odds: `adds[i]` where it is `at[i]`, `missing` where it is unknown."""

    feature: str
    at: tuple[Finite, ...] = Field(min_length=2)
    adds: tuple[Finite, ...] = Field(min_length=2)
    missing: Finite

    @model_validator(mode="after")
    def _fits_its_feature(self) -> Self:
        if self.feature not in FEATURES:
            raise ValueError(f"unknown feature {self.feature!r}; known are {', '.join(FEATURES)}")
        if len(self.at) != len(self.adds) or any(np.diff(self.at) <= 0):
            raise ValueError(f"{self.feature}: at must rise, and adds needs a value for each")
        steps, direction = np.diff(self.adds), FEATURES[self.feature][1]
        if any(steps < 0 if direction == "rising" else steps > 0):
            raise ValueError(f"{self.feature} may only be {direction}")
        return self


class Source(_Part):
    """A file the model was fitted on."""

    file: str
    sha256: str
    items: int


class Calibration(_Part):
    """Turns log odds into those of sets the model has not seen: slope times log odds, plus offset."""

    slope: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    offset: Finite = 0.0


class CombinedModel(_Part):
    """Everything in a file of coefficients."""

    format: Literal[1]
    name: str = Field(min_length=1, max_length=100)
    fitted_on: str = Field(description="Date, as YYYY-MM-DD.")
    licence_note: str
    embedding_model: str
    embedding_revision: str
    data: tuple[Source, ...]
    intercept: Finite
    terms: tuple[Term, ...] = Field(min_length=1)
    calibration: Calibration = Calibration()

    @model_validator(mode="after")
    def _each_feature_once(self) -> Self:
        names = [term.feature for term in self.terms]
        if len(set(names)) < len(names):
            raise ValueError("a feature has two terms")
        return self

    @property
    def version(self) -> str:
        """Name and hash of everything that moves a score."""
        moving = self.model_dump_json(include={"intercept", "terms", "calibration", "embedding_revision"})
        return f"{self.name}-{hashlib.sha256(moving.encode()).hexdigest()[:12]}"

    def probabilities(self, claims: pl.DataFrame) -> Scores:
        """Probability that each claim is supported, in order; a pure function of each claim's own row."""
        log_odds = np.full(claims.height, self.intercept)
        matrix = feature_matrix(claims, [term.feature for term in self.terms])
        for column, term in zip(matrix.T, self.terms, strict=True):
            known = np.interp(column, term.at, term.adds)
            log_odds += np.where(np.isnan(column), term.missing, known)
        calibrated = self.calibration.slope * log_odds + self.calibration.offset
        probabilities: Scores = 1.0 / (1.0 + np.exp(-calibrated))
        return probabilities

    def fits(self, model: str, revision: str) -> bool:
        """Whether it was fitted on vectors of this embedding model."""
        return (model, revision) == (self.embedding_model, self.embedding_revision)


def load_model(path: Path | None = None) -> CombinedModel:
    """Read a file of coefficients, the shipped one unless another is named.

    Raises:
        SettingsError: it is not there, or not such a file; says what is wrong with it.
    """
    place = SHIPPED if path is None else path
    try:
        if place.stat().st_size > LARGEST_FILE:
            raise SettingsError(f"combined model {place} has more than {LARGEST_FILE} bytes")
        content = place.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"combined model {place} cannot be read: {error.strerror}; correct verification.combined_model"
        ) from error
    return _parsed(content, str(place))


@functools.lru_cache(maxsize=8)
def _parsed(content: bytes, place: str) -> CombinedModel:
    try:
        return CombinedModel.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"combined model {place} cannot be used: {where}: {first['msg']}; fit one with "
            f"qa-pipeline fit-combined"
        ) from error


_LOG = logging.getLogger(__name__)


def with_combined(
    claims: pl.DataFrame,
    model: CombinedModel,
    embedding_model: str,
    embedding_revision: str,
    longest: int = LONGEST_READ,
) -> pl.DataFrame:
    """Score each claim; one without evidence, or too long to be read in full, keeps null.

    All keep null, and the model's name too, where it was fitted on vectors of another embedding model.

    `claims` is a CLAIMS frame with all other local scores filled in.
    """
    fits = model.fits(embedding_model, embedding_revision)
    if not fits and claims.height:
        _LOG.warning(
            "combined is null for %d claims: %s was fitted on vectors of %s, not of %s; fit one for it with "
            "qa-pipeline fit-combined and name it in verification.combined_model",
            claims.height,
            model.version,
            model.embedding_model,
            embedding_model,
        )
    read = pl.col("similarity").is_not_null() & (pl.col("text").str.len_chars() <= longest)
    scores = pl.Series(model.probabilities(claims), dtype=pl.Float64())
    return claims.with_columns(
        combined=pl.when(fits & read).then(scores),
        combined_model=pl.lit(model.version if fits else None, pl.String()),
    )
