"""Batches from files to training examples in this process, without Dagster.

What belongs here: the order of the stages, keeping each table when it is whole, and what became of a
batch. What does not: what a stage gets (`pipeline.py`) and does, schedules and retries (`qa_pipeline.defs`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from qa_pipeline import stages
from qa_pipeline.curation.exports import exports_card
from qa_pipeline.curation.withdrawals import end_withdrawal, note_origin, withdraw_failed, withdraw_outdated
from qa_pipeline.errors import (
    CorpusError,
    PermanentModelError,
    QAPipelineError,
    RepliesPendingError,
    TableError,
)
from qa_pipeline.quality.canaries import swap_counts
from qa_pipeline.quality.gate import Gate
from qa_pipeline.quality.gates import batch_gates, batch_yield, pair_counts
from qa_pipeline.records import Notify, silent
from qa_pipeline.resources import Parts, collect_replies
from qa_pipeline.retrieval.shard_file import write_shard
from qa_pipeline.storage import Layout, read_earlier, read_table, write_bytes, write_table
from qa_pipeline.table_schema import Table
from qa_pipeline.tables import CANARIES, CHUNKS, DOCUMENTS, LLM_CALLS, PAIRS, QUESTIONS, STORED, VERDICTS

Watch = Callable[[str, str], Notify]
"""Called with (batch, stage) when a stage starts; what it returns hears how far the stage is."""

TRAINING_INPUTS = ("pairs", "verdicts", "claims", "claim_verdicts", "assessments", "chunks", "documents")
VERDICT_INPUTS = (
    "pairs",
    "claims",
    "claim_verdicts",
    "refusals",
    "assessments",
    "contradictions",
    "decisions",
)

BLOCKED = "a blocking gate failed; the batch has no training examples until it passes"

LOOK_BACK = 20
"""Earlier batches whose figures a batch is compared with: enough for a mean, however large the corpus is."""

Frames = dict[str, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What became of a batch.

    Args:
        batch: its name.
        outcome: succeeded; failed; unchanged since its last run and not run again; or pending, because
            replies are awaited from batch jobs, and to be run again when they have come.
        error: what stopped the batch, or what it waits for.
        failed_gates: told in words, warnings among them.
    """

    batch: str
    outcome: Literal["succeeded", "failed", "unchanged", "pending"]
    error: str | None = None
    failed_gates: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the batch's tables are complete and behind passed gates."""
        return self.outcome in ("succeeded", "unchanged")


def unwatched(batch: str, stage: str) -> Notify:
    """Tell nobody."""
    return silent


def run_batches(parts: Parts, batches: Sequence[str], watch: Watch = unwatched) -> list[BatchOutcome]:
    """Run batches one after the other; one that fails takes no other down.

    Replies that have come in batch jobs meanwhile are stored first.

    Raises:
        PermanentModelError: the model can answer no further request; what was answered is stored.
    """
    collect_replies(parts)
    return [_run_alone(parts, batch, watch) for batch in batches]


def validate_pairs(parts: Parts, batch: str, pairs_file: Path, watch: Watch = unwatched) -> BatchOutcome:
    """Verify and judge the pairs of a file against a folder of documents; nothing is generated.

    Raises:
        PermanentModelError: the model can answer no further request.
        PairsFileError: the file as a whole cannot be read.
        CorpusError: the folder cannot be used.
    """
    collect_replies(parts)
    try:
        return run_batch(parts, batch, watch, pairs_file=pairs_file)
    except RepliesPendingError as error:
        return BatchOutcome(batch, "pending", error=str(error))


def _run_alone(parts: Parts, batch: str, watch: Watch) -> BatchOutcome:
    try:
        return run_batch(parts, batch, watch)
    except PermanentModelError:
        raise
    except RepliesPendingError as error:
        return BatchOutcome(batch, "pending", error=str(error))
    except QAPipelineError as error:
        return BatchOutcome(batch, "failed", error=str(error))


def run_batch(
    parts: Parts, batch: str, watch: Watch = unwatched, *, pairs_file: Path | None = None
) -> BatchOutcome:
    """Run one batch from its files to its training examples, keeping each table as soon as it is whole.

    With `pairs_file` its pairs take the place of generated ones and of those beside the documents. A batch
    whose blocking gates fail has no training examples, and what was published of it before is moved aside.

    Raises:
        RepliesPendingError: replies are awaited; the tables of the stages before stand.
        QAPipelineError: the batch cannot be run; the tables of the stages before stand.
    """
    try:
        return _run(parts, batch, watch, pairs_file)
    finally:  # a batch that failed has cost something too
        _keep(parts.layout, batch, LLM_CALLS.name, stages.make_llm_calls(parts, batch))


def _run(parts: Parts, batch: str, watch: Watch, pairs_file: Path | None) -> BatchOutcome:
    frames = _read_and_embed(parts, batch, watch)
    note_origin(parts.layout, batch, None if pairs_file else parts.settings.corpus)
    if pairs_file is None:
        _generate(parts, batch, frames, watch)
    else:
        _import(parts, batch, frames, pairs_file)
    _verify(parts, batch, frames, watch)
    frames["training_examples"] = stages.make_training_examples(parts, *_of(frames, TRAINING_INPUTS))
    gates = batch_gates(
        frames,
        parts.settings.quality,
        earlier_yields=earlier_yields(parts.layout, batch),
        earlier_canaries=earlier_canaries(parts.layout, batch),
        earlier_pairs=earlier_pairs(parts.layout, batch),
    )
    told = tuple(_told(gate) for gate in gates if not gate.passed)
    blocking = {gate.name: gate.detail for gate in gates if gate.blocking and not gate.passed}
    if blocking:
        withdraw_failed(parts.layout, batch, blocking)
        return BatchOutcome(batch, "failed", BLOCKED, told)
    _keep(parts.layout, batch, "training_examples", frames["training_examples"])
    write_exports(parts.layout, batch, stages.make_chat_exports(frames["training_examples"]))
    end_withdrawal(parts.layout, batch)
    return BatchOutcome(batch, "succeeded", failed_gates=told)


def _read_and_embed(parts: Parts, batch: str, watch: Watch) -> Frames:
    notify = watch(batch, "documents")
    documents = stages.make_documents(parts, batch, _earlier(parts.layout, batch, DOCUMENTS), notify)
    _keep(parts.layout, batch, "documents", documents)
    parts.note_documents(documents)
    watch(batch, "chunks")
    chunks = _keep(parts.layout, batch, "chunks", stages.make_chunks(parts, documents))
    embeddings = stages.make_embeddings(parts, chunks, watch(batch, "embeddings"))
    _keep(parts.layout, batch, "embeddings", embeddings)
    decisions = _keep(parts.layout, batch, "decisions", stages.make_decisions(parts, batch))
    return {"documents": documents, "chunks": chunks, "embeddings": embeddings, "decisions": decisions}


def _generate(parts: Parts, batch: str, frames: Frames, watch: Watch) -> None:
    layout, documents, chunks = parts.layout, frames["documents"], frames["chunks"]
    shard = stages.make_index(parts, frames["embeddings"])
    write_shard(layout.index(batch), shard)
    notify = watch(batch, "questions")
    earlier = _earlier(layout, batch, QUESTIONS)
    questions = stages.make_questions(parts, batch, chunks, shard, earlier, notify)
    frames["questions"] = _keep(layout, batch, "questions", questions)
    notify = watch(batch, "pairs")
    earlier = _earlier(layout, batch, PAIRS)
    pairs = stages.make_pairs(
        parts, batch, documents, chunks, questions, frames["decisions"], earlier, notify
    )
    frames["pairs"] = _keep(layout, batch, "pairs", pairs)


def _import(parts: Parts, batch: str, frames: Frames, file: Path) -> None:
    frames["questions"] = _keep(parts.layout, batch, "questions", QUESTIONS.empty())
    pairs = stages.import_file(parts, file, batch, frames["documents"], frames["chunks"], frames["decisions"])
    frames["pairs"] = _keep(parts.layout, batch, "pairs", pairs)


def _verify(parts: Parts, batch: str, frames: Frames, watch: Watch) -> None:
    layout, pairs, chunks = parts.layout, frames["pairs"], frames["chunks"]
    notify = watch(batch, "claims")
    claims = stages.make_claims(parts, pairs, frames["documents"], chunks, frames["embeddings"], notify)
    frames["claims"] = _keep(layout, batch, "claims", claims)
    refusals = stages.make_refusals(parts, pairs, chunks, frames["embeddings"])
    frames["refusals"] = _keep(layout, batch, "refusals", refusals)
    watch(batch, "contradictions")
    against = stages.make_contradictions(parts, frames["documents"], chunks, frames["embeddings"])
    frames["contradictions"] = _keep(layout, batch, "contradictions", against.table)
    notify = watch(batch, "claim_verdicts")
    decided = stages.make_claim_verdicts(parts, claims, pairs, chunks, frames["decisions"], notify)
    frames["claim_verdicts"] = _keep(layout, batch, "claim_verdicts", decided)
    notify = watch(batch, "canaries")
    seeded = stages.make_canaries(parts, batch, frames["documents"], chunks, frames["embeddings"], notify)
    frames["canaries"] = _keep(layout, batch, "canaries", seeded)
    notify = watch(batch, "assessments")
    assessed = stages.make_assessments(parts, pairs, claims, decided, chunks, notify)
    frames["assessments"] = _keep(layout, batch, "assessments", assessed)
    frames["verdicts"] = stages.make_verdicts(parts, *_of(frames, VERDICT_INPUTS))
    withdraw_outdated(layout, batch, frames["verdicts"])
    _keep(layout, batch, "verdicts", frames["verdicts"])
    write_exports(layout, batch, stages.make_ledger_exports(frames))


def earlier_yields(layout: Layout, batch: str) -> list[float]:
    """Accepted pairs for each chunk of the `LOOK_BACK` nearest batches before this one by name.

    A batch whose tables cannot be read counts for nothing here: it fails in its own run and in `status`,
    and must not take this one down.
    """
    before = [path.stem for path in layout.tables(VERDICTS.name) if path.stem < batch]
    yields = [_yield_of(layout, other) for other in before[-LOOK_BACK:]]
    return [value for value in yields if value is not None]


def _yield_of(layout: Layout, batch: str) -> float | None:
    try:
        verdicts = read_table(layout.table(VERDICTS.name, batch), VERDICTS)
        return batch_yield(verdicts, read_table(layout.table(CHUNKS.name, batch), CHUNKS))
    except (TableError, CorpusError):  # the latter: a foreign file whose name is no batch
        return None


def earlier_canaries(layout: Layout, batch: str) -> list[tuple[int, int]]:
    """Rejected and all swapped canaries of the `LOOK_BACK` nearest batches before this one by name."""
    return [swap_counts(found) for found in _tables_before(layout, batch, CANARIES)]


def earlier_pairs(layout: Layout, batch: str) -> list[tuple[int, int]]:
    """Accepted and all pairs of the `LOOK_BACK` nearest batches before this one by name."""
    return [pair_counts(found) for found in _tables_before(layout, batch, VERDICTS)]


def _tables_before(layout: Layout, batch: str, table: Table) -> Iterator[pl.DataFrame]:
    before = [path.stem for path in layout.tables(table.name) if path.stem < batch]
    for other in before[-LOOK_BACK:]:
        try:
            found = read_earlier(layout.table(table.name, other), table)
        except (TableError, CorpusError):  # as in `_yield_of`
            continue
        if found is not None:
            yield found


def write_exports(layout: Layout, batch: str, files: Mapping[str, bytes]) -> None:
    """Put JSONL files in place, and beside their folders the card that says the types of their fields."""
    for name, content in files.items():
        write_bytes(layout.export(name, batch), content)
    card = exports_card()
    if not (layout.exports_card.is_file() and layout.exports_card.read_bytes() == card):
        write_bytes(layout.exports_card, card)


def _of(frames: Mapping[str, pl.DataFrame], names: Sequence[str]) -> list[pl.DataFrame]:
    return [frames[name] for name in names]


def _keep(layout: Layout, batch: str, name: str, frame: pl.DataFrame) -> pl.DataFrame:
    write_table(layout.table(name, batch), frame, STORED[name])
    return frame


def _earlier(layout: Layout, batch: str, table: Table) -> pl.DataFrame | None:
    return read_earlier(layout.table(table.name, batch), table)


def _told(gate: Gate) -> str:
    return f"{'' if gate.blocking else 'warning: '}{gate.name}: {gate.detail}"
