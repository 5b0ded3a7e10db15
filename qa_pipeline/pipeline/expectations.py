"""What may be expected of replies: how many calls lead to how many others, and how long replies are."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from qa_pipeline.errors import CorpusError, TableError
from qa_pipeline.pipeline.costs import STAGES
from qa_pipeline.pipeline.open_requests import Requests, made_by
from qa_pipeline.records import Role
from qa_pipeline.settings.llm import ModelSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CHUNKS, JUDGE_CANARIES, LLM_CALLS, PAIRS, QUESTIONS, VERDICTS

FEWEST_CALLS = 10
"""Calls of a stage below which it teaches nothing."""

SHARE_KEPT = 0.75
"""Questions that are kept, of those a chunk may be asked for: some chunks give fewer, some are not found."""
SPLIT = {"auto": 0.3, "model": 1.0, "rules": 0.0}
"""Calls for each answer to have it cut into claims, by verification.split_claims."""
BORDERLINE = 0.7
"""Calls for each answer to verify the claims that no local check decides, those of an answer in one."""
JUDGED = 0.7
"""Answers that pass source verification, and so reach the judge."""
REWRITTEN = 0.1
"""Questions that lean on their passage and are sent back once, of those planned."""
IN_DOUBT = 0.15
"""Answers written with their question that are drafted anew: unquoted, partial or none."""
PAIR_TOKENS = 150.0
"""Tokens of a question with its quotes and answer, where both come in one reply."""
REPLY_TOKENS: Mapping[Role, float] = {
    "questions": 45.0,
    "standalone": 30.0,
    "guard": 60.0,
    "validate": 40.0,
    "answer": 130.0,
    "split": 140.0,
    "verify": 200.0,
    "solve": 130.0,
    "recall": 60.0,
    "compare": 80.0,
    "judge": 150.0,
    "evaluate": 60.0,
}
"""Tokens of a reply without thoughts; for questions, of each one."""
THOUGHTS: Mapping[str, float] = {"minimal": 0.0, "low": 250.0, "medium": 600.0, "high": 1200.0}
"""Tokens of thoughts before a reply, by thinking level."""
UNSET_THOUGHTS = 600.0
"""The same where the settings leave it to the model, and Gemini's do think."""


@dataclass(frozen=True, slots=True)
class Expectations:
    """The expected rates by which one stage follows from another.

    `accepted_questions` is how many questions are kept of each chunk asked, `answered`, `split`, `verified`
    and `judged` how many calls follow from each pair, and `hops` how many pairs pass source verification and
    need several passages.
    `reply_tokens` is what a call writes, thoughts included. `prompt_factors` correct the estimated tokens of
    prompts; `learned` names the stages for which earlier calls showed it.
    """

    accepted_questions: float
    split: float
    answered: float = 1.0
    verified: float = BORDERLINE
    judged: float = JUDGED
    hops: float = 0.0
    reply_tokens: Mapping[Role, float] = field(default_factory=dict)
    prompt_factors: Mapping[Role, float] = field(default_factory=dict)
    learned: frozenset[Role] = frozenset()

    def prompt_factor(self, role: Role) -> float:
        """Return the factor of a stage; where no call showed it, that of questions."""
        return self.prompt_factors.get(role, self.prompt_factors.get("questions", 1.0))


def default_expectations(
    models: Mapping[Role, ModelSettings],
    questions_per_chunk: int,
    split_claims: str = "auto",
    hops: float = 0.0,
    drafts_at_once: int | None = None,
) -> Expectations:
    """Return the expectations where no earlier call shows anything.

    Args:
        models: who is asked in each role.
        questions_per_chunk: the setting.
        split_claims: the setting.
        hops: share of the mix that needs several passages.
        drafts_at_once: drafts of each answer, where the first comes with its question; None where none does.
    """
    of_question = REPLY_TOKENS["questions"] if drafts_at_once is None else PAIR_TOKENS
    answered = 1.0 if drafts_at_once is None else (drafts_at_once - 1 + IN_DOUBT) / drafts_at_once
    replies = {**REPLY_TOKENS, "questions": of_question * questions_per_chunk}
    tokens: dict[Role, float] = {role: replies[role] + thought_tokens(models[role]) for role in models}
    accepted_questions, split = SHARE_KEPT * questions_per_chunk, SPLIT[split_claims]
    return Expectations(accepted_questions, split, answered, hops=JUDGED * hops, reply_tokens=tokens)


def thought_tokens(model: ModelSettings) -> float:
    """Return the tokens that a model is expected to think before it replies."""
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
    questions_kept: tuple[int, int] = (0, 0),
    judge_canaries: int = 0,
) -> Expectations:
    """Put what earlier calls took in the place of the defaults, for each stage that has enough of them.

    Args:
        default: what is expected else.
        calls: llm_calls of finished batches, of the models in use.
        pairs: pairs of those batches.
        likely_tokens: estimated tokens of the prompts of a stage, mean over those batches.
        questions_kept: questions that were kept, and chunks that were asked for them.
        judge_canaries: pairs that the judge read and that are none of `pairs`.
    """
    by_role = {role: calls.filter(pl.col("role") == role) for role in likely_tokens}
    requests = {role: frame["request_key"].n_unique() for role, frame in by_role.items()}
    measured = frozenset(role for role in by_role if requests[role] >= FEWEST_CALLS)
    followed: dict[str, float] = {}
    if pairs and "questions" in measured:
        shares: dict[str, Role] = {"answered": "answer", "split": "split", "verified": "verify"}
        followed = {name: requests.get(role, 0) / pairs for name, role in shares.items()}
        followed["judged"] = max(0, requests.get("judge", 0) - judge_canaries) / pairs
        # what is recalled is solved once, and two hops from each of their passages as well
        followed["hops"] = max(0, requests.get("solve", 0) - requests.get("recall", 0)) / 2 / pairs
    return replace(
        default,
        accepted_questions=questions_kept[0] / questions_kept[1]
        if questions_kept[1] >= FEWEST_CALLS
        else default.accepted_questions,
        reply_tokens={
            **default.reply_tokens,
            **{role: _sum(by_role[role]["output_tokens"]) / requests[role] for role in measured},
        },
        prompt_factors={
            role: _sum(by_role[role]["input_tokens"]) / (requests[role] * likely_tokens[role])
            for role in measured
            if likely_tokens[role]
        },
        learned=measured,
        **followed,
    )


def _sum(tokens: pl.Series) -> float:
    """Return the sum of tokens; calls without a report count as the others do."""
    values = tokens.drop_nulls()
    return float(values.sum()) * tokens.len() / values.len() if values.len() else 0.0


LOOK_BACK = 5
"""Finished batches that are looked at."""


@dataclass(frozen=True, slots=True)
class FinishedBatch:
    """The usage of a batch that ran: its calls of the models in use, and their purposes."""

    calls: pl.DataFrame
    pairs: int
    requests: Requests
    questions: int
    judge_canaries: int


def finished_batches(
    layout: Layout, settings: Settings, models: Mapping[Role, ModelSettings]
) -> list[FinishedBatch]:
    """Return the batches that used these models, those with the most calls first."""
    names = [path.stem for path in layout.tables(VERDICTS.name)] if models else []
    batches = [batch for name in names if (batch := _read(layout, settings, name, models))]
    return sorted(batches, key=lambda batch: batch.calls.height, reverse=True)


def expectations_from(
    batches: Sequence[FinishedBatch], language: str | None, default: Expectations
) -> Expectations:
    """Return the expectations from finished batches, of the same language if any; else the default."""
    alike = [batch for batch in batches if batch.requests.language == language]
    chosen = (alike or batches)[:LOOK_BACK]
    if not chosen:
        return default
    likely: dict[Role, float] = {}
    for role in STAGES:  # each batch counts as often as it was asked
        requests = [batch.calls.filter(pl.col("role") == role)["request_key"].n_unique() for batch in chosen]
        tokens = [batch.requests.likely_tokens(role) for batch in chosen]
        likely[role] = sum(map(operator.mul, requests, tokens)) / (sum(requests) or 1)
    calls = pl.concat([batch.calls for batch in chosen])
    pairs, kept_questions, judge_canaries = (
        sum(getattr(batch, name) for batch in chosen) for name in ("pairs", "questions", "judge_canaries")
    )
    return learn(
        default,
        calls,
        pairs,
        likely,
        (kept_questions, sum(len(batch.requests.asked_ids) for batch in chosen)),
        judge_canaries,
    )


def _read(
    layout: Layout, settings: Settings, batch: str, models: Mapping[Role, ModelSettings]
) -> FinishedBatch | None:
    try:
        calls, chunks, pairs, questions, canaries = (
            read_table(layout.table(table.name, batch), table)
            for table in (LLM_CALLS, CHUNKS, PAIRS, QUESTIONS, JUDGE_CANARIES)
        )
    except (TableError, CorpusError):  # it fails in its own run and in `status`; here it only teaches nothing
        return None
    batch_calls = calls.filter(
        pl.any_horizontal((pl.col("role") == role) & made_by("asked_model", models[role]) for role in models)
    )
    if not batch_calls.height:
        return None
    requests = Requests(chunks, settings, batch)
    target = pl.col("target_chunk_ids").list.first()
    kept_questions = questions.filter(pl.col("status") == "kept", target.is_in(requests.asked_ids))
    wrong = canaries.filter(pl.col("expected") == "rejected").height  # good ones are pairs
    return FinishedBatch(batch_calls, pairs.height, requests, kept_questions.height, wrong)
