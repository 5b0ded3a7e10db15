"""Signals: what the texts of an answered question were found to say, each found out once for all metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources

Row = dict[str, Any]
Undecided = Literal["similarity", "unknown"]
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


@dataclass(frozen=True, slots=True)
class Signal:
    """A column of what was found out about rows.

    Args:
        type: of its values.
        needs: columns that a row must have, signals among them.
        find: gets the rows that have these, and returns a value for each, null where unknown.
        decided_by: who finds it without a judge; None where each element of a value names its decider.
        is_judged: whether the judge finds it where there is one.
    """

    type: pl.DataType
    needs: tuple[str, ...]
    find: Callable[[pl.DataFrame, Means], Sequence[Any]]
    decided_by: str | None = None
    is_judged: bool = False
