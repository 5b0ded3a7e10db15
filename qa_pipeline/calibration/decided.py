"""People's decisions as labelled rows for calibration.

What belongs here: which decisions say whether a text is supported, and the texts they were made about. What
does not: recording decisions (`qa_pipeline.curation.decisions`) and scoring rows (`labelled.py`).
"""

from collections import defaultdict
from typing import Any

import polars as pl

from qa_pipeline.calibration.labelled import LabelledFile
from qa_pipeline.curation.decisions import EDITED, applied, read_decisions
from qa_pipeline.errors import InputError
from qa_pipeline.layout import Layout
from qa_pipeline.storage import frame_hash, read_table
from qa_pipeline.tables import CHUNKS, CLAIMS, PAIRS

Row = dict[str, Any]
QUALITY = "quality"
"""What the reason of a rejection begins with that says nothing about the sources."""
ITEMS = pl.Schema(
    {
        "id": pl.String(),
        "language": pl.String(),
        "question": pl.String(),
        "context": pl.List(pl.String()),
        "answer": pl.String(),
        "label": pl.Int64(),
        "group_id": pl.String(),
    }
)


def decided_rows(layout: Layout) -> LabelledFile:
    """The decisions of an output folder that stand: accepted is supported, rejected is not.

    Left out are edits, refusals, pairs without evidence, and rejections whose reason begins with "quality".

    Raises:
        InputError: there is none.
        TableError: tables or decisions cannot be read.
    """
    rows = [row for path in layout.tables(PAIRS.name) for row in _rows(layout, path.stem)]
    if not rows:
        raise InputError(f"no decision in {layout.out} says whether an answer is supported")
    items = pl.DataFrame(rows, schema=ITEMS)
    return LabelledFile(layout.out / "decisions", frame_hash(items), items)


def _rows(layout: Layout, batch: str) -> list[Row]:
    decisions = read_decisions(layout.decisions(batch))
    if not decisions.height:
        return []
    pairs = read_table(layout.table(PAIRS.name, batch), PAIRS)
    claims = read_table(layout.table(CLAIMS.name, batch), CLAIMS)
    texts = dict(read_table(layout.table(CHUNKS.name, batch), CHUNKS).select("chunk_id", "text").iter_rows())
    standing = applied(decisions, pairs, claims).filter(
        pl.col("decision") != EDITED,
        ~pl.col("why").str.to_lowercase().str.starts_with(QUALITY).fill_null(value=False)
        | (pl.col("decision") == "accepted"),
    )
    of_pair = {row["pair_id"]: row for row in pairs.iter_rows(named=True)}
    of_claims: dict[str, list[Row]] = defaultdict(list)
    for row in claims.join(standing, on="pair_id", how="semi").iter_rows(named=True):
        of_claims[row["pair_id"]].append(row)
    found = []
    for one in standing.iter_rows(named=True):
        mine = [row for row in of_claims[one["pair_id"]] if one["claim_id"] in (None, row["claim_id"])]
        found += _row(one, of_pair[one["pair_id"]], mine, texts)
    return found


def _row(decision: Row, pair: Row, claims: list[Row], texts: dict[str, str]) -> list[Row]:
    pieces = [row[f"{piece}_chunk_id"] for row in claims for piece in ("evidence", "second_evidence")]
    context = [texts[chunk_id] for chunk_id in dict.fromkeys(pieces) if chunk_id in texts]
    if not context:
        return []
    claim = claims[0] if decision["claim_id"] else None
    return [
        {
            "id": decision["decision_id"],
            "language": pair["language"],
            "question": pair["question"],
            "context": context,
            "answer": pair["answer"] if claim is None else claim["self_contained"] or claim["text"],
            "label": int(decision["decision"] == "accepted"),
            "group_id": claims[0]["evidence_document_id"] or decision["pair_id"],
        }
    ]
