"""What lies in the output folder, counted over batches: for the screen, for programs, for `status`."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import polars as pl

from qa_pipeline.curation.coverage import (
    SHORTFALLS,
    TYPE_COUNTS,
    count_shortfalls,
    count_types,
    cover_sections,
    section_outcomes,
)
from qa_pipeline.curation.decisions import decision_states, read_decisions
from qa_pipeline.curation.withdrawals import Tombstone, withdrawn_batches
from qa_pipeline.errors import CorpusError, InputError, TableError
from qa_pipeline.pipeline.costs import CostSummary, cost_summary
from qa_pipeline.pipeline.funnel import (
    LEFT_OUT_COUNTS,
    MASKED_COUNTS,
    known_answers,
    left_out_counts,
    masked_counts,
    summarise,
    yield_funnel,
)
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_earlier, read_table
from qa_pipeline.storage.tables import (
    CANARIES,
    CHUNKS,
    DECISIONS,
    DOCUMENTS,
    KEPT_APART,
    LLM_CALLS,
    PAIRS,
    QUESTIONS,
    TABLES,
    TRAINING_EXAMPLES,
    VERDICTS,
)
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.verification.canaries import canary_rates

UNREAD = pl.Schema({name: pl.String() for name in ("batch", "path", "status", "reason", "detail")})
UNASKED = pl.Schema({name: pl.String() for name in ("batch", "path", "language")})
NO_CANARIES = pl.Schema({name: pl.String() for name in ("asks", "expected", "kind", "verdict")})
SILENT = pl.Schema({"reason": pl.String(), "chunks": pl.Int64()})
KNOWN_KEY = ["expected_verdict", "expected_kind"]


@dataclass(frozen=True, slots=True)
class Report:
    """Counts over batches.

    `tables` holds rows by table, `steps` the yield funnel, `known_answers` hits and misses on known-answer
    pairs, `canaries` recall and false alarms by kind, `batches` the verdicts of each batch, `left_out` what
    files hold and their texts do not, `masked` the items of personal data found, `unread` the files that
    failed or were skipped and why, `unasked` the documents without a question whose language has no prompts
    and rules or is not known, `silent` the chunks without a question by reason, `types` the questions planned
    and delivered by type, `shortfalls` why some were not delivered; `incomplete` says of batches that could
    not be counted what is wrong with their tables. `cost` is what models took. `withdrawn` says why and since
    when batches are not published.
    `decisions` counts people's decisions by state.
    """

    tables: dict[str, int]
    steps: pl.DataFrame
    known_answers: pl.DataFrame
    canaries: pl.DataFrame
    batches: pl.DataFrame
    left_out: pl.DataFrame
    masked: pl.DataFrame
    unread: pl.DataFrame
    unasked: pl.DataFrame
    silent: pl.DataFrame
    types: pl.DataFrame
    shortfalls: pl.DataFrame
    incomplete: dict[str, str]
    withdrawn: dict[str, Tombstone]
    cost: CostSummary
    decisions: dict[str, int]


def finished_batches(layout: Layout) -> list[str]:
    """Return the batches of which any table is there, by name."""
    return sorted({path.stem for name in TABLES for path in layout.tables(name)})


def report(layout: Layout, batches: Sequence[str]) -> Report:
    """Count the tables of the given batches; one whose tables cannot be counted is named with the reason.

    A batch that only lacks its training examples is counted: a failed gate stood before them.
    """
    tables = dict.fromkeys(TABLES, 0)
    decisions: Counter[str] = Counter()
    parts: dict[str, list[pl.DataFrame]] = defaultdict(list)
    rows: list[dict[str, object]] = []
    incomplete = {}
    kept_questions = 0
    for batch in batches:
        try:
            frames = read_tables(layout, batch)
            made = decision_states(frames[DECISIONS.name], frames["pairs"], frames["claims"])
            recorded = read_decisions(layout.decisions(batch))
            row, counted = _row(batch, frames), _count(frames)
        except (TableError, CorpusError) as error:
            incomplete[batch] = str(error)
            continue
        for name in TABLES:
            tables[name] += frames[name].height if name in frames else 0
        since = recorded.join(made, on="decision_id", how="anti").height
        rows.append(row)
        kept_questions += frames["questions"].filter(pl.col("status") == "kept").height
        decisions.update({"recorded since the last run": since}, **Counter(made["state"].to_list()))
        for name, frame in counted.items():
            parts[name].append(frame)
    return Report(
        tables=tables,
        steps=_added(parts["steps"], ["stage", "what", "reason"]),
        known_answers=_added(parts["known"], KNOWN_KEY),
        canaries=canary_rates(pl.concat([NO_CANARIES.to_frame(), *parts["canaries"]])),
        batches=pl.DataFrame(rows),
        left_out=_added([LEFT_OUT_COUNTS.to_frame(), *parts["left_out"]], ["what"]).sort(
            "characters", descending=True, maintain_order=True
        ),
        masked=_added([MASKED_COUNTS.to_frame(), *parts["masked"]], ["kind"]).sort(
            "items", descending=True, maintain_order=True
        ),
        unread=pl.concat([UNREAD.to_frame(), *parts["unread"]]),
        unasked=pl.concat([UNASKED.to_frame(), *parts["unasked"]]),
        silent=_added([SILENT.to_frame(), *parts["silent"]], ["reason"]).sort(
            "chunks", descending=True, maintain_order=True
        ),
        types=_added([TYPE_COUNTS.to_frame(), *parts["types"]], ["question_type"]),
        shortfalls=_added([SHORTFALLS.to_frame(), *parts["shortfalls"]], ["question_type", "reason"]),
        incomplete=incomplete,
        withdrawn=withdrawn_batches(layout),
        decisions={state: count for state, count in decisions.items() if count},
        cost=cost_summary(
            pl.concat([LLM_CALLS.empty(), *parts["calls"]]),
            pl.concat([VERDICTS.empty(), *parts["verdicts"]]),
            kept_questions,
        ),
    )


def read_outcomes(layout: Layout) -> pl.DataFrame:
    """Return what each section of all batches gave, and why some gave nothing: OUTCOMES.

    Raises:
        InputError: no batch has come as far.
        TableError: a table cannot be read.
    """
    batches = [path.stem for path in layout.tables(VERDICTS.name)]
    if not batches:
        raise InputError(f"{layout.out} has no batch with verdicts; run qa-pipeline run CORPUS first")
    return pl.concat(_section_outcomes(layout, batch) for batch in sorted(batches))


def _section_outcomes(layout: Layout, batch: str) -> pl.DataFrame:
    documents, chunks, questions, pairs, verdicts = (
        read_table(layout.table(table.name, batch), table)
        for table in (DOCUMENTS, CHUNKS, QUESTIONS, PAIRS, VERDICTS)
    )
    return section_outcomes(cover_sections(chunks, questions, pairs, verdicts), documents, chunks)


def read_tables(layout: Layout, batch: str) -> dict[str, pl.DataFrame]:
    """Return the tables of a batch by name; without training examples where a failed gate stood before them.

    Raises:
        TableError: one is missing or cannot be read.
        CorpusError: the batch has a name that cannot be one.
    """
    frames = {}
    for name, table in TABLES.items():
        path = layout.table(name, batch)
        if name != TRAINING_EXAMPLES.name or path.exists():
            frames[name] = read_table(path, table)
    for name, table in KEPT_APART.items():
        frame = read_earlier(layout.table(name, batch), table)
        frames[name] = table.empty() if frame is None else frame
    return frames


def _row(batch: str, frames: Mapping[str, pl.DataFrame]) -> dict[str, object]:
    documents, examples = frames["documents"], frames.get(TRAINING_EXAMPLES.name)
    parts = ("chunks", "questions", "pairs", "verdicts")
    sections = cover_sections(*(frames[name] for name in parts))
    return {
        "batch": batch,
        "documents": documents.height,
        "parsed": documents.filter(pl.col("status") == "parsed").height,
        "chunks": frames["chunks"].height,
        "sections": sections.filter(pl.col("status") != "repeated").height,
        "covered": sections.filter(pl.col("status") == "covered").height,
        **asdict(summarise(frames["verdicts"])),
        "accepted_unproved": _unproved(frames),
        "examples": 0 if examples is None else examples.height,
    }


def _unproved(frames: Mapping[str, pl.DataFrame]) -> int:
    """Return how many accepted pairs have a claim that similarity alone decided."""
    accepted = frames["verdicts"].filter(pl.col("verdict") == "accepted")
    alone = frames["claim_verdicts"].filter(pl.col("decided_by") == "similarity_only")
    return accepted.join(alone, on="pair_id", how="semi").height


def _count(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the parts of a report that one batch has; see `Report`."""
    documents = frames["documents"]
    stages_asked = frames["questions"], frames["pairs"], frames["verdicts"]
    return {
        "types": count_types(*stages_asked),
        "shortfalls": count_shortfalls(*stages_asked),
        "steps": yield_funnel(frames),
        "known": known_answers(frames["pairs"], frames["verdicts"]),
        "left_out": left_out_counts(documents),
        "masked": masked_counts(documents),
        "unread": documents.filter(pl.col("status").is_in(["failed", "skipped"])).select(UNREAD.names()),
        "unasked": _unasked(documents, frames["chunks"], frames["questions"]),
        "silent": _silent(frames["questions"]),
        "calls": frames[LLM_CALLS.name],
        "canaries": frames[CANARIES.name].select(NO_CANARIES.names()),
        "verdicts": frames["verdicts"],
    }


def _silent(questions: pl.DataFrame) -> pl.DataFrame:
    """Return how many chunks have no question, by the reason of the first that was planned: SILENT."""
    by_chunk = questions.group_by(chunk=pl.col("target_chunk_ids").list.first(), maintain_order=True).agg(
        pl.col("reason").first(), is_silent=pl.col("question").is_null().all()
    )
    counts = by_chunk.filter("is_silent").group_by("reason", maintain_order=True).agg(chunks=pl.len())
    return counts.cast(SILENT)


def _unasked(documents: pl.DataFrame, chunks: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Return the documents of languages that are not handled of which no chunk has a question: UNASKED."""
    written = questions.filter(pl.col("question").is_not_null()).select(
        pl.col("target_chunk_ids").explode(empty_as_null=True).alias("chunk_id")
    )
    asked_documents = chunks.join(written, on="chunk_id", how="semi")
    unhandled = (
        chunks.group_by("document_id", maintain_order=True)
        .agg(pl.col("language").first(), pl.col("language").is_in(LANGUAGES).any().alias("is_handled"))
        .filter(~pl.col("is_handled"))
        .join(asked_documents, on="document_id", how="anti", maintain_order="left")
    )
    paths = documents.select("document_id", "batch", "path")
    return unhandled.join(paths, on="document_id", maintain_order="left").select(UNASKED.names())


def _added(frames: list[pl.DataFrame], key: list[str]) -> pl.DataFrame:
    """Add up the counts of equal rows, in the order in which they first appear."""
    if not frames:
        return pl.DataFrame()
    added = pl.concat(frames).group_by(key, maintain_order=True).sum()
    # A reason that only a later batch has belongs beside the others of its stage.
    order = added[key[0]].unique(maintain_order=True).to_list()
    return added.sort(pl.col(key[0]).cast(pl.Enum(order)), maintain_order=True)
