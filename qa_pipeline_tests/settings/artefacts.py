"""Thresholds artefacts for tests."""

from pathlib import Path
from typing import Any

from qa_pipeline.settings.verification import Band, Thresholds, thresholds_bytes


def thresholds(*, entailment: dict[str, Any] | None = None) -> Thresholds:
    """A band of the model `reader`."""
    return Thresholds(
        name="test",
        target_precision=0.98,
        confidence=0.95,
        model="reader",
        band=Band.model_validate(entailment or {}),
        fits=(),
    )


def written(folder: Path, artefact: Thresholds) -> Path:
    """Write an artefact into a folder that is made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "thresholds.json"
    path.write_bytes(thresholds_bytes(artefact))
    return path
