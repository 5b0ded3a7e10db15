"""Check the tables of a batch before its training examples are published.

Known-answer pairs are left out of all rates: half of them are wrong on purpose, and a batch must not fail
because it rejects them. The conservation and proof gates include them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import polars as pl

from qa_pipeline.curation.canary_gates import (
    JUDGE_NOT_TRUSTED,
    canary_accepts_gate,
    canary_alarms_gate,
    canary_recall_gate,
    judge_canaries_gate,
    verifier_canaries_gate,
)
from qa_pipeline.curation.duplicates import ALTERNATIVE, DUPLICATE, NEAR_DUPLICATE, SAME_WORDING
from qa_pipeline.curation.gate import Gate, GateSpec, law
from qa_pipeline.records import RowFlaw
from qa_pipeline.settings.verification import QualitySettings
from qa_pipeline.statistics import wilson_bounds
from qa_pipeline.verification.outcomes import (
    SUPPORTED,
    decided_claims,
    evidence_passages,
    fabricated_citations,
)

MOST_FAILED = 0.05
"""Maximum share of pairs without a verdict because something failed."""
NOT_WRONG = (
    *(DUPLICATE, NEAR_DUPLICATE, ALTERNATIVE, SAME_WORDING, *get_args(RowFlaw)),
    *("superseded_by_edit", "low_question_quality"),
)
"""Reasons for rejecting rows that are not proved wrong: they repeat other rows or teach too little."""


def citations_gate(*, pairs: pl.DataFrame, verdicts: pl.DataFrame, claims: pl.DataFrame) -> Gate:
    """Check that the sources and quotes cited by accepted pairs exist."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select("pair_id")
    fabricated = fabricated_citations(pairs, claims).join(accepted, on="pair_id", how="semi")
    breaches = {"fabricated": int(fabricated["fabricated"].sum())}
    return law(
        "fabricated_citations", accepted.height, breaches, f"{accepted.height} accepted pairs looked at"
    )


def documents_gate(*, documents: pl.DataFrame) -> Gate:
    """Check that at least one file of the batch could be read."""
    count, parsed = documents.height, documents.filter(pl.col("status") == "parsed").height
    if not count:
        detail = "the batch holds no files; put documents into its folder"
    elif not parsed:
        files = "1 file" if count == 1 else f"{count} files"
        detail = f"nothing was read of {files}: {_reasons(documents)}"
    else:
        detail = f"{parsed} of {count} files were read"
    return Gate("documents_read", parsed > 0, True, None, None, count, detail)


VERDICT_WORDS = ("accepted", "rejected", "needs_review", "failed")


def batch_gates(frames: Mapping[str, pl.DataFrame], settings: QualitySettings) -> list[Gate]:
    """Run the gates over the tables of a batch, in a fixed order. Gates of missing tables are skipped."""
    return [gate.check(frames, settings) for gate in GATES if gate.asset in frames]


def conservation_gate(*, pairs: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Check that every pair is in the ledger exactly once: accepted, rejected, needs review or failed."""
    is_verdict = pl.col("verdict").is_in(VERDICT_WORDS).fill_null(value=False)
    breaches = {
        "missing": pairs.join(verdicts, on="pair_id", how="anti").height,
        "unknown_pairs": verdicts.join(pairs, on="pair_id", how="anti").height,
        "repeated": verdicts.height - verdicts["pair_id"].n_unique(),
        "unknown_verdicts": verdicts.filter(~is_verdict).height,
    }
    words = _verdict_counts(verdicts)
    message = " + ".join(f"{count} {word}" for word, count in words.items())
    gate = law("conservation", pairs.height, breaches, f"{pairs.height} pairs = {message}")
    return replace(gate, counts={**gate.counts, **words})


def proof_gate(
    *,
    pairs: pl.DataFrame,
    verdicts: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    documents: pl.DataFrame,
) -> Gate:
    """Check that every quote is in its document as recorded, and that accepted pairs have evidence.

    For each quote, the document's text from start to end must equal the quote. The document's hash must equal
    the recorded hash. Each supported claim of an accepted pair must have evidence. Each accepted pair must
    have a supported claim, unless it is a refusal.
    """
    fields = ("document_id", "content_sha256", "start", "end", "quote")
    quotes = (
        claims.select("claim_id", "pair_id")
        .join(evidence_passages(claims, claim_verdicts), on="claim_id", maintain_order="left")
        .select("claim_id", "pair_id", **{name: pl.col(f"evidence_{name}") for name in fields})
        .filter(pl.any_horizontal(pl.col(fields).is_not_null()))
    )
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select("pair_id")
    supported = (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == SUPPORTED)
        .join(accepted, on="pair_id", how="semi")
    )
    answered = pairs.filter(pl.col("coverage") != "none").join(accepted, on="pair_id", how="semi")
    breaches = {
        **_evidence_breaches(quotes, documents),
        "supported_without_evidence": supported.join(quotes, on="claim_id", how="anti").height,
        "accepted_without_proof": answered.join(supported, on="pair_id", how="anti").height,
    }
    return law("proof", quotes.height, breaches, f"{quotes.height} pieces of evidence compared")


def training_gate(
    *,
    training_examples: pl.DataFrame,
    pairs: pl.DataFrame,
    verdicts: pl.DataFrame,
    documents: pl.DataFrame,
) -> Gate:
    """Check that training examples are accepted pairs, without known-answer pairs, and their quotes match."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select("pair_id")
    seeded = pairs.filter(pl.col("expected_verdict").is_not_null()).select("pair_id")
    evidence = (
        training_examples.select("evidence")
        .explode("evidence", empty_as_null=True)
        .drop_nulls("evidence")
        .unnest("evidence")
    )
    breaches = {
        "not_accepted": training_examples.join(accepted, on="pair_id", how="anti").height,
        "known_answers": training_examples.join(seeded, on="pair_id", how="semi").height,
        **_evidence_breaches(evidence, documents),
    }
    height = training_examples.height
    return law("training_rows", height, breaches, f"{height} examples looked at")


def pass_rate_gate(*, verdicts: pl.DataFrame, settings: QualitySettings) -> Gate:
    """Measure accepted ÷ (accepted + rejected). It blocks only if the whole interval is below the limit.

    If the 95 % Wilson interval contains the limit, the batch is too small to decide and the gate warns.
    Undecided rows are left out, and so are rejected rows that are not proved wrong (`NOT_WRONG`). Pairs that
    wait for a judge may still be accepted. A batch fails only if it would fail even with all of them.
    """
    rated, limit = _rated(verdicts), settings.min_pass_rate
    counts, unjudged = _verdict_counts(rated), unjudged_pairs(verdicts)
    not_wrong = rated.filter(pl.col("verdict") == "rejected", pl.col("reason").is_in(NOT_WRONG)).height
    accepted, rejected = counts["accepted"], counts["rejected"] - not_wrong
    decided = accepted + rejected
    counts = {**counts, "rejected": rejected, "not_wrong": not_wrong}
    if not decided:
        detail = f"none of {rated.height} pairs was accepted or proved wrong"
        advice = _judge_advice(verdicts) or f": {_reasons(rated)}"
        return Gate("pass_rate", False, False, None, limit, 0, detail + advice, counts)
    low, high = wilson_bounds(accepted, decided)
    highest = max(high, wilson_bounds(accepted + unjudged, decided + unjudged)[1])
    highest = round(highest, 9)  # 34 of 34 gave 0.9999999999999999, below a limit of 1
    undecided = rated.height - decided - not_wrong
    detail = (
        f"{accepted} of {decided} accepted ({not_wrong} not proved wrong, {undecided} undecided left out)"
    )
    detail += f", 95 % interval {low:.3f} to {high:.3f}, limit {limit}"
    passed, blocking = low >= limit, low >= limit or highest < limit
    if not blocking:
        detail += "; too few pairs to say if the rate is above the limit"
    if not passed:
        detail += _judge_advice(verdicts)
    return Gate("pass_rate", passed, blocking, accepted / decided, limit, decided, detail, counts)


def unjudged_pairs(verdicts: pl.DataFrame) -> int:
    """Count the pairs that passed source verification and wait for a judge or a person."""
    reasons = ("not_judged", JUDGE_NOT_TRUSTED)
    return _rated(verdicts).filter(pl.col("reason").is_in(reasons)).height


def _judge_advice(verdicts: pl.DataFrame) -> str:
    """Return advice if pairs wait for a judge; otherwise an empty text."""
    unjudged, people = unjudged_pairs(verdicts), "let people decide (qa-pipeline decide)"
    if not unjudged:
        return ""
    if JUDGE_NOT_TRUSTED in verdicts["reason"]:
        cause = "the judge passed pairs that are wrong on purpose"
        return f"; {unjudged} wait since {cause}: {people} or name another model (llm.judge.model)"
    model = "name a model that judges (llm.judge.provider)"
    without = "accept what is verified without a judge (--accept-unjudged)"
    return f"; {unjudged} wait for a judge: {people}, {model}, or {without}"


def generation_gate(*, questions: pl.DataFrame) -> Gate:
    """Check that the model was available: not all requests for questions failed."""
    target = pl.col("target_chunk_ids").list.first()
    failed = questions.filter(pl.col("status") == "failed")
    chunks, failed_chunks = (rows.select(target.n_unique()).item() for rows in (questions, failed))
    passed = failed_chunks == 0 or failed_chunks < chunks
    detail = f"the questions of {failed_chunks} of {chunks} chunks could not be had"
    if not passed:
        detail += f"; {_reasons(failed)}: run again once the model answers"
    return Gate("generation", passed, True, None, None, chunks, detail)


def failed_gate(*, verdicts: pl.DataFrame) -> Gate:
    """Measure the share of pairs that could not be decided because something failed."""
    counts = _verdict_counts(_rated(verdicts))
    failed, total = counts["failed"], sum(counts.values())
    share = failed / total if total else None
    passed = share is None or share <= MOST_FAILED
    detail = f"{failed} of {total} pairs"
    return Gate("failed_share", passed, False, share, MOST_FAILED, total, detail, counts)


def _reasons(rows: pl.DataFrame) -> str:
    """Return the reasons of rows with their counts, the most frequent first."""
    counts = rows.group_by("reason").len().sort("len", "reason", descending=[True, False])
    return ", ".join(f"{count} {reason}" for reason, count in counts.iter_rows())


def _rated(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs that count in rates: without known-answer pairs and alternative drafts."""
    return verdicts.filter(pl.col("expected_verdict").is_null(), pl.col("reason").ne_missing(ALTERNATIVE))


def _verdict_counts(verdicts: pl.DataFrame) -> dict[str, int]:
    return {word: verdicts.filter(pl.col("verdict") == word).height for word in VERDICT_WORDS}


def _evidence_breaches(evidence: pl.DataFrame, documents: pl.DataFrame) -> dict[str, int]:
    """Count evidence of unknown documents and changed documents, and quotes that differ from the text."""
    sources = documents.select("document_id", found_sha256="content_sha256", found_text="text")
    joined = evidence.join(sources, on="document_id", how="left")
    start, length = pl.col("start"), pl.col("end") - pl.col("start")
    in_place = (
        (start >= 0)
        & (length > 0)
        & (length == pl.col("quote").str.len_chars())  # a slice past the end of the text is shorter
        & (pl.col("found_text").str.slice(start.clip(0), length.clip(0)) == pl.col("quote"))
    )
    is_located = pl.col("found_text").is_not_null()
    same = (pl.col("content_sha256") == pl.col("found_sha256")).fill_null(value=False)
    return joined.select(
        unknown_document=(~is_located).sum(),
        changed_document=(is_located & ~same).sum(),
        misplaced_quote=(is_located & ~in_place.fill_null(value=False)).sum(),
    ).row(0, named=True)


GATES: tuple[GateSpec, ...] = (
    GateSpec("documents", "documents_read", documents_gate),
    GateSpec("questions", "generation", generation_gate),
    GateSpec("verdicts", "conservation", conservation_gate),
    GateSpec("verdicts", "proof", proof_gate),
    GateSpec("verdicts", "fabricated_citations", citations_gate),
    GateSpec("verdicts", "pass_rate", pass_rate_gate),
    GateSpec("verdicts", "failed_share", failed_gate, blocking=False),
    GateSpec("verdicts", "verifier_canaries", verifier_canaries_gate, blocking=False),
    GateSpec("verdicts", "judge_canaries", judge_canaries_gate, blocking=False),
    GateSpec("verdicts", "canary_recall", canary_recall_gate),
    GateSpec("verdicts", "canary_accepts", canary_accepts_gate),
    GateSpec("verdicts", "canary_alarms", canary_alarms_gate, blocking=False),
    GateSpec("training_examples", "training_rows", training_gate),
)
"""All gates of a batch. `batch_gates`, the asset checks and the documentation read them."""
