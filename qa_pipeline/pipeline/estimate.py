"""What a run would ask, and what that would cost, by batch and stage."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from qa_pipeline.generation.questions import answered_at_once
from qa_pipeline.llm.budget.amounts import UNITS, Amount, Caps
from qa_pipeline.llm.budget.prices import PriceTable, load_prices, price_of, utc_day
from qa_pipeline.llm.budget.tokens import request_tokens
from qa_pipeline.pipeline.costs import STAGES
from qa_pipeline.pipeline.expectations import (
    IN_DOUBT,
    REWRITTEN,
    Expectations,
    default_expectations,
    expectations_from,
    finished_batches,
)
from qa_pipeline.pipeline.open_requests import OpenWork, Requests, open_work
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import cut_documents, read_batch
from qa_pipeline.records import Role, Usage
from qa_pipeline.settings.llm import HOSTED, LLMSettings, ModelSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.tables import DOCUMENTS
from qa_pipeline.verification.canaries.judge_pairs import WRONG, most_wrong


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """Calls of one stage of one batch; `cost` is None where nobody knows the price."""

    batch: str
    stage: Role
    calls: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class Saving:
    """A setting that would spare tokens or cost, and what it gives up; `cost` is None where unknown."""

    change: str
    tokens: int
    cost: Decimal | None
    gives_up: str


CHEAP_QUESTIONS = 3
"""Questions of a chunk from which on its prompt costs less than what is written about it."""
_SHARED_BY_QUESTIONS = 0.7
"""Part of the tokens of a question's call that other questions of the chunk would share: the prompt."""
MOST_SAVINGS = 3
"""Savings that are named: the largest, since the others are small beside them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """All stages of all batches, and how they were estimated.

    `stopped_by` says which caps a run would reach, `savings` which settings would spare most.
    """

    stages: tuple[StageEstimate, ...]
    currency: str
    notes: tuple[str, ...]
    stopped_by: tuple[str, ...]
    savings: tuple[Saving, ...] = ()

    @property
    def total(self) -> Amount:
        """Return the sum of calls, tokens and known cost."""
        amounts = (
            Amount(stage.calls, stage.input_tokens + stage.output_tokens, stage.cost or Decimal(0))
            for stage in self.stages
        )
        return sum(amounts, Amount())

    @property
    def cost(self) -> Decimal | None:
        """Return the cost of everything; None where a part of it is unknown."""
        costs = [stage.cost for stage in self.stages if stage.calls]
        return None if None in costs else sum((cost for cost in costs if cost), Decimal(0))


def estimate_run(resources: Resources, batches: Sequence[str], *, now: float) -> Estimate:
    """Estimate a run over batches. Documents are read and chunked; no model is asked and nothing written.

    Args:
        resources: settings, and the tokenizer chunks are cut with.
        batches: in the order of the run.
        now: Unix seconds, for prices that change.

    Raises:
        SettingsError: the prices cannot be read.
    """
    settings, generation = resources.settings, resources.settings.generation
    models = role_models(settings)
    prices = load_prices(settings.llm.budget.prices)
    at_once = answered_at_once(generation, settings.llm)
    expected = default = default_expectations(
        models,
        generation.questions_per_chunk,
        settings.verification.split_claims,
        generation.mix.hops,
        generation.drafts_per_question if at_once else None,
    )
    finished = finished_batches(resources.layout, settings, models)
    stages: list[StageEstimate] = []
    for batch in batches if models else ():
        previous = read_earlier(resources.layout.table(DOCUMENTS.name, batch), DOCUMENTS)
        chunks = cut_documents(resources, read_batch(resources, batch, previous))
        requests = Requests(chunks, settings, batch)
        expected = expectations_from(finished, requests.language, default)
        work = open_work(resources, batch, requests, models)
        calls = _calls(work, expected, settings)
        for role in (role for role in STAGES if role in models):
            tokens = _prompt_tokens(role, calls[role], work, requests) * expected.prompt_factor(role)
            read, written = round(tokens), round(calls[role] * expected.reply_tokens[role])
            cost = _cost(calls[role], Usage(read, written), models[role], prices, now)
            stages.append(StageEstimate(batch, role, round(calls[role]), read, written, cost))
    notes = _notes(settings.llm, models, prices, expected)
    reached = tuple(_reached(settings.llm, stages))
    return Estimate(tuple(stages), prices.currency, notes, reached, savings(settings, stages))


def role_models(settings: Settings) -> dict[Role, ModelSettings]:
    """Return the hosted model of each role that has one."""
    llm, generation, verification = settings.llm, settings.generation, settings.verification
    round_trip = verification.round_trip or generation.mix.hops > 0
    is_verifying: dict[Role, bool] = {
        "validate": generation.asks_about_references,
        "guard": generation.guard.asks_a_model,
        "split": verification.split_claims != "rules",
        "verify": True,
        **dict.fromkeys(("solve", "recall", "compare"), round_trip),
    }
    models: dict[Role, ModelSettings] = dict.fromkeys(("questions", "standalone", "answer"), llm.generator)
    models |= {role: llm.reviewer("verifier") for role, is_asked in is_verifying.items() if is_asked}
    if settings.judging.enabled:
        models["judge"] = llm.reviewer("judge")
    return {role: model for role, model in models.items() if model.provider in HOSTED}


def _calls(work: OpenWork, expected: Expectations, settings: Settings) -> dict[Role, float]:
    new = expected.accepted_questions * work.unknown_chunks
    drafts = settings.generation.drafts_per_question
    answers = len(work.answers) + new * drafts
    pairs = work.pairs + new * drafts
    unjudged = max(0.0, pairs - work.judged)
    passed, hops = expected.judged * unjudged, expected.hops * unjudged
    again = passed if settings.verification.round_trip else hops
    return {
        "questions": float(len(work.questions)),
        "standalone": REWRITTEN * work.open_slots,
        "validate": answers / drafts * settings.retrieval.top_k,
        "guard": answers / drafts,
        "answer": len(work.answers) + expected.answered * new * drafts,
        "split": expected.split * max(0.0, pairs - work.verified),
        "verify": expected.verified * max(0.0, pairs - work.verified),
        "solve": again + 2 * hops,  # a question of three hops is solved once more, and there are few
        "recall": again,
        "compare": again,
        "judge": passed + _canaries(settings, passed),
    }


def _canaries(settings: Settings, judged: float) -> float:
    """Return the calls for canaries of the judge: at most one of each wrong kind for a pair it judges."""
    canaries = settings.canaries
    return min(most_wrong(canaries.judged), len(WRONG) * judged) if canaries.enabled else 0.0


def _prompt_tokens(role: Role, calls: float, work: OpenWork, requests: Requests) -> float:
    """Return the tokens of the known requests, and of likely ones for the other calls."""
    measured = {"questions": work.questions, "answer": work.answers}.get(role, [])
    rest = calls - len(measured)
    likely = rest * requests.likely_tokens(role) if rest > 0 else 0.0
    return sum(request_tokens(request) for request in measured) + likely


def _cost(calls: float, usage: Usage, model: ModelSettings, prices: PriceTable, now: float) -> Decimal | None:
    """Return the cost by the mean call: a sum over calls would look like one very long prompt."""
    price = price_of(model, prices)
    tokens = (usage.input_tokens or 0, usage.output_tokens or 0)
    per_call = Usage(*(round(count / calls) for count in tokens)) if calls else Usage(0, 0)
    cost = price.cost(per_call, utc_day(now)) if price else None
    return None if cost is None else cost * Decimal(repr(calls))


def savings(settings: Settings, stages: Sequence[StageEstimate]) -> tuple[Saving, ...]:
    """Return the settings that would spare most of what is estimated, the largest saving first.

    Shares are of the stages as estimated; two savings of one stage cannot both be had in full.
    """
    llm, generation, verification = settings.llm, settings.generation, settings.verification
    drafts, per_chunk = generation.drafts_per_question, generation.questions_per_chunk
    shares: list[tuple[str, str, dict[Role, float]]] = []
    if generation.answers == "from_passages":
        shares.append((
            "generation.answers=with_questions",
            "answers read the chunk that they are asked of, and not all retrieved passages",
            {"answer": (1 - IN_DOUBT) / drafts},
        ))  # fmt: skip
    if drafts > 1:
        later: tuple[Role, ...] = ("split", "verify", "judge")
        spared = (drafts - 1) / drafts
        shares.append((
            "generation.drafts_per_question=1",
            "no alternative where the first draft fails",
            {"answer": spared, **dict.fromkeys(later, spared)},
        ))  # fmt: skip
    if per_chunk < CHEAP_QUESTIONS:
        shares.append((
            f"generation.questions_per_chunk={CHEAP_QUESTIONS}",
            "as many questions are of fewer sections (generation.max_questions)",
            {"questions": _SHARED_BY_QUESTIONS * (1 - per_chunk / CHEAP_QUESTIONS)},
        ))  # fmt: skip
    if verification.round_trip:
        shares.append((
            "verification.round_trip=false",
            "no second answer from the quotes, and none from memory",
            dict.fromkeys(("solve", "recall", "compare"), 1 - generation.mix.hops),
        ))  # fmt: skip
    shares += [
        (
            "verification.split_claims=rules",
            "joined clauses are verified as one claim",
            {"split": float(verification.split_claims != "rules")},
        ),
        (
            "generation.guard.mode=hybrid",
            "a cosine decides whether the passages can answer",
            {"guard": float(generation.guard.asks_a_model)},
        ),
        (
            "generation.validation_strategy=embedding",
            "a cosine decides whether a passage helps",
            {"validate": float(generation.asks_about_references)},
        ),
        (
            "canaries.judged=0",
            "a judge that passes what is wrong is not noticed",
            {"judge": _canary_share(settings, stages)},
        ),
    ]
    savings = [_saving(change, gives_up, spared, stages) for change, gives_up, spared in shares]
    cost = Estimate(tuple(stages), "", (), ()).cost
    if (
        cost
        and llm.delivery == "now"
        and all(m.provider == "gemini" and not m.vertex_project for m in llm.hosted_models)
    ):
        savings.append(Saving("--half-price (llm.delivery=batch)", 0, cost / 2, "replies come within a day"))
    savings.sort(key=lambda saving: (-(saving.cost or 0), -saving.tokens, saving.change))
    return tuple(saving for saving in savings if saving.tokens or saving.cost)[:MOST_SAVINGS]


def _saving(
    change: str, gives_up: str, spared: Mapping[Role, float], stages: Sequence[StageEstimate]
) -> Saving:
    of_stages = [(spared.get(stage.stage, 0.0), stage) for stage in stages if stage.calls]
    tokens = sum(share * (stage.input_tokens + stage.output_tokens) for share, stage in of_stages)
    costs = [stage.cost * Decimal(repr(share)) for share, stage in of_stages if stage.cost is not None]
    return Saving(change, round(tokens), sum(costs, Decimal(0)) if costs else None, gives_up)


def _canary_share(settings: Settings, stages: Sequence[StageEstimate]) -> float:
    """Return the share of the judge's calls that are canaries, at most one of each wrong kind for a pair."""
    judged = [stage.calls for stage in stages if stage.stage == "judge" and stage.calls]
    most = float(most_wrong(settings.canaries.judged)) if settings.canaries.enabled else 0.0
    return min(1.0, most * len(judged) / sum(judged)) if judged else 0.0


def _reached(llm: LLMSettings, stages: Sequence[StageEstimate]) -> Iterable[str]:
    total = Estimate(tuple(stages), "", (), ()).total
    for caps in (Caps.of_run(llm.budget), Caps.of_day(llm.budget)):
        for unit in UNITS:
            cap, expected = getattr(caps, unit), getattr(total, unit)
            if cap is not None and expected > cap:
                yield f"{caps.setting(unit)}: {cap} are allowed, about {expected:.6g} {unit} are expected"


def _notes(
    llm: LLMSettings, models: dict[Role, ModelSettings], prices: PriceTable, expected: Expectations
) -> tuple[str, ...]:
    """Return notes on the method of the estimate; the same for every batch."""
    if not models:
        return (f"llm.provider is {llm.provider}: no hosted model is asked.",)
    basis, replies = "estimated from their text, on the high side", "defaults"
    if expected.prompt_factors:
        basis = f"corrected by earlier calls ({', '.join(sorted(expected.prompt_factors))})"
    if expected.learned:
        replies = f"earlier calls ({', '.join(sorted(expected.learned))})"
    unpriced = sorted({f"{m.provider}/{m.model}" for m in models.values() if price_of(m, prices) is None})
    return (
        f"Tokens of prompts are {basis}; lengths of replies and shares that go on are from {replies}.",
        "Requests whose replies are stored are left out; tries that fail and are charged are not in it.",
        *(f"No price is known for {name}: set llm.budget.prices." for name in unpriced),
    )
