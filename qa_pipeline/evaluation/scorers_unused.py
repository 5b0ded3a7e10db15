"""Scorers by name, built from settings and the parts of a run.

What belongs here: which scorers there are and what each needs. What does not: scoring.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from qa_pipeline.errors import SettingsError
from qa_pipeline.evaluation.statements import Scorer
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.settings.llm import Reviewer
from qa_pipeline.settings.tree import Settings
from qa_pipeline.verification.evidence import Encoder

if TYPE_CHECKING:
    from qa_pipeline.verification.entailment.models import CrossEncoder
    from qa_pipeline.verification.entailment.spans import SpanDetector


class Dependencies(Protocol):
    """What scorers are built from; `qa_pipeline.resources.Parts` is one."""

    @property
    def settings(self) -> Settings:
        """The whole tree."""

    @property
    def embedder(self) -> Encoder:
        """The embedding model."""

    @property
    def entailment(self) -> "CrossEncoder | None":
        """The cross-encoder, where the settings name one."""

    @property
    def spans(self) -> "SpanDetector | None":
        """The detector of unsupported spans, where the settings name one."""

    def reviewer(self, role: Reviewer) -> LanguageModel | None:
        """The model that verifies borderline claims, where the settings name one."""


def build_scorer(name: str, parts: Dependencies) -> Scorer:
    """The scorer of a name; its models are loaded when it first scores.

    Raises:
        SettingsError: there is no such scorer, or no model for it; says which there are, or what to set.
    """
    if name not in _BUILDERS:
        raise SettingsError(f"there is no scorer {name!r}; the scorers are {', '.join(SCORERS)}")
    return _BUILDERS[name](parts)


def available_scorers(parts: Dependencies) -> list[str]:
    """Names of the scorers that the settings provide for."""
    verification = parts.settings.verification
    lacking = {
        "entailment": verification.entailment.model is None,
        "spans": verification.spans.model is None,
        "llm": parts.reviewer("verifier") is None,
    }
    return [name for name in SCORERS if not lacking.get(name, False)]


def _similarity(parts: Dependencies) -> Scorer:
    from qa_pipeline.evaluation.scorers import LocalScorer, similarity_scores

    return LocalScorer("similarity", parts.embedder, parts.settings.verification, similarity_scores)


def _consistency(parts: Dependencies) -> Scorer:
    from qa_pipeline.evaluation.scorers import LocalScorer, consistency_scores

    return LocalScorer("consistency", parts.embedder, parts.settings.verification, consistency_scores)


def _combined(parts: Dependencies) -> Scorer:
    from qa_pipeline.evaluation.scorers import LocalScorer, combined_scores

    return LocalScorer("combined", parts.embedder, parts.settings.verification, combined_scores)


def _entailment(parts: Dependencies) -> Scorer:
    from qa_pipeline.evaluation.entailment_unused import EntailmentScorer

    if parts.entailment is None:
        raise SettingsError(
            "the scorer entailment needs a cross-encoder: set verification.entailment.model to a folder or a "
            "name of the hub"
        )
    return EntailmentScorer(parts.entailment, parts.settings.verification)


def _spans(parts: Dependencies) -> Scorer:
    from qa_pipeline.evaluation.spans_unused import SpanScorer

    if parts.spans is None:
        raise SettingsError(
            "the scorer spans needs a detector: set verification.spans.model to a folder or a name of the hub"
        )
    return SpanScorer(parts.spans)


def _llm(parts: Dependencies) -> Scorer:
    from qa_pipeline.evaluation.llm_unused import LLMScorer

    model = parts.reviewer("verifier")
    if model is None:
        raise SettingsError(
            "the scorer llm needs a language model, and the rules of extractive are none: set "
            "llm.verifier.provider"
        )
    return LLMScorer(model, parts.settings.verification, parts.settings.llm)


_BUILDERS: Mapping[str, Callable[[Dependencies], Scorer]] = {
    "similarity": _similarity,
    "consistency": _consistency,
    "combined": _combined,
    "entailment": _entailment,
    "spans": _spans,
    "llm": _llm,
}
SCORERS = tuple(_BUILDERS)
"""Names of all scorers."""
