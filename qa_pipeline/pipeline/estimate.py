"""Estimate the calls and cost of a run by batch and stage: planned calls × mean tokens per call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from qa_pipeline.generation.multihop import link_chunks
from qa_pipeline.generation.pairs_file import read_pairs_beside
from qa_pipeline.generation.question_requests import answered_at_once, plan_requests
from qa_pipeline.generation.questions import still_valid
from qa_pipeline.llm.budget import price_of, request_tokens
from qa_pipeline.pipeline.costs import STAGES
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import StageRun, batch_files, cut_documents, read_batch
from qa_pipeline.records import Role, Usage
from qa_pipeline.settings.llm import HOSTED, ModelSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.tables import QUESTIONS, VERDICTS
from qa_pipeline.verification.canaries import JUDGED_GOOD, JUDGED_PAIRS, MODEL_CHUNKS

SHARE_KEPT, REWRITTEN = 0.75, 0.1
"""Shares of planned questions that are kept, and that are rewritten once."""
IN_DOUBT, BORDERLINE, JUDGED = 0.15, 0.7, 0.7
"""Calls per answer: to redraft an answer that came with its question, to verify and to judge."""
SPLIT = {"auto": 0.3, "model": 1.0, "rules": 0.0}
"""Calls per answer to split it into claims, by verification.split_claims."""
PROMPT_TOKENS: Mapping[Role, int] = {
    "standalone": 320, "validate": 400, "guard": 750, "answer": 750, "split": 600, "verify": 820,
    "solve": 750, "compare": 400, "judge": 770,
}  # fmt: skip
"""Tokens of a prompt without its passages."""
REPLY_TOKENS: Mapping[Role, int] = {
    "questions": 150, "standalone": 30, "validate": 40, "guard": 60, "answer": 130, "split": 140,
    "verify": 200, "solve": 130, "compare": 80, "judge": 150,
}  # fmt: skip
"""Tokens of a reply without thoughts; for "questions", per question with its answer."""
THOUGHTS = {"minimal": 0, "low": 250, "medium": 600, "high": 1200}
"""Tokens of thoughts per reply, by thinking level; Gemini's default level is medium."""


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
    """Estimate a run; documents are read and chunked, without model calls or written files.

    `now` is in Unix seconds, for prices that change with time.
    """
    models = _role_models(resources.settings)
    stages: list[StageEstimate] = []
    for batch in batches if models else ():
        for role, calls, read, written in _calls(resources, batch, models):
            price, mean = price_of(models[role]), Usage(0, 0)
            if calls:  # use the mean call, since the sum would look like a single very long prompt
                mean = Usage(round(read / calls), round(written / calls))
            cost = price.cost(mean, now) if price else None
            cost = None if cost is None else cost * Decimal(repr(calls))
            stages.append(StageEstimate(batch, role, round(calls), round(read), round(written), cost))
    return Estimate(tuple(stages))


def _role_models(settings: Settings) -> dict[Role, ModelSettings]:
    """Return the hosted model of each role, in the order of stages."""
    llm, generation, verification = settings.llm, settings.generation, settings.verification
    round_trip = verification.round_trip or generation.mix.hops > 0
    verifying: dict[Role, bool] = {
        "validate": generation.asks_about_references,
        "guard": generation.guard.asks_a_model,
        "split": verification.split_claims != "rules",
        "verify": True,
        **dict.fromkeys(("solve", "compare"), round_trip),
    }
    models: dict[Role, ModelSettings] = dict.fromkeys(("questions", "standalone", "answer"), llm.generator)
    models |= {role: llm.reviewer("verifier") for role, is_asked in verifying.items() if is_asked}
    if settings.judging.enabled:
        models["judge"] = llm.reviewer("judge")
    return {role: models[role] for role in STAGES if role in models and models[role].provider in HOSTED}


def _calls(
    resources: Resources, batch: str, models: Mapping[Role, ModelSettings]
) -> list[tuple[Role, float, float, float]]:
    """Return role, calls, tokens read and tokens written of each stage of a batch."""
    settings, layout = resources.settings, resources.layout
    generation, verification, top_k = settings.generation, settings.verification, settings.retrieval.top_k
    chunks = cut_documents(resources, read_batch(StageRun(resources, batch)))
    earlier = read_earlier(layout.table(QUESTIONS.name, batch), QUESTIONS)
    makers = () if earlier is None else tuple(earlier["model"].unique())
    valid = still_valid(earlier, chunks, generation, settings.llm, makers)
    requests = plan_requests(chunks, valid, generation, settings.llm, batch=batch, links=link_chunks(chunks))
    count, drafts = sum(request.limit for request in requests), generation.drafts_per_question
    is_answered = read_earlier(layout.table(VERDICTS.name, batch), VERDICTS) is not None
    existing = len(read_pairs_beside(batch_files(resources, batch)))
    new = SHARE_KEPT * count + (0 if is_answered else len(valid))
    pairs = new * drafts + (0 if is_answered else existing)
    first = IN_DOUBT if answered_at_once(generation, settings.llm) else 1
    judged, hops = JUDGED * pairs, JUDGED * pairs * generation.mix.hops
    again = judged if verification.round_trip else hops
    canaries = settings.canaries.enabled and pairs > 0
    counts: dict[Role, float] = {
        "questions": len(requests), "standalone": REWRITTEN * count, "validate": new * top_k, "guard": new,
        "answer": new * (drafts - 1 + first), "split": SPLIT[verification.split_claims] * pairs,
        "verify": BORDERLINE * pairs + MODEL_CHUNKS * canaries, "solve": again + 2 * hops,
        "compare": again, "judge": judged + (JUDGED_PAIRS - JUDGED_GOOD) * canaries,
    }  # fmt: skip
    passage = float(chunks["tokens"].mean() or 0) if chunks.height else 0.0  # type: ignore[arg-type]
    calls = []
    for role, model in models.items():
        passages = {"answer": top_k, "guard": top_k, "compare": 0}.get(role, 1)
        read = (PROMPT_TOKENS.get(role, 0) + passages * passage) * counts[role]
        written = float(REPLY_TOKENS[role] * counts[role])
        if role == "questions":
            read, written = float(sum(map(request_tokens, requests))), float(REPLY_TOKENS[role] * count)
        thoughts = THOUGHTS.get(model.thinking_level or ("medium" if model.provider == "gemini" else ""), 0)
        if model.thinking_budget is not None and model.thinking_budget >= 0:
            thoughts = model.thinking_budget
        calls.append((role, counts[role], read, written + thoughts * counts[role]))
    return calls
