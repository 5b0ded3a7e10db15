"""An answer with its sources, as Markdown or BibTeX."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.retrieval.chunks import ChunkRow
from qa_pipeline.review.pair import ClaimView
from qa_pipeline.storage.table_schema import PairRow
from qa_pipeline.text.rendering import render_markdown, shorten

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
        "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
        "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", '"': "''",
    }
)  # fmt: skip
"""Special characters of BibTeX, which counts escaped braces too, and LaTeX."""


def sources_of(
    claims: Sequence[ClaimView],
    documents: pl.DataFrame,
    chunks: Mapping[str, ChunkRow],
    pair: PairRow,
    *,
    upload: str | None,
) -> list[dict[str, Any]]:
    """Return the chunks that prove the claims, each with its document and the numbers of its claims.

    `upload` is the title of an uploaded document, which replaces its path, a hash.
    """
    rows = {row["document_id"]: row for row in documents.iter_rows(named=True)}
    scores = dict(zip(pair["passage_ids"], pair["passage_scores"] or (), strict=False))
    sources: dict[str, dict[str, Any]] = {}
    for claim in claims:
        quote = claim.evidence
        if quote is None:
            continue
        document = rows[quote.document_id]
        source = {
            "number": len(sources) + 1,
            "chunk_id": quote.chunk_id,
            "document_id": quote.document_id,
            "text": chunks[quote.chunk_id]["text"],
            "score": scores.get(quote.chunk_id, quote.similarity),
            "page": quote.page,
            "title": upload or document["title"],
            "path": upload or quote.path,
            "section": quote.section or None,
            "quote": " ".join(quote.text.split()),
            "licence": document["licence"],
            "address": document["source_uri"],
            "language": document["language"],
            "claims": [],
        }
        sources.setdefault(quote.chunk_id, source)["claims"].append(claim.number)
    return list(sources.values())


def as_markdown(question: str, answer: str, sources: Sequence[Mapping[str, Any]]) -> str:
    """Return the answer and its sources."""
    template = "review/templates/bibliography.md.j2"
    return render_markdown(template, question=question, answer=answer, sources=sources)


def as_bibtex(sources: Sequence[Mapping[str, Any]]) -> str:
    """Return an entry `@misc` for each source."""
    names = {
        "title": "title", "howpublished": "path", "chapter": "section", "pages": "page", "url": "address",
        "copyright": "licence", "language": "language", "annote": "quote",
    }  # fmt: skip
    entries = []
    for source in sources:
        values = {name: source[column] for name, column in names.items()}
        texts = {name: shorten(str(value), None) for name, value in values.items() if value is not None}
        lines = [f"  {name} = {{{text.translate(_LATEX)}}}," for name, text in texts.items()]
        entries.append("\n".join([f"@misc{{source{source['number']},", *lines, "}\n"]))
    return "\n".join(entries)
