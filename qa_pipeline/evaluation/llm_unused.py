"""The scorer that asks a language model, with the prompt that verifies borderline claims.

What belongs here: statements as requests, and what a reply is as a score. What does not: the prompt
(`prompts/`), asking many at once and storing replies (`llm`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from qa_pipeline.errors import ModelError
from qa_pipeline.evaluation.answers_unused import claim_scores, scores_of_answers
from qa_pipeline.evaluation.statements import BATCH, Statement, statement_tables
from qa_pipeline.llm.base import LanguageModel, Reply
from qa_pipeline.llm.concurrency import ask_all
from qa_pipeline.records import ClaimReply, Notify, passages_by_id, silent
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.words import recall
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.llm_verifier import claim_request
from qa_pipeline.verification.splitting import is_fragment, split_claims

Row = dict[str, Any]
_SCORES = {"accept": (1.0, 0.0), "reject": (0.0, None)}
"""Supported and contradicted of a decision: reject says that it is not stated, which need not be denied."""


@dataclass(frozen=True, eq=False)
class LLMScorer:
    """Scores of statements by a language model; equal questions are asked once.

    Of more passages than the prompt holds, those that share most words with the claim are shown.
    """

    model: LanguageModel
    settings: VerificationSettings
    llm: LLMSettings

    @property
    def name(self) -> str:
        """Scorer and model."""
        return f"llm {self.model.name}"

    def score(self, statements: Sequence[Statement], notify: Notify = silent) -> pl.DataFrame:
        """Scores (`SCORES`), one row for each statement, in order; `unsure` and failed replies are unknown.

        Raises:
            PermanentModelError: the model can answer no further request.
        """
        tables = statement_tables(statements)
        texts = dict(tables.chunks.select("chunk_id", "text").iter_rows())
        rows = [row for pair in tables.pairs.iter_rows(named=True) for row in self._claims(pair, texts)]
        shown = passages_by_id(tables.chunks)
        known = [row for row in rows if row["used_chunk_ids"]]
        requests = [claim_request(row, shown, self.settings, self.llm.seed) for row in known]
        distinct = {request.key: request for request in requests}
        asked = ask_all(self.model, list(distinct.values()), workers=self.llm.workers, notify=notify)
        replies = dict(zip(distinct, asked, strict=True))
        said = iter([_score(replies[request.key]) for request in requests])
        scored = [next(said) if row["used_chunk_ids"] else {"reason": "no_passage"} for row in rows]
        columns = {
            name: [one.get(name) for one in scored] for name in ("supported", "contradicted", "reason")
        }
        return scores_of_answers(claim_scores([row["pair_id"] for row in rows], columns), tables.pair_ids)

    def _claims(self, pair: Row, texts: Mapping[str, str]) -> list[Row]:
        """Rows of claims as the prompt takes them; the passages of each come by shared words."""
        language = pair["language"]
        cited = {i: texts[i] for i in pair["used_chunk_ids"]}
        rows = []
        for claim in split_claims(pair["answer"], language):
            terms = read(claim.text, language).terms
            rows.append(
                {
                    "pair_id": pair["pair_id"],
                    "batch": BATCH,
                    "language": language,
                    "question": pair["question"],
                    "text": claim.text,
                    "self_contained": claim.self_contained,
                    "fragment": bool(pair["question"])
                    and is_fragment(claim.text, len(set(terms)), self.settings.fragment_words),
                    "evidence_chunk_id": None,
                    "second_evidence_chunk_id": None,
                    "used_chunk_ids": _ranked(terms, cited, language),
                }
            )
        return rows


def _ranked(terms: Sequence[str], texts: Mapping[str, str], language: str) -> list[str]:
    shares = {i: recall(terms, read(text, language).terms) or 0.0 for i, text in texts.items()}
    return sorted(texts, key=lambda i: -shares[i])


def _score(reply: Reply[ClaimReply] | ModelError) -> Row:
    if isinstance(reply, ModelError):
        return {"reason": reply.reason}
    if reply.value.decision not in _SCORES:
        return {"reason": "llm_unsure"}
    supported, contradicted = _SCORES[reply.value.decision]
    return {"supported": supported, "contradicted": contradicted}
