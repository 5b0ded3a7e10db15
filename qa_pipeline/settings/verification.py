"""Settings of verification, its models, judging and what may train."""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from qa_pipeline.settings.base import Decides, Group
from qa_pipeline.settings.thresholds import Thresholds, read_thresholds
from qa_pipeline.storage.hashes import hash_text

SPLIT_NAME = re.compile(r"[a-z0-9_]{1,40}")
MOST_SPLITS = 16
"""Each split is files in every format; more than train, validation and test is rare."""


class EntailmentSettings(Group):
    """The cross-encoder of entailment."""

    model: str | None = None
    """Hub name or local folder; without one its scores stay unknown."""
    revision: str | None = None
    """Commit of the hub; a hub name needs it."""


class VerificationSettings(Group):
    """Source verification."""

    policy: Decides[Literal["cascade", "similarity_only"]] = "cascade"
    """similarity_only decides by the mean cosine alone and misses a swapped number."""
    similarity_pass: Decides[float] = 0.75
    """similarity_only: at or above this a pair passes."""
    similarity_fail: Decides[float] = 0.50
    """similarity_only: below this a pair fails."""
    thresholds: Decides[Path | None] = None
    """Cascade: file of thresholds from qa-pipeline calibrate; without one a model decides nothing."""
    split_claims: Literal["auto", "model", "rules"] = "auto"
    """Method of splitting answers into claims. rules: by sentence, list item and table row. model: the
    verifier splits every answer further. auto: it does so only for joined clauses, pronouns and table rows
    that are not quoted word for word from the cited passages. Evaluations heed it with --scorer model,
    unless --statements says otherwise; without one, and over answers in production, the rules split."""
    unsure: Decides[Literal["unsupported", "undecided"]] = "unsupported"
    """Verdict of a claim about which the verifying model is unsure."""
    round_trip: bool = False
    """Have the verifying model answer each question again from the quotes of its proof alone, unless rules
    proved the answer word for word. Questions of several hops are always asked again."""
    accept_grounding: Decides[float] = Field(1.0, gt=0, le=1)
    """Share of claims that must be supported. Below 1, answers with unproved statements are judged, and
    accepted as partially_supported if judging.floor_source and the composite score allow it."""
    temperature: float = Field(0.0, ge=0)
    """Temperature of the verifying model."""

    entailment: EntailmentSettings = EntailmentSettings()

    @property
    def fitted(self) -> Thresholds:
        """Return the artefact of fitted thresholds.

        Raises:
            SettingsError: its file cannot be used.
        """
        return read_thresholds(self.thresholds)

    @property
    def thresholds_id(self) -> str:
        """Return the identity of artefact and every other deciding value, named by every verdict."""
        return self.thresholds_named(self.fitted)

    def thresholds_named(self, fitted: Thresholds) -> str:
        """Return the same id under another artefact than the configured one."""
        return f"{fitted.full_id}-{self.values_id}"

    @property
    def values_id(self) -> str:
        """Hash of every value that decides, the artefact aside."""
        values = self.model_dump_json(exclude={"thresholds", "entailment"})
        return hash_text(values)[:12]

    def deciding_values(self) -> dict[str, Any]:
        """Return what `values_id` is the hash of, as JSON values."""
        return self.model_dump(mode="json", exclude={"thresholds", "entailment"})


class CanarySettings(Group):
    """Rows of known verdict by which each batch tests its verifier and its judge."""

    enabled: bool = True
    """Make canaries. The local steps cost no call, a model that verifies 4, a judge 6 a batch."""


class JudgingSettings(Group):
    """Quality assessment and the composite score."""

    enabled: bool = True
    """Let a model judge verified pairs, where one is configured that can judge."""
    accept_unjudged: Decides[bool | None] = None
    """Accept fully supported pairs that no model judged. none accepts them in the embedded profile while no
    hosted model is configured, and sends them to review otherwise."""
    temperature: float = Field(0.0, ge=0)
    """Temperature of the judge."""
    weight_source: Decides[float] = Field(0.3, ge=0)
    """Weight of the share of claims supported."""
    weight_relevance: Decides[float] = Field(0.2, ge=0)
    """Weight of relevance."""
    weight_correctness: Decides[float] = Field(0.3, ge=0)
    """Weight of correctness."""
    weight_completeness: Decides[float] = Field(0.2, ge=0)
    """Weight of completeness."""
    threshold: Decides[float] = 0.7
    """Composite score (weighted mean) from which a pair is accepted."""
    floor_source: Decides[float] = 0.5
    """Share of supported claims below which a pair is rejected; only matters if verification.accept_grounding
    is lower."""
    floor_relevance: Decides[float] = 0.5
    """Below this relevance a pair is rejected."""
    floor_correctness: Decides[float] = 0.7
    """Below this correctness a pair is rejected."""
    floor_completeness: Decides[float] = 0.4
    """Below this completeness a pair is rejected."""
    floor_question_quality: Decides[float] = 0.5
    """Below this score of its question a pair is rejected. 0 rejects none."""

    @model_validator(mode="after")
    def _some_weight(self) -> "JudgingSettings":
        weights = (
            self.weight_source,
            self.weight_relevance,
            self.weight_correctness,
            self.weight_completeness,
        )
        if not any(weights):
            raise ValueError("the judging weights are all 0, so no composite score exists; set at least one")
        return self

    @property
    def thresholds_id(self) -> str:
        """Hash of every setting that decides; how the judge is called is not part of it."""
        deciding = self.model_dump_json(exclude={"enabled", "temperature"})
        return "default-" + hash_text(deciding)[:12]

    def deciding_values(self) -> dict[str, Any]:
        """Return what `thresholds_id` is the hash of, as JSON values."""
        return self.model_dump(mode="json", exclude={"enabled", "temperature"})


class TrainingSettings(Group):
    """Training examples."""

    layout: Literal["closed_book", "with_context", "with_distractors"] = "closed_book"
    """Layout of the messages: closed_book shows no passages, so that a model learns the documents by heart;
    with_context and with_distractors teach it to answer from what a search brings."""
    system_prompt: str | None = None
    """System prompt of every example; none uses the prompt file of the pair's language."""
    max_tokens: int = Field(4096, gt=0)
    """Most tokens of an example; a longer one loses distractors, then context."""
    distractors: int = Field(2, ge=0)
    """Passages without evidence in the layout with_distractors."""
    max_examples_per_document: int | None = Field(None, gt=0)
    """Most examples of a document; those with the best composite score are kept."""


class QualitySettings(Group):
    """Gates of a batch."""

    min_pass_rate: float = 0.5
    """Blocking: accepted ÷ (accepted + rejected). It blocks if the 95 % interval lies under it; a batch too
    small to prove either side warns."""


class ReleaseSettings(Group):
    """The publication of rows for training."""

    splits: dict[str, float] = Field({"train": 0.8, "validation": 0.1, "test": 0.1})
    """Splits and their shares, relative to each other; rows that share a document, a question or an answer
    stay together."""
    with_sources: bool = True
    """Include the texts of the documents in a release; without them nobody can check its quotes from the
    release alone."""
    formats: list[Literal["messages", "prompt_completion", "alpaca", "preference"]] = Field(["messages"])
    """Files beside the Parquet ones, in the forms that trainers read."""
    min_faithfulness: float = 0.95
    """Blocking: share of the claims of a batch's accepted pairs that are supported."""
    min_grounding: float = 0.90
    """Blocking: mean of that share over the pairs."""
    min_citation_accuracy: float = 0.95
    """Blocking: mean share of an accepted pair's citations that support a claim."""

    @field_validator("splits")
    @classmethod
    def _has_shares(cls, splits: dict[str, float]) -> dict[str, float]:
        wrong = [name for name, share in splits.items() if not SPLIT_NAME.fullmatch(name) or not share > 0]
        if wrong or not splits:
            raise ValueError(
                "splits need names of small letters, digits and _, and shares above 0"
                + (f"; change {', '.join(wrong)}" if wrong else "")
            )
        if len(splits) > MOST_SPLITS:
            raise ValueError(f"at most {MOST_SPLITS} splits are possible, not {len(splits)}")
        return splits
