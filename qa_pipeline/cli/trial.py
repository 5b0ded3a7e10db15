"""`qa-pipeline run --try N`: run a few chunks through every stage and estimate the whole corpus."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from math import ceil
from time import monotonic
from uuid import uuid4

import polars as pl

from qa_pipeline.cli.console import print_document, print_line, show_pair, watching
from qa_pipeline.cli.samples import Sample, all_pairs
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.defs.running import run_batches
from qa_pipeline.generation.questions import OVER_LIMIT
from qa_pipeline.llm.budget.prices import CURRENCY
from qa_pipeline.pipeline.costs import cost_summary
from qa_pipeline.pipeline.outcomes import BatchOutcome
from qa_pipeline.pipeline.resources import Resources, StageObserver
from qa_pipeline.pipeline.stages import batch_files
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import DOCUMENTS, LLM_CALLS, QUESTIONS, VERDICTS
from qa_pipeline.text.rendering import plural

MOST_BATCHES = 3
"""Batches that a trial reads, by lot: reading and embedding all of a large corpus would take longer."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Count the chunks and files of a trial, and the calls, tokens and cost that it took."""

    asked: int
    waiting: int
    files: int
    calls: int
    tokens: int
    cost: float | None

    def __add__(self, other: "Tried") -> "Tried":
        return Tried(
            self.asked + other.asked,
            self.waiting + other.waiting,
            self.files + other.files,
            self.calls + other.calls,
            self.tokens + other.tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True)
class Projection:
    """Estimate of a run over a whole corpus; `cost` is None where a price is not known."""

    chunks: int
    calls: int
    tokens: int
    cost: float | None


def try_chunks(
    settings: Settings, batches: Sequence[str], count: int, *, as_json: bool
) -> list[BatchOutcome]:
    """Run some chunks, print each pair once it is decided, then the cost and the projection.

    The tables lie in the folder `try` of the output folder. Replies and vectors are stored where a whole run
    looks for them, so that it pays for none of them again.

    Args:
        settings: of the whole run.
        batches: of the corpus.
        count: chunks to ask.
        as_json: print one document at the end instead.
    """
    trial = Trial(settings, as_json=as_json)
    drawn = sorted(batches, key=hash_text)[:MOST_BATCHES]
    with watching(quiet=as_json) as watch:
        for number, batch in enumerate(drawn):
            tried = sum(last.asked for _, last in trial.tried)
            trial.run_batch(batch, ceil((count - tried) / (len(drawn) - number)), watch)
    resources = Resources(settings)
    others = [len(batch_files(resources, batch).list()) for batch in batches if batch not in drawn]
    trial.show_end(others)
    return trial.outcomes


class Trial:
    """A trial under way: the pairs shown, and what each batch took by its first and by its last step."""

    def __init__(self, settings: Settings, *, as_json: bool) -> None:
        self._settings = settings
        self._as_json = as_json
        self._began = monotonic()
        self._run = uuid4().hex
        self._pairs: dict[str, Sample] = {}
        self._lost: Counter[str] = Counter()
        self.tried: list[tuple[Tried, Tried]] = []
        self.outcomes: list[BatchOutcome] = []

    def run_batch(self, batch: str, most: int, watch: StageObserver) -> None:
        """Run a batch again and again, each time with as many more chunks as are asked at a time."""
        first = None
        for chunks in [*range(1, most, self._settings.llm.workers), most]:
            generation = self._settings.generation.model_copy(update={"max_chunks": chunks})
            changed = {"generation": generation, "out": self._settings.out / "try"}
            resources = Resources(
                self._settings.model_copy(update=changed),
                shared=self._settings.out,
                run=self._run,
                watch=watch,
            )
            verdicts = resources.layout.table(VERDICTS.name, batch)
            verdicts.unlink(missing_ok=True)  # of an earlier trial, should this one end before them
            (outcome,) = run_batches(resources, [batch])
            if not verdicts.is_file():
                break
            self._show_new(resources.layout, batch)
            last = _tried(resources.layout, batch, self._run)
            first = first or last
            if not last.waiting:
                break
        self.outcomes.append(outcome)
        if first is not None:
            self.tried.append((first, last))
            questions = read_table(resources.layout.table(QUESTIONS.name, batch), QUESTIONS)
            self._lost.update(questions.drop_nulls("reason").filter(pl.col("reason") != OVER_LIMIT)["reason"])

    def _show_new(self, layout: Layout, batch: str) -> None:
        for pair in all_pairs(layout, batch):
            if pair.pair_id not in self._pairs and not self._as_json:
                show_pair(pair, f" after {monotonic() - self._began:.0f} s")
            self._pairs[pair.pair_id] = pair

    def show_end(self, others: Sequence[int]) -> None:
        """Print usage and projection; `others` counts the files of each batch that was not read."""
        projected = project(self.tried, others) if self.tried else None
        took = sum((last for _, last in self.tried), Tried(0, 0, 0, 0, 0, 0.0))
        if self._as_json:
            print_document(
                {
                    "pairs": [asdict(pair) for pair in self._pairs.values()],
                    "tried": asdict(took),
                    "whole": projected and asdict(projected),
                    "currency": CURRENCY,
                    "outcomes": [asdict(outcome) for outcome in self.outcomes],
                }
            )
            return
        accepted = sum(pair.verdict == "accepted" for pair in self._pairs.values())
        print_line(
            f"\n{plural(took.asked, 'chunk')} gave {accepted} accepted of {plural(len(self._pairs), 'pair')}."
        )
        lost = "; ".join(f"{in_words(reason)} ({count})" for reason, count in self._lost.most_common())
        if lost:
            print_line(f"Questions that were planned and gave none: {lost}.")
        for outcome in self.outcomes:
            if not outcome.passed:
                print_line(f"{outcome.batch}: {outcome.error}", "red")
        if projected is None:
            return
        if not took.calls:
            print_line(
                f"The whole corpus: about {plural(projected.chunks, 'chunk')}. "
                "No hosted model was asked anew."
            )
            return
        print_line(f"This trial took {_figures(took.calls, took.tokens, took.cost)}.")
        print_line(
            f"The whole corpus: about {plural(projected.chunks, 'chunk')}, "
            f"{_figures(projected.calls, projected.tokens, projected.cost)}."
        )
        print_line(
            "Run the same command without --try to go on: what was asked is stored and not paid again."
        )


def _figures(calls: int, tokens: int, cost: float | None) -> str:
    money = "" if cost is None else f", {cost:.2f} {CURRENCY}"
    return f"{calls:,} calls, {tokens:,} tokens{money}"


def _tried(layout: Layout, batch: str, run: str) -> Tried:
    questions = read_table(layout.table(QUESTIONS.name, batch), QUESTIONS)
    chunk = pl.col("target_chunk_ids").list.first()
    calls = read_table(layout.table(LLM_CALLS.name, batch), LLM_CALLS).filter(run=run)
    usage = cost_summary(calls, read_table(layout.table(VERDICTS.name, batch), VERDICTS))
    return Tried(
        asked=questions.filter(pl.col("planned_type").is_not_null()).select(chunk.n_unique()).item(),
        waiting=questions.filter(reason=OVER_LIMIT).select(chunk.n_unique()).item(),
        files=read_table(layout.table(DOCUMENTS.name, batch), DOCUMENTS).height,
        calls=usage.calls,
        tokens=usage.tokens,
        cost=None if usage.calls_without_cost else usage.cost or 0.0,
    )


def project(tried: Sequence[tuple[Tried, Tried]], others: Sequence[int]) -> Projection:
    """Project a whole run from batches that were tried, each after its first and its last step.

    Each batch takes some calls, such as those that test its verifier, and each chunk takes more: the two
    steps tell them apart. A batch that was not read counts by its number of files, one of `others`.
    """
    first, last = (reduce(Tried.__add__, steps) for steps in zip(*tried, strict=True))
    chunks = last.asked + last.waiting
    chunks += round(chunks / max(1, last.files) * sum(others))
    batches = 1 + len(others) / len(tried)

    def scaled(before: float, after: float) -> float:
        more = last.asked - first.asked
        each = (after - before) / more if more else before / max(1, first.asked)
        fixed = max(0.0, before - each * first.asked)
        return float(fixed * batches + each * chunks)

    known = first.cost is not None and last.cost is not None
    return Projection(
        chunks,
        round(scaled(first.calls, last.calls)),
        round(scaled(first.tokens, last.tokens)),
        scaled(first.cost or 0.0, last.cost or 0.0) if known else None,
    )
