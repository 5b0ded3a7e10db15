"""What lies in the output folder, counted over batches: for the screen, for programs, for `status`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.curation.decisions import decision_states, read_decisions
from qa_pipeline.curation.withdrawals import Tombstone, withdrawn_batches
from qa_pipeline.errors import CorpusError, TableError
from qa_pipeline.reporting.costs import CostSummary, cost_summary
from qa_pipeline.reporting.funnel import (
    LEFT_OUT_COUNTS,
    MASKED_COUNTS,
    known_answers,
    left_out_counts,
    masked_counts,
    summarise,
    yield_funnel,
)
from qa_pipeline.storage import Layout, read_earlier, read_table
from qa_pipeline.tables import CANARIES, DECISIONS, KEPT_APART, LLM_CALLS, TABLES, TRAINING_EXAMPLES, VERDICTS
from qa_pipeline.verification.canaries.outcomes import canary_rates

UNREAD = pl.Schema({name: pl.String() for name in ("batch", "path", "reason", "detail")})
KNOWN_KEY = ["expected_verdict", "expected_kind"]


@dataclass(frozen=True, slots=True)
class Report:
    """Counts over batches.

    `tables` holds rows by table, `steps` the yield funnel, `known` hits and misses on known-answer pairs,
    `canaries` recall and false alarms by kind, `batches` the verdicts of each batch, `left_out` what
    files hold and their texts do not, `masked` the items of personal data found, `unread` the files that
    failed and why; `incomplete` says of batches that could not be counted what is wrong with their
    tables. `cost` is what models took. `withdrawn` says why and since when batches are not published.
    `decisions` counts people's decisions by state.
    """

    tables: dict[str, int]
    steps: pl.DataFrame
    known: pl.DataFrame
    canaries: pl.DataFrame
    batches: pl.DataFrame
    left_out: pl.DataFrame
    masked: pl.DataFrame
    unread: pl.DataFrame
    incomplete: dict[str, str]
    withdrawn: dict[str, Tombstone]
    cost: CostSummary
    decisions: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Counted:
    """The counts of one batch; see `Report`."""

    tables: dict[str, int]
    steps: pl.DataFrame
    known: pl.DataFrame
    row: dict[str, object]
    left_out: pl.DataFrame
    masked: pl.DataFrame
    unread: pl.DataFrame
    calls: pl.DataFrame
    canaries: pl.DataFrame
    verdicts: pl.DataFrame
    decisions: pl.DataFrame


def finished_batches(layout: Layout) -> list[str]:
    """Batches of which any table is there, by name."""
    return sorted({path.stem for name in TABLES for path in layout.tables(name)})


def report(layout: Layout, batches: Sequence[str]) -> Report:
    """Count the tables of the given batches; one whose tables cannot be counted is named with the reason.

    A batch that only lacks its training examples is counted: a failed gate stood before them.
    """
    counted: list[_Counted] = []
    decisions: Counter[str] = Counter()
    incomplete = {}
    for batch in batches:
        try:
            counted.append(_count(batch, _read(layout, batch)))
            recorded = read_decisions(layout.decisions(batch))
            decisions["recorded since the last run"] += recorded.join(
                counted[-1].decisions, on="decision_id", how="anti"
            ).height
            decisions.update(counted[-1].decisions["state"].to_list())
        except (TableError, CorpusError) as error:
            incomplete[batch] = str(error)
    return Report(
        tables={name: sum(one.tables.get(name, 0) for one in counted) for name in TABLES},
        steps=_added([one.steps for one in counted], ["stage", "what", "reason"]),
        known=_added([one.known for one in counted], KNOWN_KEY),
        canaries=canary_rates(pl.concat([CANARIES.empty(), *(one.canaries for one in counted)])),
        batches=pl.DataFrame([one.row for one in counted]),
        left_out=_added([LEFT_OUT_COUNTS.to_frame(), *(one.left_out for one in counted)], ["what"]).sort(
            "characters", descending=True, maintain_order=True
        ),
        masked=_added([MASKED_COUNTS.to_frame(), *(one.masked for one in counted)], ["kind"]).sort(
            "items", descending=True, maintain_order=True
        ),
        unread=pl.concat([UNREAD.to_frame(), *(one.unread for one in counted)]),
        incomplete=incomplete,
        withdrawn=withdrawn_batches(layout),
        decisions={state: count for state, count in decisions.items() if count},
        cost=cost_summary(
            pl.concat([LLM_CALLS.empty(), *(one.calls for one in counted)]),
            pl.concat([VERDICTS.empty(), *(one.verdicts for one in counted)]),
        ),
    )


def _read(layout: Layout, batch: str) -> dict[str, pl.DataFrame]:
    wanted = dict(TABLES)
    if not layout.table(TRAINING_EXAMPLES.name, batch).exists():
        del wanted[TRAINING_EXAMPLES.name]
    frames = {name: read_table(layout.table(name, batch), table) for name, table in wanted.items()}
    apart = {name: read_earlier(layout.table(name, batch), table) for name, table in KEPT_APART.items()}
    held = {name: KEPT_APART[name].empty() if frame is None else frame for name, frame in apart.items()}
    return frames | held


def _count(batch: str, frames: Mapping[str, pl.DataFrame]) -> _Counted:
    documents, summary = frames["documents"], summarise(frames["verdicts"])
    tables = {name: frames[name].height for name in TABLES if name in frames}
    row = {
        "batch": batch,
        "documents": documents.height,
        "parsed": documents.filter(pl.col("status") == "parsed").height,
        "chunks": tables["chunks"],
        "pairs": summary.total,
        "accepted": summary.accepted,
        "accepted_not_judged": summary.accepted_not_judged,
        "rejected": summary.rejected,
        "needs_review": summary.needs_review,
        "failed": summary.failed,
        "pass_rate": summary.pass_rate,
        "pass_rate_of_all": summary.pass_rate_of_all,
        "average_score": summary.average_score,
        "average_score_of_all": summary.average_score_of_all,
        "citation_accuracy": summary.citation_accuracy,
        "citation_quality": summary.citation_quality,
        "examples": tables.get(TRAINING_EXAMPLES.name, 0),
    }
    return _Counted(
        tables=tables,
        steps=yield_funnel(frames),
        known=known_answers(frames["pairs"], frames["verdicts"]),
        row=row,
        left_out=left_out_counts(documents),
        masked=masked_counts(documents),
        unread=documents.filter(pl.col("status") == "failed").select(UNREAD.names()),
        calls=frames[LLM_CALLS.name],
        canaries=frames[CANARIES.name],
        verdicts=frames["verdicts"],
        decisions=decision_states(frames[DECISIONS.name], frames["pairs"], frames["claims"]),
    )


def _added(frames: list[pl.DataFrame], key: list[str]) -> pl.DataFrame:
    """Add up the counts of equal rows, in the order in which they first appear."""
    if not frames:
        return pl.DataFrame()
    added = pl.concat(frames).group_by(key, maintain_order=True).sum()
    # A reason that only a later batch has belongs beside the others of its stage.
    order = added[key[0]].unique(maintain_order=True).to_list()
    return added.sort(pl.col(key[0]).cast(pl.Enum(order)), maintain_order=True)
