"""Thresholds fitted to an entailment model, with their evidence, as a file."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import SettingsError
from qa_pipeline.storage.hashes import hash_text

Share = Annotated[float, Field(ge=0, le=1)]


class Part(BaseModel):
    """Base of the file's parts: strict, frozen, and unknown names are errors."""

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
    name = folder.resolve().name if entailment and folder.is_dir() else entailment  # the name in scores
    if name != (thresholds.model.rpartition("@")[0] or thresholds.model):  # MODEL@REVISION
        raise SettingsError(
            f"verification.thresholds was fitted for the entailment model {thresholds.model}, and "
            f"verification.entailment.model is {name}; run qa-pipeline calibrate with this model, or "
            "configure the model of the file"
        )
