"""The gates as asset checks.

What belongs here: which gate stands at which asset and what it reads. What does not: what a gate computes
(`quality.py`), and filtering rows: `training_examples` keeps accepted rows only, whatever the checks say.

A blocking check stops the steps after it, in its own run only, and only with severity ERROR. So a gate that
fails also withdraws what was published of its batch, whoever started the check. Each check has
the partitions of its asset; without them it would ask for every batch's table at once.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dagster as dg

from qa_pipeline.curation.withdrawals import note_gate
from qa_pipeline.defs.base import PartsParam, Tables, document_batches
from qa_pipeline.defs.io_managers import ParquetTables
from qa_pipeline.pipeline import earlier_canaries, earlier_pairs, earlier_yields
from qa_pipeline.quality import gates as citation_gates
from qa_pipeline.quality import gates as quality
from qa_pipeline.quality.canaries import (
    canary_accepts_gate,
    canary_alarms_gate,
    canary_drift_gate,
    canary_recall_gate,
)
from qa_pipeline.quality.gate import Gate
from qa_pipeline.resources import Parts
from qa_pipeline.settings.tree import Settings
from qa_pipeline.settings.verification import QualitySettings
from qa_pipeline.table_schema import Table
from qa_pipeline.tables import CANARIES, CHUNKS, STORED, TABLES, VERDICTS


@dataclass(frozen=True, slots=True)
class GateAt:
    """A gate at an asset; it is called with the named tables of the batch as keyword arguments."""

    asset: str
    name: str
    description: str
    gate: Callable[..., Gate]
    reads: tuple[str, ...]
    blocking: bool = True


def build_checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """All checks."""
    gates = [*(_schema(table) for table in STORED.values()), *_laws(), *_rates(settings.quality)]
    alone = [_check(gate) for gate in (*gates, *_canaries(settings.quality))]
    return [*alone, *(check(settings.quality) for check in (_pass_rate_check, _yield_check, _drift_check))]


def _schema(table: Table) -> GateAt:
    return GateAt(
        table.name,
        "schema",
        "The stored file has the columns, types and unique keys of its table, and no null where none may be.",
        lambda **frames: quality.schema_gate(table, frames[table.name]),
        (table.name,),
    )


def _laws() -> list[GateAt]:
    ledger = tuple(name for name in TABLES if name != "training_examples")
    return [
        GateAt(
            "questions",
            "generation",
            "The model was there: not every request for questions failed.",
            quality.generation_gate,
            ("questions",),
        ),
        GateAt(
            "verdicts",
            "unique_ids",
            "No table of the batch names a row twice.",
            lambda **frames: quality.unique_ids_gate(frames),
            ledger,
        ),
        GateAt(
            "verdicts",
            "conservation",
            "Every pair is in the ledger exactly once: accepted + rejected + needs review + failed.",
            quality.conservation_gate,
            ("pairs", "verdicts"),
        ),
        GateAt(
            "verdicts",
            "proof",
            "Every quote stands in its document where it says, and nothing is accepted without evidence.",
            quality.proof_gate,
            ("pairs", "verdicts", "claims", "claim_verdicts", "documents"),
        ),
        GateAt(
            "verdicts",
            "fabricated_citations",
            "No accepted pair cites a source or a quote that does not exist.",
            citation_gates.citations_gate,
            ("pairs", "verdicts", "claims"),
        ),
        GateAt(
            "training_examples",
            "training_rows",
            "Only accepted pairs train, no known-answer pair does, and their quotes stand as told.",
            quality.training_gate,
            ("training_examples", "pairs", "verdicts", "documents"),
        ),
    ]


def _rates(limits: QualitySettings) -> list[GateAt]:
    return [
        GateAt(
            "questions",
            "failed_questions_share",
            "Share of questions that could not be had.",
            partial(quality.questions_gate, settings=limits),
            ("questions",),
            blocking=False,
        ),
        GateAt(
            "verdicts",
            "citation_accuracy",
            "Share of an accepted pair's citations that support a claim of it, on average.",
            partial(citation_gates.accuracy_gate, settings=limits),
            ("verdicts",),
            blocking=False,
        ),
        GateAt(
            "verdicts",
            "needs_review_share",
            "Share of pairs that wait for a person.",
            partial(quality.needs_review_gate, settings=limits),
            ("verdicts",),
            blocking=False,
        ),
        GateAt(
            "verdicts",
            "failed_share",
            "Share of pairs that could not be decided because something failed.",
            partial(quality.failed_gate, settings=limits),
            ("verdicts",),
            blocking=False,
        ),
    ]


def _canaries(limits: QualitySettings) -> list[GateAt]:
    return [
        GateAt(
            "canaries",
            "canary_recall",
            "Swapped numbers, units, dates, names and negations are rejected: upper bound of the share.",
            partial(canary_recall_gate, settings=limits),
            ("canaries",),
        ),
        GateAt(
            "canaries",
            "canary_accepts",
            "Claims known to be false are not accepted: lower bound of the share.",
            partial(canary_accepts_gate, settings=limits),
            ("canaries",),
        ),
        GateAt(
            "canaries",
            "canary_alarms",
            "True claims in other words are not rejected: lower bound of the share.",
            partial(canary_alarms_gate, settings=limits),
            ("canaries",),
            blocking=False,
        ),
    ]


def _check(at: GateAt) -> dg.AssetChecksDefinition:
    """A check over a gate."""

    def gate_of(_: Parts, tables: ParquetTables, batch: str) -> Gate:
        return at.gate(**{name: tables.read(STORED[name], batch) for name in at.reads})

    return _asset_check(gate_of, at.asset, at.name, at.description, blocking=at.blocking)


def _pass_rate_check(limits: QualitySettings) -> dg.AssetChecksDefinition:
    """The share of accepted pairs, of a small batch together with earlier ones."""

    def gate_of(parts: Parts, tables: ParquetTables, batch: str) -> Gate:
        earlier = earlier_pairs(parts.layout, batch)
        return quality.pass_rate_gate(verdicts=tables.read(VERDICTS, batch), settings=limits, earlier=earlier)

    what = "Accepted among all pairs: the lower bound of its 95 % Wilson interval; small batches are pooled."
    return _asset_check(gate_of, "verdicts", "pass_rate", what, blocking=True)


def _yield_check(limits: QualitySettings) -> dg.AssetChecksDefinition:
    """Accepted pairs for each chunk against other batches."""

    def gate_of(parts: Parts, tables: ParquetTables, batch: str) -> Gate:
        return quality.yield_gate(
            verdicts=tables.read(VERDICTS, batch),
            chunks=tables.read(CHUNKS, batch),
            earlier_yields=earlier_yields(parts.layout, batch),
            settings=limits,
        )

    what = "Accepted pairs for each chunk, compared with other batches."
    return _asset_check(gate_of, "verdicts", "yield", what, blocking=False)


def _drift_check(limits: QualitySettings) -> dg.AssetChecksDefinition:
    """The recall of canaries against other batches."""

    def gate_of(parts: Parts, tables: ParquetTables, batch: str) -> Gate:
        earlier = earlier_canaries(parts.layout, batch)
        return canary_drift_gate(canaries=tables.read(CANARIES, batch), earlier=earlier, settings=limits)

    what = "Share of swapped canaries that are rejected, compared with other batches."
    return _asset_check(gate_of, "canaries", "canary_drift", what, blocking=False)


def _asset_check(
    gate_of: Callable[[Parts, ParquetTables, str], Gate],
    asset: str,
    name: str,
    description: str,
    *,
    blocking: bool,
) -> dg.AssetChecksDefinition:
    """A check over what `gate_of` says of a batch; one that blocks also withdraws the batch."""

    def body(
        context: dg.AssetCheckExecutionContext, tables: Tables, parts: PartsParam
    ) -> dg.AssetCheckResult:
        batch = context.partition_key
        gate = gate_of(parts, tables, batch)
        if blocking:
            failing = gate.blocking and not gate.passed
            note_gate(parts.layout, batch, gate.name, gate.detail if failing else None)
        return _told(gate)

    with warnings.catch_warnings():
        # Partitioned checks are in preview, which is why the requirements pin dagster to its minor version.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.asset_check(
            asset=asset,
            name=name,
            description=description,
            blocking=blocking,
            partitions_def=document_batches,
        )(body)


def _told(gate: Gate) -> dg.AssetCheckResult:
    """A gate as the UI shows it."""
    # Text for what stays the same or belongs together: every number would get a plot of its own.
    shown: dict[str, Any] = {
        "value": None if gate.value is None else round(gate.value, 4),
        "threshold": None if gate.threshold is None else dg.MetadataValue.text(str(gate.threshold)),
        "rows": gate.n,
        "counts": ", ".join(f"{name}: {count}" for name, count in gate.counts.items()) or "none",
    }
    return dg.AssetCheckResult(
        passed=gate.passed,
        severity=dg.AssetCheckSeverity.ERROR if gate.blocking else dg.AssetCheckSeverity.WARN,
        description=gate.detail,
        metadata={name: value for name, value in shown.items() if value is not None},
    )
