"""The models and settings that signals are computed with, and the names of their deciders."""

from dataclasses import dataclass, field
from typing import Any, Literal

from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources

Row = dict[str, Any]
Undecided = Literal["similarity", "unknown"]
SIMILARITY, ENTAILMENT, RULES, MODEL = "similarity", "entailment", "rules", "llm"
"""The deciders in addition to the steps of verification."""


@dataclass(frozen=True)
class Means:
    """The models and settings that signals are computed with.

    The verifier decides statements that no local step decides, the judge reads answers and contexts, and the
    splitter cuts answers as `verification.split_claims` says. What nothing decides is decided by scores, or
    unknown. `unsplit` gets the reason, by question and answer, if the splitter should cut and failed.
    """

    resources: Resources
    verifier: LanguageModel | None = None
    judge: LanguageModel | None = None
    undecided: Undecided = "similarity"
    splitter: LanguageModel | None = None
    unsplit: dict[tuple[str | None, str], str] = field(default_factory=dict)
