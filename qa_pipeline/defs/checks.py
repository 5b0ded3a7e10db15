"""The gates as asset checks.

Which gate is at which asset, and what it reads, is in `quality.gates.GATES`. Filtering rows is not
theirs: `training_examples` keeps accepted rows only, whatever the checks say.

A blocking check stops the steps after it, in its own run only, and only with severity ERROR. So a gate that
fails also withdraws what was published of its batch, whoever started the check. Each check has
the partitions of its asset; without them the UI would not tell of which batch a result is.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import dagster as dg
import polars as pl
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)

from qa_pipeline.curation.gates.gate import GateSpec
from qa_pipeline.curation.withdrawals import note_gate
from qa_pipeline.defs.base import document_batches
from qa_pipeline.defs.staleness import gate_basis, latest_versions
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import earlier_yields

BLOCKED_TAG = "qa_pipeline/blocked_by"
"""On a run: the gates that stopped it."""
NOT_CHECKED = "not checked"
"""In the metadata of a check that was not made: why."""
WHEN_BLOCKED = (
    "This batch is not published, and is not run again by itself until its files, decisions, "
    "prompts, settings or the code change. `qa-pipeline status` names it too."
)
WHEN_FAILED = {True: "the batch is not published", False: "nothing stops"}


WARNS = "warns_"
"""Before the name of a check that never blocks: lists of the UI show its name, and not what it does."""


def check_name(gate: GateSpec) -> str:
    """Return the name of a gate as a check."""
    return gate.name if gate.blocking else f"{WARNS}{gate.name}"


def spec_of(gate: GateSpec) -> dg.AssetCheckSpec:
    """Return a gate as a check of its asset."""
    effect = "Blocks" if gate.blocking else "Warns"
    with warnings.catch_warnings():
        # Partitioned checks are in preview, which is why the requirements pin dagster to its minor version.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            check_name(gate),
            asset=gate.asset,
            description=f"{effect}. {gate.description}",
            blocking=gate.blocking,
            metadata={"when it fails": WHEN_FAILED[gate.blocking]},
            partitions_def=document_batches,
        )


def _tag_run(context: dg.AssetExecutionContext, gate: str) -> None:
    # that of the context has no tags of this run's own
    run = context.instance.get_run_by_id(context.run.run_id)
    before = run.tags.get(BLOCKED_TAG) if run else None
    context.instance.add_run_tags(context.run.run_id, {BLOCKED_TAG: f"{before}, {gate}" if before else gate})


def check_batch(
    context: dg.AssetExecutionContext,
    resources: Resources,
    spec: GateSpec,
    frames: Mapping[str, pl.DataFrame],
    made: dg.EventLogRecord | None,
) -> dg.AssetCheckEvaluation:
    """Check a gate over the tables of the batch; one that blocks also withdraws the batch.

    Args:
        context: that of the step.
        resources: the settings and the output folder.
        spec: the gate.
        frames: the tables that it reads.
        made: the materialization of its asset that is checked.
    """
    batch = context.partition_key
    earlier = earlier_yields(resources.layout, batch) if spec.compares else ()
    gate = spec.check(frames, resources.settings.quality, earlier)
    if spec.blocking:
        failing = gate.blocking and not gate.passed
        basis = ""
        if failing:
            versions = latest_versions(context.instance, spec.reads, batch)
            basis = gate_basis(versions, resources.settings)
            _tag_run(context, f"{spec.asset}: {gate.name}")
        note_gate(resources.layout, batch, gate.name, gate.detail if failing else None, basis)
    # All is text: Dagster would plot the numbers of unrelated batches in a row.
    metadata: dict[str, Any] = {
        "value": None if gate.value is None else dg.MetadataValue.text(str(round(gate.value, 4))),
        "threshold": None if gate.threshold is None else dg.MetadataValue.text(str(gate.threshold)),
        "rows": dg.MetadataValue.text(str(gate.n)),
        "what now": WHEN_BLOCKED if gate.blocking and not gate.passed else None,
        "counts": ", ".join(f"{name}: {count}" for name, count in gate.counts.items()) or "none",
    }
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(spec.asset),
        check_name=check_name(spec),
        partition=batch,
        blocking=spec.blocking,
        target_materialization_data=made
        and AssetCheckEvaluationTargetMaterializationData(
            run_id=made.run_id, storage_id=made.storage_id, timestamp=made.timestamp
        ),
        passed=gate.passed,
        severity=dg.AssetCheckSeverity.ERROR if gate.blocking else dg.AssetCheckSeverity.WARN,
        description=gate.detail,
        metadata={name: value for name, value in metadata.items() if value is not None},
    )


def left_unchecked(spec: GateSpec, batch: str, reason: str) -> dg.AssetCheckEvaluation:
    """Return the warning that a gate was not checked."""
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(spec.asset),
        check_name=check_name(spec),
        partition=batch,
        blocking=spec.blocking,
        passed=False,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"Not checked: {reason}.",
        metadata={NOT_CHECKED: reason},
    )
