"""Output folders made of a few rows: all tables that a batch has, empty where a test names none."""

from collections.abc import Sequence
from typing import Any

from qa_pipeline.curation.decisions import add_decisions, content_hashes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import CLAIMS as CLAIMS_TABLE
from qa_pipeline.storage.tables import PAIRS, TABLES
from qa_pipeline_tests.curation import rows

ANSWER = "The library opens at nine. It closes at six."
CLAIMS = (
    {"text": "The library opens at nine.", "start": 0, "end": 26},
    {"text": "It closes at six.", "start": 27, "end": 44},
)
"""Of `ANSWER`, cut as a run cuts it; the document says that the library closes at five."""
QUOTES = ("The library opens at nine.", "It closes at five.")
"""Sentences of the document, the evidence of each claim."""
PROVED = {"proved_by": "quotation", "unproved": []}


def write_tables(layout: Layout, batch: str, **tables: Sequence[dict[str, Any]]) -> None:
    """Write every table of a batch; the document `d` is in it with its chunk `c`."""
    tables = {"documents": [rows.document("d", path="library.md")], "chunks": [rows.chunk("c")], **tables}
    for name, table in TABLES.items():
        frame = table.frame([{**row, "batch": batch} for row in tables.get(name, ())])
        write_table(layout.table(name, batch), frame, table)


def write_verdicts(layout: Layout, batch: str, *verdicts: dict[str, Any], **pair: Any) -> None:
    """Write a batch of pairs with these verdicts, each with a claim that the document `d` is evidence of."""
    ids = [row["pair_id"] for row in verdicts]
    write_tables(
        layout,
        batch,
        pairs=[rows.pair(pair_id, **pair) for pair_id in ids],
        claims=[rows.claim(pair_id) for pair_id in ids],
        claim_verdicts=[rows.claim_verdict(pair_id, "supported", decided_by="quotation") for pair_id in ids],
        verdicts=list(verdicts),
    )


def write_pair(layout: Layout, *, claims: Sequence[dict[str, Any]] = ({}, {}), **tables: Any) -> None:
    """Write the batch `b` with the pair `p` about the library, whose second claim the document denies.

    Args:
        layout: the output folder.
        claims: further values of its claims.
        tables: rows of further tables; `pair` and `verdict` are further values of its rows there.
    """
    pair, verdict = tables.pop("pair", {}), tables.pop("verdict", {})
    denial = {
        "denied": ['number_mismatch: "five" became "six"'],
        "unproved": ['"five" became "six"', '"at" left out'],
    }
    made = [
        rows.claim(
            "p",
            place,
            **{
                **CLAIMS[place],
                **_quote(place),
                **(denial if place else PROVED),
                **values,
            },
        )
        for place, values in enumerate(claims)
    ]
    outcomes = [
        rows.claim_verdict("p", "supported", 0, decided_by="quotation"),
        rows.claim_verdict("p", "contradicted", 1, decided_by="quotation", reason="number_mismatch"),
    ]
    spans = [{"start": 27, "end": 44, "reason": "number_mismatch"}]
    values = {"reason": "number_mismatch", "claims": 2, "unsupported_spans": spans, **verdict}
    write_tables(
        layout,
        "b",
        pairs=[
            rows.pair("p", **{"question": "When is it open?", "answer": ANSWER, "passage_ids": ["c"], **pair})
        ],
        claims=made,
        claim_verdicts=outcomes[: len(made)],
        verdicts=[rows.verdict("p", "rejected", **values)],
        **tables,
    )


def _quote(place: int) -> dict[str, Any]:
    start = rows.TEXT.index(QUOTES[place])
    span = {"evidence_start": start, "evidence_end": start + len(QUOTES[place])}
    return {**span, "evidence_quote": QUOTES[place], "similarity": 0.91}


def decide(layout: Layout, batch: str, pair_id: str, decision: str = "accepted", **values: Any) -> None:
    """Record a decision of Ada about a pair as it is now."""
    pairs, claims = (read_table(layout.table(table.name, batch), table) for table in (PAIRS, CLAIMS_TABLE))
    row = {
        "decision_id": rows.sha(f"{batch}{pair_id}{decision}"),
        "batch": batch,
        "pair_id": pair_id,
        "content_sha256": content_hashes(pairs, claims)[pair_id],
        "decision": decision,
        "who": "Ada",
        **values,
    }
    add_decisions(layout.decisions(batch), [row])
