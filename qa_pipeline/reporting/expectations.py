"""What may be expected of replies: how many calls lead to how many others, and how long replies are."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

import polars as pl

from qa_pipeline.errors import CorpusError, TableError
from qa_pipeline.llm.budget.tokens import request_tokens
from qa_pipeline.records import Role
from qa_pipeline.reporting.costs import STAGES
from qa_pipeline.reporting.open_requests import Requests
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage import Layout, read_table
from qa_pipeline.tables import CHUNKS, LLM_CALLS, PAIRS, QUESTIONS, VERDICTS

_LENGTHS = 4
FEWEST_CALLS = 10
"""Calls of a stage below which it teaches nothing."""

KEPT = 0.75
"""Questions that are kept, of those a chunk may be asked for: some chunks give fewer, some are not found."""
SPLIT = {"auto": 0.3, "model": 1.0, "rules": 0.0}
"""Calls for each answer to have it cut into claims, by verification.split_claims."""
BORDERLINE = 0.5
"""Claims for each answer that no local check decides."""
JUDGED = 0.7
"""Answers that pass source verification, and so reach the judge."""
REPLY_TOKENS: Mapping[Role, float] = {
    "questions": 45.0,
    "answer": 130.0,
    "split": 140.0,
    "verify": 90.0,
    "judge": 110.0,
}
"""Tokens of a reply without thoughts; for questions, of each one."""
THOUGHTS: Mapping[str, float] = {"minimal": 0.0, "low": 250.0, "medium": 600.0, "high": 1200.0}
"""Tokens of thoughts before a reply, by thinking level."""
UNSET_THOUGHTS = 600.0
"""The same where the settings leave it to the model, and Gemini's do think."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Questions that are kept of a chunk, by its length: short ones give fewer.

    `means` has one number more than `borders`, which are characters, in rising order.
    """

    means: tuple[float, ...]
    borders: tuple[int, ...] = ()

    def of(self, length: int) -> float:
        """Of a chunk of so many characters."""
        return self.means[bisect_right(self.borders, length)]


@dataclass(frozen=True, slots=True)
class Expectations:
    """How one stage follows from another.

    `kept` is how many questions are kept of each chunk asked, `split`, `verified` and `judged` how many calls
    follow from each pair. `reply_tokens` is what a call writes, thoughts included. `prompt_factor`
    corrects the estimated tokens of prompts; `learned` names the stages for which earlier calls showed it.
    """

    kept: Kept
    split: float = SPLIT["auto"]
    verified: float = BORDERLINE
    judged: float = JUDGED
    reply_tokens: Mapping[Role, float] = field(default_factory=dict)
    prompt_factor: Mapping[Role, float] = field(default_factory=dict)
    learned: frozenset[Role] = frozenset()


def default_expectations(
    models: Mapping[Role, ModelSettings], questions_per_chunk: int, split_claims: str = "auto"
) -> Expectations:
    """What is expected where no earlier call says anything.

    Args:
        models: who is asked in each role.
        questions_per_chunk: most questions of a chunk.
        split_claims: verification.split_claims.
    """
    kept = Kept((KEPT * questions_per_chunk,))
    replies = {**REPLY_TOKENS, "questions": REPLY_TOKENS["questions"] * questions_per_chunk}
    tokens: dict[Role, float] = {role: replies[role] + thought_tokens(models[role]) for role in models}
    return Expectations(kept, split=SPLIT[split_claims], reply_tokens=tokens)


def thought_tokens(model: ModelSettings) -> float:
    """Tokens a model may be expected to think before it replies."""
    if model.thinking_budget is not None and model.thinking_budget >= 0:
        return float(model.thinking_budget)
    if model.thinking_level is not None:
        return THOUGHTS[model.thinking_level]
    return UNSET_THOUGHTS if model.provider == "gemini" else 0.0


def learn(
    default: Expectations,
    calls: pl.DataFrame,
    pairs: int,
    likely_tokens: Mapping[Role, float],
    kept: Sequence[tuple[int, int]] = (),
) -> Expectations:
    """Put what earlier calls took in the place of the defaults, for each stage that has enough of them.

    Args:
        default: what is expected else.
        calls: llm_calls of finished batches, of the models in use.
        pairs: pairs of those batches.
        likely_tokens: estimated tokens of the prompts of a stage, mean over those batches.
        kept: length of each of their chunks that was asked, and how many of its questions were kept.
    """
    message = {role: calls.filter(pl.col("role") == role) for role in likely_tokens}
    asked = {role: frame["request_key"].n_unique() for role, frame in message.items()}
    known = frozenset(role for role in message if asked[role] >= FEWEST_CALLS)
    enough = asked.get("questions", 0) >= FEWEST_CALLS
    return Expectations(
        kept=kept_by_length(kept) if len(kept) >= FEWEST_CALLS else default.kept,
        split=asked.get("split", 0) / pairs if pairs and enough else default.split,
        verified=asked.get("verify", 0) / pairs if pairs and enough else default.verified,
        judged=asked.get("judge", 0) / pairs if pairs and enough else default.judged,
        reply_tokens={
            **default.reply_tokens,
            **{role: _sum(message[role], "output_tokens") / asked[role] for role in known},
        },
        prompt_factor={
            role: _sum(message[role], "input_tokens") / (asked[role] * likely_tokens[role])
            for role in known
            if likely_tokens[role]
        },
        learned=known,
    )


def kept_by_length(chunks: Sequence[tuple[int, int]]) -> Kept:
    """The mean over chunks of like length, in so many groups as there are enough chunks for."""
    ordered = sorted(chunks)
    groups = max(1, min(_LENGTHS, len(ordered) // FEWEST_CALLS))
    cuts = [len(ordered) * group // groups for group in range(groups + 1)]
    parts = [ordered[first:last] for first, last in pairwise(cuts)]
    means = tuple(fmean(count for _, count in part) for part in parts)
    return Kept(means, tuple(part[0][0] for part in parts[1:]))


def _sum(calls: pl.DataFrame, column: str) -> float:
    """Calls of which the provider told nothing count as the others do."""
    message = calls[column].drop_nulls()
    return float(message.sum()) * calls.height / message.len() if message.len() else 0.0


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
