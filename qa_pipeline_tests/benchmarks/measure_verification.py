"""How far source verification without a model can be trusted: its verdicts against people's labels.

Each item of a Parquet file with the columns id, language, question, context (list of passages), answer, label
(1 = supported) and group_id becomes one imported pair that cites its context. Items are drawn by group, so
that no source stands in two parts of a split:

    python -m qa_pipeline_tests.benchmarks.measure_verification --data FILE... [--part dev|test] [--limit N]

Prints one JSON object: for each file how many pairs are accepted and rejected, and how many of those rightly.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.embedding.model import load_embedder
from qa_pipeline.settings.checking import VerificationSettings
from qa_pipeline.settings.tree import Settings
from qa_pipeline.tables import CHUNKS, DOCUMENTS, PAIRS
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline.verification.similarity import Encoder

DEV_SHARE = 0.5


def load_items(path: Path, part: str, limit: int) -> pl.DataFrame:
    """Items of one part, in an order that depends on their groups only."""
    items = pl.read_parquet(path)
    places = {group: _place(group) for group in items["group_id"].unique().to_list()}
    placed = items.with_columns(
        place=pl.col("group_id").replace_strict(places, return_dtype=pl.Float64()),
        order=pl.col("id").map_elements(_place, return_dtype=pl.Float64()),
    )
    mine = pl.col("place") < DEV_SHARE if part == "dev" else pl.col("place") >= DEV_SHARE
    return placed.filter(mine).sort("order", "id").head(limit)


def _place(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def as_tables(items: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Documents, chunks and pairs; equal contexts share a document."""
    documents: dict[str, dict[str, Any]] = {}
    chunks: dict[str, list[dict[str, Any]]] = {}
    pairs = []
    for item in items.iter_rows(named=True):
        passages = [passage for passage in item["context"] if passage.strip()]
        text = "\n\n".join(passages)
        document_id = hashlib.sha256(text.encode()).hexdigest()[:16]
        documents[document_id] = _document(document_id, text, item["language"])
        chunks[document_id] = _chunks(document_id, passages, item["language"])
        pairs.append(_pair(item, document_id, [chunk["chunk_id"] for chunk in chunks[document_id]]))
    return (
        DOCUMENTS.frame(list(documents.values())),
        CHUNKS.frame([chunk for of_document in chunks.values() for chunk in of_document]),
        PAIRS.frame(pairs),
    )


def _document(document_id: str, text: str, language: str) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "batch": "measured",
        "path": f"{document_id}.txt",
        "content_sha256": document_id,
        "size": len(text),
        "language": language,
        "title": "",
        "text": text,
        "sections": [{"heading_path": [], "level": 0, "start": 0, "end": len(text)}],
        "pages": [],
        "languages": [],
        "left_out": [],
        "masked": [],
        "status": "parsed",
    }


def _chunks(document_id: str, passages: list[str], language: str) -> list[dict[str, Any]]:
    rows, start = [], 0
    for position, text in enumerate(passages):
        rows.append(
            {
                "chunk_id": f"{document_id}-{position}",
                "batch": "measured",
                "document_id": document_id,
                "position": position,
                "char_start": start,
                "char_end": start + len(text),
                "title": "",
                "section_path": [],
                "section_start": 0,
                "section_end": 1,
                "tokens": len(text.split()),
                "language": language,
                "text": text,
            }
        )
        start += len(text) + 2
    return rows


def _pair(item: dict[str, Any], document_id: str, chunk_ids: list[str]) -> dict[str, Any]:
    citation = {
        "raw": document_id,
        "document_id": document_id,
        "chunk_id": None,
        "quote": None,
        "resolution": "document",
    }
    return {
        "pair_id": item["id"],
        "batch": "measured",
        "question": item["question"] or "",
        "answer": item["answer"],
        "language": item["language"],
        "question_type": "imported",
        "origin": "imported",
        "passage_ids": chunk_ids,
        "used_chunk_ids": chunk_ids,
        "citations": [citation],
        "coverage": "full",
        "status": "drafted",
        "generator": "measured",
    }


def measure(items: pl.DataFrame, claims: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, Any]:
    """Counts and precisions; a pair is accepted if all its claims are supported, rejected if one is not."""
    decided = claims.select("claim_id", "pair_id").join(
        verdicts.select("claim_id", "verdict", "reason"), on="claim_id"
    )
    verdict = pl.col("verdict")
    rejected = verdict.is_in(["unsupported", "contradicted"])
    by_pair = decided.group_by("pair_id").agg(
        accepted=(verdict == "supported").all(),
        rejected=rejected.any(),
        reason=pl.col("reason").filter(rejected).first(),
    )
    labelled = items.select(pair_id="id", supported=pl.col("label") == 1)
    joined = labelled.join(by_pair, on="pair_id", how="left")
    accepted = joined.filter(pl.col("accepted"))["supported"]
    refused = joined.filter(pl.col("rejected"))
    reasons = refused.group_by("reason").agg(n=pl.len(), right=(~pl.col("supported")).sum()).sort("reason")
    return {
        "items": items.height,
        "share_supported": _share(joined["supported"]),
        "accepted": len(accepted),
        "accept_precision": _share(accepted),
        "accept_recall": len(accepted.filter(accepted)) / max(1, int(joined["supported"].sum())),
        "rejected": refused.height,
        "reject_precision": _share(~refused["supported"]),
        "reject_recall": int((~refused["supported"]).sum()) / max(1, int((~joined["supported"]).sum())),
        "reasons": {row["reason"]: [row["right"], row["n"]] for row in reasons.iter_rows(named=True)},
    }


def _share(flags: pl.Series) -> float | None:
    return round(float(flags.sum()) / len(flags), 4) if len(flags) else None


def score(items: pl.DataFrame, embedder: Encoder, settings: VerificationSettings) -> pl.DataFrame:
    """The claims table of the items; a batch is only a vessel here, so no other passages are looked at."""
    documents, chunks, pairs = as_tables(items)
    alone = settings.model_copy(update={"other_passages": 0})
    return find_claims(pairs, documents, chunks, embedder, alone)


def main() -> None:
    """Measure the files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="Parquet files of labelled items")
    parser.add_argument("--part", choices=["dev", "test"], default="dev", help="half of the groups to use")
    parser.add_argument("--limit", type=int, default=150, help="items of each file")
    arguments = parser.parse_args()
    settings = Settings()
    embedder = load_embedder(settings.embedding)
    report: dict[str, Any] = {"thresholds_id": settings.verification.thresholds_id}
    for path in arguments.data:
        items = load_items(path, arguments.part, arguments.limit)
        claims = score(items, embedder, settings.verification)
        verdicts = decide_claims(claims, as_tables(items)[2], settings.verification)
        report[path.stem] = measure(items, claims, verdicts)
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
