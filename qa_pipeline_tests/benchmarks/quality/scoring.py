"""Labelled items through the stage that scores batches: claims, verdicts, and a score an item and scorer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.errors import SettingsError
from qa_pipeline.evaluation.signals.statement_tables import items_as_tables
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import score_claims
from qa_pipeline.storage.tables import EMBEDDINGS
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline.verification.llm_verifier import ask_verifier
from qa_pipeline_tests.benchmarks.quality.scorers import ScoreColumn, baselines, claim_scores, pair_scores

BLOCK = 256
"""Items scored together, which bounds memory; equal texts are embedded once in any case."""


@dataclass(frozen=True)
class Scored:
    """Labelled items with every score.

    Args:
        items: the columns of `ITEMS` but its texts, `characters` of the answer, `claims` (how many it has),
            `seconds` (the item's share of what stage 1 took), `score_NAME` of each scorer and baseline (null
            is unknown) and `spans_NAME` of each scorer (claims it holds for unsupported).
        models: names of the models behind the scores, by column of the claims table.
    """

    items: pl.DataFrame
    models: dict[str, list[str]]


def score_items(
    items: pl.DataFrame,
    resources: Resources,
    scorers: Sequence[ScoreColumn],
) -> Scored:
    """Score every item by every scorer and baseline, in one pass of stage 1 a data set.

    Args:
        items: `ITEMS`.
        resources: with `evaluation_settings`; vectors and replies are kept in its output folder.
        scorers: whose scores are wanted; `llm` asks the verifier about every claim.

    Raises:
        SettingsError: `llm` is wanted, and the settings name no model that verifies.
        PermanentModelError: the verifier can answer no further request.
    """
    needs_model = any(scorer.name == "llm" for scorer in scorers)
    verifier = resources.reviewer("verifier") if needs_model else None
    if needs_model and verifier is None:
        raise SettingsError("scorer llm needs a model; set llm.verifier.provider, or leave --scorer llm out")
    done: list[pl.DataFrame] = []
    models: dict[str, set[str]] = {}
    sets = items.partition_by("dataset", maintain_order=True)
    for block in (block for of_set in sets for block in of_set.iter_slices(BLOCK)):
        claims, pair_ids, seconds = _claims(block, resources, verifier)
        for column in ("entailment_model", "span_model", "llm_model"):
            if column in claims.columns:
                models.setdefault(column, set()).update(claims[column].drop_nulls().unique().to_list())
        done.append(_item_scores(block, claims, pair_ids, seconds, resources, scorers))
    return Scored(pl.concat(done), {name: sorted(of_column) for name, of_column in sorted(models.items())})


def _claims(
    block: pl.DataFrame, resources: Resources, verifier: LanguageModel | None
) -> tuple[pl.DataFrame, list[str], float]:
    """Return claims with their verdicts, the pair of each item, and the seconds stage 1 took."""
    tables = items_as_tables(block)
    started = time.perf_counter()
    claims = score_claims(
        resources, tables.pairs, tables.documents, tables.chunks, EMBEDDINGS.empty(), one_corpus=False
    )
    seconds = time.perf_counter() - started
    settings, replies = resources.settings, None
    if verifier is not None:
        replies = ask_verifier(
            claims,
            tables.pairs,
            tables.documents,
            tables.chunks,
            verifier,
            settings.verification,
            settings.llm,
        )
    verdicts = decide_claims(claims, tables.pairs, settings.verification, replies)
    decided = claims.join(verdicts.select("claim_id", "verdict"), on="claim_id", maintain_order="left")
    if replies is not None:
        decisions = replies.select("claim_id", llm_said="decision", llm_model="model")
        decided = decided.join(decisions, on="claim_id", how="left", maintain_order="left")
    return decided, tables.pair_ids, seconds


def _item_scores(
    block: pl.DataFrame,
    claims: pl.DataFrame,
    pair_ids: Sequence[str],
    seconds: float,
    resources: Resources,
    scorers: Sequence[ScoreColumn],
) -> pl.DataFrame:
    verification = resources.settings.verification
    by_pair = claims.group_by("pair_id", maintain_order=True).agg(claims=pl.len().cast(pl.Int64()))
    for scorer in scorers:
        scores = pair_scores(claims, scorer).rename({"score": f"score_{scorer.name}"})
        spans = unsupported_spans(claims, scorer, scorer.threshold(verification))
        by_pair = by_pair.join(scores, on="pair_id", how="left").join(spans, on="pair_id", how="left")
    trivial = [
        pl.Series(f"score_{name}", scores).fill_nan(None)
        for name, scores in baselines(block, resources.embedder).items()
    ]
    shortened = block.select(
        pl.exclude("answer", "context", "question"), characters=pl.col("answer").str.len_chars()
    )
    joined = shortened.with_columns(pl.Series("pair_id", pair_ids), *trivial).join(
        by_pair, on="pair_id", how="left", maintain_order="left"
    )
    counted = joined.drop("pair_id").with_columns(pl.col("claims").fill_null(0))
    share = pl.col("claims") / pl.col("claims").sum().clip(lower_bound=1)
    return counted.with_columns(seconds=share * seconds)


def unsupported_spans(claims: pl.DataFrame, scorer: ScoreColumn, threshold: float) -> pl.DataFrame:
    """Return places of each answer that the scorer does not support, by pair: `spans_NAME`.

    These are the spans it marks, where it marks any; else whole claims: those below the threshold, or those
    it rejects where it may leave claims open.
    """
    name = f"spans_{scorer.name}"
    if scorer.marks in claims.columns:
        marked = claims.select("pair_id", span=scorer.marks).explode("span").drop_nulls()
    else:
        score = claim_scores(claims, scorer)
        against = score <= 0 if scorer.decides else score < threshold
        marked = claims.filter(against).select("pair_id", span=pl.struct("start", "end"))
    place = pl.struct(pl.col("span").struct.field("start", "end").cast(pl.Int64())).alias(name)
    return marked.select("pair_id", place).group_by("pair_id", maintain_order=True).agg(pl.col(name))
