"""The answer to a question: its claims, verdict and sources, also as Markdown or BibTeX."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from qa_pipeline.curation.ledger import SCORES, in_words
from qa_pipeline.retrieval.chunks import ChunkRow
from qa_pipeline.review.batches import AskedBatch
from qa_pipeline.review.pair import AnswerSpan, ClaimView, Support, support_of
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


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its verification so far: claims, verdict and assessment follow one after another."""

    batch: AskedBatch
    pair: PairRow
    passages: list[ChunkRow]  # the passages behind the answer, best first
    documents: pl.DataFrame  # the documents of the passages
    claims: list[ClaimView]
    spans: list[AnswerSpan]
    verdict: dict[str, Any] | None = None  # the row of verdicts that the pair would get
    assessment: dict[str, Any] | None = None
    sources: Sequence[dict[str, Any]] = ()  # the chunks that prove the claims
    similarity: float = 0.0  # cosine of question and answer

    @property
    def is_refusal(self) -> bool:
        """Return True if the answer is a refusal."""
        return self.pair["coverage"] == "none"

    @property
    def support(self) -> Support:
        """Return the support of the claims, lowered by the judge.

        Without a judge a supported answer is `unjudged`; with a judge a rejected answer is `weak`.
        """
        support = support_of(self.claims, is_refusal=self.is_refusal)
        if self.is_refusal:
            return replace(support, level="refused")
        if self._relevance is None:  # without a judge
            return replace(support, level="unjudged") if support.level == "well_supported" else support
        is_rejected = self.verdict is not None and self.verdict["verdict"] == "rejected"
        return replace(support, level="weak") if is_rejected else support

    @property
    def confidence(self) -> float:
        """Return the supported share times the judge's relevance, or times the cosine without a judge."""
        if not self.claims:
            return 0.0
        share = self.support.supported / len(self.claims)
        return round(share * (self.similarity if self._relevance is None else self._relevance), 3)

    @property
    def _relevance(self) -> float | None:
        """Return the judge's score of relevance, if there is one."""
        relevance: float | None = self.assessment["relevance"] if self.assessment else None
        return relevance

    @property
    def unsupported_spans(self) -> list[dict[str, str]]:
        """Return the unsupported sentences with their reasons."""
        unsupported = (claim for claim in self.claims if not claim.is_supported)
        return [{"text": claim.text, "reason": claim.explanation} for claim in unsupported]

    def source_of(self, claim: ClaimView) -> dict[str, Any] | None:
        """Return the source of a claim."""
        return next((source for source in self.sources if claim.number in source["claims"]), None)

    @property
    def problem(self) -> str | None:
        """Return the reason for a missing answer in words."""
        reason = self.pair["reason"]
        if self.pair["status"] == "drafted" or reason is None:
            return None
        return in_words(reason, self.pair["detail"])

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        names = ("number", "text", "start", "end", "verdict", "decided_by", "reason", "differences")
        sentences = []
        for claim in self.claims:
            sources = [source["number"] for source in self.sources if claim.number in source["claims"]]
            sentences.append({**{name: getattr(claim, name) for name in names}, "sources": sources})
        support, verdict, assessment = self.support, self.verdict or {}, self.assessment or {}
        badge = {"level": support.level, "supported": support.supported, "claims": support.claims}
        return {
            "place": self.batch.key,
            "draft": self.pair["answer"],
            "is_refusal": self.is_refusal,
            "sentences": sentences,
            "badge": badge if verdict or self.is_refusal else None,  # a draft is not verified yet
            "confidence": self.confidence,
            "unsupported_spans": self.unsupported_spans,
            "verdict": verdict.get("verdict"),
            "reason": verdict.get("reason"),
            "judge": {name: assessment.get(name) for name in SCORES},
            "sources": list(self.sources),
        }


def sources_of(
    claims: Sequence[ClaimView],
    documents: pl.DataFrame,
    chunks: Mapping[str, ChunkRow],
    pair: PairRow,
    *,
    upload: str | None,
) -> list[dict[str, Any]]:
    """Return the chunks that prove the claims, each with its document and the numbers of its claims.

    `upload` is the name of an uploaded file, shown as title and path: all uploads are stored under one name.
    """
    documents_by_id = {row["document_id"]: row for row in documents.iter_rows(named=True)}
    search_scores = dict(zip(pair["passage_ids"], pair["passage_scores"] or (), strict=False))
    sources: dict[str, dict[str, Any]] = {}
    for claim in claims:
        quote = claim.evidence
        if quote is None:
            continue
        document = documents_by_id[quote.document_id]
        source = {
            "number": len(sources) + 1,
            "chunk_id": quote.chunk_id,
            "document_id": quote.document_id,
            "text": chunks[quote.chunk_id]["text"],
            "score": search_scores.get(quote.chunk_id, quote.similarity),  # if it was not retrieved
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
        # a chunk that proves several claims keeps the source of its first claim
        sources.setdefault(quote.chunk_id, source)["claims"].append(claim.number)
    return list(sources.values())


def as_markdown(question: str, answer: str, sources: Sequence[Mapping[str, Any]]) -> str:
    """Return the answer and its sources."""
    template = "review/templates/bibliography.md.j2"
    return render_markdown(template, question=question, answer=answer, sources=sources)


def as_bibtex(sources: Sequence[Mapping[str, Any]]) -> str:
    """Return an entry for each source: `@misc{source1,`, lines such as `  title = {Manual},`, and `}`."""
    key_of_field = {
        "title": "title", "howpublished": "path", "chapter": "section", "pages": "page", "url": "address",
        "copyright": "licence", "language": "language", "annote": "quote",
    }  # fmt: skip
    entries = []
    for source in sources:
        values = {field: source[key] for field, key in key_of_field.items()}
        texts = {field: shorten(str(value), None) for field, value in values.items() if value is not None}
        lines = [f"  {field} = {{{text.translate(_LATEX)}}}," for field, text in texts.items()]
        entries.append("\n".join([f"@misc{{source{source['number']},", *lines, "}\n"]))
    return "\n".join(entries)
