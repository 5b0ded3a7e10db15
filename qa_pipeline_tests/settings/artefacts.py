"""Thresholds artefacts for tests."""

from datetime import date
from pathlib import Path
from typing import Any

from qa_pipeline.settings.thresholds import Band, Thresholds, thresholds_bytes, with_id


def thresholds(*, entailment: dict[str, Any] | None = None) -> Thresholds:
    """A band of the model `reader`."""
    return with_id(
        Thresholds(
            schema=3,
            name="test",
            id="0" * 12,
            created=date(2026, 1, 1),
            target_precision=0.98,
            confidence=0.95,
            model="reader",
            data=(),
            band=Band.model_validate(entailment or {}),
            fits=(),
        )
    )


def written(folder: Path, artefact: Thresholds) -> Path:
    """Write an artefact into a folder that is made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "thresholds.json"
    path.write_bytes(thresholds_bytes(artefact))
    return path
