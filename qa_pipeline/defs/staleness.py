"""Is a batch up to date? Asked before a run is started, at night, by the sensor or from the command line.

The facts are those Dagster records with every materialization, plus the tables themselves, which somebody may
have deleted. Records are fetched for many batches in one query an asset: one query a batch and asset took
longer than a tick may over 1,000 batches.
"""

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from qa_pipeline.curation.gates.gates import GATES
from qa_pipeline.curation.withdrawals import Tombstone, withdrawn_batches
from qa_pipeline.defs.base import (
    BATCHES_A_QUERY,
    CODE_VERSION,
    DATA_VERSION,
    INPUT_VERSION,
    as_input,
    latest_tags,
    latest_tags_by_batch,
)
from qa_pipeline.defs.corpus import CORPUS
from qa_pipeline.pipeline.freshness import added_pairs, lost_file, new_decisions, unanswered
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.versions import code_version
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.storage.tables import DECISIONS, PAIRS, TRAINING_EXAMPLES
from qa_pipeline.text.rendering import first_names

Steps = Sequence[dg.AssetSpec]

_BATCHES_A_LOOK = 50
"""Batches examined between two looks at the clock: about a second on a busy machine."""

_GATES = {gate.name: gate for gate in GATES}
"""By the name under which a failing gate is noted."""


def steps_of(assets: Sequence[dg.AssetsDefinition]) -> Steps:
    """Return the steps of the pipeline, each after its inputs when the assets come in that order."""
    return [spec for asset in assets for spec in asset.specs]


@dataclass(frozen=True, slots=True)
class Finding:
    """The reason why a batch needs a run, or the gate that blocks it; neither when up to date."""

    due: str | None = None
    blocked: str | None = None


def blocked_message(findings: Mapping[str, Finding]) -> str:
    """Return the blocked batches in a sentence; empty where there are none."""
    batches = [f"{batch} ({found.blocked})" for batch, found in sorted(findings.items()) if found.blocked]
    return f"blocked by a gate until something changes: {first_names(batches)}" if batches else ""


def examine_batches(
    instance: dg.DagsterInstance,
    resources: Resources,
    steps: Steps,
    batches: Sequence[str],
    *,
    compare_code: bool,
    until: float = math.inf,
) -> dict[str, Finding]:
    """Return what each batch needs, or what blocks it; some batches at least.

    Args:
        instance: where runs are recorded; the present content of batches must be reported to it.
        resources: the output folder, and the settings; their gates decide whether a batch is still blocked.
        steps: all steps, each after its inputs.
        batches: the partitions.
        compare_code: whether other code, prompts or settings count too. For a blocked batch they always do.
        until: time (monotonic) after which no further ones are examined.
    """
    findings: dict[str, Finding] = {}
    step = BATCHES_A_QUERY if until == math.inf else _BATCHES_A_LOOK
    for start in range(0, len(batches), step):
        if start and time.monotonic() > until:
            break
        part = batches[start : start + step]
        facts = _Facts(instance, resources, steps, part)
        findings |= {batch: facts.examine(batch, compare_code=compare_code) for batch in part}
    return findings


def gate_basis(versions: Mapping[str, str | None], settings: Settings) -> str:
    """Hash of what a gate was checked on: versions of the tables it reads, settings of gates, and code."""
    return hash_json([code_version("gates", settings), dict(versions)])[:16]


def latest_versions(instance: dg.DagsterInstance, names: Iterable[str], batch: str) -> dict[str, str | None]:
    """Return the data version of the latest materialization of each table of a batch."""
    return {name: latest_tags(instance, dg.AssetKey(name), batch).get(DATA_VERSION) for name in names}


class _Facts:
    """The records of some batches, at most `BATCHES_A_QUERY`."""

    def __init__(
        self, instance: dg.DagsterInstance, resources: Resources, steps: Steps, batches: Collection[str]
    ) -> None:
        self._layout, self._settings = resources.layout, resources.settings
        self._steps = steps
        keys = (CORPUS, *(step.key for step in steps))
        self._tags = {key: latest_tags_by_batch(instance, key, batches) for key in keys}
        self._stones = withdrawn_batches(self._layout)

    def examine(self, batch: str, *, compare_code: bool) -> Finding:
        """Conclude whether the batch needs a run, is blocked, or neither."""
        stone = self._stones.get(batch)
        gates = self._blocking(batch, stone) if stone else {}
        if gates:
            due = self._reason(batch, self._after(gates), compare_code=True)
            problems = "; ".join(f"{gate}: {detail}" for gate, detail in gates.items())
            return Finding(due=due) if due else Finding(blocked=problems)
        return Finding(due=self._reason(batch, frozenset(), compare_code=compare_code))

    def _blocking(self, batch: str, stone: Tombstone) -> dict[str, str]:
        """Return the gates that failed on the present tables and settings, with their findings.

        A gate that failed on other tables, or before its run died, says nothing about the present ones.
        """
        if stone.reason != "gate_failed":
            return {}
        gates = {}
        for gate, detail in stone.details.items():
            reads = _GATES[gate].reads if gate in _GATES else ()  # another release may have had it
            versions = {name: self._version(dg.AssetKey(name), batch) for name in reads}
            if reads and stone.bases.get(gate) == gate_basis(versions, self._settings):
                gates[gate] = detail
        return gates

    def _after(self, gates: Iterable[str]) -> frozenset[dg.AssetKey]:
        """Return the steps that are not run while these gates fail: those made from a gate's table."""
        assets = {dg.AssetKey(_GATES[gate].asset) for gate in gates}
        # they are moved aside whichever gate failed
        after = {dg.AssetKey(TRAINING_EXAMPLES.name)} - assets
        for step in self._steps:
            made_from = {dep.asset_key for dep in step.deps}
            if made_from & (assets | after):
                after.add(step.key)
        return frozenset(after)

    def _version(self, key: dg.AssetKey, batch: str) -> str | None:
        return self._tags[key].get(batch, {}).get(DATA_VERSION)

    def _reason(self, batch: str, ignored: Collection[dg.AssetKey], *, compare_code: bool) -> str | None:
        steps = [step for step in self._steps if step.key not in ignored]
        names = {step.key.to_user_string() for step in steps}
        return (
            self._outdated(batch, steps, compare_code=compare_code)
            or lost_file(self._layout, batch, names)
            or (new_decisions(self._layout, batch) if DECISIONS.name in names else None)
            or (added_pairs(self._layout, batch) if PAIRS.name in names else None)
            or unanswered(self._layout, batch, names)
        )

    def _outdated(self, batch: str, steps: Steps, *, compare_code: bool) -> str | None:
        for step in steps:
            name = step.key.to_user_string()
            tags = self._tags[step.key].get(batch, {})
            if tags.get(DATA_VERSION) is None:
                return f"{name} has not been made yet"
            for made_from in (dep.asset_key for dep in step.deps):
                version = self._version(made_from, batch)
                if tags.get(INPUT_VERSION + made_from.to_user_string()) != as_input(version):
                    return f"{made_from.to_user_string()} changed since {name} was made"
            if compare_code and tags.get(CODE_VERSION) != step.code_version:
                return f"{name} was made with other settings, prompts or code"
        return None
