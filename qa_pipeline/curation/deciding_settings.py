"""The settings that decided, kept beside the tables by the `thresholds_id` of the verdicts."""

import json
from typing import Any

from qa_pipeline.errors import InputError
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage import Layout, write_bytes


def record_deciding(layout: Layout, verification: VerificationSettings, judging: JudgingSettings) -> None:
    """Keep the settings that decide, so that a what-if starts from them and not from those of another day.

    Raises:
        StorageError: they cannot be written.
    """
    values = {
        "verification": verification.model_dump(mode="json", include=set(VerificationSettings.deciding())),
        "judging": judging.model_dump(mode="json", include=set(JudgingSettings.deciding())),
    }
    named = f"{verification.thresholds_id}/{judging.thresholds_id}"
    write_bytes(layout.deciding(named), json.dumps(values, indent=1, sort_keys=True).encode())


def recorded_deciding(layout: Layout, thresholds_id: str) -> dict[str, dict[str, Any]] | None:
    """The settings that verdicts of this `thresholds_id` were decided by; None where they are not recorded.

    Raises:
        InputError: the file is damaged.
    """
    path = layout.deciding(thresholds_id)
    if not path.is_file():
        return None
    try:
        values: dict[str, dict[str, Any]] = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is damaged; delete it and run the batch again") from error
    return values
