"""Settings of verification with its fitted thresholds, judging, training examples, gates and releases."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.base import Decides, Group
from qa_pipeline.storage.hashes import hash_json, hash_text

SPLIT_NAME = re.compile(r"[a-z0-9_]{1,40}")
Share = Annotated[float, Field(ge=0, le=1)]


class Part(BaseModel):
    """Base of the parts of a thresholds file: strict, frozen, and unknown names are errors."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class Band(Part):
    """Scores at which entailment decides a claim; claims in between go to the next step.

    A claim is supported from an entailment score of `accept`, unsupported up to `reject`, and contradicted
    from a contradiction score of `contradict`. A null threshold never decides: no value met the target.
    """

    accept: Share | None = None
    reject: Share | None = None
    contradict: Share | None = None

    @property
    def decides(self) -> bool:
        """Return True if any threshold was fitted."""
        return (self.accept, self.reject, self.contradict) != (None, None, None)


class Fit(Part):
    """The evidence for a fitted threshold.

    `tested` thresholds were compared with the target at `confidence`, from strict to lax. `n` is the number
    of groups at the chosen threshold, or at the best candidate if all failed. `why` explains a failure.
    """

    side: Literal["accept", "reject", "contradict"]
    threshold: Share | None
    confidence: Share
    tested: int
    n: int
    right: int
    precision_low: Share | None
    why: str | None = None


class Thresholds(Part):
    """Fitted thresholds."""

    name: str
    target_precision: Share
    confidence: Share
    model: str | None
    band: Band
    fits: tuple[Fit, ...]

    @property
    def full_id(self) -> str:
        """Return the name and a hash of the content, as stored in verdicts."""
        return f"{self.name}-{hash_text(self.model_dump_json())[:12]}"


UNFITTED = Thresholds(
    name="shipped", target_precision=0.98, confidence=0.95, model=None, band=Band(), fits=()
)
"""Used without a file of thresholds; a model's scores then have no effect."""


def read_thresholds(file: Path | None) -> Thresholds:
    """Return the thresholds of a file, or `UNFITTED`; raises a SettingsError."""
    if file is None:
        return UNFITTED
    try:
        return Thresholds.model_validate_json(file.read_bytes())
    except OSError as error:
        problem = error.strerror or error
        raise SettingsError(f"thresholds file {file} cannot be read: {problem}; name another file") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise SettingsError(f"thresholds file {file}: {field}: {first['msg']}") from None


def thresholds_bytes(thresholds: Thresholds) -> bytes:
    """Serialise thresholds for a file; equal thresholds give equal bytes."""
    return thresholds.model_dump_json(indent=1).encode() + b"\n"


def check_fitted(thresholds: Thresholds, entailment: str | None) -> None:
    """Raise a SettingsError if thresholds were fitted for another entailment model than the configured."""
    if thresholds.model is None:
        return
    folder = Path(entailment or "").expanduser()
    # `thresholds.model` is the hub name of a model, or the name of its local folder without the path
    name = folder.resolve().name if entailment and folder.is_dir() else entailment
    fitted_name = thresholds.model.rpartition("@")[0] or thresholds.model  # MODEL@REVISION, or a name alone
    if name != fitted_name:
        raise SettingsError(
            f"verification.thresholds was fitted for the entailment model {thresholds.model}, and "
            f"verification.entailment.model is {name}; run qa-pipeline calibrate with this model, or "
            "configure the model of the file"
        )


class EntailmentSettings(Group):
    """The entailment cross-encoder."""

    model: str | None = None
    """Hub name or local folder; by default entailment scores stay unknown."""
    revision: str | None = None
    """Commit on the hub; required for a hub name."""


class VerificationSettings(Group):
    """Source verification."""

    policy: Decides[Literal["cascade", "similarity_only"]] = "cascade"
    """similarity_only decides by the mean cosine alone, and misses a swapped number."""
    similarity_pass: Decides[float] = 0.75
    """similarity_only: a pair passes at or above this cosine."""
    similarity_fail: Decides[float] = 0.50
    """similarity_only: a pair fails below this cosine."""
    thresholds: Decides[Path | None] = None
    """Cascade: file of thresholds from qa-pipeline calibrate; without it entailment scores do not decide."""
    split_claims: Literal["auto", "model", "rules"] = "auto"
    """How to split answers into claims. rules: by sentence, list item and table row. model: the verifier
    splits every answer further. auto: it does so only for joined clauses, pronouns and table rows that are
    not quoted word for word. Evaluations without --scorer model, and monitoring, split by rules."""
    round_trip: bool = False
    """Have the verifying model answer each question again from its quotes, unless rules proved the answer.
    Questions of several hops are always asked again."""
    accept_grounding: Decides[float] = Field(1.0, gt=0, le=1)
    """Share of claims that must be supported. Below 1, other answers can be accepted by the judge as
    partially_supported."""
    temperature: float = Field(0.0, ge=0)
    """Temperature of the verifying model."""

    entailment: EntailmentSettings = EntailmentSettings()

    @property
    def fitted(self) -> Thresholds:
        """Return the fitted thresholds, or raise SettingsError if their file is invalid."""
        return read_thresholds(self.thresholds)

    @property
    def thresholds_id(self) -> str:
        """Return the id of the fitted thresholds and all deciding settings, as stored in verdicts."""
        return self.thresholds_id_of(self.fitted)

    def thresholds_id_of(self, fitted: Thresholds) -> str:
        """Return the `thresholds_id` of decisions by other fitted thresholds."""
        return f"{fitted.full_id}-{hash_json(self.deciding_values())[:12]}"

    def deciding_values(self) -> dict[str, Any]:
        """Return the settings behind `thresholds_id`, without the fitted thresholds, as JSON values."""
        return self.model_dump(mode="json", exclude={"thresholds", "entailment"})


class CanarySettings(Group):
    """Rows with known verdicts that test the verifier and judge in each batch."""

    enabled: bool = True
    """Create canaries. Per batch they cost a verifying model 4 calls and a judge 6."""


class JudgingSettings(Group):
    """Quality assessment and the composite score."""

    enabled: bool = True
    """Judge verified pairs with a model, if a model that can judge is configured."""
    accept_unjudged: Decides[bool | None] = None
    """Accept fully supported pairs without a judgement. none accepts them only in the embedded profile
    without a hosted model; otherwise they go to review."""
    temperature: float = Field(0.0, ge=0)
    """Temperature of the judge."""
    weight_source: Decides[float] = Field(0.3, ge=0)
    """Weight of the share of supported claims."""
    weight_relevance: Decides[float] = Field(0.2, ge=0)
    """Weight of relevance."""
    weight_correctness: Decides[float] = Field(0.3, ge=0)
    """Weight of correctness."""
    weight_completeness: Decides[float] = Field(0.2, ge=0)
    """Weight of completeness."""
    threshold: Decides[float] = 0.7
    """Composite score (weighted mean) from which a pair is accepted."""
    floor_source: Decides[float] = 0.5
    """Share of supported claims below which a pair is rejected, if verification.accept_grounding is lower."""
    floor_relevance: Decides[float] = 0.5
    """Relevance below which a pair is rejected."""
    floor_correctness: Decides[float] = 0.7
    """Correctness below which a pair is rejected."""
    floor_completeness: Decides[float] = 0.4
    """Completeness below which a pair is rejected."""
    floor_question_quality: Decides[float] = 0.5
    """Question quality below which a pair is rejected; 0 never rejects."""

    @model_validator(mode="after")
    def _check_weights(self) -> "JudgingSettings":
        weights = self.weight_source, self.weight_relevance, self.weight_correctness, self.weight_completeness
        if not any(weights):
            raise ValueError("all judging weights are 0; set at least one weight above 0")
        return self

    @property
    def thresholds_id(self) -> str:
        """Hash all deciding settings; parameters of the judge's calls are excluded."""
        return f"default-{hash_json(self.deciding_values())[:12]}"

    def deciding_values(self) -> dict[str, Any]:
        """Return the settings behind `thresholds_id`, as JSON values."""
        return self.model_dump(mode="json", exclude={"enabled", "temperature"})


class TrainingSettings(Group):
    """Training examples."""

    layout: Literal["closed_book", "with_context", "with_distractors"] = "closed_book"
    """closed_book shows no passages, so that a model learns the documents by heart. with_context and
    with_distractors teach it to answer from search results."""
    system_prompt: str | None = None
    """System prompt of every example; none uses the prompt file of the pair's language."""
    max_tokens: int = Field(4096, gt=0)
    """Most tokens of an example; a longer example is left out."""
    distractors: int = Field(2, ge=0)
    """Number of passages without evidence in the layout with_distractors."""


class QualitySettings(Group):
    """Gates of a batch."""

    min_pass_rate: float = 0.5
    """Blocking if the 95 % interval of accepted ÷ (accepted + rejected) is below it; else a warning."""


class ReleaseSettings(Group):
    """Publishing rows for training."""

    splits: dict[str, float] = Field({"train": 0.8, "validation": 0.1, "test": 0.1})
    """Relative shares of the splits; rows that share a document, a question or an answer stay together."""
    with_sources: bool = True
    """Include the texts of the documents in a release, so that it proves its own quotes."""
    formats: list[Literal["messages", "prompt_completion", "alpaca", "preference"]] = Field(["messages"])
    """Files in trainer formats, next to the Parquet files."""
    min_faithfulness: float = 0.95
    """Blocking: share of supported claims in a batch's accepted pairs."""
    min_grounding: float = 0.90
    """Blocking: mean share of supported claims per accepted pair."""
    min_citation_accuracy: float = 0.95
    """Blocking: mean share of an accepted pair's citations that support a claim."""

    @field_validator("splits")
    @classmethod
    def _check_splits(cls, splits: dict[str, float]) -> dict[str, float]:
        valid = [name for name, share in splits.items() if SPLIT_NAME.fullmatch(name) and share > 0]
        if not splits or len(valid) < len(splits):
            raise ValueError(
                f"splits need names of lowercase letters, digits and _, and shares above 0, not {splits}"
            )
        return splits
