"""The gates as asset checks.

What belongs here: which gate stands at which asset, and whether it blocks. What does not: what a gate
computes (`quality.py`), and filtering rows: `training_examples` keeps accepted rows only, whatever the checks say.

A blocking check stops the steps after it in its own run only, and only with severity ERROR.
"""

from collections.abc import Callable
from dataclasses import dataclass

import dagster as dg

from qa_pipeline import quality
from qa_pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class GateAt:
    """A gate, the asset it stands at, and the tables of the batch it reads."""

    asset: str
    name: str
    reads: tuple[str, ...]
    gate: Callable[..., quality.Gate]
    blocking: bool
    description: str


GATES: tuple[GateAt, ...] = ()


def build_checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """All checks."""
    return []
