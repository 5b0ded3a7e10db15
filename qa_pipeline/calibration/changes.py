"""The settings that decide over stored scores: those a run used, and those a what-if may change.

What belongs here: which settings decide, recording those of a run, reading `--set`, and what is said of a
name that is none of them. What does not: deciding (`redeciding.py`).
"""

import difflib
import json
from collections.abc import Sequence
from typing import Any

from qa_pipeline.errors import InputError
from qa_pipeline.layout import Layout
from qa_pipeline.settings.checking import JudgingSettings, VerificationSettings
from qa_pipeline.settings.sources import read_assignments
from qa_pipeline.storage import write_bytes

_VERIFICATION = (
    "policy", "similarity_reject", "similarity_pass", "similarity_fail", "recall_reject", "recall_accept",
    "accept_similarity", "accept_order", "accept_question_recall", "accept_question_recall_row",
    "conflict_similarity", "conflict_recall", "conflict_recall_row", "conflict_characters",
    "conflict_recall_apart", "wrong_citation_margin", "thresholds", "combined_accept", "combined_reject",
    "entailment_accept", "entailment_reject", "entailment_contradict", "unsure", "refusal_recall_none",
    "refusal_recall_low", "refusal_similarity_low", "refusal_recall_high", "refusal_similarity_high",
    "accept_grounding",
)  # fmt: skip
_JUDGING = (
    "accept_unjudged", "weight_source", "weight_relevance", "weight_correctness", "weight_completeness",
    "threshold", "floor_source", "floor_relevance", "floor_correctness", "floor_completeness",
)  # fmt: skip
DECIDING = (
    *(f"verification.{name}" for name in _VERIFICATION),
    *(f"judging.{name}" for name in _JUDGING),
)
"""Settings that only decide over stored scores; any other would compute scores or ask a model anew."""

_NEAR = 3


def record_deciding(layout: Layout, verification: VerificationSettings, judging: JudgingSettings) -> None:
    """Keep the settings that decide, so that a what-if starts from them and not from those of another day.

    Raises:
        StorageError: they cannot be written.
    """
    values = {
        "verification": verification.model_dump(mode="json", include=set(_VERIFICATION)),
        "judging": judging.model_dump(mode="json", include=set(_JUDGING)),
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


def read_changes(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read `GROUP.NAME=VALUE` texts into the groups of settings that they change; `none` takes a value away.

    Raises:
        InputError: a text is not of that form, or names no setting that only decides.
    """
    for text in texts:
        name, equals, _ = text.partition("=")
        if not equals:
            raise InputError(
                f"--set {text!r} must be GROUP.NAME=VALUE, such as verification.recall_accept=0.85"
            )
        if name.strip() not in DECIDING:
            raise InputError(f"--set {name.strip()}: {_refusal(name.strip())}")
    return read_assignments(texts)


def _refusal(name: str) -> str:
    known = {
        **{f"verification.{one}": None for one in VerificationSettings.model_fields},
        **{f"judging.{one}": None for one in JudgingSettings.model_fields},
    }
    if name in known:
        return (
            "another value of it takes scores or replies that are not stored; change it in the settings and "
            "run the batches"
        )
    leaves = {one.rpartition(".")[2]: one for one in DECIDING}
    near = difflib.get_close_matches(name, DECIDING, n=_NEAR)
    near += [leaves[one] for one in difflib.get_close_matches(name.rpartition(".")[2], leaves, n=_NEAR)]
    if near:
        return f"no such setting decides; did you mean {', '.join(dict.fromkeys(near[:_NEAR]))}?"
    return f"no such setting decides; those that do are {', '.join(DECIDING)}"
