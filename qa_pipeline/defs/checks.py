"""The gates as asset checks.

Which gate is at which asset, and what it reads, is in `quality.gates.GATES`. Filtering rows is not
theirs: `training_examples` keeps accepted rows only, whatever the checks say.

A blocking check stops the steps after it, in its own run only, and only with severity ERROR. So a gate that
fails also withdraws what was published of its batch, whoever started the check. Each check has
the partitions of its asset; without them it would ask for every batch's table at once.
"""

from typing import Any

import dagster as dg

from qa_pipeline.curation.gates.gate import NO_EARLIER, GateSpec
from qa_pipeline.curation.gates.gates import GATES
from qa_pipeline.curation.withdrawals import note_gate
from qa_pipeline.defs.base import ResourcesParam, Tables, document_batches, partitioned_check
from qa_pipeline.defs.staleness import gate_basis, latest_versions
from qa_pipeline.pipeline.running import earlier_figures
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.tables import STORED

BLOCKED_TAG = "qa_pipeline/blocked_by"
"""On a run: the gates that stopped it."""
WHEN_BLOCKED = (
    "This batch is not published, and is not run again by itself until its files, decisions, "
    "prompts, settings or the code change. `qa-pipeline status` names it too."
)


def build_checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return all checks."""
    return [_check(gate, settings) for gate in GATES]


def _tag_run(context: dg.AssetCheckExecutionContext, gate: str) -> None:
    # that of the context has no tags of this run's own
    run = context.instance.get_run_by_id(context.run.run_id)
    before = run.tags.get(BLOCKED_TAG) if run else None
    context.instance.add_run_tags(context.run.run_id, {BLOCKED_TAG: f"{before}, {gate}" if before else gate})


def _check(spec: GateSpec, settings: Settings) -> dg.AssetChecksDefinition:
    """Return a check over a gate; one that blocks also withdraws the batch."""

    def body(
        context: dg.AssetCheckExecutionContext, tables: Tables, resources: ResourcesParam
    ) -> dg.AssetCheckResult:
        batch = context.partition_key
        frames = {name: tables.read(STORED[name], batch) for name in spec.reads}
        earlier = earlier_figures(resources.layout, batch) if spec.earlier else NO_EARLIER
        gate = spec.check(frames, settings.quality, earlier)
        if spec.blocking:
            failing = gate.blocking and not gate.passed
            basis = ""
            if failing:
                versions = latest_versions(context.instance, spec.reads, batch)
                basis = gate_basis(versions, resources.settings)
                _tag_run(context, f"{spec.asset}: {gate.name}")
            note_gate(resources.layout, batch, gate.name, gate.detail if failing else None, basis)
        # Text for what stays the same or belongs together: every number would get a plot of its own.
        metadata: dict[str, Any] = {
            "value": None if gate.value is None else round(gate.value, 4),
            "threshold": None if gate.threshold is None else dg.MetadataValue.text(str(gate.threshold)),
            "rows": dg.MetadataValue.text(str(gate.n)),
            "what now": WHEN_BLOCKED if gate.blocking and not gate.passed else None,
            "counts": ", ".join(f"{name}: {count}" for name, count in gate.counts.items()) or "none",
        }
        return dg.AssetCheckResult(
            passed=gate.passed,
            severity=dg.AssetCheckSeverity.ERROR if gate.blocking else dg.AssetCheckSeverity.WARN,
            description=gate.detail,
            metadata={name: value for name, value in metadata.items() if value is not None},
        )

    return partitioned_check(
        body,
        asset=spec.asset,
        name=spec.name,
        description=spec.description,
        blocking=spec.blocking,
        partitions_def=document_batches,
    )
