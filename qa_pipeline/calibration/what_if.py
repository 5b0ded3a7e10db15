"""Stored batches decided again with other numbers: the verdicts that would change, without a model."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from qa_pipeline.curation.decisions import overrule_claims
from qa_pipeline.curation.ledger import build_verdicts
from qa_pipeline.errors import InputError
from qa_pipeline.settings.base import read_assignments
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.settings.verification import JudgingSettings, VerificationSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import ASSESSMENTS, STORED, VERDICTS
from qa_pipeline.verification.deciding import REPLIES, decide_claims
from qa_pipeline.verification.judging import not_judged
from qa_pipeline.verification.outcomes import grounded_pairs

INPUTS = (
    *("pairs", "claims", "claim_verdicts", "refusals", "assessments", "canaries", "round_trips"),
    *("decisions", "verdicts"),
)
"""The tables needed to decide again."""
_GROUPS = {"verification": VerificationSettings.deciding(), "judging": JudgingSettings.deciding()}
"""Names of the settings that affect decisions, by group."""


def read_changes(texts: list[str]) -> dict[str, dict[str, Any]]:
    """Read `GROUP.NAME=VALUE` texts into groups, such as {"verification": {"similarity_pass": 0.8}}.

    Raises `InputError` for a setting that needs scores or replies that are not stored.
    """
    deciding = {f"{group}.{name}" for group, names in _GROUPS.items() for name in names}
    for name in (text.partition("=")[0].strip() for text in texts):
        if name not in deciding:
            raise InputError(
                f"--set {name}: choose a setting that affects decisions: {', '.join(sorted(deciding))}"
            )
    return read_assignments(texts)


def what_if(
    layout: Layout, batches: list[str] | None, changes: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    """Decide stored batches again by the current settings with `changes`.

    Returns:
        The count of claims and pairs (`what`) by old verdict, new verdict and new reason.

    Raises:
        InputError: a batch does not exist.
        SettingsError: the changed settings cannot be used.
        TableError: a table is missing or damaged.
    """
    stored_batches = [path.stem for path in layout.tables(VERDICTS.name)]
    missing = sorted(set(batches or []) - set(stored_batches))
    if missing or not stored_batches:
        raise InputError(
            f"{layout.out} has no verdicts of {', '.join(missing) or 'any batch'}; "
            f"qa-pipeline run CORPUS --out {layout.out} makes them"
        )
    settings = load_settings(out=layout.out, **changes)
    compared = []
    for batch in batches or stored_batches:
        frames = {name: read_table(layout.table(name, batch), STORED[name]) for name in INPUTS}
        new_claim_verdicts, new_verdicts = decide_again(frames, settings.verification, settings.judging)
        for what, key, old, new in (
            ("claims", "claim_id", frames["claim_verdicts"], new_claim_verdicts),
            ("pairs", "pair_id", frames["verdicts"], new_verdicts),
        ):
            # a row for each claim or pair, with its old and its new verdict
            verdicts = new.select(key, "reason", what=pl.lit(what), new="verdict")
            compared.append(verdicts.join(old.select(key, old="verdict"), on=key, how="left").drop(key))
    counts = pl.concat(compared).group_by("what", "old", "new", "reason").agg(count=pl.len().cast(pl.Int64))
    return counts.sort("what", "old", "new", "reason")


def decide_again(
    frames: Mapping[str, pl.DataFrame], verification: VerificationSettings, judging: JudgingSettings
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return claim_verdicts and verdicts of a batch, with the stored replies of the verifying model.

    Pairs that newly pass source verification have no assessment; their reason is `judge_not_asked`, or
    `no_judge` in a run without a judge. The settings of the run reproduce the stored tables.
    """
    pairs, claims, assessments = frames["pairs"], frames["claims"], frames["assessments"]
    claim_verdicts = decide_claims(claims, pairs, verification, _stored_replies(frames["claim_verdicts"]))
    claim_verdicts = overrule_claims(claim_verdicts, claims, pairs, frames["decisions"])
    grounded = grounded_pairs(pairs, claims, claim_verdicts, accept_grounding=verification.accept_grounding)
    new_grounded = grounded.join(assessments, on="pair_id", how="anti", maintain_order="left")
    has_judge = (assessments["status"] != "not_judged").any()
    # marked as failed if there was a judge, so that they are not accepted unjudged
    failure = {"status": "failed", "reason": "judge_not_asked"} if has_judge else {}
    pair_ids = new_grounded.select("pair_id", "batch").iter_rows()
    new_assessments = [{**not_judged(pair_id, batch), **failure} for pair_id, batch in pair_ids]
    return claim_verdicts, build_verdicts(
        **{name: frames[name] for name in ("refusals", "round_trips", "canaries", "decisions")},
        pairs=pairs,
        claims=claims,
        claim_verdicts=claim_verdicts,
        assessments=pl.concat([assessments, ASSESSMENTS.frame(new_assessments)]),
        verification=verification,
        judging=judging,
    )


def _stored_replies(claim_verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the replies of the verifying model (`REPLIES`) from the stored verdicts."""
    replied = claim_verdicts.filter(pl.col("llm_decision").is_not_null())
    # where the model failed, llm_decision is the reason
    is_decision = pl.col("llm_decision").is_in(["accept", "reject", "unsure"])
    # an accept that was not trusted keeps its reason
    is_distrusted = (pl.col("llm_decision") == "accept") & (pl.col("verdict") != "supported")
    return replied.select(
        "claim_id",
        pl.when(is_decision).then("llm_decision").alias("decision"),
        pl.when(~is_decision).then("llm_decision").when(is_distrusted).then("reason").alias("reason"),
        "detail",
        "model",
        "prompt_hash",
        quotes="llm_quotes",
    ).match_to_schema(REPLIES)
