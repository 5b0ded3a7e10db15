"""Check the tables of a batch before its training examples are published.

Known-answer pairs are left out of all rates: half of them are wrong on purpose, and a batch must not fail
because it rejects them. The conservation and proof gates include them.

The right verdict on canaries is known. Their gates fail only if the whole 95 % interval of a share is beyond
the limit, which avoids failures by chance in small batches.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

import polars as pl

from qa_pipeline.curation.duplicates import ALTERNATIVE, DUPLICATE, NEAR_DUPLICATE, SAME_WORDING
from qa_pipeline.curation.gate import Gate, GateSpec, law
from qa_pipeline.records import RowFlaw
from qa_pipeline.settings.verification import QualitySettings
from qa_pipeline.statistics import wilson_bounds
from qa_pipeline.verification.canaries import EDITED, JOINED, canary_rates
from qa_pipeline.verification.outcomes import (
    SUPPORTED,
    decided_claims,
    evidence_passages,
    fabricated_citations,
)

MIN_RECALL = 0.7
"""Minimum share of changed sentences that the local steps must reject."""
MAX_ACCEPTS = 0.02
"""Maximum share of falsehoods that the local steps may accept."""
MAX_TRUSTED = 0.1
"""Maximum share of falsehoods that a model may accept. A few falsehoods made by rules happen to be true."""
MODEL = "llm"
VERIFIER_NOT_TRUSTED, JUDGE_NOT_TRUSTED = "verifier_not_trusted", "judge_not_trusted"
"""Reason codes of pairs that wait because a model accepted canaries that are wrong on purpose."""
Reviewer = Literal["verifier", "judge"]

# conditions on rows of the table canaries
_BY_MODEL = (pl.col("asks") == "judge") | (pl.col("decided_by") == MODEL)  # canaries that a model decided
_IS_FALSE = pl.col("expected") == "rejected"
_BY_LOCAL_STEPS = (pl.col("asks") == "verifier") & ~_BY_MODEL
_IS_SINGLE_SENTENCE = ~pl.col("mechanism").str.ends_with(JOINED)
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
    count = accepted.height
    return law("fabricated_citations", count, breaches, f"{count} accepted pairs looked at")


def documents_gate(*, documents: pl.DataFrame) -> Gate:
    """Check that at least one file of the batch could be read."""
    count, read = documents.height, documents.filter(pl.col("status") == "parsed").height
    if not count:
        detail = "the batch holds no files; put documents into its folder"
    elif not read:
        files = "1 file" if count == 1 else f"{count} files"
        detail = f"nothing was read of {files}: {_reasons(documents)}"
    else:
        detail = f"{read} of {count} files were read"
    return Gate("documents_read", read > 0, blocking=True, value=None, threshold=None, n=count, detail=detail)


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
    verdict_counts = _verdict_counts(verdicts)
    message = " + ".join(f"{count} {word}" for word, count in verdict_counts.items())
    gate = law("conservation", pairs.height, breaches, f"{pairs.height} pairs = {message}")
    return replace(gate, counts={**gate.counts, **verdict_counts})


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
    # the coverage of a pair is full, partial, or none for a refusal, which has nothing to prove
    answered = pairs.filter(pl.col("coverage") != "none").join(accepted, on="pair_id", how="semi")
    breaches = {
        **_evidence_breaches(quotes, documents),
        "supported_without_evidence": supported.join(quotes, on="claim_id", how="anti").height,
        "accepted_without_proof": answered.join(supported, on="pair_id", how="anti").height,
    }
    return law("proof", quotes.height, breaches, f"{quotes.height} pieces of evidence compared")


def training_gate(
    *, training_examples: pl.DataFrame, pairs: pl.DataFrame, verdicts: pl.DataFrame, documents: pl.DataFrame
) -> Gate:
    """Check that training examples are accepted pairs, without known-answer pairs, and their quotes match."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select("pair_id")
    known_answers = pairs.filter(pl.col("expected_verdict").is_not_null()).select("pair_id")
    evidence = (  # a row per quote
        training_examples.select("evidence")
        .explode("evidence", empty_as_null=True)
        .drop_nulls("evidence")
        .unnest("evidence")
    )
    breaches = {
        "not_accepted": training_examples.join(accepted, on="pair_id", how="anti").height,
        "known_answers": training_examples.join(known_answers, on="pair_id", how="semi").height,
        **_evidence_breaches(evidence, documents),
    }
    height = training_examples.height
    return law("training_rows", height, breaches, f"{height} examples looked at")


def pass_rate_gate(*, verdicts: pl.DataFrame, settings: QualitySettings) -> Gate:
    """Measure accepted ÷ (accepted + rejected). It blocks only if the whole interval is below the limit.

    The interval is the 95 % Wilson interval. A batch passes if the whole interval reaches the limit. It fails
    if the interval is below, even with all pairs accepted that wait for a judge. Otherwise the gate warns.
    Undecided rows are left out, and so are rejected rows that are not proved wrong (`NOT_WRONG`).
    """
    rated, limit = _rated(verdicts), settings.min_pass_rate
    verdict_counts, unjudged = _verdict_counts(rated), unjudged_pairs(rated)
    not_wrong = rated.filter(pl.col("verdict") == "rejected", pl.col("reason").is_in(NOT_WRONG)).height
    accepted, proved_wrong = verdict_counts["accepted"], verdict_counts["rejected"] - not_wrong
    decided = accepted + proved_wrong
    counts = {**verdict_counts, "rejected": proved_wrong, "not_wrong": not_wrong}
    advice = _judge_advice(unjudged)
    if not decided:
        detail = f"none of {rated.height} pairs was accepted or proved wrong: {_reasons(rated)}"
        if rated.is_empty():
            detail = "the batch has no pairs"
        passed, blocking = False, False  # the gate only warns
        return Gate("pass_rate", passed, blocking, None, limit, 0, detail + advice, counts)
    low, high = wilson_bounds(accepted, decided)
    _, highest = wilson_bounds(accepted + unjudged, decided + unjudged)  # if the judge accepts all
    undecided = rated.height - decided - not_wrong
    left_out = f"{not_wrong} not proved wrong, {undecided} undecided left out"
    detail = f"{accepted} of {decided} accepted ({left_out})"
    detail += f", 95 % interval {low:.3f} to {high:.3f}, limit {limit}"
    # rounded, since 34 of 34 gave 0.9999999999999999, below a limit of 1
    passed, fails = low >= limit, round(highest, 9) < limit
    blocking = passed or fails  # an uncertain result only warns
    if not blocking:
        detail += "; too few pairs to say if the rate is above the limit"
    if not passed:
        detail += advice
    return Gate("pass_rate", passed, blocking, accepted / decided, limit, decided, detail, counts)


def unjudged_pairs(verdicts: pl.DataFrame) -> int:
    """Count the rated pairs that passed source verification and wait for a judge or a person."""
    reasons = ("not_judged", JUDGE_NOT_TRUSTED)
    return _rated(verdicts).filter(pl.col("reason").is_in(reasons)).height


def _judge_advice(unjudged: int) -> str:
    """Return advice if pairs wait for a judge; otherwise an empty text."""
    if not unjudged:
        return ""
    return (
        f"; {unjudged} wait for a judge: let people decide (qa-pipeline decide), name another model that "
        "judges (llm.judge), or accept what is verified without a judge (--accept-unjudged)"
    )


def generation_gate(*, questions: pl.DataFrame) -> Gate:
    """Check that the model was available: not all requests for questions failed."""
    target = pl.col("target_chunk_ids").list.first()  # a two-hop question counts for its first chunk
    failed = questions.filter(pl.col("status") == "failed")
    chunks = questions.select(target.n_unique()).item()
    failed_chunks = failed.select(target.n_unique()).item()
    passed = chunks == 0 or failed_chunks < chunks
    detail = f"the questions of {failed_chunks} of {chunks} chunks could not be had"
    if not passed:
        detail += f"; {_reasons(failed)}: run again once the model answers"
    return Gate("generation", passed, blocking=True, value=None, threshold=None, n=chunks, detail=detail)


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
    """Count quotes (rows of `evidence`) with an unknown or changed document, or that differ from its text."""
    sources = documents.select("document_id", found_sha256="content_sha256", found_text="text")
    joined = evidence.join(sources, on="document_id", how="left")
    start, length, quote = pl.col("start"), pl.col("end") - pl.col("start"), pl.col("quote")
    # clipped, since a negative start counts from the end of the text
    found_quote = pl.col("found_text").str.slice(start.clip(0), length.clip(0))
    # the lengths are compared too, since a slice past the end of the text is shorter
    has_valid_span = (start >= 0) & (length > 0) & (length == quote.str.len_chars())
    is_in_place = has_valid_span & (found_quote == quote)
    is_located = pl.col("found_text").is_not_null()
    is_unchanged = (pl.col("content_sha256") == pl.col("found_sha256")).fill_null(value=False)
    return joined.select(
        unknown_document=(~is_located).sum(),
        changed_document=(is_located & ~is_unchanged).sum(),
        misplaced_quote=(is_located & ~is_in_place.fill_null(value=False)).sum(),
    ).row(0, named=True)


def canary_recall_gate(*, canaries: pl.DataFrame) -> Gate:
    """Check that changed sentences are rejected, by the upper bound of their share."""
    changed = canaries.filter(_BY_LOCAL_STEPS & _IS_SINGLE_SENTENCE & (pl.col("kind") == EDITED))
    return _rate_gate("canary_recall", changed, "rejected", MIN_RECALL, at_least=True)


def canary_accepts_gate(*, canaries: pl.DataFrame) -> Gate:
    """Check that changed sentences are not accepted, by the lower bound of their share."""
    return _rate_gate("canary_accepts", canaries.filter(_BY_LOCAL_STEPS & _IS_FALSE), "accepted", MAX_ACCEPTS)


def verifier_canaries_gate(*, canaries: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Check that the verifying model rejects false claims, so that pairs need not wait."""
    return _reviewer_gate("verifier", VERIFIER_NOT_TRUSTED, canaries, verdicts)


def judge_canaries_gate(*, canaries: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Check that the judge rejects wrong answers, so that pairs need not wait."""
    return _reviewer_gate("judge", JUDGE_NOT_TRUSTED, canaries, verdicts)


def reviewer_trust(canaries: pl.DataFrame, reviewer: Reviewer) -> Gate:
    """Return a gate that fails if the share of falsehoods a model accepts is surely over the limit.

    Missing and unreadable replies are ignored. A model without any replies is trusted.
    """
    falsehoods = canaries.filter(_BY_MODEL & _IS_FALSE & (pl.col("asks") == reviewer))
    return _rate_gate(f"{reviewer}_canaries", falsehoods, "accepted", MAX_TRUSTED, may_block=False)


def _rate_gate(
    name: str,
    canaries: pl.DataFrame,
    outcome: Literal["rejected", "accepted"],
    threshold: float,
    *,
    at_least: bool = False,
    may_block: bool = True,
) -> Gate:
    """Return a gate that fails if the whole 95 % interval of a share is beyond the threshold.

    The share is that of canaries with the verdict `outcome`. `at_least` makes the threshold a lower limit.
    For an upper limit, a single canary never fails the gate, because a few falsehoods happen to be true. With
    the policy `similarity_only` the gate only warns, because that policy accepts falsehoods by design.
    """
    # a constant group gives a single row for all canaries; if all of them failed, there is no row
    rates = canary_rates(canaries.with_columns(expected=pl.lit("all")), ("expected",))
    if rates.is_empty():
        nothing = "the batch has no such canaries: too little text, or none are made"
        return Gate(name, True, blocking=may_block, value=None, threshold=threshold, n=0, detail=nothing)
    blocking = may_block and canaries.filter(pl.col("decided_by") == "similarity_only").is_empty()
    matching, count = rates[outcome].item(), rates["canaries"].item()
    low, high, share = (rates[f"{outcome}_{part}"].item() for part in ("low", "high", "share"))
    passed = high >= threshold if at_least else (low <= threshold or matching <= 1)
    counts_by_kind = canary_rates(canaries, ("kind",)).select("kind", outcome, "canaries").iter_rows()
    kinds = ", ".join(f"{kind} {number} of {total}" for kind, number, total in counts_by_kind)
    detail = f"{matching} of {count} {outcome}, 95 % interval {low:.3f} to {high:.3f} ({kinds})"
    return Gate(name, passed, blocking, value=share, threshold=threshold, n=count, detail=detail)


def _reviewer_gate(reviewer: Reviewer, reason: str, canaries: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Return a gate that warns if pairs wait for a distrusted model, or if it rejects all true canaries.

    `reason` is the reason code of waiting pairs. A single true canary is too few for a warning.
    """
    trust = reviewer_trust(canaries, reviewer)
    reviewed = canaries.filter(_BY_MODEL, pl.col("asks") == reviewer)
    unreadable = reviewed.filter(verdict="failed").height
    true_verdicts = reviewed.filter(~_IS_FALSE, pl.col("verdict") != "failed")["verdict"]
    rejects_all = true_verdicts.len() > 1 and "accepted" not in true_verdicts
    waiting = verdicts.filter(pl.col("reason") == reason).height
    parts = [f"wrong ones: {trust.detail}"]
    if rejects_all:
        parts.append("no right one is accepted")
    if unreadable:
        parts.append(f"{unreadable} without a reply that can be read")
    if waiting:
        parts.append(f"{waiting} pairs wait: name another model (llm.{reviewer}.model)")
    # unlike `trust`, it passes if the model is distrusted but no pair waits for it
    passed = not waiting and not rejects_all
    return replace(trust, passed=passed, blocking=False, detail="; ".join(parts), counts={"waiting": waiting})


GATES: tuple[GateSpec, ...] = (
    GateSpec("documents", "documents_read", documents_gate),
    GateSpec("questions", "generation", generation_gate),
    GateSpec("verdicts", "conservation", conservation_gate),
    GateSpec("verdicts", "proof", proof_gate),
    GateSpec("verdicts", "fabricated_citations", citations_gate),
    GateSpec("verdicts", "pass_rate", pass_rate_gate),
    GateSpec("verdicts", "verifier_canaries", verifier_canaries_gate, blocking=False),
    GateSpec("verdicts", "judge_canaries", judge_canaries_gate, blocking=False),
    GateSpec("verdicts", "canary_recall", canary_recall_gate),
    GateSpec("verdicts", "canary_accepts", canary_accepts_gate),
    GateSpec("training_examples", "training_rows", training_gate),
)
"""All gates of a batch. `batch_gates`, the asset checks and the documentation read them."""
