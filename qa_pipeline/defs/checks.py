"""The gates as asset checks, evaluated in the step that makes their asset.

A blocking check stops the assets after it in its own run only. So a gate that fails also withdraws what was
published of its batch, and `training_examples` refuses to be made while another gate fails.
"""

import warnings
from collections.abc import Mapping

import dagster as dg
import polars as pl

from qa_pipeline.curation.gates.gate import Gate, GateSpec
from qa_pipeline.curation.gates.gates import GATES
from qa_pipeline.curation.withdrawals import note_gate, tombstone_of
from qa_pipeline.defs.base import document_batches
from qa_pipeline.pipeline.outcomes import earlier_yields
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.storage.tables import TRAINING_EXAMPLES

WARNS = "warns_"
"""Before the name of a check that never blocks: lists of the UI show its name only."""


def gates_of(asset: str) -> list[GateSpec]:
    """Return the gates of an asset."""
    return [gate for gate in GATES if gate.asset == asset]


def check_specs(asset: str) -> list[dg.AssetCheckSpec]:
    """Return the gates of an asset as checks of its partitions."""
    with warnings.catch_warnings():
        # Partitioned checks are in preview, which is why the requirements pin dagster to its minor version.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(
                check_name(gate),
                asset=asset,
                description=f"{'Blocks' if gate.blocking else 'Warns'}. {gate.description}",
                blocking=gate.blocking,
                partitions_def=document_batches,
            )
            for gate in gates_of(asset)
        ]


def check_name(gate: GateSpec) -> str:
    """Return the name of a gate as a check."""
    return gate.name if gate.blocking else f"{WARNS}{gate.name}"


def evaluate(
    resources: Resources, batch: str, spec: GateSpec, frames: Mapping[str, pl.DataFrame]
) -> dg.AssetCheckResult:
    """Evaluate a gate over tables of a batch; a failing blocking gate withdraws the batch."""
    earlier = earlier_yields(resources.layout, batch) if spec.compares else ()
    gate = spec.check(frames, resources.settings.quality, earlier)
    if spec.blocking:
        problem = gate.detail if gate.blocking and not gate.passed else None
        note_gate(resources.layout, batch, gate.name, problem)
    return dg.AssetCheckResult(
        check_name=check_name(spec),
        passed=gate.passed,
        severity=dg.AssetCheckSeverity.ERROR if gate.blocking else dg.AssetCheckSeverity.WARN,
        description=gate.detail,
        metadata=_metadata(gate),
    )


def _metadata(gate: Gate) -> dict[str, dg.MetadataValue]:
    """Return the figures of a gate as texts: Dagster would plot the numbers of unrelated batches in a row."""
    counts = ", ".join(f"{name}: {count}" for name, count in gate.counts.items())
    texts = {
        "value": None if gate.value is None else str(round(gate.value, 4)),
        "threshold": None if gate.threshold is None else str(gate.threshold),
        "rows": str(gate.n),
        "counts": counts or "none",
    }
    return {name: dg.MetadataValue.text(text) for name, text in texts.items() if text is not None}


def refuse_blocked(resources: Resources, batch: str) -> None:
    """Refuse to publish a batch while a gate of another asset fails, also in a run of this asset alone.

    Raises:
        dg.Failure: a gate fails; it names which.
    """
    stone = tombstone_of(resources.layout, batch)
    its_gates = {gate.name for gate in gates_of(TRAINING_EXAMPLES.name)}
    if stone and stone.reason == "gate_failed" and set(stone.details) - its_gates:
        message = (
            f"batch {batch} is withdrawn: {stone.message()}; run the whole batch again (job build_batch)"
        )
        raise dg.Failure(message, allow_retries=False)
