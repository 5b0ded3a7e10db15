"""Is a batch up to date? Asked before a run is started, at night, by the sensor or from the command line.

The facts are those Dagster records with every materialization, plus the tables themselves, which somebody may
have deleted. Records are fetched for many batches in one query an asset: one query a batch and asset took
longer than a tick may over 1,000 batches.
"""

import json
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
from pydantic import BaseModel, ValidationError

from qa_pipeline.curation.gates.gates import GATES
from qa_pipeline.curation.withdrawals import Tombstone, withdrawn_batches
from qa_pipeline.defs.base import (
    BATCHES_A_QUERY,
    CODE_VERSION,
    DATA_VERSION,
    INPUT_VERSION,
    as_input,
    latest_ids,
    latest_tags,
    latest_tags_by_batch,
    parts_of,
)
from qa_pipeline.defs.corpus import CORPUS
from qa_pipeline.pipeline.freshness import added_pairs, lost_file, new_decisions, unanswered
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.versions import code_version
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import Version, version_of, versions_in, write_bytes
from qa_pipeline.storage.hashes import hash_json, hash_text
from qa_pipeline.storage.object_stores import store_of
from qa_pipeline.storage.tables import DECISIONS, PAIRS, STORED, TRAINING_EXAMPLES
from qa_pipeline.text.rendering import first_names

Steps = Sequence[dg.AssetSpec]

_BATCHES_A_LOOK = 50
"""Batches examined between two looks at the clock: about a second on a busy machine."""

_LOOKED_UP = 20
"""Batches whose files are asked for one by one on an object store, each in a request; of more, folders are
listed."""

_GATES = {gate.name: gate for gate in GATES}
"""By the name under which a failing gate is noted; `schema` alone is the name of many."""


def steps_of(assets: Sequence[dg.AssetsDefinition]) -> Steps:
    """Return the steps of the pipeline, each after its inputs when the assets come in that order."""
    return [spec for asset in assets for spec in asset.specs]


class Finding(BaseModel):
    """The reason why a batch needs a run, or the gate that blocks it; neither when up to date.

    `basis` is the hash of all facts that this was concluded from.
    """

    due: str | None = None
    blocked: str | None = None
    basis: str = ""


class _Findings(BaseModel):
    by_batch: dict[str, Finding] = {}


@dataclass
class Work:
    """The open work: the batches that need a run and those a gate blocks, each with the reason.

    `unexamined` are the batches that were left for the next tick.
    """

    due: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    unexamined: set[str] = field(default_factory=set)

    def note(self, batch: str, finding: Finding) -> None:
        """Add what was found about a batch, which is examined now."""
        self.unexamined.discard(batch)
        if finding.due:
            self.due[batch] = finding.due
        if finding.blocked:
            self.blocked[batch] = finding.blocked

    def blocked_message(self) -> str:
        """Return the blocked batches in a sentence; empty where there are none."""
        batches = [f"{batch} ({gates})" for batch, gates in sorted(self.blocked.items())]
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


def remembered_work(
    instance: dg.DagsterInstance,
    resources: Resources,
    steps: Steps,
    batches: Sequence[str],
    *,
    most: int,
    enough: int,
    seconds: float,
) -> Work:
    """Return the batches that need a run; other code or settings are no reason, but for a blocked one.

    Over a whole corpus new code is a decision, taken by hand. What was found is remembered in a file, with a
    hash of the facts, and a batch is examined anew only where these changed. Losing the file costs only time.

    Args:
        instance: as in `examine_batches`, like the others.
        resources: the output folder and the settings.
        steps: all steps.
        batches: the partitions, the most urgent first.
        most: how many batches are examined anew; the others are examined by a later call.
        enough: number of batches that need a run after which no others are looked at.
        seconds: time after which no others are looked at; some are in any case.
    """
    until = time.monotonic() + seconds
    path, work = resources.layout.findings, Work(unexamined=set(batches))
    remembered, learned, listings = _read_findings(path), False, dict[Path, dict[str, Version]]()
    for part in parts_of(batches):
        bases = _bases(instance, resources, steps, part, listings)
        changed = [name for name in part if remembered.get(name, Finding()).basis != bases[name]]
        examined = examine_batches(
            instance, resources, steps, changed[:most], compare_code=False, until=until
        )
        remembered |= {
            name: finding.model_copy(update={"basis": bases[name]}) for name, finding in examined.items()
        }
        most, learned = most - len(examined), learned or bool(examined)
        for name in part:
            if name in remembered and remembered[name].basis == bases[name]:
                work.note(name, remembered[name])
        if len(work.due) >= enough or time.monotonic() > until:
            break
    if learned:
        content = _Findings(by_batch=dict(sorted(remembered.items())))
        write_bytes(path, content.model_dump_json(exclude_defaults=True).encode())
    return work


def gate_basis(versions: Mapping[str, str | None], settings: Settings) -> str:
    """Hash of what a gate was checked on: versions of the tables it reads, settings of gates, and code."""
    return hash_json([code_version("gates", settings), dict(versions)])[:16]


def latest_versions(instance: dg.DagsterInstance, names: Iterable[str], batch: str) -> dict[str, str | None]:
    """Return the data version of the latest materialization of each table of a batch."""
    return {name: latest_tags(instance, dg.AssetKey(name), batch).get(DATA_VERSION) for name in names}


def _read_findings(path: Path) -> dict[str, Finding]:
    try:
        return _Findings.model_validate_json(path.read_bytes()).by_batch
    except (FileNotFoundError, ValidationError):  # everything is examined anew, and the file written anew
        return {}


def _bases(
    instance: dg.DagsterInstance,
    resources: Resources,
    steps: Steps,
    batches: Collection[str],
    listings: dict[Path, dict[str, Version]],
) -> dict[str, str]:
    """Hash of every fact that `_Facts` concludes from, by batch: cheap, since no record is read.

    `listings` are folders of an object store that were listed; further ones are added.
    """
    layout = resources.layout
    common = [code_version("gates", resources.settings), *(str(step.code_version) for step in steps)]
    ids = [latest_ids(instance, key, batches) for key in (CORPUS, *(step.key for step in steps))]
    files = [
        *(_versions(layout.table(name, "batch"), batches, listings) for name in STORED),
        *(
            _versions(of("batch"), batches, listings)
            for of in (layout.index, layout.decisions, layout.added_pairs)
        ),
    ]
    stones = withdrawn_batches(layout)
    bases = {}
    for batch in batches:
        stone = stones.get(batch)
        facts = [
            common,
            [of.get(batch) for of in ids],
            [of.get(batch) for of in files],
            stone.model_dump(exclude={"since"}) if stone else None,
        ]
        bases[batch] = hash_text(json.dumps(facts))[:16]
    return bases


def _versions(
    pattern: Path, batches: Collection[str], listings: dict[Path, dict[str, Version]]
) -> Mapping[str, Version | None]:
    """Return the version of the file of each batch, which is named like `pattern`."""
    folder = pattern.parent
    if store_of(folder) is None or (len(batches) <= _LOOKED_UP and folder not in listings):
        return {batch: version_of(pattern.with_name(batch + pattern.suffix)) for batch in batches}
    if folder not in listings:
        listings[folder] = versions_in(folder, pattern.suffix)
    return listings[folder]


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
