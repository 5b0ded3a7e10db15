"""Settings of verification, its models, judging and what may train."""

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from qa_pipeline.settings.base import Decides, Group
from qa_pipeline.settings.thresholds import Thresholds, read_thresholds

Meaning = Literal["entailment", "neutral", "contradiction", "not_entailment"]


class PairModelSettings(Group):
    """What every model has that reads a passage and a claim at once."""

    model: str | None = Field(None, description="Hub name or local folder; none leaves its scores unknown.")
    revision: str | None = Field(None, description="Pinned hub revision.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto takes bfloat16 where the processor computes it natively."
    )
    input_tokens: int | None = Field(
        None, ge=32, description="Most tokens read at once; none takes what the model declares."
    )


class EntailmentSettings(PairModelSettings):
    """The cross-encoder of entailment."""

    window_tokens: int = Field(
        320, ge=16, description="Most tokens of a passage read at once; longer ones become windows."
    )
    labels: dict[str, Meaning] | None = Field(
        None,
        description="What the model's labels mean, by name or number: entailment, neutral, contradiction or "
        "not_entailment; none reads their names.",
    )
    template: str | None = Field(
        None,
        description="For models that read one text: how it holds {passage} and {claim}, {sep} being the "
        "model's separator; none gives them as a pair.",
    )


class SpanSettings(PairModelSettings):
    """The detector of unsupported spans."""

    labels: dict[str, Literal["supported", "unsupported"]] | None = Field(
        None, description="What the model's labels mean, by name or number; none reads their names."
    )
    template: str | None = Field(
        None,
        description="How the text before the answer holds {question}, {passages} or {numbered} (with "
        "numbers) and {count}; none writes question and passages below each other.",
    )


class VerificationSettings(Group):
    """Source verification."""

    policy: Decides[Literal["cascade", "similarity_only"]] = Field(
        "cascade", description="similarity_only decides by mean cosine alone, which a swapped number passes."
    )
    similarity_reject: Decides[float] = Field(
        0.15, description="Cascade: below this cosine a claim is unsupported."
    )
    similarity_pass: Decides[float] = Field(
        0.75, description="similarity_only: at or above this a pair passes."
    )
    similarity_fail: Decides[float] = Field(0.50, description="similarity_only: below this a pair fails.")
    recall_reject: Decides[float] = Field(
        0.25, description="Cascade: similarity_reject needs a content-word recall below this as well."
    )
    recall_accept: Decides[float] = Field(
        0.90, description="Cascade: content-word recall that accepts without a model."
    )
    accept_similarity: Decides[float] = Field(
        0.60, description="Cascade: cosine that must go with recall_accept."
    )
    accept_order: Decides[float] = Field(
        0.80, description="Cascade: share of the claim's words that must keep their order to be accepted."
    )
    accept_question_recall: Decides[float] = Field(
        0.90, description="Cascade: share of the question's words that the evidence of a fragment must hold."
    )
    accept_question_recall_row: Decides[float] = Field(
        0.60, description="Cascade: the same where the evidence is a table row or key-value line."
    )
    conflict_similarity: Decides[float] = Field(
        0.50, description="Cascade: a conflict rejects from this cosine on; below it the claim stays open."
    )
    thresholds: Decides[Path | None] = Field(
        None, description="Cascade: thresholds fitted by qa-pipeline calibrate; none takes the shipped ones."
    )
    combined_accept: Decides[float | None] = Field(
        None, ge=0, description="Cascade: score `combined` that accepts; none takes the fitted one."
    )
    combined_reject: Decides[float | None] = Field(
        None, ge=0, description="Cascade: below this `combined` a claim is unsupported; none: as fitted."
    )
    entailment_accept: Decides[float | None] = Field(
        None, ge=0, description="Cascade: entailment that accepts; none takes the fitted one."
    )
    entailment_reject: Decides[float | None] = Field(
        None, ge=0, description="Cascade: up to this entailment a claim is unsupported; none: as fitted."
    )
    entailment_contradict: Decides[float | None] = Field(
        None, ge=0.5, description="Cascade: from this contradiction on a claim is contradicted; none: fitted."
    )
    split_claims: Literal["auto", "model", "rules"] = Field(
        "auto",
        description="Who cuts answers into claims: rules, by sentence, item and table row; model has the "
        "verifier cut every answer finer; auto asks it only where that pays: for joined clauses, pronouns "
        "and table rows that do not stand word for word in what is cited.",
    )
    other_passages: int = Field(
        3, ge=0, description="Uncited chunks of the batch that are looked at for each claim, by shared words."
    )
    unsure: Decides[Literal["unsupported", "undecided"]] = Field(
        "unsupported", description="What a verifying model's unsure makes of a claim."
    )
    probe_passages: bool = Field(
        False,
        description="Ask a verifying model, once for each set of passages over which it accepted a claim, "
        "about one that nobody states; where it accepts that too, a person decides.",
    )
    refusal_recall_none: Decides[float] = Field(
        0.20, description="A refusal is right when no chunk holds this share of the question's words."
    )
    refusal_similarity_low: Decides[float] = Field(
        0.40,
        description="A refusal is also correct when every chunk and sentence stays below this cosine and no "
        "chunk contains half of the question's words.",
    )
    refusal_similarity_high: Decides[float] = Field(
        0.70,
        description="A refusal is wrong when a sentence reaches this cosine and one contains 80 % of the "
        "question's words.",
    )
    contradictions: bool = Field(True, description="Look for contradictions between documents of a batch.")
    one_sided: Literal["needs_review", "ignore"] = Field(
        "needs_review", description="What becomes of an answer that states one side of a contradiction."
    )
    accept_grounding: Decides[float] = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of claims that must be supported. Below 1 answers with unproved statements are "
        "judged, and accepted as partially_supported where judging.floor_source and the composite allow it.",
    )
    temperature: float = Field(0.0, ge=0, description="Of the verifying model.")
    combined_model: Path | None = Field(
        None,
        description="Coefficients of the combined score, from fit-combined; None takes the shipped ones.",
    )

    entailment: EntailmentSettings = EntailmentSettings()
    spans: SpanSettings = SpanSettings()

    @property
    def fitted(self) -> Thresholds:
        """The artefact of fitted thresholds.

        Raises:
            SettingsError: its file cannot be used.
        """
        return read_thresholds(self.thresholds)

    @property
    def thresholds_id(self) -> str:
        """The artefact and a hash of every other value that decides, named by every verdict."""
        return self.thresholds_named(self.fitted)

    def thresholds_named(self, fitted: Thresholds) -> str:
        """The same id under another artefact than the configured one."""
        values = self.model_dump_json(exclude={"thresholds", "combined_model", "entailment", "spans"})
        return f"{fitted.named}-{hashlib.sha256(values.encode()).hexdigest()[:12]}"


class CanarySettings(Group):
    """Claims with known verdicts that each batch is seeded with."""

    enabled: bool = Field(True, description="Seed each batch with claims whose right verdict is known.")
    per_kind: int = Field(20, ge=1, description="Claims of a kind at most; a small batch has fewer.")
    ask_model: bool = Field(
        False, description="Have the verifying model decide borderline canaries too, which costs calls."
    )


class JudgingSettings(Group):
    """Quality assessment and the composite score."""

    enabled: bool = Field(True, description="Have a judge, where a model can judge, score verified pairs.")
    accept_unjudged: Decides[bool | None] = Field(
        None,
        description="Accept fully supported pairs that no model judged. None accepts them in the embedded "
        "profile as long as no hosted model is configured, and sends them to review otherwise.",
    )
    temperature: float = Field(0.0, ge=0, description="Of the judge.")
    weight_source: Decides[float] = Field(0.3, ge=0, description="Weight of the share of claims supported.")
    weight_relevance: Decides[float] = Field(0.2, ge=0, description="Weight of relevance.")
    weight_correctness: Decides[float] = Field(0.3, ge=0, description="Weight of correctness.")
    weight_completeness: Decides[float] = Field(0.2, ge=0, description="Weight of completeness.")
    threshold: Decides[float] = Field(
        0.7, description="Composite score, the weighted mean, that accepts a pair."
    )
    floor_source: Decides[float] = Field(
        0.5,
        description="Below this share of claims supported a pair is rejected; decides only where "
        "verification.accept_grounding is lower.",
    )
    floor_relevance: Decides[float] = Field(0.5, description="Below this relevance a pair is rejected.")
    floor_correctness: Decides[float] = Field(0.7, description="Below this correctness a pair is rejected.")
    floor_completeness: Decides[float] = Field(0.4, description="Below this completeness a pair is rejected.")

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
        """Hash of every value that decides; how the judge is asked is not among them."""
        deciding = self.model_dump_json(exclude={"enabled", "temperature"})
        return "default-" + hashlib.sha256(deciding.encode()).hexdigest()[:12]


class TrainingSettings(Group):
    """Training examples."""

    system_prompt: str | None = Field(None, description="None takes the prompt file of the pair's language.")
    max_tokens: int = Field(4096, gt=0, description="Longer examples lose distractors, then context.")
    distractors: int = Field(2, ge=0, description="Passages without proof in with_distractors.")
    max_examples_per_document: int | None = Field(
        None, gt=0, description="Cap; the best composite scores stay."
    )
    seed: int = Field(0, description="Chooses distractors and their order.")


class QualitySettings(Group):
    """Gates of a batch."""

    min_pass_rate: float = Field(
        0.5,
        description="Blocking: share of accepted pairs. The Wilson lower bound over all pairs passes, small "
        "batches together with earlier ones; an upper bound over decided pairs that is not above it blocks; "
        "anything between warns.",
    )
    max_needs_review: float = Field(0.5, description="Warning: share of pairs that need review.")
    max_failed: float = Field(0.05, description="Warning: share of pairs that failed.")
    min_citation_accuracy: float = Field(
        0.95, description="Warning: mean share of an accepted pair's citations that support a claim of it."
    )
    max_yield_drop: float = Field(0.5, description="Warning: fall against the mean of earlier batches.")
    min_canary_recall: float = Field(
        0.7,
        description="Blocking: Wilson upper bound of the share of swapped numbers, units, dates, names and "
        "negations among the canaries that verification rejects.",
    )
    max_canary_accepts: float = Field(
        0.1, description="Blocking: Wilson lower bound of the share of false canaries it accepts."
    )
    max_canary_alarms: float = Field(
        0.05, description="Warning: Wilson lower bound of the share of true canaries it rejects."
    )
    max_canary_drop: float = Field(
        0.1, description="Warning: fall of that recall against earlier batches together."
    )
