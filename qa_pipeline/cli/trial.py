"""`qa-pipeline run --try N`: some chunks through every stage, and the cost of the rest in proportion."""

from collections.abc import Sequence
from dataclasses import asdict
from math import ceil
from typing import Any

import polars as pl

from qa_pipeline.cli.console import print_line, show, watching
from qa_pipeline.cli.outcomes import show_pair, shown_pairs
from qa_pipeline.defs.running import run_batches
from qa_pipeline.generation.questions import OVER_LIMIT
from qa_pipeline.pipeline.costs import cost_summary
from qa_pipeline.pipeline.outcomes import BatchOutcome
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import batch_files
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import LLM_CALLS, QUESTIONS, VERDICTS
from qa_pipeline.text.rendering import plural

MOST_BATCHES = 3
"""Batches that a trial reads, by lot: reading and embedding all of a large corpus would take longer."""


def try_chunks(
    settings: Settings, batches: Sequence[str], count: int, *, as_json: bool
) -> list[BatchOutcome]:
    """Run some chunks, then print their pairs, the cost, and the cost of the whole corpus in proportion.

    The tables lie in the folder `try` of the output folder. Replies and vectors are stored where a whole run
    looks for them, so that it pays for none of them again.
    """
    drawn = sorted(batches, key=hash_text)[:MOST_BATCHES]
    pairs: list[dict[str, Any]] = []
    outcomes, tables = [], []
    asked = waiting = 0
    with watching(quiet=as_json) as watch:
        for number, batch in enumerate(drawn):
            if not (chunks := ceil((count - asked) / (len(drawn) - number))):
                break
            generation = settings.generation.model_copy(update={"max_chunks": chunks})
            tried = settings.model_copy(update={"generation": generation, "out": settings.out / "try"})
            resources = Resources(tried, shared=settings.out, watch=watch)
            layout = resources.layout
            layout.table(VERDICTS.name, batch).unlink(missing_ok=True)  # of an earlier trial
            outcomes += run_batches(resources, [batch])
            if not layout.table(VERDICTS.name, batch).is_file():
                continue
            questions = read_table(layout.table(QUESTIONS.name, batch), QUESTIONS)
            chunk = pl.col("target_chunk_ids").list.first()
            asked += questions.filter(pl.col("planned_type").is_not_null()).select(chunk.n_unique()).item()
            waiting += questions.filter(reason=OVER_LIMIT).select(chunk.n_unique()).item()
            calls = read_table(layout.table(LLM_CALLS.name, batch), LLM_CALLS).filter(run=resources.run)
            tables.append((calls, read_table(layout.table(VERDICTS.name, batch), VERDICTS)))
            pairs += shown_pairs(layout, batch).to_dicts()
    files = {batch: len(batch_files(Resources(settings), batch).list()) for batch in batches}
    read = sum(files[outcome.batch] for outcome in outcomes)
    whole = round((asked + waiting) * sum(files.values()) / max(1, read))
    calls, verdicts = (
        map(pl.concat, zip(*tables, strict=True)) if tables else (LLM_CALLS.empty(), VERDICTS.empty())
    )
    usage = cost_summary(calls, verdicts)
    cost = None if usage.calls_without_cost else usage.cost or 0.0
    took = _figures(asked, usage.calls, usage.tokens, cost)
    each = whole / max(1, asked)
    whole_cost = None if cost is None else cost * each
    projected = _figures(whole, round(usage.calls * each), round(usage.tokens * each), whole_cost)
    if as_json:
        document = {"pairs": pairs, "tried": took, "whole": projected, "currency": usage.currency}
        show({**document, "outcomes": [asdict(outcome) for outcome in outcomes]}, as_json=True)
        return outcomes
    for pair in pairs:
        show_pair(pair)
    accepted = sum(pair["verdict"] == "accepted" for pair in pairs)
    print_line(f"{plural(asked, 'chunk')} gave {accepted} accepted of {plural(len(pairs), 'pair')}.")
    for outcome in outcomes:
        if not outcome.passed:
            print_line(f"{outcome.batch}: {outcome.error}", "red")
    for title, figures in {"This trial took": took, "The whole corpus: about": projected}.items():
        money = f", {figures['cost']:.2f} {usage.currency}" if usage.currency and figures["cost"] else ""
        chunks_of = plural(figures["chunks"], "chunk")
        print_line(f"{title} {chunks_of}, {figures['calls']:,} calls, {figures['tokens']:,} tokens{money}.")
    print_line("Run the same command without --try to go on: what was asked is stored and not paid again.")
    return outcomes


def _figures(chunks: int, calls: int, tokens: int, cost: float | None) -> dict[str, Any]:
    return {"chunks": chunks, "calls": calls, "tokens": tokens, "cost": cost}
