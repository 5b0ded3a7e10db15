"""The assets: one for each stage, and the files of training jobs.

What a stage does, reads and depends on is in `stages.STAGES`; here it becomes a step of Dagster, with
what the UI shows of it. When it runs is for `automation.py`, where its output lies for `io_managers.py`.

Each asset returns a hash of its content as data version, so equal content is recognised as nothing new. Those
that ask a model may yield nothing, while their replies are awaited.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import dagster as dg

from qa_pipeline.curation.exports import LEDGER_FILES
from qa_pipeline.curation.gates.gates import GATES
from qa_pipeline.curation.withdrawals import tombstone_of
from qa_pipeline.defs.base import (
    LLM_POOL,
    Frame,
    ResourcesParam,
    Tables,
    content_version,
    document_batches,
    logged,
    table_result,
)
from qa_pipeline.defs.corpus import corpus
from qa_pipeline.defs.io_managers import ParquetTables
from qa_pipeline.defs.metadata import (
    canary_metadata,
    content_metadata,
    cost_metadata,
    described,
    export_metadata,
    funnel_metadata,
    review_metadata,
    shard_metadata,
    summary_metadata,
    twins_metadata,
    verdict_preview,
)
from qa_pipeline.defs.schedules import unless_pending
from qa_pipeline.defs.versions import code_version
from qa_pipeline.pipeline.rebuying import check_rebuy
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import STAGES, Stage, StageRun, calls_table, publish, run_stage
from qa_pipeline.retrieval.shard import dump_shard
from qa_pipeline.settings.llm import same_model_warning
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.tables import JUDGE_CANARIES, QUESTIONS, STORED, TRAINING_EXAMPLES
from qa_pipeline.verification.canaries.outcomes import replied

OWNERS = ["team:training-data"]
_OWN_GATES = {gate.name for gate in GATES if gate.asset == "training_examples"} | {"training_examples_schema"}
"""Gates that look at training examples, and can pass only after those have been made again."""


def build_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return all assets, each after its inputs, with what all of them have in common."""
    assets = [*map(_asset, STAGES.values()), exports]
    return list(dg.map_asset_specs(lambda spec: _completed(spec, settings), assets))


def _asset(stage: Stage) -> dg.AssetsDefinition:
    """Return a stage as an asset."""

    def run(
        context: dg.AssetExecutionContext, resources: ResourcesParam, tables: Tables, **inputs: Any
    ) -> Iterator[dg.MaterializeResult[Any]]:
        batch = context.partition_key
        if stage.name == TRAINING_EXAMPLES.name:
            _check_gates(resources, batch)
        previous = tables.previous(STORED[stage.name], batch) if stage.keeps else None
        notify = logged(context.log, stage.counts or stage.name)
        stage_run = StageRun(resources, batch, inputs, previous, notify)

        if stage.name == QUESTIONS.name:
            check_rebuy(resources, batch, inputs["chunks"])

        def made() -> dg.MaterializeResult[Any]:
            output = run_stage(stage, stage_run)
            if not stage.is_table:
                version, metadata = content_version(dump_shard(output)), shard_metadata(output)
                return dg.MaterializeResult(value=output, data_version=version, metadata=metadata)
            more = _METADATA[stage.name](stage_run, tables, output) if stage.name in _METADATA else {}
            if "warning" in more:
                context.log.warning(more["warning"])
            return table_result(stage.name, output, **stage_run.figures, **more)

        if stage.asks_a_model:
            yield from unless_pending(context, made)
        else:
            yield made()

    return dg.asset(
        name=stage.name,
        description=stage.description,
        group_name=stage.group,
        kinds={"ai" if stage.asks_a_model else stage.computed_with}
        | ({"parquet"} if stage.is_table else set()),
        partitions_def=document_batches,
        ins={name: dg.AssetIn() for name in stage.inputs},
        deps=[*stage.after, *([corpus] if stage.reads_corpus else [])],
        pool=LLM_POOL if stage.asks_a_model else None,
        output_required=not stage.asks_a_model,
        io_manager_key=None if stage.is_table else "shards",
    )(run)


@dg.asset(partitions_def=document_batches, group_name="curation", kinds={"json"})
def exports(
    context: dg.AssetExecutionContext, resources: ResourcesParam, training_examples: Frame
) -> dg.MaterializeResult[Any]:
    """One JSONL file of chat messages for each layout; those of the ledger are written with the verdicts."""
    batch = context.partition_key
    names = publish(resources.layout, batch, training_examples)
    files = [resources.layout.export(name, batch).read_bytes() for name in names]
    metadata = export_metadata(resources.layout, batch, names)
    return dg.MaterializeResult(data_version=content_version(*files), metadata=metadata)


def _check_gates(resources: Resources, batch: str) -> None:
    """A blocking check stops only its own run; this stops the next one too, until the check passes."""
    stone = tombstone_of(resources.layout, batch)
    failing = stone.details if stone and stone.reason == "gate_failed" else {}
    if stone and set(failing) - _OWN_GATES:
        message = (
            f"batch {batch} is withdrawn: {stone.message()}; run the whole batch again (job build_batch)"
        )
        raise dg.Failure(message, allow_retries=False)


def _assessments_shown(run: StageRun, tables: ParquetTables, assessments: Frame) -> dict[str, Any]:
    settings = run.resources.settings
    warning = same_model_warning(settings.llm) if settings.judging.enabled else None
    return {"warning": warning} if warning else {}


def _verdicts_shown(run: StageRun, tables: ParquetTables, verdicts: Frame) -> dict[str, Any]:
    return {
        "preview": verdict_preview(verdicts, run["pairs"], run["claims"]),
        **summary_metadata(verdicts),
        **export_metadata(run.resources.layout, run.batch, LEDGER_FILES),
        **review_metadata(run.resources.settings.review.url, run.batch),
        **cost_metadata(calls_table(run.resources, run.batch), verdicts),
    }


def _examples_shown(run: StageRun, tables: ParquetTables, examples: Frame) -> dict[str, Any]:
    counted = {**run.inputs, "training_examples": examples}
    return funnel_metadata({**counted, QUESTIONS.name: tables.read(QUESTIONS, run.batch)})


_METADATA: Mapping[str, Callable[[StageRun, ParquetTables, Any], dict[str, Any]]] = {
    "documents": lambda run, tables, frame: content_metadata(frame),
    "twins": lambda run, tables, frame: twins_metadata(frame),
    "canaries": lambda run, tables, frame: canary_metadata(frame),
    JUDGE_CANARIES.name: lambda run, tables, frame: canary_metadata(replied(frame)),
    "assessments": _assessments_shown,
    "verdicts": _verdicts_shown,
    "llm_calls": lambda run, tables, frame: cost_metadata(frame),
    "training_examples": _examples_shown,
}
"""What the UI shows of a stage's output besides its rows."""


def _completed(spec: dg.AssetSpec, settings: Settings) -> dg.AssetSpec:
    """Grain and columns come from the table, so that they are written down once."""
    name = spec.key.path[-1]
    table = STORED.get(name)
    return spec.replace_attributes(
        description=" ".join(filter(None, [table.grain if table else None, spec.description])),
        metadata={**spec.metadata, **(described(table) if table else {})},
        owners=OWNERS,
        code_version=code_version(name, settings),
    )
