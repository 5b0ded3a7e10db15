"""What the batches of the same output folder teach about a batch that has not run.

What belongs here: choosing batches, and reading their tables. What does not: the figures drawn from them
(`expectations.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from qa_pipeline.calls import Role
from qa_pipeline.errors import CorpusError, TableError
from qa_pipeline.estimating.expectations import Expectations, learn
from qa_pipeline.estimating.prompts import Requests
from qa_pipeline.layout import Layout
from qa_pipeline.llm.money.tokens import request_tokens
from qa_pipeline.settings.models import ModelSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.spending import STAGES
from qa_pipeline.storage import read_table
from qa_pipeline.tables import CHUNKS, LLM_CALLS, PAIRS, QUESTIONS, VERDICTS

LOOK_BACK = 5
"""Finished batches that are looked at."""


@dataclass(frozen=True, slots=True)
class FinishedBatch:
    """What a batch that ran took: its calls of the models in use, and what they were made for.

    `kept` has the length of each chunk that was asked, and how many of its questions were kept.
    """

    calls: pl.DataFrame
    pairs: int
    requests: Requests
    kept: list[tuple[int, int]]


def finished_batches(
    layout: Layout, settings: Settings, models: Mapping[Role, ModelSettings]
) -> list[FinishedBatch]:
    """The batches that these models were asked for, those with the most calls first."""
    names = [path.stem for path in layout.tables(VERDICTS.name)] if models else []
    found = [batch for name in names if (batch := _read(layout, settings, name, models))]
    return sorted(found, key=lambda batch: batch.calls.height, reverse=True)


def expectations_from(
    batches: Sequence[FinishedBatch], language: str | None, default: Expectations
) -> Expectations:
    """What finished batches teach, those of the same language where there are any; else the default."""
    alike = [batch for batch in batches if batch.requests.language == language]
    chosen = (alike or batches)[:LOOK_BACK]
    if not chosen:
        return default
    calls = pl.concat([batch.calls for batch in chosen])
    likely = _weighted([_likely(batch.requests) for batch in chosen], chosen)
    kept = [chunk for batch in chosen for chunk in batch.kept]
    return learn(default, calls, sum(batch.pairs for batch in chosen), likely, kept)


def _read(
    layout: Layout, settings: Settings, batch: str, models: Mapping[Role, ModelSettings]
) -> FinishedBatch | None:
    try:
        calls = read_table(layout.table(LLM_CALLS.name, batch), LLM_CALLS)
        chunks = read_table(layout.table(CHUNKS.name, batch), CHUNKS)
        pairs = read_table(layout.table(PAIRS.name, batch), PAIRS)
        questions = read_table(layout.table(QUESTIONS.name, batch), QUESTIONS)
    except (TableError, CorpusError):  # it fails in its own run and in `status`; here it only teaches nothing
        return None
    asked = calls.filter(pl.any_horizontal(_by(role, models[role]) for role in models))
    if not asked.height:
        return None
    requests = Requests(chunks, settings, batch)
    kept = _kept(chunks.filter(pl.col("chunk_id").is_in(requests.asked_ids)), questions)
    return FinishedBatch(asked, pairs.height, requests, kept)


def _kept(chunks: pl.DataFrame, questions: pl.DataFrame) -> list[tuple[int, int]]:
    target = pl.col("target_chunk_ids").list.first().alias("chunk_id")
    counts = questions.group_by(target).agg((pl.col("status") == "kept").sum().alias("kept"))
    lengths = chunks.select("chunk_id", pl.col("text").str.len_chars().alias("length"))
    joined = lengths.join(counts, on="chunk_id", how="left").with_columns(pl.col("kept").fill_null(0))
    return [(int(length), int(kept)) for length, kept in joined.select("length", "kept").iter_rows()]


def _by(role: Role, model: ModelSettings) -> pl.Expr:
    """Whether a call of a role was made to its model, wherever that is served."""
    name = f"{model.provider}/{model.model}"
    asked = pl.col("asked_model")
    return (pl.col("role") == role) & ((asked == name) | asked.str.starts_with(f"{name}@"))


def _likely(requests: Requests) -> dict[Role, float]:
    """Estimated tokens of a batch's prompts, by stage, mean over a sample."""
    sample = requests.sample()
    if not sample:
        return dict.fromkeys(STAGES, 0.0)
    return {role: fmean(request_tokens(requests.likely(role, one)) for one in sample) for role in STAGES}


def _weighted(likely: Sequence[Mapping[Role, float]], batches: Sequence[FinishedBatch]) -> dict[Role, float]:
    """The mean over batches, each counting as often as it was asked in that stage."""
    means: dict[Role, float] = {}
    for role in STAGES:
        weights = [batch.calls.filter(pl.col("role") == role)["request_key"].n_unique() for batch in batches]
        total = sum(weights)
        weighted = sum(weight * one[role] for weight, one in zip(weights, likely, strict=True))
        means[role] = weighted / total if total else 0.0
    return means
