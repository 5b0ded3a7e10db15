"""Stored batches decided anew: their tables in, what would move out.

What belongs here: reading the tables, timing, adding up over batches. What does not: deciding
(`redeciding.py`), counting (`comparing.py`), arguments and printing (`what_if_command.py`). Nothing is
written and no model is asked.
"""

import time
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.calibration.changes import recorded_deciding
from qa_pipeline.calibration.comparing import Comparison, add_up, compare
from qa_pipeline.calibration.redeciding import INPUTS, Models, Redecided, redecide
from qa_pipeline.errors import InputError
from qa_pipeline.layout import Layout
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.storage import read_table
from qa_pipeline.tables import STORED, VERDICTS

Changes = dict[str, dict[str, Any]]
"""Values of settings by group and name."""


@dataclass(frozen=True)
class WhatIf:
    """What a what-if found; `seconds` is what deciding took, reading and counting aside."""

    batches: list[str]
    comparison: Comparison
    claims: int
    pairs: int
    open_claims: int
    open_pairs: int
    unjudged_pairs: int
    strange: dict[str, int]
    seconds: float
    thresholds: tuple[list[str], list[str]]
    unrecorded: list[str]


def decide_anew(layout: Layout, batches: list[str] | None, changes: Changes) -> WhatIf:
    """Decide stored batches anew, each by the settings of its run with `changes` made to them.

    Raises:
        InputError: there is no such batch, or none at all.
        SettingsError: the changed settings cannot be used.
        TableError: a table is missing or damaged.
    """
    _settings(layout, changes, {})  # what is wrong with the changes is wrong whatever is stored
    names = _chosen(layout, batches)
    comparisons, results, unrecorded = [], [], []
    stored: dict[str, None] = {}
    named: dict[str, None] = {}
    seconds, claims, pairs = 0.0, 0, 0
    for name in names:
        frames = {table: read_table(layout.table(table, name), STORED[table]) for table in INPUTS}
        ids = frames["verdicts"]["thresholds_id"].unique().sort().to_list()
        recorded = recorded_deciding(layout, ids[0]) if ids else {}
        if recorded is None:
            unrecorded.append(name)
        settings = _settings(layout, changes, recorded or {})
        start = time.perf_counter()
        new = redecide(frames, settings.verification, settings.judging, _models(frames, settings))
        seconds += time.perf_counter() - start
        comparisons.append(compare(frames, new))
        results.append(new)
        claims, pairs = claims + frames["claims"].height, pairs + frames["pairs"].height
        stored |= dict.fromkeys(ids)
        named[f"{settings.verification.thresholds_id}/{settings.judging.thresholds_id}"] = None
    return WhatIf(
        batches=names,
        comparison=add_up(comparisons),
        claims=claims,
        pairs=pairs,
        open_claims=sum(len(one.open_claims) for one in results),
        open_pairs=sum(len(one.open_pairs) for one in results),
        unjudged_pairs=sum(len(one.unjudged_pairs) for one in results),
        strange=_strange(results),
        seconds=seconds,
        thresholds=(list(stored), list(named)),
        unrecorded=unrecorded,
    )


def _settings(layout: Layout, changes: Changes, recorded: Changes) -> Settings:
    groups = {name: {**recorded.get(name, {}), **changes.get(name, {})} for name in {*recorded, *changes}}
    return load_settings(out=layout.out, llm={"budget": {"max_calls": 0}}, **groups)


def _chosen(layout: Layout, asked: list[str] | None) -> list[str]:
    names = [path.stem for path in layout.tables(VERDICTS.name)]
    if not names:
        raise InputError(
            f"{layout.out} holds no verdicts; run qa-pipeline run CORPUS --out {layout.out} first"
        )
    for name in asked or []:
        if name not in names:
            raise InputError(f"{layout.out} has no batch {name!r}; it has {', '.join(names)}")
    return list(dict.fromkeys(asked or names))


def _models(frames: dict[str, pl.DataFrame], settings: Settings) -> Models:
    """A model that replied before is there, whatever the settings of this command say."""
    without = ("extractive", "none")
    judged = frames["assessments"]["status"] != "not_judged"
    verifies = settings.llm.reviewer("verifier").provider not in without
    judges = settings.judging.enabled and settings.llm.reviewer("judge").provider not in without
    return Models(
        verifier=verifies or bool(frames["claim_verdicts"]["llm_decision"].is_not_null().any()),
        judge=judges or bool(judged.any()),
    )


def _strange(results: list[Redecided]) -> dict[str, int]:
    steps = results[0].strange
    return {step: sum(one.strange[step] for one in results) for step in steps}


def what_if_document(found: WhatIf, changes: Changes) -> dict[str, Any]:
    """What was found as JSON values."""
    comparison = found.comparison
    return {
        "set": {
            f"{group}.{name}": value if value is None else str(value)
            for group, values in changes.items()
            for name, value in values.items()
        },
        "thresholds": {"stored": found.thresholds[0], "new": found.thresholds[1]},
        "batches": found.batches,
        "claims": found.claims,
        "pairs": found.pairs,
        "deciding_ms": round(found.seconds * 1000, 2),
        "yield": comparison.steps.to_dicts(),
        "moved_claims": comparison.claims.to_dicts(),
        "moved_pairs": comparison.pairs.to_dicts(),
        "moved": comparison.moved.to_dicts(),
        "known_answers": {name: {"old": old, "new": new} for name, (old, new) in comparison.known.items()},
        "needs_a_model": {
            "claims_without_a_reply": found.open_claims,
            "pairs_never_judged": found.unjudged_pairs,
            "pairs": found.open_pairs,
        },
        "scores_of_other_models": found.strange,
    }
