"""Stopping a run that would pay again for pairs that were paid under other settings, prompts or models."""

import time

import polars as pl

from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.generation.questions import still_valid
from qa_pipeline.llm.base import FAKE
from qa_pipeline.pipeline.estimate import estimate_run, role_models
from qa_pipeline.pipeline.open_requests import QuestionDraftRow, Requests, made_by, stored_keys
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.llm import HOSTED, ModelSettings
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import PAIRS, QUESTIONS


def check_rebuy(resources: Resources, batch: str, chunks: pl.DataFrame) -> None:
    """Refuse a run of a batch that would write more of its paid pairs anew than the settings allow.

    Pairs whose source changed do not count, nor those whose replies are stored. Nothing is read where the
    settings name no limit.

    Args:
        resources: settings, tables and the store of replies.
        batch: its name.
        chunks: its CHUNKS frame, as the run has just cut it.

    Raises:
        BudgetExhaustedError: with the estimate of the run and the setting to raise; nothing was asked.
    """
    limit = resources.settings.llm.budget.rebuy_above
    model = role_models(resources.settings).get("answer")
    if limit is None or model is None:
        return
    pairs = rebought_pairs(resources, batch, chunks, model)
    if len(pairs) <= limit:
        return
    estimate = estimate_run(resources, [batch], now=time.time())
    total = estimate.total
    cost = "unknown cost" if estimate.cost is None else f"{estimate.cost:.2f} {estimate.currency}"
    raise BudgetExhaustedError(
        f"batch {batch}: {len(pairs)} pairs that are paid would be written again under other settings, "
        f"prompts or models; the run is estimated at {total.calls} calls, {total.tokens} tokens and {cost}. "
        f"Set llm.budget.rebuy_above to {len(pairs)} or more to pay for it, or take the earlier settings"
    )


def rebought_pairs(resources: Resources, batch: str, chunks: pl.DataFrame, model: ModelSettings) -> set[str]:
    """Return the ids of pairs drafted by a hosted model that `model` would write again now."""
    settings, layout = resources.settings, resources.layout
    questions, pairs = (
        read_earlier(layout.table(QUESTIONS.name, batch), QUESTIONS),
        read_earlier(layout.table(PAIRS.name, batch), PAIRS),
    )
    if questions is None or pairs is None:
        return set()
    provider = pl.col("generator").str.strip_prefix(FAKE).str.split("/").list.first()
    paid = pairs.filter(pl.col("status") == "drafted", provider.is_in(HOSTED))
    present = set(chunks["chunk_id"])
    is_there = (
        pl.concat_list("target_chunk_ids", "passage_ids").list.eval(pl.element().is_in(present)).list.all()
    )
    questions = questions.filter(is_there).join(paid, on="question_id", how="semi")
    requests = Requests(chunks, settings, batch)
    by_model = questions.filter(made_by("model", model))
    names = tuple(by_model["model"].unique(maintain_order=True))
    rows = still_valid(by_model, chunks, settings.generation, settings.llm, names)
    valid = pl.col("question_id").is_in([row["question_id"] for row in rows])

    question_requests = requests.questions(by_model)
    stored = stored_keys(resources, [request.key for request in question_requests.values()], model)
    bought = {targets for targets, request in question_requests.items() if request.key not in stored}
    lost = questions.filter(~valid).filter(
        pl.col("target_chunk_ids").map_elements(lambda ids: tuple(ids) in bought, pl.Boolean())
    )

    drafts = paid.select("question_id", "draft", "pair_id", "generator", written_with="prompt_hash")
    answered = questions.filter(valid, pl.col("drafted_answer").is_null()).join(drafts, on="question_id")
    of_this_model = set(answered.filter(made_by("generator", model))["pair_id"])
    keys = {}
    for row, typed in zip(answered.to_dicts(), typed_rows(answered, QuestionDraftRow), strict=True):
        request = requests.answer(typed, requests.passages(row["passage_ids"]) or [])
        if row["pair_id"] not in of_this_model or row["written_with"] != request.prompt_hash:
            keys[row["pair_id"]] = request.key
    stored = stored_keys(resources, list(keys.values()), model)
    rewritten = {pair_id for pair_id, key in keys.items() if key not in stored}
    return rewritten.union(paid.join(lost, on="question_id", how="semi")["pair_id"])
