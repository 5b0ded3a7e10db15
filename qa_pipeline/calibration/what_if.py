"""Stored batches decided anew, and what would move; nothing is written and no model is asked."""

import difflib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import overrule_claims
from qa_pipeline.curation.ledger import build_verdicts, decide_judge_canaries, recorded_deciding
from qa_pipeline.errors import InputError
from qa_pipeline.pipeline.funnel import known_answers, stage_counts
from qa_pipeline.pipeline.stages import STAGES
from qa_pipeline.settings.base import read_assignments
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import ASSESSMENTS, STORED, VERDICTS
from qa_pipeline.verification.deciding import (
    REPLIES,
    UNDECIDED_WITHOUT_MODEL,
    decide_claims,
    scores_of_other_models,
)
from qa_pipeline.verification.judging import not_judged
from qa_pipeline.verification.outcomes import grounded_pairs
from qa_pipeline.verification.refusals import decide_refusals

INPUTS = (*(name for name in STAGES["verdicts"].inputs if name != "documents"), "verdicts")
"""The tables that deciding anew needs."""

DECISIONS = ("accept", "reject", "unsure")
NOT_ASKED = "judge_not_asked"


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a batch's rows are put to: those of the settings, or those that replied before."""

    verifier: bool
    judge: bool


@dataclass(frozen=True, slots=True)
class Redecided:
    """The tables anew, and what only a model could tell.

    `open_claims` are ids of claims that are borderline now and were not, so that no reply is stored;
    `unjudged_pairs` those of pairs that pass source verification now and were never judged; `open_pairs`
    those of all pairs whose verdict may rest on either, those that other claims refute left out.
    `scores_of_other_models` counts, by step, scores of another model than the thresholds were fitted for:
    they decide nothing.
    """

    claim_verdicts: pl.DataFrame
    refusals: pl.DataFrame
    verdicts: pl.DataFrame
    open_claims: pl.Series
    unjudged_pairs: pl.Series
    open_pairs: pl.Series
    scores_of_other_models: dict[str, int]


def redecide(
    frames: Mapping[str, pl.DataFrame],
    verification: VerificationSettings,
    judging: JudgingSettings,
    models: Models,
) -> Redecided:
    """Decide the claims, refusals and pairs of a batch anew.

    Stored replies speak for claims that are borderline still or again; a claim that the local steps decide
    now has none of them. With the settings of the run the tables come out as they are stored.

    Args:
        frames: the tables of `INPUTS` by name.
        verification: policy and thresholds.
        judging: weights and floors.
        models: whom rows without a stored reply would be put to.
    """
    pairs, claims = frames["pairs"], frames["claims"]
    replies, decisions = stored_replies(frames["claim_verdicts"]), frames["decisions"]
    decided = overrule_claims(decide_claims(claims, pairs, verification, replies), claims, pairs, decisions)
    refusals = decide_refusals(frames["refusals"], verification)
    grounded = grounded_pairs(pairs, claims, decided, accept_grounding=verification.accept_grounding)
    unjudged = grounded.join(frames["assessments"], on="pair_id", how="anti", maintain_order="left")
    verdicts = build_verdicts(
        pairs=pairs,
        twins=frames["twins"],
        claims=claims,
        claim_verdicts=decided,
        refusals=refusals,
        contradictions=frames["contradictions"],
        round_trips=frames["round_trips"],
        judge_canaries=decide_judge_canaries(frames["judge_canaries"], judging),
        decisions=decisions,
        assessments=pl.concat([frames["assessments"], _unassessed(unjudged, models)]),
        verification=verification,
        judging=judging,
    )
    unasked = pl.col("reason") == UNDECIDED_WITHOUT_MODEL
    before = frames["claim_verdicts"].filter(unasked)
    newly_open = decided.filter(unasked).join(before, on="claim_id", how="anti", maintain_order="left")
    asking = newly_open if models.verifier else newly_open.clear()
    unjudged_pairs = unjudged["pair_id"] if models.judge else unjudged["pair_id"].clear()
    refuted = (pl.col("verdict") == "rejected") & (pl.col("stage") == "source_verification")
    waiting = verdicts.filter(pl.col("pair_id").is_in(asking["pair_id"].to_list()), ~refuted)
    return Redecided(
        claim_verdicts=decided,
        refusals=refusals,
        verdicts=verdicts,
        open_claims=asking["claim_id"],
        unjudged_pairs=unjudged_pairs,
        open_pairs=pl.concat([waiting["pair_id"], unjudged_pairs]).unique(maintain_order=True),
        scores_of_other_models=scores_of_other_models(claims, verification.fitted),
    )


def stored_replies(claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the replies of a verifying model to claims (`REPLIES`), from the stored verdicts."""
    replied = claim_verdicts.filter(pl.col("llm_decision").is_not_null())
    is_decision = pl.col("llm_decision").is_in(DECISIONS)
    distrusted = (pl.col("llm_decision") == "accept") & (pl.col("verdict") != "supported")
    return replied.select(
        "claim_id",
        pl.when(is_decision).then("llm_decision").alias("decision"),
        pl.when(~is_decision).then("llm_decision").when(distrusted).then("reason").alias("reason"),
        "detail",
        "model",
        "prompt_hash",
        quotes="llm_quotes",
    ).match_to_schema(REPLIES)


def _unassessed(pairs: pl.DataFrame, models: Models) -> pl.DataFrame:
    """Return assessments of pairs that no judge has seen: not judged without a judge, else missing."""
    detail = "the pair passes source verification by these thresholds, and no judge has seen it"
    missing = {"status": "failed", "reason": NOT_ASKED, "detail": detail}
    return ASSESSMENTS.frame(
        [
            {**not_judged(*ids), **(missing if models.judge else {})}
            for ids in pairs.select("pair_id", "batch").iter_rows()
        ]
    )


NEEDS_MODEL = "needs_a_model"
"""The verdict of a pair that only a model could decide now."""

_STEP = ["stage", "what", "reason"]
_FIGURES = ("pairs", "hits", "sent_to_review", "wrongly_accepted", "wrongly_rejected", "failed")

Frames = Mapping[str, pl.DataFrame]


def compare(frames: Frames, new: Redecided) -> dict[str, pl.DataFrame]:
    """Compare a batch with itself decided anew.

    Returns:
        `steps` has stage, what, reason and the counts old and new; `claims` and `pairs` each row whose
        verdict is another; `known`, of known-answer pairs, old and new counts by what became of them.
    """
    waits = pl.col("pair_id").is_in(new.open_pairs.to_list())
    decided = new.verdicts.with_columns(verdict=pl.when(waits).then(pl.lit(NEEDS_MODEL)).otherwise("verdict"))
    old_steps = _steps(frames["pairs"], frames["claim_verdicts"], frames["refusals"], frames["verdicts"])
    new_steps = _steps(frames["pairs"], new.claim_verdicts, new.refusals, decided)
    steps = old_steps.rename({"count": "old"}).join(
        new_steps.rename({"count": "new"}), on=_STEP, how="full", coalesce=True, nulls_equal=True
    )
    as_people_see = decided.with_columns(verdict=pl.col("verdict").replace({NEEDS_MODEL: "needs_review"}))
    figures = [
        known_answers(frames["pairs"], verdicts)
        .select(pl.col(_FIGURES).sum())
        .unpivot(variable_name="what", value_name=name)
        for name, verdicts in (("old", frames["verdicts"]), ("new", as_people_see))
    ]
    return {
        "steps": steps.with_columns(pl.col("old", "new").fill_null(0)),
        "claims": _moved(frames["claim_verdicts"], new.claim_verdicts, "claim_id"),
        "pairs": _moved(frames["verdicts"], decided, "pair_id"),
        "known": figures[0].join(figures[1], on="what", maintain_order="left"),
    }


def add_up(comparisons: Sequence[Frames]) -> dict[str, pl.DataFrame]:
    """Return several batches as one: stages in order of the flow, the largest first, and moved rows."""
    every = {name: pl.concat([comparison[name] for comparison in comparisons]) for name in comparisons[0]}
    steps = every["steps"].group_by(_STEP, maintain_order=True).sum()
    stages = pl.Enum(["pairs", "claims", "refusals", "verdicts"])
    return {
        "yield": steps.sort(
            pl.col("stage").cast(stages),
            pl.col("what").is_in(["made", "decided", "weighed"]),
            pl.max_horizontal("old", "new"),
            "what",
            "reason",
            descending=[False, True, True, False, False],
            nulls_last=True,
        ),
        "moved_claims": _counted(every["claims"]),
        "moved_pairs": _counted(every["pairs"]),
        "moved": every["pairs"],
        "known_answers": every["known"].group_by("what", maintain_order=True).sum(),
    }


def _counted(moved: pl.DataFrame) -> pl.DataFrame:
    key = ["old", "new", "reason"]
    counts = moved.group_by(key).agg(count=pl.len().cast(pl.Int64))
    return counts.sort("count", *key, descending=[True, False, False, False], nulls_last=True)


def _steps(
    pairs: pl.DataFrame, claim_verdicts: pl.DataFrame, refusals: pl.DataFrame, verdicts: pl.DataFrame
) -> pl.DataFrame:
    claims = claim_verdicts.with_columns(reason=pl.coalesce("reason", "decided_by"))
    weighed = refusals.with_columns(reason=pl.lit(None, pl.String()))
    return pl.concat(
        [
            stage_counts("pairs", "made", pairs, "status"),
            stage_counts("claims", "decided", claims, "verdict"),
            stage_counts("refusals", "weighed", weighed, "outcome"),
            stage_counts("verdicts", "decided", verdicts, "verdict"),
        ]
    )


def _moved(old: pl.DataFrame, new: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return the rows with another verdict: key, old (null if none was stored), new and the new reason."""
    joined = new.select(key, "batch", pl.col("verdict").alias("new"), "reason").join(
        old.select(key, pl.col("verdict").alias("old")), on=key, how="left", maintain_order="left"
    )
    moved = joined.filter(pl.col("old").ne_missing(pl.col("new")))
    return moved.select("batch", key, "old", "new", "reason")


DECIDING = (
    *(f"verification.{name}" for name in VerificationSettings.deciding()),
    *(f"judging.{name}" for name in JudgingSettings.deciding()),
)
"""Settings that only decide over stored scores; any other would compute scores or ask a model anew."""

_NEAR = 3
"""Names of settings that are suggested: as many as fit a line, and what `difflib` gives by default."""


def read_changes(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read `GROUP.NAME=VALUE` texts into the groups of settings that they change; `none` takes a value away.

    Raises:
        InputError: a text is not of that form, or names no setting that only decides.
    """
    for text in texts:
        name, equals, _ = text.partition("=")
        if not equals:
            raise InputError(
                f"--set {text!r} must be GROUP.NAME=VALUE, such as verification.accept_grounding=0.8"
            )
        if name.strip() not in DECIDING:
            raise InputError(f"--set {name.strip()}: {_refusal(name.strip())}")
    return read_assignments(texts)


def _refusal(name: str) -> str:
    deciding = {
        **{f"verification.{model_field}": None for model_field in VerificationSettings.model_fields},
        **{f"judging.{model_field}": None for model_field in JudgingSettings.model_fields},
    }
    if name in deciding:
        return (
            "another value of it takes scores or replies that are not stored; change it in the settings and "
            "run the batches"
        )
    leaves = {path.rpartition(".")[2]: path for path in DECIDING}
    near = difflib.get_close_matches(name, DECIDING, n=_NEAR)
    near += [leaves[path] for path in difflib.get_close_matches(name.rpartition(".")[2], leaves, n=_NEAR)]
    if near:
        return f"no such setting decides; did you mean {', '.join(dict.fromkeys(near[:_NEAR]))}?"
    return f"no such setting decides; those that do are {', '.join(DECIDING)}"


Changes = dict[str, dict[str, Any]]
"""Values of settings by group and name."""


def decide_anew(layout: Layout, batches: list[str] | None, changes: Changes) -> dict[str, Any]:
    """Decide stored batches anew, each by the settings of its run with `changes` made to them.

    Returns:
        What `add_up` gives and: the `batches`, their `claims` and `pairs`, `deciding_ms` (reading and
        counting aside), the `thresholds` behind the stored verdicts and the new ones, what `needs_a_model`,
        `scores_of_other_models`, and batches whose own settings are `unrecorded`.

    Raises:
        InputError: there is no such batch, or none at all.
        SettingsError: the changed settings cannot be used.
        TableError: a table is missing or damaged.
    """
    _settings(layout, changes, {})  # what is wrong with the changes is wrong whatever is stored
    names = _chosen(layout, batches)
    comparisons, unrecorded = [], []
    counts: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    stored: dict[str, None] = {}
    names_seen: dict[str, None] = {}
    seconds = 0.0
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
        counts.update({table: frames[table].height for table in ("claims", "pairs")})
        counts.update(
            {column: len(getattr(new, column)) for column in ("open_claims", "unjudged_pairs", "open_pairs")}
        )
        unread.update(new.scores_of_other_models)
        stored |= dict.fromkeys(ids)
        names_seen[f"{settings.verification.thresholds_id}/{settings.judging.thresholds_id}"] = None
    return {
        "thresholds": {"stored": list(stored), "new": list(names_seen)},
        "batches": names,
        "claims": counts["claims"],
        "pairs": counts["pairs"],
        "deciding_ms": round(seconds * 1000, 2),
        **add_up(comparisons),
        "needs_a_model": {
            "claims_without_a_reply": counts["open_claims"],
            "pairs_never_judged": counts["unjudged_pairs"],
            "pairs": counts["open_pairs"],
        },
        "scores_of_other_models": dict(unread),
        "unrecorded": unrecorded,
    }


def _settings(layout: Layout, changes: Changes, recorded: Changes) -> Settings:
    groups = {name: {**recorded.get(name, {}), **changes.get(name, {})} for name in {*recorded, *changes}}
    return load_settings(out=layout.out, llm={"budget": {"max_calls": 0}}, **groups)


def _chosen(layout: Layout, batch_names: list[str] | None) -> list[str]:
    names = [path.stem for path in layout.tables(VERDICTS.name)]
    if not names:
        raise InputError(
            f"{layout.out} holds no verdicts; run qa-pipeline run CORPUS --out {layout.out} first"
        )
    for name in batch_names or []:
        if name not in names:
            raise InputError(f"{layout.out} has no batch {name!r}; it has {', '.join(names)}")
    return list(dict.fromkeys(batch_names or names))


def _models(frames: dict[str, pl.DataFrame], settings: Settings) -> Models:
    """Return the models of a batch; one that replied before is used, whatever the settings say."""
    without = ("extractive", "none")
    judged = frames["assessments"]["status"] != "not_judged"
    verifies = settings.llm.reviewer("verifier").provider not in without
    judges = settings.judging.enabled and settings.llm.reviewer("judge").provider not in without
    return Models(
        verifier=verifies or bool(frames["claim_verdicts"]["llm_decision"].is_not_null().any()),
        judge=judges or bool(judged.any()),
    )
