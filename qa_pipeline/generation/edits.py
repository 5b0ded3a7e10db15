"""Turn people's edits of questions and answers into new pairs."""

import polars as pl

from qa_pipeline.curation.decisions import EDITED, standing
from qa_pipeline.generation.pair_entries import RawCitation, RawPair
from qa_pipeline.generation.pair_import import Texts, import_pairs
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.rows import DecisionRow, DraftedPairRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.text.references import RESOLVED, marked_numbers


def with_edited_pairs(
    pairs: pl.DataFrame,
    decisions: pl.DataFrame,
    documents: pl.DataFrame,
    chunks: pl.DataFrame,
    batch: str,
) -> pl.DataFrame:
    """Add the pairs that people's edits create, including edits of edited pairs.

    Added rows have the origin "edited". If a pair has several decisions, the last counts. A new text cites
    the resolved sources of the old text, its own marks, and the person's evidence.
    """
    counting = standing(decisions).filter(pl.col("claim_id").is_null(), pl.col("decision") == EDITED)
    edits = {row["pair_id"]: row for row in typed_rows(counting, DecisionRow)}
    frames = [pairs]
    taken = ["question_type", "difficulty", *(name for name in pairs.columns if name.startswith("source_"))]
    while edits and pairs.height:
        old = pl.col("pair_id").is_in(list(edits))
        rows = list(typed_rows(pairs.filter(old), DraftedPairRow))
        of_rows = [edits.pop(row["pair_id"]) for row in rows]
        lines = [_line(row, edit, documents, chunks) for row, edit in zip(rows, of_rows, strict=True)]
        new = import_pairs(lines, documents, chunks, batch)
        pairs = new.with_columns(
            pl.Series("pair_id", [_edited_id(*ids) for ids in zip(rows, of_rows, strict=True)], pl.String()),
            pl.lit(EDITED).alias("origin"),
            *(pairs.filter(old)[name] for name in taken),
        )
        frames.append(pairs)
    return pl.concat(frames)


def _edited_id(pair: DraftedPairRow, edit: DecisionRow) -> str:
    parts = {name: edit[name] for name in ("question", "evidence_quote", "evidence_document_id")}
    more = [f"{name}={value}" for name, value in parts.items() if value is not None]
    return hash_parts(EDITED, pair["pair_id"], edit["answer"] or pair["answer"], *more)[:32]


def _line(pair: DraftedPairRow, edit: DecisionRow, documents: pl.DataFrame, chunks: pl.DataFrame) -> RawPair:
    answer = edit["answer"] or pair["answer"]
    cited = [citation for citation in pair["citations"] if citation["resolution"] in RESOLVED]
    citations = []
    for citation in cited:
        name = citation["raw"] if citation["resolution"] == "section" else citation["document_id"]
        reference = citation["chunk_id"] or name
        citations.append(RawCitation(citation["raw"] or "", reference, number=citation["number"]))
    citations = citations or [RawCitation(chunk_id, chunk_id) for chunk_id in pair["used_chunk_ids"]]
    if edit["evidence_quote"] is not None:
        citations.append(_evidence(edit["evidence_quote"], edit["evidence_document_id"], documents, chunks))
    missing = set(marked_numbers(answer)) - {citation["number"] for citation in cited}
    return RawPair(
        file=f"person:{edit['who']}",
        line=edit["sequence"],
        sha256=edit["decision_id"],
        question=edit["question"] or pair["question"],
        answer=answer,
        language=pair["language"],
        citations=(*citations, *(RawCitation(f"[{n}]", number=n) for n in sorted(missing))),
    )


def _evidence(
    quote: str, document_id: str | None, documents: pl.DataFrame, chunks: pl.DataFrame
) -> RawCitation:
    """Cite the evidence that a person gave by the chunk of their document, else by the whole document."""
    if document_id is None:
        return RawCitation(quote, quote=quote)
    of_document = chunks.filter(pl.col("document_id") == document_id)
    chunk_id, _ = Texts(documents.clear(), of_document).holder(quote)
    return RawCitation(quote, chunk_id or document_id, quote=quote)
