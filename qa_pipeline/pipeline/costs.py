"""Cost of model calls: sums by stage, and per accepted pair."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, get_args

import polars as pl

from qa_pipeline.generation.multihop import link_chunks
from qa_pipeline.generation.pair_entries import read_pairs_beside
from qa_pipeline.generation.questions import still_valid
from qa_pipeline.generation.requests import QuestionsRequest, answered_at_once, plan_requests
from qa_pipeline.llm.base import is_fake
from qa_pipeline.llm.budget import price_of, request_tokens
from qa_pipeline.llm.reply_database import TOKENS
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import StageRun, batch_files, cut_documents, read_batch
from qa_pipeline.records import Role, Usage
from qa_pipeline.settings.llm import HOSTED, ModelSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.tables import QUESTIONS, VERDICTS
from qa_pipeline.verification.canaries import JUDGED_GOOD, JUDGED_PAIRS, MODEL_CHUNKS

STAGES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class CostSummary:
    """Number, tokens and cost of model calls, by stage and in total.

    `cost` is the sum of known costs, and unset without any or with several currencies. `fake_calls` were
    answered by the server of `make serve-fake`.
    """

    stages: pl.DataFrame
    calls: int
    tokens: int
    cost: float | None
    currency: str | None
    cost_per_accepted_pair: float | None
    calls_without_cost: int
    fake_calls: int

    def notes(self) -> list[str]:
        """Return notes about fake replies and calls without a known cost."""
        notes = []
        if self.fake_calls:
            notes.append(
                f"{self.fake_calls} of {self.calls} replies are fake, from serve-fake: rows made from them "
                "are for trying out, not for training."
            )
        if self.calls_without_cost:
            notes.append(
                f"Calls of unknown cost: {self.calls_without_cost}. Their model has no known price, or its "
                "provider did not report tokens."
            )
        return notes

    def document(self) -> dict[str, Any] | None:
        """Return the figures as JSON values, if there were any calls."""
        if not self.calls:
            return None
        return asdict(replace(self, stages=pl.DataFrame())) | {"stages": self.stages.to_dicts()}


def cost_summary(calls: pl.DataFrame, verdicts: pl.DataFrame) -> CostSummary:
    """Sum the tokens and cost of calls; test pairs with an expected verdict are not counted as accepted."""
    currencies = calls["currency"].drop_nulls().unique()
    currency = currencies.item() if currencies.len() == 1 else None  # several cannot be summed
    costs = calls["cost"].drop_nulls()
    cost = float(costs.sum()) if costs.len() and currency is not None else None
    accepted = verdicts.filter(pl.col("expected_verdict").is_null(), pl.col("verdict") == "accepted").height
    tokens = sum(int(calls[name].sum()) for name in ("input_tokens", "output_tokens"))
    return CostSummary(
        stages=_stages(calls, currency),
        calls=calls.height,
        tokens=tokens,
        cost=cost,
        currency=currency,
        cost_per_accepted_pair=cost / accepted if cost is not None and accepted else None,
        calls_without_cost=calls["cost"].null_count(),
        fake_calls=sum(map(is_fake, calls["replied_model"])),
    )


def _stages(calls: pl.DataFrame, currency: str | None) -> pl.DataFrame:
    """Return a row per stage in pipeline order, and a row for the total."""
    cost = pl.col("cost")
    # null if no cost is known, or if several currencies cannot be summed
    cost_sum = pl.when(cost.is_not_null().any()).then(cost.sum()) if currency else pl.lit(None, pl.Float64)
    figures = [
        pl.len().cast(pl.Int64).alias("calls"),
        (pl.col("outcome") != "replied").sum().cast(pl.Int64).alias("failed"),
        *(pl.col(name).sum() for name in TOKENS),
        cost_sum.alias(f"cost {currency}" if currency else "cost"),
        cost.null_count().cast(pl.Int64).alias("calls_without_cost"),
    ]
    order = pl.col("stage").replace_strict({name: n for n, name in enumerate(STAGES)}, default=len(STAGES))
    by_stage = calls.group_by(stage="role").agg(*figures).sort(order, "stage")
    if not calls.height:
        return by_stage
    return pl.concat([by_stage, calls.select(pl.lit("all").alias("stage"), *figures)])


SHARE_KEPT, REWRITTEN = 0.75, 0.1  # shares of planned questions that are kept, and that are rewritten once
SHARE_PASSING = 0.7  # share of pairs that pass source verification
REDRAFTED, VERIFIED = 0.15, 0.7  # calls per answer: to redraft it if it came with its question; to verify it
SPLIT = {"auto": 0.3, "model": 1.0, "rules": 0.0}  # calls per answer, by verification.split_claims
PROMPT_TOKENS = 750  # mean tokens of a prompt without its passages
REPLY_TOKENS = 150  # mean tokens of a reply without thoughts; for "questions", per question with its answer
THOUGHTS = {"minimal": 0, "low": 250, "medium": 600, "high": 1200}  # tokens per reply, by thinking level


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """Calls of a stage of a batch; `cost` is None if the price is unknown."""

    batch: str
    stage: Role
    calls: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimates of all stages and batches; empty without hosted models."""

    stages: tuple[StageEstimate, ...]

    @property
    def cost(self) -> Decimal | None:
        """Return the total cost; None if a price is unknown."""
        if any(stage.cost is None for stage in self.stages if stage.calls):
            return None
        return sum((stage.cost or Decimal(0) for stage in self.stages), Decimal(0))


def estimate_run(resources: Resources, batches: Sequence[str], *, now: float) -> Estimate:
    """Estimate a run at prices of Unix time `now`; documents are chunked, but nothing is asked or written."""
    models = _role_models(resources.settings)
    stages: list[StageEstimate] = []
    for batch in batches if models else ():
        for role, calls, input_tokens, output_tokens in _expected_calls(resources, batch, models):
            price = price_of(models[role])
            mean_call = Usage(0, 0)
            if calls:  # all tokens at once would cost as much as a single very long prompt
                mean_call = Usage(round(input_tokens / calls), round(output_tokens / calls))
            mean_cost = price.cost(mean_call, now) if price else None
            cost = None if mean_cost is None else mean_cost * Decimal(str(calls))
            tokens = round(input_tokens), round(output_tokens)
            stages.append(StageEstimate(batch, role, round(calls), *tokens, cost))
    return Estimate(tuple(stages))


def _role_models(settings: Settings) -> dict[Role, ModelSettings]:
    """Return the hosted model of each role, in the order of stages."""
    llm, generation, verification = settings.llm, settings.generation, settings.verification
    asks_again = verification.round_trip or generation.hop_share > 0  # two-hop pairs are always asked again
    verifier_roles: dict[Role, bool] = {  # True if a run asks it
        "validate": generation.enable_reference_validation,
        "guard": generation.guard.asks_a_model,
        "split": verification.split_claims != "rules",
        "verify": True,
        **dict.fromkeys(("solve", "compare"), asks_again),
    }
    models: dict[Role, ModelSettings] = dict.fromkeys(("questions", "standalone", "answer"), llm.generator)
    models |= {role: llm.reviewer("verifier") for role, is_asked in verifier_roles.items() if is_asked}
    if settings.judging.enabled:
        models["judge"] = llm.reviewer("judge")
    return {role: models[role] for role in STAGES if role in models and models[role].provider in HOSTED}


def _expected_calls(
    resources: Resources, batch: str, models: Mapping[Role, ModelSettings]
) -> Iterator[tuple[Role, float, float, float]]:
    """Yield the role of each model with its expected calls, input tokens and output tokens for a batch."""
    settings, layout = resources.settings, resources.layout
    generation, llm = settings.generation, settings.llm
    chunks = cut_documents(resources, read_batch(StageRun(resources, batch)))
    earlier = read_earlier(layout.table(QUESTIONS.name, batch), QUESTIONS)
    # models are not built here, so their names are unknown, and earlier questions of any model are kept
    known_models = () if earlier is None else tuple(earlier["model"].unique())
    kept_questions = still_valid(earlier, chunks, generation, llm, known_models)
    requests = plan_requests(chunks, kept_questions, generation, llm, batch=batch, links=link_chunks(chunks))
    existing_pairs = read_pairs_beside(batch_files(resources, batch))
    planned_questions = sum(request.limit for request in requests)
    # a batch with verdicts has already answered its kept questions, and verified its existing pairs
    has_verdicts = read_earlier(layout.table(VERDICTS.name, batch), VERDICTS) is not None
    open_questions, open_pairs = (0, 0) if has_verdicts else (len(kept_questions), len(existing_pairs))
    to_answer = SHARE_KEPT * planned_questions + open_questions
    to_verify = to_answer * generation.drafts_per_question + open_pairs
    writing: dict[Role, float] = {"questions": len(requests), "standalone": REWRITTEN * planned_questions}
    calls_by_role = writing | _calls_after_writing(settings, to_answer, to_verify)
    passage_tokens = float(chunks["tokens"].mean() or 0) if chunks.height else 0.0  # type: ignore[arg-type]
    for role, model in models.items():
        calls = calls_by_role[role]
        tokens = _expected_tokens(role, model, calls, requests, settings.retrieval.top_k, passage_tokens)
        yield role, calls, *tokens


def _expected_tokens(
    role: Role,
    model: ModelSettings,
    calls: float,
    requests: Sequence[QuestionsRequest],
    top_k: int,
    passage_tokens: float,
) -> tuple[float, float]:
    """Return the expected input and output tokens of the calls of a role.

    The role "questions" sends the `requests`. Other prompts show passages of `passage_tokens` on average.
    """
    level = model.thinking_level or ("medium" if model.provider == "gemini" else "")
    thoughts = THOUGHTS.get(level, 0) * calls
    if role == "questions":  # a reply has all the questions of its request
        planned_questions = sum(request.limit for request in requests)
        return sum(map(request_tokens, requests)), REPLY_TOKENS * planned_questions + thoughts
    passages = {"answer": top_k, "guard": top_k, "compare": 0}.get(role, 1)  # other prompts show one
    return calls * (PROMPT_TOKENS + passages * passage_tokens), REPLY_TOKENS * calls + thoughts


def _calls_after_writing(settings: Settings, questions: float, pairs: float) -> dict[Role, float]:
    """Return the expected calls of each role for questions to answer and for pairs to verify."""
    generation, verification = settings.generation, settings.verification
    # the first draft is written with its question if the model is asked for both at once
    first_draft_calls = REDRAFTED if answered_at_once(generation, settings.llm) else 1
    further_drafts = generation.drafts_per_question - 1
    passing_pairs = SHARE_PASSING * pairs  # these are judged
    two_hop_pairs = passing_pairs * generation.hop_share
    round_trips = passing_pairs if verification.round_trip else two_hop_pairs  # pairs that are asked again
    has_canaries = settings.canaries.enabled and pairs > 0
    # good canaries are pairs of the batch, which the judge reads anyway
    model_canaries, judge_canaries = (MODEL_CHUNKS, JUDGED_PAIRS - JUDGED_GOOD) if has_canaries else (0, 0)
    return {
        "validate": questions * settings.retrieval.top_k,  # each retrieved passage
        "guard": questions,  # may its passages answer it?
        "answer": questions * (further_drafts + first_draft_calls),
        "split": SPLIT[verification.split_claims] * pairs,
        "verify": VERIFIED * pairs + model_canaries,
        "solve": round_trips + 2 * two_hop_pairs,  # two-hop pairs also from each passage alone
        "compare": round_trips,  # the new answer with the pair's
        "judge": passing_pairs + judge_canaries,
    }
