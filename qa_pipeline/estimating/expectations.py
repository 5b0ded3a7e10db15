"""What may be expected of replies: how many calls lead to how many others, and how long replies are.

What belongs here: the defaults, in this one place, and what earlier calls teach instead. What does not:
counting prompts (`prompts.py`), adding up (`estimate.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from qa_pipeline.calls import Role
from qa_pipeline.settings.models import ModelSettings

FEWEST_CALLS = 10
"""Calls of a stage below which it teaches nothing."""

KEPT = 0.75
"""Questions that are kept, of those a chunk may be asked for: some chunks give fewer, some are not found."""
BORDERLINE = 0.5
"""Claims for each answer that no local check decides."""
JUDGED = 0.7
"""Answers that pass source verification, and so reach the judge."""
REPLY_TOKENS: Mapping[Role, float] = {"questions": 45.0, "answer": 130.0, "verify": 90.0, "judge": 110.0}
"""Tokens of a reply without thoughts; for questions, of each one."""
THOUGHTS: Mapping[str, float] = {"minimal": 0.0, "low": 250.0, "medium": 600.0, "high": 1200.0}
"""Tokens of thoughts before a reply, by thinking level."""
UNSET_THOUGHTS = 600.0
"""The same where the settings leave it to the model, and Gemini's do think."""


@dataclass(frozen=True, slots=True)
class Expectations:
    """How one stage follows from another.

    `answers` is how many questions are kept of each call for questions, `verified` and `judged` how many
    calls follow from each pair. `reply_tokens` is what a call writes, thoughts included. `prompt_factor`
    corrects the estimated tokens of prompts; `learned` names the stages of which earlier calls told that.
    """

    answers: float
    verified: float = BORDERLINE
    judged: float = JUDGED
    reply_tokens: Mapping[Role, float] = field(default_factory=dict)
    prompt_factor: Mapping[Role, float] = field(default_factory=dict)
    learned: frozenset[Role] = frozenset()


def default_expectations(models: Mapping[Role, ModelSettings], questions_per_chunk: int) -> Expectations:
    """What is expected where no earlier call says anything.

    Args:
        models: who is asked in each role.
        questions_per_chunk: most questions of a chunk.
    """
    answers = KEPT * questions_per_chunk
    replies = {**REPLY_TOKENS, "questions": REPLY_TOKENS["questions"] * questions_per_chunk}
    tokens: dict[Role, float] = {role: replies[role] + thought_tokens(models[role]) for role in models}
    return Expectations(answers, reply_tokens=tokens)


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
) -> Expectations:
    """Put what earlier calls took in the place of the defaults, for each stage that has enough of them.

    Args:
        default: what is expected else.
        calls: llm_calls of finished batches, of the models in use.
        pairs: pairs of those batches.
        likely_tokens: estimated tokens of the prompts of a stage, mean over those batches.
    """
    told = {role: calls.filter(pl.col("role") == role) for role in likely_tokens}
    asked = {role: frame["request_key"].n_unique() for role, frame in told.items()}
    known = frozenset(role for role in told if asked[role] >= FEWEST_CALLS)
    enough = asked.get("questions", 0) >= FEWEST_CALLS
    return Expectations(
        answers=asked["answer"] / asked["questions"] if enough else default.answers,
        verified=asked.get("verify", 0) / pairs if pairs and enough else default.verified,
        judged=asked.get("judge", 0) / pairs if pairs and enough else default.judged,
        reply_tokens={
            **default.reply_tokens,
            **{role: _sum(told[role], "output_tokens") / asked[role] for role in known},
        },
        prompt_factor={
            role: _sum(told[role], "input_tokens") / (asked[role] * likely_tokens[role])
            for role in known
            if likely_tokens[role]
        },
        learned=known,
    )


def _sum(calls: pl.DataFrame, column: str) -> float:
    """Calls of which the provider told nothing count as the others do."""
    told = calls[column].drop_nulls()
    return float(told.sum()) * calls.height / told.len() if told.len() else 0.0
