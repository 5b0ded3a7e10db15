"""Signals: what the texts of an answered question were found to say, each found out once for all metrics.

A signal is a column beside those of the data set, and a second one, NAME_by, that tells who found it out: the
local verifier's steps, likeness (a cosine, for statements with a share of words), a cross-encoder, a rule, or
a language model. A row without the texts it takes has neither, and neither has one whose reply failed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.verification.verify import Statement

Row = dict[str, Any]
Undecided = Literal["similarity", "unknown"]
SignalValues = tuple[Sequence[Any], Sequence[list[str] | None]]
"""Values, one a row, null where unknown, and who found each out."""
Verified = Sequence[Sequence[list[Row] | None]]
"""The findings about each statement of each row."""
SIMILARITY, ENTAILMENT, RULES, MODEL = "similarity", "entailment", "rules", "llm"
"""The deciders beside the steps of verification."""


@dataclass(frozen=True)
class Means:
    """The models and settings by which signals are computed.

    Args:
        resources: embedder, cross-encoder and thresholds.
        verifier: decides statements that no local step does; None without a model.
        judge: reads answers and contexts where a signal asks for judgement; None without a model.
        undecided: verdict on a statement that nothing decides and no verifier is asked about: by
            its likeness to contexts (or the cross-encoder, where there is one), or unknown.
        splitter: cuts answers into statements, as `verification.split_claims` says; None leaves it to rules.
        unsplit: gets the reason by question and answer where the splitter should cut every answer and its
            reply failed; such an answer has no statements.
    """

    resources: Resources
    verifier: LanguageModel | None = None
    judge: LanguageModel | None = None
    undecided: Undecided = "similarity"
    splitter: LanguageModel | None = None
    unsplit: dict[tuple[str | None, str], str] = field(default_factory=dict)

    @property
    def alike(self) -> float:
        """Return the cosine from which a text counts as saying what a fragment and its question say."""
        return self.resources.settings.verification.similarity_pass

    @property
    def related(self) -> float:
        """Return the cosine from which a text is about the subject of another."""
        return self.resources.settings.verification.similarity_fail


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal: its type, the columns it is made of, signals among them, and how.

    `of` gets the rows that have all of these.
    """

    type: pl.DataType
    needs: tuple[str, ...]
    of: Callable[[pl.DataFrame, Means], SignalValues]


@dataclass(frozen=True, slots=True)
class StatementSignal:
    """A signal made of statements that texts are held against: those of all are verified together.

    `states` gets the rows that have all columns of `needs`, none of them such a signal, and has a list for
    each; `of` gets what was found of these. Without `scored` it reads verdicts alone.
    """

    type: pl.DataType
    needs: tuple[str, ...]
    states: Callable[[pl.DataFrame], list[list[Statement]]]
    of: Callable[[pl.DataFrame, Verified], SignalValues]
    scored: bool = False
