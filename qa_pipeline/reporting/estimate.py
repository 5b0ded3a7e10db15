"""What a run would ask, and what that would cost, by batch and stage."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import fmean
from typing import Any

from qa_pipeline.errors import KeyRejectedError, ModelError, SettingsError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.budget.amounts import UNITS, Amount, Caps
from qa_pipeline.llm.budget.prices import Price, PriceTable, load_prices, price_of, utc_day
from qa_pipeline.llm.budget.tokens import request_tokens
from qa_pipeline.llm.gemini.provider import KEY_NAMES
from qa_pipeline.llm.gemini.wire import KEY_ADVICE, translate
from qa_pipeline.records import Role, Usage
from qa_pipeline.reporting.costs import STAGES
from qa_pipeline.reporting.expectations import (
    Expectations,
    default_expectations,
    expectations_from,
    finished_batches,
)
from qa_pipeline.reporting.open_requests import OpenWork, Requests, open_work
from qa_pipeline.resources import Resources
from qa_pipeline.settings.llm import HOSTED, LLMSettings, ModelSettings
from qa_pipeline.stages import cut_documents, read_batch
from qa_pipeline.storage import read_earlier
from qa_pipeline.tables import DOCUMENTS

CountFactor = Callable[[Sequence[Request[Any]]], float]
"""Real tokens of prompts for each estimated one, found by having some of these requests counted."""


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
        """Calls, tokens and known cost together."""
        amounts = (Amount(one.calls, _tokens(one), one.cost or Decimal(0)) for one in self.stages)
        return sum(amounts, Amount())

    @property
    def cost(self) -> Decimal | None:
        """Cost of everything; None where that of anything is not known."""
        costs = [one.cost for one in self.stages if one.calls]
        return None if None in costs else sum((cost for cost in costs if cost), Decimal(0))


def estimate_run(
    resources: Resources, batches: Sequence[str], *, now: float, count_factor: CountFactor | None = None
) -> Estimate:
    """Estimate a run over batches. Documents are read and chunked; no model is asked and nothing written.

    Args:
        resources: settings, and the tokenizer chunks are cut with.
        batches: in the order of the run.
        now: Unix seconds, for prices that change.
        count_factor: has some prompts counted; None goes by earlier calls, or by the text alone.

    Raises:
        SettingsError: the prices cannot be read.
    """
    settings = resources.settings
    split = settings.verification.split_claims
    models = role_models(settings.llm, judged=settings.judging.enabled, split=split != "rules")
    prices = load_prices(settings.llm.budget.prices)
    default = default_expectations(models, settings.generation.questions_per_chunk, split)
    finished = finished_batches(resources.layout, settings, models)
    stages: list[StageEstimate] = []
    rules = _Rules(models, prices, default, None, now)
    for batch in batches if models else ():
        requests = _requests(resources, batch)
        expected = expectations_from(finished, requests.language, default)
        rules = replace(rules, expected=expected, counted=_counted(count_factor, requests))
        stages += _of_batch(resources, batch, requests, rules)
    notes = _notes(settings.llm, rules)
    return Estimate(tuple(stages), prices.currency, notes, tuple(_reached(settings.llm, stages)))


def role_models(llm: LLMSettings, *, judged: bool = True, split: bool = True) -> dict[Role, ModelSettings]:
    """The hosted model of each role that has one."""
    found: dict[Role, ModelSettings] = {
        "questions": llm.generator,
        "answer": llm.generator,
        "split": llm.reviewer("verifier"),
        "verify": llm.reviewer("verifier"),
        "judge": llm.reviewer("judge"),
    }
    left_out = {*(() if judged else ("judge",)), *(() if split else ("split",))}
    return {role: model for role, model in found.items() if model.provider in HOSTED and role not in left_out}


@dataclass(frozen=True, slots=True)
class _Rules:
    models: Mapping[Role, ModelSettings]
    prices: PriceTable
    expected: Expectations
    counted: float | None
    now: float

    def prompt_factor(self, role: Role) -> float:
        learned = self.expected.prompt_factor
        of_text = learned.get("questions", 1.0)
        if self.counted is None:
            return learned.get(role, of_text)
        # the sample tells how this text is cut, earlier calls how prompts differ from the likely ones
        return self.counted * learned.get(role, of_text) / of_text

    def price(self, role: Role) -> Price | None:
        return price_of(self.models[role], self.prices)


def _requests(resources: Resources, batch: str) -> Requests:
    previous = read_earlier(resources.layout.table(DOCUMENTS.name, batch), DOCUMENTS)
    documents = read_batch(resources, batch, previous)
    return Requests(cut_documents(resources, documents), resources.settings, batch)


def _of_batch(resources: Resources, batch: str, requests: Requests, rules: _Rules) -> Iterable[StageEstimate]:
    work = open_work(resources, batch, requests, rules.models)
    calls = _calls(work, rules.expected)
    sample = requests.sample()
    for role in STAGES:
        if role not in rules.models:
            continue
        known = work.questions if role == "questions" else work.answers if role == "answer" else []
        tokens = float(sum(request_tokens(request) for request in known))
        rest = calls[role] - len(known)
        if rest > 0 and sample:
            tokens += rest * fmean(request_tokens(requests.likely(role, one)) for one in sample)
        yield _stage(batch, role, calls[role], tokens * rules.prompt_factor(role), rules)


def _calls(work: OpenWork, expected: Expectations) -> dict[Role, float]:
    new = sum(expected.kept.of(length) for length in work.unknown_chunks)
    pairs = work.pairs + new
    return {
        "questions": float(len(work.questions)),
        "answer": len(work.answers) + new,
        "split": expected.split * max(0.0, pairs - work.verified),
        "verify": expected.verified * max(0.0, pairs - work.verified),
        "judge": expected.judged * max(0.0, pairs - work.judged),
    }


def _stage(batch: str, role: Role, calls: float, input_tokens: float, rules: _Rules) -> StageEstimate:
    read, written = round(input_tokens), round(calls * rules.expected.reply_tokens[role])
    price = rules.price(role)
    # by the mean call: a sum over calls would look like one very long prompt
    each = Usage(round(read / calls), round(written / calls)) if calls else Usage(0, 0)
    cost = price.cost(each, utc_day(rules.now)) if price else None
    total = None if cost is None else cost * Decimal(repr(calls))
    return StageEstimate(batch, role, round(calls), read, written, total)


def _counted(count_factor: CountFactor | None, requests: Requests) -> float | None:
    asked = [requests.question(chunk_id) for chunk_id in requests.sample()]
    return count_factor(asked) if count_factor and asked else None


def _reached(llm: LLMSettings, stages: Sequence[StageEstimate]) -> Iterable[str]:
    total = Estimate(tuple(stages), "", (), ()).total
    for caps in (Caps.of_run(llm.budget), Caps.of_day(llm.budget)):
        for unit in UNITS:
            cap, expected = getattr(caps, unit), getattr(total, unit)
            if cap is not None and expected > cap:
                yield f"{caps.setting(unit)}: {cap} are allowed, about {expected:.6g} {unit} are expected"


def _notes(llm: LLMSettings, rules: _Rules) -> tuple[str, ...]:
    """How it was estimated; the same way for every batch."""
    expected, counted = rules.expected, rules.counted
    if not rules.models:
        return (f"llm.provider is {llm.provider}: no hosted model is asked.",)
    basis = "estimated from their text, on the high side"
    if counted is not None:
        basis = "counted by the provider on a sample of each batch"
    elif expected.prompt_factor:
        basis = f"corrected by earlier calls ({', '.join(sorted(expected.prompt_factor))})"
    replies = "defaults" if not expected.learned else f"earlier calls ({', '.join(sorted(expected.learned))})"
    unpriced = sorted(
        {f"{m.provider}/{m.model}" for m in rules.models.values() if price_of(m, rules.prices) is None}
    )
    return (
        f"Tokens of prompts are {basis}; lengths of replies and shares that go on are from {replies}.",
        "Requests whose replies are stored are left out; tries that fail and are charged are not in it.",
        *(f"No price is known for {name}: set llm.budget.prices." for name in unpriced),
    )


def _tokens(one: StageEstimate) -> int:
    return one.input_tokens + one.output_tokens


MOST_COUNTED = 20


class GeminiCounter:
    """Counts prompts with Gemini's countTokens; call it with requests to get the ratio.

    Raises:
        SettingsError: the model's provider counts no tokens.
        KeyRejectedError: no key is set, or it is refused.
        ModelError: the provider does not count.
    """

    def __init__(self, model: ModelSettings, environ: Mapping[str, str]) -> None:
        if model.provider != "gemini" or model.vertex_project is not None:
            raise SettingsError(
                f"--count-with-provider needs Gemini with a key; llm.provider is {model.provider}"
            )
        keys = [environ[name].strip() for name in KEY_NAMES if environ.get(name, "").strip()]
        if not keys:
            raise KeyRejectedError(f"--count-with-provider needs a key; {KEY_ADVICE}")
        self._model = model
        self._key = keys[0]

    def __call__(self, requests: Sequence[Request[Any]]) -> float:
        """Real tokens for each estimated one, over requests spread evenly."""
        step = max(1, len(requests) // MOST_COUNTED)
        some = requests[::step][:MOST_COUNTED]
        estimated = sum(request_tokens(request) for request in some)
        return sum(self._count(some)) / estimated if estimated else 1.0

    def _count(self, requests: Sequence[Request[Any]]) -> list[int]:
        from google.genai.errors import APIError
        from httpx2 import HTTPError  # what google-genai speaks HTTP with

        failure: ModelError
        try:
            return self._counted(requests)
        except (APIError, HTTPError, ValueError) as error:
            failure = translate(error, self._key, self._model.model)
        # raised out here, where the client's error, whose frames hold the key, is no longer its context
        raise failure

    def _counted(self, requests: Sequence[Request[Any]]) -> list[int]:
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        options = HttpOptions(
            base_url=self._model.base_url or "https://generativelanguage.googleapis.com/",
            timeout=60_000,
            retry_options=HttpRetryOptions(attempts=3),
        )
        counted = []
        with Client(vertexai=False, api_key=self._key, http_options=options) as client:
            for request in requests:
                # the API counts contents alone: the instruction is counted as if it were a part of them
                message = client.models.count_tokens(
                    model=self._model.model, contents=f"{request.system}\n{request.prompt}"
                )
                counted.append(message.total_tokens or 0)
        return counted
