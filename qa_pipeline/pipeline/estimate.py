"""What a run would ask, and what that would cost, by batch and stage."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from qa_pipeline.llm.budget.amounts import UNITS, Amount, Caps
from qa_pipeline.llm.budget.prices import PriceTable, load_prices, price_of, utc_day
from qa_pipeline.llm.budget.tokens import request_tokens
from qa_pipeline.pipeline.costs import STAGES
from qa_pipeline.pipeline.expectations import (
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
class Estimate:
    """All stages of all batches, and how they were estimated.

    `stopped_by` says which caps a run would reach.
    """

    stages: tuple[StageEstimate, ...]
    currency: str
    notes: tuple[str, ...]
    stopped_by: tuple[str, ...]

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
    models = _role_models(settings)
    prices = load_prices(settings.llm.budget.prices)
    expected = default = default_expectations(
        models, generation.questions_per_chunk, settings.verification.split_claims, generation.mix.hops
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
    return Estimate(tuple(stages), prices.currency, notes, tuple(_reached(settings.llm, stages)))


def _role_models(settings: Settings) -> dict[Role, ModelSettings]:
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
        "answer": answers,
        "split": expected.split * max(0.0, pairs - work.verified),
        "verify": expected.verified * max(0.0, pairs - work.verified),
        "solve": again + 2 * hops,
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
