"""The assets of a batch: one for each stage, and the files of training jobs; and the step that makes them.

What a stage does, reads and depends on is in `stages.STAGES`; here it becomes an asset of Dagster, with what
the UI shows of it. When it runs is for `automation.py`.

One step makes all assets of a batch and checks them. A step for each asset and check took 62 steps and 626
events of Dagster to say that a batch of five documents had not changed, and read every table eight times. So
this file does what Dagster does between steps: an asset is made only where all it needs was made and no
blocking gate of that failed, and what a run leaves out is read from the last one.

Each asset has a hash of its content as data version, so equal content is recognised as nothing new.

The step yields materializations and evaluations themselves, not results that Dagster makes them of: from each
result it also makes an event of an output, with all metadata once more, which no person reads.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.curation.exports import LEDGER_FILES
from qa_pipeline.curation.gates.gate import GateSpec
from qa_pipeline.curation.gates.gates import GATES
from qa_pipeline.curation.withdrawals import tombstone_of
from qa_pipeline.defs.base import (
    CODE_VERSION,
    DATA_VERSION,
    INPUT_EVENT,
    INPUT_VERSION,
    OWN_VERSION,
    ResourcesParam,
    Watch,
    as_input,
    content_version,
    document_batches,
    latest_record,
    logged,
    pool_of,
)
from qa_pipeline.defs.checks import check_batch, check_name, left_unchecked, spec_of
from qa_pipeline.defs.corpus import corpus
from qa_pipeline.defs.metadata import (
    canary_metadata,
    content_metadata,
    cost_metadata,
    described,
    export_metadata,
    frame_metadata,
    funnel_metadata,
    review_metadata,
    shard_metadata,
    summary_metadata,
    twins_metadata,
    verdict_preview,
)
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import StageObserver
from qa_pipeline.pipeline.stages import STAGES, Stage, StageRun, calls_table, publish, run_stage
from qa_pipeline.pipeline.versions import code_version
from qa_pipeline.retrieval.shard import dump_shard, load_shard_for
from qa_pipeline.settings.llm import same_model_warning
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.parquet import frame_hash, read_earlier, read_table, write_table
from qa_pipeline.storage.tables import QUESTIONS, STORED, TRAINING_EXAMPLES

OWNERS = ["team:training-data"]
EXPORTS = "exports"
IN = "in "
"""Before the asset or check at which an error arose, in the notes of its message."""
_OWN_GATES = {gate.name for gate in GATES if gate.asset == "training_examples"}
"""Gates that look at training examples, and can pass only after those have been made again."""

Output = tuple[dg.DataVersion, dict[str, Any]]
"""The version of an asset that was just stored, and what the UI shows of it."""


def build_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return all assets with their checks, as the one step that makes those of a run."""

    @dg.multi_asset(
        name="batch",
        specs=[_completed(spec, settings) for spec in (*map(_spec, STAGES.values()), _exports_spec())],
        check_specs=[spec_of(gate) for gate in GATES],
        partitions_def=document_batches,
        pool=pool_of(settings),
        can_subset=True,
    )
    def batch(
        context: dg.AssetExecutionContext, resources: ResourcesParam, watch: Watch
    ) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
        yield from _BatchStep(context, resources, watch).results()

    return [batch]


def _spec(stage: Stage) -> dg.AssetSpec:
    """Return a stage as an asset."""
    return dg.AssetSpec(
        stage.name,
        description=stage.description,
        group_name=stage.group,
        kinds={"ai" if stage.asks_a_model else stage.computed_with}
        | ({"parquet"} if stage.is_table else set()),
        deps=[*stage.inputs, *stage.after, *([corpus] if stage.reads_corpus else [])],
        skippable=True,
    )


def _exports_spec() -> dg.AssetSpec:
    return dg.AssetSpec(
        EXPORTS,
        description="One JSONL file of chat messages for each layout; those of the ledger are written with "
        "the verdicts.",
        group_name="curation",
        kinds={"json"},
        deps=[TRAINING_EXAMPLES.name],
        skippable=True,
    )


@dataclass
class _BatchStep:
    """A run's step: what of the batch it has made, and what may not be made from."""

    context: dg.AssetExecutionContext
    resources: Resources
    watch: StageObserver
    made: dict[str, Any] = field(default_factory=dict)
    records: dict[str, dg.EventLogRecord | None] = field(default_factory=dict)
    """The latest materialization of assets."""
    unusable: set[str] = field(default_factory=set)
    """Assets that were to be made and were not, or of which a blocking gate failed."""
    blocked_by: str | None = None
    """The first gate that failed."""
    checked: set[GateSpec] = field(default_factory=set)

    @property
    def batch(self) -> str:
        """Return the name of the batch."""
        return str(self.context.partition_key)

    def results(self) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
        """Make and check what the run is to, in order; stop at nothing that can still be made."""
        self.context.log.addFilter(_is_no_complaint)
        try:
            for stage in STAGES.values():
                yield from self._asset(stage.name, {*stage.inputs, *stage.after}, partial(self._make, stage))
            yield from self._asset(EXPORTS, {TRAINING_EXAMPLES.name}, self._export)
        except Exception:
            yield from self._left_unchecked("the run of this batch failed before")
            raise
        if self.blocked_by:
            yield from self._left_unchecked(f"{self.blocked_by} blocks this batch")

    def _asset(
        self, name: str, needed: set[str], make: Callable[[], Output]
    ) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
        """Make one asset and check it, as far as it is selected and what it needs can be used."""
        if dg.AssetKey(name) in self.context.selected_asset_keys:
            if needed & self.unusable:
                self.unusable.add(name)
                return
            yield self._timed(name, needed, make)
            self.records.pop(name, None)
        for gate in (gate for gate in self._selected_gates() if gate.asset == name):
            with _noted(f"{name} {gate.name}"):
                frames = {table: self._read(table) for table in gate.reads}
                evaluation = check_batch(self.context, self.resources, gate, frames, self._record(name))
            if gate.blocking and not evaluation.passed and evaluation.severity == dg.AssetCheckSeverity.ERROR:
                self.unusable.add(name)
                self.blocked_by = self.blocked_by or f"{name} {gate.name}"
            self.checked.add(gate)
            yield evaluation

    def _selected_gates(self) -> list[GateSpec]:
        """Return the gates that the run is to check."""
        selected = self.context.selected_asset_check_keys
        return [
            gate for gate in GATES if dg.AssetCheckKey(dg.AssetKey(gate.asset), check_name(gate)) in selected
        ]

    def _left_unchecked(self, reason: str) -> Iterator[dg.AssetCheckEvaluation]:
        """Yield warnings of the gates whose table was not made.

        Dagster shows checks that a failed run was to make, and did not, like those that did not hold: one bad
        batch made every check of every asset red.
        """
        for gate in self._selected_gates():
            if gate not in self.checked:
                yield left_unchecked(gate, self.batch, reason)

    def _timed(self, name: str, needed: set[str], make: Callable[[], Output]) -> dg.AssetMaterialization:
        """Return the event of an asset that was made."""
        asset, start = dg.AssetKey(name), perf_counter()
        with _noted(name):
            made_from = self._made_from(name, needed)  # before: what is reported meanwhile may not be read
            version, metadata = make()
            metadata["seconds"] = round(perf_counter() - start, 2)
            code = self._code_version(name)
            return dg.AssetMaterialization(
                asset,
                partition=self.batch,
                metadata=metadata,
                tags={DATA_VERSION: version.value, CODE_VERSION: code, **OWN_VERSION, **made_from},
            )

    def _code_version(self, name: str) -> str:
        """Return the version of the code, prompts and settings by which an asset is made."""
        return str(self.context.assets_def.get_asset_spec(dg.AssetKey(name)).code_version)

    def _made_from(self, name: str, needed: set[str]) -> dict[str, str]:
        """Return the versions that an asset is made from, as Dagster records those of other steps.

        Of assets of the same step it would take the latest version of any batch.
        """
        reads_corpus = name in STAGES and STAGES[name].reads_corpus
        tags: dict[str, str] = {}
        for made_from in (*sorted(needed), *([corpus.key.to_user_string()] if reads_corpus else [])):
            record = self._record(made_from)
            event = record.asset_materialization if record else None
            version = as_input((event.tags or {}).get(DATA_VERSION)) if event else None
            if record is not None and version is not None:
                tags |= {
                    f"{INPUT_VERSION}{made_from}": version,
                    f"{INPUT_EVENT}{made_from}": str(record.storage_id),
                }
        return tags

    def _record(self, name: str) -> dg.EventLogRecord | None:
        """Return the latest materialization of an asset of the batch, which is fetched once."""
        if name not in self.records:
            self.records[name] = latest_record(self.context.instance, dg.AssetKey(name), self.batch)
        return self.records[name]

    def _make(self, stage: Stage) -> Output:
        layout, is_published = self.resources.layout, stage.name == TRAINING_EXAMPLES.name
        if is_published:
            _check_gates(self.resources, self.batch)
        path = layout.table(stage.name, self.batch) if stage.is_table else layout.index(self.batch)
        previous = read_earlier(path, STORED[stage.name]) if stage.keeps else None
        inputs = {name: self._read(name) for name in stage.inputs}
        run = StageRun(self.resources, self.batch, inputs, previous, self._notify(stage))
        output = self.made[stage.name] = run_stage(stage, run)
        place = {"path": dg.MetadataValue.path(str(path))}
        if not stage.is_table:
            content = dump_shard(output)
            write_bytes(path, content)
            return content_version(content), shard_metadata(output) | place
        more = _METADATA[stage.name](run, output) if stage.name in _METADATA else {}
        if "warning" in more:
            self.context.log.warning(more["warning"])
        write_table(path, output, STORED[stage.name])
        table = STORED[stage.name]
        metadata = frame_metadata(output, table) | run.figures | more | place
        return dg.DataVersion(frame_hash(output)), metadata

    def _export(self) -> Output:
        layout = self.resources.layout
        names = publish(layout, self.batch, self._read(TRAINING_EXAMPLES.name))
        files = [layout.export(name, self.batch).read_bytes() for name in names]
        return content_version(*files), export_metadata(layout, self.batch, names)

    def _read(self, name: str) -> Any:
        """Return an asset as this run made it, else as an earlier one did."""
        if name not in self.made:
            layout = self.resources.layout
            if name in STORED:
                self.made[name] = read_table(layout.table(name, self.batch), STORED[name])
            else:
                path = layout.index(self.batch)
                self.made[name] = load_shard_for(self.resources.embedder, path.read_bytes(), str(path))
        return self.made[name]

    def _notify(self, stage: Stage) -> Callable[[int, int], None]:
        shown, heard = (
            logged(self.context.log, stage.counts or stage.name),
            self.watch(self.batch, stage.name),
        )

        def notify(done: int, total: int) -> None:
            shown(done, total)
            heard(done, total)

        return notify


def _is_no_complaint(record: logging.LogRecord) -> bool:
    """Return whether a line of the log is none of Dagster's about outputs that were not yielded."""
    return "did not yield or return expected outputs" not in record.getMessage()


@contextmanager
def _noted(name: str) -> Iterator[None]:
    """Let an error say at which asset or check it arose: the step is the same for all."""
    try:
        yield
    except Exception as error:
        error.add_note(f"{IN}{name}")
        raise


def _check_gates(resources: Resources, batch: str) -> None:
    """A blocking check stops only its own run; this stops the next one too, until the check passes."""
    stone = tombstone_of(resources.layout, batch)
    failing = stone.details if stone and stone.reason == "gate_failed" else {}
    if stone and set(failing) - _OWN_GATES:
        message = (
            f"batch {batch} is withdrawn: {stone.message()}; run the whole batch again (job build_batch)"
        )
        raise dg.Failure(message, allow_retries=False)


def _assessments_shown(run: StageRun, assessments: pl.DataFrame) -> dict[str, Any]:
    settings = run.resources.settings
    warning = same_model_warning(settings.llm) if settings.judging.enabled else None
    return {"warning": warning} if warning else {}


def _verdicts_shown(run: StageRun, verdicts: pl.DataFrame) -> dict[str, Any]:
    preview = {"preview": verdict_preview(verdicts, run["pairs"], run["claims"])} if verdicts.height else {}
    return {
        **preview,
        **summary_metadata(verdicts),
        **review_metadata(run.resources.settings.review.url, run.batch),
        **cost_metadata(calls_table(run.resources, run.batch), verdicts),
        **export_metadata(run.resources.layout, run.batch, LEDGER_FILES),
    }


def _examples_shown(run: StageRun, examples: pl.DataFrame) -> dict[str, Any]:
    counted = {**run.inputs, "training_examples": examples}
    questions = read_table(run.resources.layout.table(QUESTIONS.name, run.batch), QUESTIONS)
    return funnel_metadata({**counted, QUESTIONS.name: questions})


_METADATA: Mapping[str, Callable[[StageRun, Any], dict[str, Any]]] = {
    "documents": lambda run, frame: content_metadata(frame),
    "twins": lambda run, frame: twins_metadata(frame),
    "canaries": lambda run, frame: canary_metadata(frame),
    "assessments": _assessments_shown,
    "verdicts": _verdicts_shown,
    "llm_calls": lambda run, frame: cost_metadata(frame),
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
