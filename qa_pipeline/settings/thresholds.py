"""Thresholds fitted to an entailment model, with their evidence, as a file."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from qa_pipeline.errors import SettingsError
from qa_pipeline.storage.hashes import hash_text

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(min_length=1, max_length=500)]


class Part(BaseModel):
    """Base of the file's parts: strict, frozen, and unknown names are errors."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )


class Band(Part):
    """Scores at which entailment decides a claim; claims in between go to the next step.

    A claim is supported from an entailment score of `accept`, unsupported up to `reject`, and contradicted
    from a contradiction score of `contradict`. A null threshold never decides: no value met the target.
    """

    accept: Share | None = None
    reject: Share | None = None
    contradict: Annotated[float, Field(ge=0.5, le=1)] | None = None

    @model_validator(mode="after")
    def _apart(self) -> "Band":
        if self.accept is not None and self.reject is not None and self.reject > self.accept:
            raise ValueError(f"reject {self.reject} lies above accept {self.accept}")
        return self

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
    tested: Count
    n: Count
    right: Count
    precision_low: Share | None
    why: Annotated[str, Field(max_length=2000)] | None = None


class Thresholds(Part):
    """Fitted thresholds."""

    name: Annotated[str, Field(pattern="^[a-z0-9_-]{1,40}$")]
    target_precision: Annotated[float, Field(gt=0, lt=1)]
    confidence: Annotated[float, Field(gt=0, lt=1)]
    model: Name | None
    band: Band
    fits: Annotated[tuple[Fit, ...], Field(max_length=3)]

    @property
    def full_id(self) -> str:
        """Return the name and a hash of the content, as stored in verdicts."""
        return f"{self.name}-{hash_text(self.model_dump_json())[:12]}"


UNFITTED = Thresholds(
    name="shipped", target_precision=0.98, confidence=0.95, model=None, band=Band(), fits=()
)
"""Used without a file of thresholds; a model's scores then have no effect."""
_LARGEST = 100_000  # bytes of a file


def read_thresholds(file: Path | None) -> Thresholds:
    """Return the thresholds of a file, or `UNFITTED`; an unchanged file is read once."""
    if file is None:
        return UNFITTED
    try:
        state = file.stat()
        return _read(file, state.st_mtime_ns, state.st_size)
    except OSError as error:
        problem = error.strerror or error
        raise SettingsError(f"thresholds file {file} cannot be read: {problem}; name another file") from error


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int, size: int) -> Thresholds:
    """Read a file again only if its time or size differs."""
    if size > _LARGEST:
        raise SettingsError(
            f"thresholds file {path} has more than {_LARGEST} bytes; name a file of qa-pipeline calibrate"
        )
    try:
        return Thresholds.model_validate_json(path.read_bytes())
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, problem["loc"]))
        raise SettingsError(f"thresholds file {path}: {field}: {problem['msg']}") from None


def thresholds_bytes(thresholds: Thresholds) -> bytes:
    """Serialise thresholds for a file; equal thresholds give equal bytes."""
    return thresholds.model_dump_json(indent=1).encode() + b"\n"


def check_models(path: Path | None, *, entailment: str | None = None) -> str | None:
    """Return a note if thresholds or scores have no effect; raises a SettingsError for another model."""
    thresholds = read_thresholds(path)
    fitted, has_band = thresholds.model, thresholds.band.decides
    if entailment is None:
        if path is None or not has_band:
            return None
        return f"{path} is not used: verification.entailment.model names no model, and it is of {fitted}"
    folder = Path(entailment).expanduser()
    name = folder.resolve().name if folder.is_dir() else entailment  # the name in scores
    is_of_model = fitted is not None and name == (fitted.rpartition("@")[0] or fitted)  # MODEL@REVISION
    if path is not None and fitted is not None and not is_of_model:
        raise SettingsError(
            f"verification.thresholds: {path} was fitted for the entailment model {fitted}, and {name} is "
            "configured; run qa-pipeline calibrate with this model, or configure the model of the file"
        )
    if is_of_model and has_band:
        return None
    return (
        f"the entailment model {name} reads every claim and decides none: no threshold is fitted for it; run "
        "qa-pipeline calibrate and name its file in verification.thresholds"
    )
