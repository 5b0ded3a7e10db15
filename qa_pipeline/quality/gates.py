"""Gates: what must hold of a batch's tables before anybody trains on them.

Known-answer pairs are left out of every rate: half of them are wrong on purpose, and a batch must not fail
for catching them. They stay in conservation and proof.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import polars as pl

from qa_pipeline.quality.canaries import (
    canary_accepts_gate,
    canary_alarms_gate,
    canary_drift_gate,
    canary_recall_gate,
)
from qa_pipeline.quality.gate import Gate, law
from qa_pipeline.settings.verification import QualitySettings
from qa_pipeline.table_schema import Table
from qa_pipeline.tables import STORED, TABLES
from qa_pipeline.verification.outcomes import SUPPORTED, decided_claims, fabricated_citations, wilson_interval


def citations_gate(*, pairs: pl.DataFrame, verdicts: pl.DataFrame, claims: pl.DataFrame) -> Gate:
    """No accepted pair cites a source, number, passage or quote that does not exist."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select("pair_id")
    found = fabricated_citations(pairs, claims).join(accepted, on="pair_id", how="semi")
    breaches = {"fabricated": int(found["fabricated"].sum())}
    return law(
        "fabricated_citations", accepted.height, breaches, f"{accepted.height} accepted pairs looked at"
    )


def accuracy_gate(*, verdicts: pl.DataFrame, settings: QualitySettings) -> Gate:
    """The mean citation accuracy of accepted pairs that cite anything reaches its limit.

    Known-answer pairs are left out, as of every rate.
    """
    limit = settings.min_citation_accuracy
    accepted = verdicts.filter(pl.col("verdict") == "accepted", pl.col("expected_verdict").is_null())
    known = accepted["citation_accuracy"].drop_nulls()
    if not known.len():
        return Gate("citation_accuracy", True, False, None, limit, 0, "no accepted pair cites anything")
    mean = float(known.sum()) / known.len()
    below = known.filter(known < 1.0).len()
    detail = (
        f"mean {mean:.3f} over {known.len()} accepted pairs, {below} with citations that support no claim"
    )
    return Gate(
        "citation_accuracy", mean >= limit, False, mean, limit, known.len(), detail, {"below_1": below}
    )


VERDICT_WORDS = ("accepted", "rejected", "needs_review", "failed")


@dataclass(frozen=True, slots=True)
class EarlierFigures:
    """What batches are compared with, each figure one entry a batch.

    Args:
        yields: accepted pairs for each chunk.
        canaries: rejected and all swapped canaries.
        pairs: accepted and all pairs.
    """

    yields: tuple[float, ...] = ()
    canaries: tuple[tuple[int, int], ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class GateSpec:
    """A gate and what the rest of the package has to know of it.

    Args:
        name: of the gate; at its asset it is unique.
        asset: the table whose making it follows.
        description: what it asks for.
        function: from the tables of `reads` by name, and from `settings` and `earlier` where it has these
            parameters, to a `Gate`.
        reads: the tables it looks at.
        blocking: whether a batch that fails it is not published.
        limits: whether the function takes the limits as `settings`.
        earlier: the figure of `EarlierFigures` that the function takes as `earlier`.
    """

    name: str
    asset: str
    description: str
    function: Callable[..., Gate]
    reads: tuple[str, ...]
    blocking: bool = True
    limits: bool = False
    earlier: Literal["yields", "canaries", "pairs"] | None = None

    def check(
        self, frames: Mapping[str, pl.DataFrame], settings: QualitySettings, earlier: EarlierFigures
    ) -> Gate:
        """Run the gate over the tables of a batch; an absent one is an error."""
        more: dict[str, Any] = {"settings": settings} if self.limits else {}
        if self.earlier is not None:
            more["earlier"] = getattr(earlier, self.earlier)
        return self.function(**{name: frames[name] for name in self.reads}, **more)


def batch_gates(
    frames: Mapping[str, pl.DataFrame],
    settings: QualitySettings,
    earlier: EarlierFigures = EarlierFigures(),
) -> list[Gate]:
    """Run every gate over the tables of one batch, in a fixed order.

    Args:
        frames: all tables of the batch by name, the record of calls left out.
        settings: limits.
        earlier: figures of earlier batches.
    """
    return [gate.check(frames, settings, earlier) for gate in GATES if gate.asset in frames]


def schema_gate(table: Table, **frames: pl.DataFrame) -> Gate:
    """The frame has the columns, types and keys of its table, and no null where there may be none."""
    frame = frames[table.name]
    problems = table.problems(frame)
    return law(f"{table.name}_schema", frame.height, {"problems": len(problems)}, "; ".join(problems))


def unique_ids_gate(**frames: pl.DataFrame) -> Gate:
    """No table names a row twice by its key."""
    repeated = {
        name: frame.height - frame.n_unique(subset=list(TABLES[name].key))
        for name, frame in frames.items()
        if name in TABLES and frame.height and set(TABLES[name].key) <= set(frame.columns)
    }
    detail = ", ".join(f"{name}: {count} ids repeat" for name, count in repeated.items() if count)
    return law("unique_ids", sum(frame.height for frame in frames.values()), repeated, detail)


def conservation_gate(*, pairs: pl.DataFrame, verdicts: pl.DataFrame) -> Gate:
    """Every pair is in the ledger exactly once, with one of the four verdicts, and nothing else is."""
    known = pl.col("verdict").is_in(VERDICT_WORDS).fill_null(value=False)
    breaches = {
        "missing": pairs.join(verdicts, on="pair_id", how="anti").height,
        "unknown_pairs": verdicts.join(pairs, on="pair_id", how="anti").height,
        "repeated": verdicts.height - verdicts["pair_id"].n_unique(),
        "unknown_verdicts": verdicts.filter(~known).height,
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
    """Every quote is where its row puts it, and what was accepted has evidence.

    For each piece of evidence of a claim, the document's text from start to end is the quote and its
    hash is the one recorded. Each supported claim of an accepted pair has evidence, and each accepted pair
    that is not a refusal has a supported claim.
    """
    fields = ("document_id", "content_sha256", "start", "end", "quote")
    evidence = [
        claims.select("claim_id", "pair_id", **{name: pl.col(f"{piece}_{name}") for name in fields})
        for piece in ("evidence", "second_evidence")
    ]
    held = pl.concat(evidence).filter(pl.any_horizontal(pl.col(fields).is_not_null()))
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select("pair_id")
    supported = (
        decided_claims(claims, claim_verdicts)
        .filter(pl.col("verdict") == SUPPORTED)
        .join(accepted, on="pair_id", how="semi")
    )
    answered = pairs.filter(pl.col("coverage") != "none").join(accepted, on="pair_id", how="semi")
    breaches = {
        **_evidence_breaches(held, documents),
        "supported_without_evidence": supported.join(held, on="claim_id", how="anti").height,
        "accepted_without_proof": answered.join(supported, on="pair_id", how="anti").height,
    }
    return law("proof", held.height, breaches, f"{held.height} pieces of evidence compared")


def training_gate(
    *,
    training_examples: pl.DataFrame,
    pairs: pl.DataFrame,
    verdicts: pl.DataFrame,
    documents: pl.DataFrame,
) -> Gate:
    """Only accepted pairs whose verdict was not known beforehand train, and their quotes are where stored."""
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select("pair_id")
    known = pairs.filter(pl.col("expected_verdict").is_not_null()).select("pair_id")
    evidence = (
        training_examples.select("evidence")
        .explode("evidence", empty_as_null=True)
        .drop_nulls("evidence")
        .unnest("evidence")
    )
    breaches = {
        "not_accepted": training_examples.join(accepted, on="pair_id", how="anti").height,
        "known_answers": training_examples.join(known, on="pair_id", how="semi").height,
        **_evidence_breaches(evidence, documents),
    }
    height = training_examples.height
    return law("training_rows", height, breaches, f"{height} examples looked at")


def pass_rate_gate(
    *, verdicts: pl.DataFrame, settings: QualitySettings, earlier: Sequence[tuple[int, int]] = ()
) -> Gate:
    """The share of accepted pairs is shown to reach the limit, at 95 % confidence.

    To pass, an undecided pair counts as one that was not accepted. A batch whose own share reaches the limit
    but is too small to show it is taken together with earlier batches. The gate blocks what is shown to lie
    below the limit among the pairs that were decided, whatever came before, and a batch of which nothing was
    accepted; what cannot be told either way is a warning, so that no batch fails for being small and none
    fails for its predecessors.

    Args:
        verdicts: the verdicts table.
        settings: the limit.
        earlier: accepted and all pairs of earlier batches.
    """
    counts, limit = _verdict_counts(_unknown_answers(verdicts)), settings.min_pass_rate
    accepted, held = counts["accepted"], sum(counts.values())
    decided = accepted + counts["rejected"]
    if not held:
        return Gate("pass_rate", True, True, None, limit, 0, "the batch has no pairs", counts)
    if not decided:
        detail = f"none of {held} pairs was accepted or rejected{_unjudged(verdicts)}"
        return Gate("pass_rate", False, True, None, limit, held, detail, counts)
    low = _wilson(accepted, held)[0]
    said = f"{accepted} of {held} accepted"
    said += f" ({counts['rejected']} rejected, {held - decided} undecided)" if accepted < held else ""
    if low < limit <= accepted / held and earlier:
        together = [sum(numbers) for numbers in zip((accepted, held), *earlier, strict=True)]
        low = max(low, _wilson(together[0], together[1])[0])
        said += f", with earlier batches {together[0]} of {together[1]}"
    passed, high = low >= limit, _wilson(accepted, decided)[1]
    blocking = passed or not accepted or high <= limit
    said += f"; with 95 % confidence the pass rate is at least {low:.3f}"
    if not passed:
        said += f" and at most {high:.3f}, "
        said += f"the limit is {limit}" if blocking else f"which does not tell whether it reaches {limit}"
        said += _unjudged(verdicts)
    return Gate("pass_rate", passed, blocking, low, limit, held, said, counts)


def _unjudged(verdicts: pl.DataFrame) -> str:
    """What to do where pairs wait for a judge."""
    waiting = _unknown_answers(verdicts).filter(pl.col("reason") == "not_judged").height
    advice = "name a model that judges (llm.provider), or accept what is verified without one"
    options = "(judging.accept_unjudged, --accept-unjudged)"
    return f"; {waiting} wait for a judge: {advice} {options}" if waiting else ""


def _wilson(successes: int, trials: int) -> tuple[float, float]:
    low, high = wilson_interval(pl.lit(successes), pl.lit(trials))
    return pl.select(low.alias("low"), high.alias("high")).row(0)


def pair_counts(verdicts: pl.DataFrame) -> tuple[int, int]:
    """Accepted and all pairs of a batch."""
    counts = _verdict_counts(_unknown_answers(verdicts))
    return counts["accepted"], sum(counts.values())


def generation_gate(*, questions: pl.DataFrame) -> Gate:
    """A model that gave no chunk any question was not there: the batch is not done, whole as it looks."""
    failed = _failed_questions(questions)
    gone = bool(failed) and failed == questions.height
    detail = f"the questions of {failed} of {questions.height} rows could not be had"
    advice = f"; {_reasons(questions)}: run again once the model answers" if gone else ""
    return Gate("generation", not gone, True, None, None, questions.height, detail + advice)


def questions_gate(*, questions: pl.DataFrame, settings: QualitySettings) -> Gate:
    """The share of questions that could not be had stays under the limit of failed pairs."""
    failed, held = _failed_questions(questions), questions.height
    share = failed / held if held else None
    detail = f"{failed} of {held} questions" + (f"; {_reasons(questions)}" if failed else "")
    passed = share is None or share <= settings.max_failed
    return Gate("failed_questions_share", passed, False, share, settings.max_failed, held, detail)


def yield_gate(
    *,
    verdicts: pl.DataFrame,
    chunks: pl.DataFrame,
    earlier: Sequence[float],
    settings: QualitySettings,
) -> Gate:
    """Accepted pairs for each chunk have not fallen far below the mean of earlier batches."""
    value = batch_yield(verdicts, chunks)
    usual = sum(earlier) / len(earlier) if earlier else None
    limit = None if usual is None else (1 - settings.max_yield_drop) * usual
    counts = {"chunks": chunks.height, "earlier_batches": len(earlier)}
    if value is None:
        return Gate("yield", True, False, None, limit, 0, "the batch has no chunks", counts)
    if limit is None:
        detail = f"{value:.3f} accepted pairs a chunk; there is no earlier batch to compare with"
        return Gate("yield", True, False, value, None, chunks.height, detail, counts)
    detail = f"{value:.3f} accepted pairs a chunk, earlier batches {usual:.3f}"
    return Gate("yield", value >= limit, False, value, limit, chunks.height, detail, counts)


def batch_yield(verdicts: pl.DataFrame, chunks: pl.DataFrame) -> float | None:
    """Accepted pairs for each chunk; None without chunks."""
    if not chunks.height:
        return None
    return _verdict_counts(_unknown_answers(verdicts))["accepted"] / chunks.height


def _share_gate(word: str, limit: str, *, verdicts: pl.DataFrame, settings: QualitySettings) -> Gate:
    """The share of pairs with a verdict stays under its limit."""
    counts, threshold = _verdict_counts(_unknown_answers(verdicts)), float(getattr(settings, limit))
    held, name = sum(counts.values()), f"{word}_share"
    if not held:
        return Gate(name, True, False, None, threshold, 0, "the batch has no pairs", counts)
    share = counts[word] / held
    detail = f"{counts[word]} of {held} pairs"
    return Gate(name, share <= threshold, False, share, threshold, held, detail, counts)


needs_review_gate = partial(_share_gate, "needs_review", "max_needs_review")
failed_gate = partial(_share_gate, "failed", "max_failed")


def _failed_questions(questions: pl.DataFrame) -> int:
    return questions.filter(pl.col("status") == "failed").height


def _reasons(questions: pl.DataFrame) -> str:
    """Why questions failed, the commonest first."""
    failed = questions.filter(pl.col("status") == "failed")
    counts = failed.group_by("reason").len().sort("len", "reason", descending=[True, False])
    return ", ".join(f"{count} {reason}" for reason, count in counts.iter_rows())


def _unknown_answers(verdicts: pl.DataFrame) -> pl.DataFrame:
    return verdicts.filter(pl.col("expected_verdict").is_null())


def _verdict_counts(verdicts: pl.DataFrame) -> dict[str, int]:
    return {word: verdicts.filter(pl.col("verdict") == word).height for word in VERDICT_WORDS}


def _evidence_breaches(evidence: pl.DataFrame, documents: pl.DataFrame) -> dict[str, int]:
    """Count evidence of unknown documents, of changed documents, and quotes that are not in their place."""
    sources = documents.select("document_id", found_sha256="content_sha256", found_text="text")
    joined = evidence.join(sources, on="document_id", how="left")
    start, length = pl.col("start"), pl.col("end") - pl.col("start")
    in_place = (
        (start >= 0)
        & (length > 0)
        & (length == pl.col("quote").str.len_chars())  # a slice past the end of the text is a shorter one
        & (pl.col("found_text").str.slice(start.clip(0), length.clip(0)) == pl.col("quote"))
    )
    known = pl.col("found_text").is_not_null()
    same = (pl.col("content_sha256") == pl.col("found_sha256")).fill_null(value=False)
    counts = joined.select(
        (~known).sum().alias("unknown_document"),
        (known & ~same).sum().alias("changed_document"),
        (known & ~in_place.fill_null(value=False)).sum().alias("misplaced_quote"),
    )
    return {name: int(count) for name, count in counts.row(0, named=True).items()}


GATES: tuple[GateSpec, ...] = (
    *(
        GateSpec(
            "schema",
            table.name,
            "The stored file has the columns, types and unique keys of its table, and no null where none may "
            "be.",
            partial(schema_gate, table),
            (table.name,),
        )
        for table in STORED.values()
    ),
    GateSpec(
        "generation",
        "questions",
        "The model was there: not every request for questions failed.",
        generation_gate,
        ("questions",),
    ),
    GateSpec(
        "failed_questions_share",
        "questions",
        "Share of questions that could not be had.",
        questions_gate,
        ("questions",),
        blocking=False,
        limits=True,
    ),
    GateSpec(
        "unique_ids",
        "verdicts",
        "No table of the batch names a row twice.",
        unique_ids_gate,
        tuple(name for name in TABLES if name != "training_examples"),
    ),
    GateSpec(
        "conservation",
        "verdicts",
        "Every pair is in the ledger exactly once: accepted + rejected + needs review + failed.",
        conservation_gate,
        ("pairs", "verdicts"),
    ),
    GateSpec(
        "proof",
        "verdicts",
        "Every quote is in its document at the stored place, and nothing is accepted without evidence.",
        proof_gate,
        ("pairs", "verdicts", "claims", "claim_verdicts", "documents"),
    ),
    GateSpec(
        "fabricated_citations",
        "verdicts",
        "No accepted pair cites a source or a quote that does not exist.",
        citations_gate,
        ("pairs", "verdicts", "claims"),
    ),
    GateSpec(
        "pass_rate",
        "verdicts",
        "Accepted among all pairs: the lower bound of its 95 % Wilson interval; small batches are pooled.",
        pass_rate_gate,
        ("verdicts",),
        limits=True,
        earlier="pairs",
    ),
    GateSpec(
        "citation_accuracy",
        "verdicts",
        "Share of an accepted pair's citations that support a claim of it, on average.",
        accuracy_gate,
        ("verdicts",),
        blocking=False,
        limits=True,
    ),
    GateSpec(
        "needs_review_share",
        "verdicts",
        "Share of pairs that wait for a person.",
        needs_review_gate,
        ("verdicts",),
        blocking=False,
        limits=True,
    ),
    GateSpec(
        "failed_share",
        "verdicts",
        "Share of pairs that could not be decided because something failed.",
        failed_gate,
        ("verdicts",),
        blocking=False,
        limits=True,
    ),
    GateSpec(
        "yield",
        "verdicts",
        "Accepted pairs for each chunk, compared with other batches.",
        yield_gate,
        ("verdicts", "chunks"),
        blocking=False,
        limits=True,
        earlier="yields",
    ),
    GateSpec(
        "canary_recall",
        "canaries",
        "Swapped numbers, units, dates, names and negations are rejected: upper bound of the share.",
        canary_recall_gate,
        ("canaries",),
        limits=True,
    ),
    GateSpec(
        "canary_accepts",
        "canaries",
        "Falsehoods that no rule was made for are not accepted: upper bound of the share.",
        canary_accepts_gate,
        ("canaries",),
        limits=True,
    ),
    GateSpec(
        "canary_alarms",
        "canaries",
        "True claims in other words are not rejected: lower bound of the share.",
        canary_alarms_gate,
        ("canaries",),
        blocking=False,
        limits=True,
    ),
    GateSpec(
        "canary_drift",
        "canaries",
        "Share of swapped canaries that are rejected, compared with other batches.",
        canary_drift_gate,
        ("canaries",),
        blocking=False,
        limits=True,
        earlier="canaries",
    ),
    GateSpec(
        "training_rows",
        "training_examples",
        "Only accepted pairs train, no known-answer pair does, and their quotes are where the table says.",
        training_gate,
        ("training_examples", "pairs", "verdicts", "documents"),
    ),
)
"""All gates of a batch; what reads them are `batch_gates`, the asset checks and the documentation."""
