"""Gates as asset checks, evaluated in the step of their asset.

A blocking check only stops later assets of the same run. So a failing gate also withdraws the batch's
published rows, and `training_examples` refuses to run while another gate fails.
"""

from collections.abc import Mapping

import dagster as dg
import polars as pl

from qa_pipeline.curation.batch_gates import GATES
from qa_pipeline.curation.gate import GateSpec
from qa_pipeline.curation.withdrawals import note_gate, tombstone_of
from qa_pipeline.defs.base import document_batches, partitioned_check
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.tables import TRAINING_EXAMPLES

WARNS = "warns_"
"""Prefix of checks that never block, since lists of the UI show only the name."""


def gates_of(asset: str) -> list[GateSpec]:
    """Return the gates of an asset."""
    return [gate for gate in GATES if gate.asset == asset]


def check_specs(asset: str) -> list[dg.AssetCheckSpec]:
    """Return the gates of an asset as checks of its partitions."""
    return [
        partitioned_check(
            name=check_name(gate),
            asset=asset,
            partitions=document_batches,
            description=f"{'Blocks' if gate.blocking else 'Warns'}. {gate.description}",
            blocking=gate.blocking,
        )
        for gate in gates_of(asset)
    ]


def check_name(gate: GateSpec) -> str:
    """Return the name of a gate's check."""
    return gate.name if gate.blocking else f"{WARNS}{gate.name}"


def evaluate(
    resources: Resources, batch: str, spec: GateSpec, frames: Mapping[str, pl.DataFrame]
) -> dg.AssetCheckResult:
    """Evaluate a gate on tables of a batch; a failing blocking gate withdraws the batch."""
    gate = spec.check(frames, resources.settings.quality)
    if spec.blocking:
        problem = gate.detail if gate.blocking and not gate.passed else None
        note_gate(resources.layout, batch, gate.name, problem)
    figures = {"value": gate.value, "threshold": gate.threshold, "rows": gate.n, **gate.counts}
    return dg.AssetCheckResult(
        check_name=check_name(spec),
        passed=gate.passed,
        severity=dg.AssetCheckSeverity.ERROR if gate.blocking else dg.AssetCheckSeverity.WARN,
        description=gate.detail,
        # as text, since Dagster would plot numbers of unrelated batches as a series
        metadata={name: f"{value:.4g}" for name, value in figures.items() if value is not None},
    )


def refuse_blocked(resources: Resources, batch: str) -> None:
    """Refuse to publish a batch while a gate of another asset fails, even in a run of this asset alone."""
    tombstone = tombstone_of(resources.layout, batch)
    own_gates = {gate.name for gate in gates_of(TRAINING_EXAMPLES.name)}
    if tombstone and tombstone.reason == "gate_failed" and set(tombstone.details) - own_gates:
        problem = f"batch {batch} is withdrawn: {tombstone.message()}"
        raise dg.Failure(f"{problem}; run job build_batch for the whole batch", allow_retries=False)
