"""Counts over all batches of an output folder, for the console, for programs and for `status`."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.curation.batch_gates import VERDICT_WORDS
from qa_pipeline.curation.decisions import decision_states, read_decisions
from qa_pipeline.curation.duplicates import ALTERNATIVE
from qa_pipeline.curation.measures import cover_sections, section_outcomes
from qa_pipeline.curation.withdrawals import Tombstone, withdrawn_batches
from qa_pipeline.errors import CorpusError, InputError, TableError
from qa_pipeline.pipeline.costs import CostSummary, cost_summary
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_earlier, read_table
from qa_pipeline.storage.tables import (
    CANARIES,
    DECISIONS,
    LLM_CALLS,
    SIDE_TABLES,
    TABLES,
    TRAINING_EXAMPLES,
    VERDICTS,
)
from qa_pipeline.verification.canaries import canary_rates

STEPS = pl.Schema({"stage": pl.String(), "what": pl.String(), "reason": pl.String(), "count": pl.Int64()})
LEFT_OUT_COUNTS = pl.Schema(
    {"what": pl.String(), "documents": pl.Int64(), "pieces": pl.Int64(), "characters": pl.Int64()}
)
MASKED_COUNTS = pl.Schema({"kind": pl.String(), "documents": pl.Int64(), "count": pl.Int64()})
KNOWN_ANSWERS = pl.Schema({"expected_verdict": pl.String(), "verdict": pl.String(), "pairs": pl.Int64()})


def yield_funnel(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Count the rows of every stage of a batch, in pipeline order: a `STEPS` frame.

    The first row of a stage is its total, and the other rows add up to it. Pairs with a known answer are not
    counted (`known_answers` counts them). Without training examples, as after a failed gate, all accepted
    pairs count as left out.
    """
    is_counted = pl.col("expected_verdict").is_null()
    pairs, verdicts = frames["pairs"].filter(is_counted), frames["verdicts"].filter(is_counted)
    # drafted pairs are counted by their origin: generated, imported or edited
    status = pl.when(pl.col("status") == "drafted").then("origin").otherwise("status").alias("status")
    examples = frames.get("training_examples")
    is_example = pl.col("pair_id").is_in([] if examples is None else examples["pair_id"].to_list())
    why_left_out = "failed_gate" if examples is None else "too_long"  # over the token limit of training
    accepted = verdicts.filter(pl.col("verdict") == "accepted").select(
        what=pl.when(is_example).then(pl.lit("examples")).otherwise(pl.lit("left_out")),
        reason=pl.when(~is_example).then(pl.lit(why_left_out)),
    )
    return pl.concat(
        [
            _stage_counts("documents", "found", frames["documents"], "status"),
            _total("chunks", "created", frames["chunks"]),
            _stage_counts("questions", "planned", frames["questions"], "status"),
            _stage_counts("pairs", "created", pairs.with_columns(status), "status"),
            _stage_counts("verdicts", "decided", verdicts, "verdict"),
            _stage_counts("training_examples", "accepted", accepted, "what"),
        ]
    )


def _stage_counts(stage: str, total_name: str, frame: pl.DataFrame, status_column: str) -> pl.DataFrame:
    """Return a stage's total, then its counts by status and reason, largest first: a `STEPS` frame."""
    parts = (
        frame.group_by(pl.col(status_column).alias("what"), "reason")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .sort("count", "what", "reason", descending=[True, False, False], nulls_last=True)
        .select(pl.lit(stage).alias("stage"), "what", "reason", "count")
    )
    return pl.concat([_total(stage, total_name, frame), parts])


def _total(stage: str, what: str, frame: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame([(stage, what, None, frame.height)], schema=STEPS, orient="row")


def known_answers(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Count pairs by their expected and actual verdict: a `KNOWN_ANSWERS` frame."""
    answers = verdicts.filter(pl.col("expected_verdict").is_not_null())
    counts = answers.group_by("expected_verdict", "verdict").agg(pairs=pl.len().cast(pl.Int64))
    return counts.sort("expected_verdict", "verdict")


def summarise(verdicts: pl.DataFrame) -> dict[str, int | float | None]:
    """Return counts, pass rates and mean scores of pairs without an expected verdict.

    `pass_rate` and `average_score` are over accepted and rejected pairs. The specification defines two more:
    `pass_rate_of_all` divides by all pairs but alternatives (proved drafts that lost to a better draft of the
    same question), and `average_score_of_passed` is the mean over accepted pairs with a score. All four leave
    alternatives out. Citation figures are means over accepted pairs with citations. Without rows: None.
    """
    pairs = verdicts.filter(pl.col("expected_verdict").is_null())
    counts = dict(pairs["verdict"].value_counts().iter_rows())
    not_alternative = pairs.filter(pl.col("reason").ne_missing(ALTERNATIVE))
    decided = not_alternative.filter(pl.col("verdict").is_in(["accepted", "rejected"]))
    accepted = pairs.filter(pl.col("verdict") == "accepted")  # an alternative is never accepted
    return {
        "pairs": pairs.height,
        **{word: counts.get(word, 0) for word in VERDICT_WORDS},
        "accepted_not_judged": accepted.filter(pl.col("reason") == "unjudged").height,
        "pass_rate": accepted.height / decided.height if decided.height else None,
        "pass_rate_of_all": accepted.height / not_alternative.height if not_alternative.height else None,
        "average_score": _mean(decided["composite"]),
        "average_score_of_passed": _mean(accepted["composite"]),
        "citation_accuracy": _mean(accepted["citation_accuracy"]),
        "citation_quality": _mean(accepted["citation_quality"]),
    }


def _mean(values: pl.Series) -> float | None:
    """Return the mean of the known values, if there are any."""
    scores = values.drop_nulls()
    return float(scores.sum()) / scores.len() if scores.len() else None


def left_out_counts(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the omitted text of files by kind, most characters first: a `LEFT_OUT_COUNTS` frame."""
    return _sum_by_kind(documents, "left_out", LEFT_OUT_COUNTS)


def masked_counts(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the items of personal data by kind, most first: a `MASKED_COUNTS` frame."""
    return _sum_by_kind(documents, "masked", MASKED_COUNTS)


def _sum_by_kind(documents: pl.DataFrame, column: str, schema: pl.Schema) -> pl.DataFrame:
    """Sum the items of a list column by kind, the first column of the schema; largest sums first.

    With {kind: "email", count: 2} in each of two documents, the row of emails has documents 2 and count 4.
    """
    kind, _documents, *summed = schema.names()  # such as what, documents, pieces and characters
    items = documents.select(column).explode(column).drop_nulls().unnest(column)
    sums = items.group_by(kind).agg(pl.len().alias("documents"), pl.col(summed).sum())
    order = [*reversed(summed), kind]  # by characters, pieces and kind
    ordered = sums.sort(order, descending=[True] * len(summed) + [False])
    return ordered.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


@dataclass(frozen=True, slots=True)
class Report:
    """Counts over batches.

    `steps` is the yield funnel, `batches` has a row for each batch (see `_batch_row`), `left_out` is the
    omitted text of files, and `unread` the files that failed or were skipped. `incomplete` gives the reason
    of each batch that could not be counted, and `decisions` are counts by state.
    """

    steps: pl.DataFrame
    known_answers: pl.DataFrame
    canaries: pl.DataFrame
    batches: pl.DataFrame
    left_out: pl.DataFrame
    masked: pl.DataFrame
    unread: pl.DataFrame
    incomplete: dict[str, str]
    withdrawn: dict[str, Tombstone]
    cost: CostSummary
    decisions: dict[str, int]


def finished_batches(layout: Layout) -> list[str]:
    """Return the names of batches with at least one table."""
    return sorted({path.stem for name in TABLES for path in layout.tables(name)})


def report(layout: Layout, batches: Sequence[str]) -> Report:
    """Count the tables of batches; batches with missing or damaged tables are listed in `incomplete`.

    A batch that lacks only its training examples is counted, since a failed gate prevents them.
    """
    parts: dict[str, list[pl.DataFrame]] = defaultdict(list)  # the frames of all batches, by name
    decisions: Counter[str] = Counter()
    rows, incomplete = [], {}
    for batch in batches:
        try:
            frames = read_tables(layout, batch)
            # the decisions that the last run has read, with their states
            read_before = decision_states(frames[DECISIONS.name], frames["pairs"], frames["claims"])
            recorded = read_decisions(layout.decisions(batch))
            row, batch_parts = _batch_row(batch, frames), _batch_parts(frames)
        except (TableError, CorpusError) as error:
            incomplete[batch] = str(error)
            continue
        new_decisions = recorded.join(read_before, on="decision_id", how="anti")
        decisions["recorded since the last run"] += new_decisions.height
        decisions.update(read_before["state"].to_list())
        rows.append(row)
        for name, frame in batch_parts.items():
            parts[name].append(frame)
    return Report(
        steps=_sums([STEPS.to_frame(), *parts["steps"]], "stage", "what", "reason"),
        known_answers=_sums(
            [KNOWN_ANSWERS.to_frame(), *parts["known_answers"]], "expected_verdict", "verdict"
        ),
        canaries=canary_rates(pl.concat([CANARIES.empty(), *parts["canaries"]])),
        batches=pl.DataFrame(rows),
        left_out=_sums([LEFT_OUT_COUNTS.to_frame(), *parts["left_out"]], "what"),
        masked=_sums([MASKED_COUNTS.to_frame(), *parts["masked"]], "kind"),
        unread=pl.concat([TABLES["documents"].empty(), *parts["unread"]]).select(
            "batch", "path", "status", "reason", "detail"
        ),
        incomplete=incomplete,
        withdrawn=withdrawn_batches(layout),
        decisions={state: count for state, count in decisions.items() if count},
        cost=cost_summary(
            pl.concat([LLM_CALLS.empty(), *parts["calls"]]), pl.concat([VERDICTS.empty(), *parts["verdicts"]])
        ),
    )


def read_outcomes(layout: Layout) -> pl.DataFrame:
    """Count the accepted pairs of each section of all batches, with the reason for 0: an OUTCOMES frame.

    Raises an InputError if every batch lacks verdicts, and a TableError if a table cannot be read.
    """
    outcomes = []
    for path in sorted(layout.tables(VERDICTS.name)):
        frames = read_tables(layout, path.stem)
        outcomes.append(section_outcomes(_coverage_of(frames), frames["documents"]))
    if not outcomes:
        raise InputError(f"{layout.out} has no batch with verdicts; run qa-pipeline run CORPUS first")
    return pl.concat(outcomes)


def read_tables(layout: Layout, batch: str) -> dict[str, pl.DataFrame]:
    """Return the tables of a batch by name; training examples may be missing after a failed gate.

    Raises a TableError if another table is missing or damaged, and a CorpusError for an invalid batch name.
    """
    frames = {}
    for name, table in TABLES.items():
        path = layout.table(name, batch)
        if name != TRAINING_EXAMPLES.name or path.exists():
            frames[name] = read_table(path, table)
    for name, table in SIDE_TABLES.items():
        frame = read_earlier(layout.table(name, batch), table)
        frames[name] = table.empty() if frame is None else frame
    return frames


def _coverage_of(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the coverage of a batch: a row for each section, with accepted, reason and status."""
    return cover_sections(frames["chunks"], frames["questions"], frames["pairs"], frames["verdicts"])


def _batch_row(batch: str, frames: Mapping[str, pl.DataFrame]) -> dict[str, object]:
    """Return the row of a batch in `Report.batches`."""
    sections, examples = _coverage_of(frames), frames.get(TRAINING_EXAMPLES.name)
    accepted = frames["verdicts"].filter(pl.col("verdict") == "accepted")
    by_similarity = frames["claim_verdicts"].filter(pl.col("decided_by") == "similarity_only")
    return {
        "batch": batch,
        "documents": frames["documents"].height,
        "parsed": frames["documents"].filter(pl.col("status") == "parsed").height,
        "chunks": frames["chunks"].height,
        "sections": sections.filter(pl.col("status") != "repeated").height,  # without repeats of earlier text
        "covered": sections.filter(pl.col("status") == "covered").height,
        **summarise(frames["verdicts"]),
        "accepted_unproved": accepted.join(by_similarity, on="pair_id", how="semi").height,
        "examples": 0 if examples is None else examples.height,
    }


def _batch_parts(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the rows that a batch adds to the frames of a `Report`; calls and verdicts are summed there."""
    documents = frames["documents"]
    return {
        "steps": yield_funnel(frames),
        "known_answers": known_answers(frames["verdicts"]),
        "canaries": frames[CANARIES.name],
        "left_out": left_out_counts(documents),
        "masked": masked_counts(documents),
        "unread": documents.filter(pl.col("status").is_in(["failed", "skipped"])),
        "calls": frames[LLM_CALLS.name],
        "verdicts": frames["verdicts"],
    }


def _sums(frames: Sequence[pl.DataFrame], *key: str) -> pl.DataFrame:
    """Sum the counts of equal rows, in the order of first appearance."""
    sums = pl.concat(frames).group_by(key, maintain_order=True).sum()
    # Keep the reasons of a stage together, even if only a later batch has them.
    order = sums[key[0]].unique(maintain_order=True).to_list()
    return sums.sort(pl.col(key[0]).cast(pl.Enum(order)), maintain_order=True)
