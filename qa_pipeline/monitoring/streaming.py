"""Verdicts on the statements of an answer while it is still being written, by the local verifier.

A statement is judged as soon as the sentence after it has begun, with what was said before it and nothing of
what follows. When the answer ends it is judged as a whole: what differs then, and the last statement, is told
last. Nothing here depends on the pieces in which the text arrives.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from qa_pipeline.evaluation.statements import Statement, StatementTables, statement_tables
from qa_pipeline.resources import Resources
from qa_pipeline.stages import score_claims
from qa_pipeline.tables import EMBEDDINGS
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline.verification.pronouns import self_contained
from qa_pipeline.verification.splitting import Claim, split_claims, with_references

WITHDRAWN = "withdrawn"
_ENDINGS = frozenset(".!?…:\n")
MOST_EARLY = 20_000
"""Characters of an answer within which statements are judged early; those behind are judged at its end."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the verifier says of one statement.

    Args:
        start: of the statement, in characters of the answer.
        end: likewise.
        text: the statement.
        verdict: supported, contradicted, unsupported, undecided or failed; or withdrawn, where the whole
            answer showed that an earlier one was no statement of its own.
        score: similarity to its best evidence; None without any.
        decided_by: the step that decided.
        reason: why, as a reason code.
        quote: the evidence.
        final: whether the answer was whole when it was judged.
    """

    start: int
    end: int
    text: str
    verdict: str
    score: float | None
    decided_by: str
    reason: str | None
    quote: str | None
    final: bool


def whole_verdicts(
    answer: str, contexts: Sequence[str], resources: Resources, question: str = "", language: str = "en"
) -> list[Verdict]:
    """The verdicts on a whole answer, statement by statement in their order.

    Args:
        answer: to be judged.
        contexts: the texts that should prove it.
        resources: with `evaluation_settings`; no language model is asked.
        question: what was asked; a statement of a few words says nothing without it.
        language: of all texts.
    """
    tables = statement_tables([Statement(answer, tuple(contexts), language, question)])
    return _judged(tables, resources, None, final=True)


def stream_verdicts(
    pieces: Iterable[str],
    contexts: Sequence[str],
    resources: Resources,
    question: str = "",
    language: str = "en",
) -> Iterator[Verdict]:
    """Verdicts as the text of an answer arrives, the first before its last piece where it has two sentences.

    Taken together by their places, later ones in place of earlier ones (`final_verdicts`), they are those of
    `whole_verdicts`; neither they nor their order depend on how the answer is cut into pieces.

    Args:
        pieces: the answer's text, piece by piece.
        contexts: the texts that should prove it.
        resources: as for `whole_verdicts`.
        question: what was asked.
        language: of all texts.
    """
    answer, judged = "", 0
    told: dict[tuple[int, int], Verdict] = {}
    for piece in pieces:
        known, answer = len(answer), answer + piece
        for at in _words_ended(answer, known):
            for claim in _ended_claims(answer[:at], judged, language, question):
                judged = claim.end
                for found in _judge_one(answer[:at], claim, contexts, resources, question, language):
                    told[found.start, found.end] = found
                    yield found
    at_end = whole_verdicts(answer, contexts, resources, question, language)
    whole = {(one.start, one.end): one for one in at_end}
    for place in sorted({*told, *whole}):
        early, late = told.get(place), whole.get(place)
        if late is None and early is not None:
            yield replace(early, verdict=WITHDRAWN, final=True)
        elif late is not None and (early is None or replace(early, final=True) != late):
            yield late


def final_verdicts(found: Iterable[Verdict]) -> list[Verdict]:
    """What a stream of verdicts comes to: the last one of each statement, in the order of the answer."""
    by_place = {(one.start, one.end): one for one in found}
    kept = [by_place[place] for place in sorted(by_place) if by_place[place].verdict != WITHDRAWN]
    return [replace(one, final=True) for one in kept]


def _words_ended(answer: str, known: int) -> Iterator[int]:
    """Places from `known` on where a word has ended: what is before them is whole words, however it came."""
    for place in range(max(known, 1), min(len(answer), MOST_EARLY)):
        if answer[place].isspace() and not answer[place - 1].isspace():
            yield place


def _ended_claims(text: str, judged: int, language: str, question: str) -> list[Claim]:
    """The statements after `judged` that have ended: all but those of the last sentence."""
    if not _ENDINGS & set(text[judged:]):
        return []
    sentences = split_sentences(text, language)
    if len(sentences) < 2:
        return []
    begun = sentences[-1][0]
    claims = split_claims(text[:begun], language)
    read = self_contained(with_references(claims, text[:begun]), question, language)
    return [one for one in read if one.start >= judged]


def _judge_one(
    text: str, claim: Claim, contexts: Sequence[str], resources: Resources, question: str, language: str
) -> Iterator[Verdict]:
    tables = statement_tables([Statement(text, tuple(contexts), language, question)])
    # its wording is resolved already, by what was said before it: the rules would look for it alone
    alone = replace(claim, split_by="model")
    yield from _judged(tables, resources, {tables.pair_ids[0]: [alone]}, final=False)


def _judged(
    tables: StatementTables,
    resources: Resources,
    claims: Mapping[str, list[Claim]] | None,
    *,
    final: bool,
) -> list[Verdict]:
    scored, decided = _scored(tables, resources, claims)
    told = scored.select("claim_id", "start", "end", "text", "similarity", "evidence_quote").join(
        decided.select("claim_id", "verdict", "decided_by", "reason"), on="claim_id", maintain_order="left"
    )
    return [
        Verdict(
            start=row["start"],
            end=row["end"],
            text=row["text"],
            verdict=row["verdict"],
            score=row["similarity"],
            decided_by=row["decided_by"],
            reason=row["reason"],
            quote=row["evidence_quote"],
            final=final,
        )
        for row in told.iter_rows(named=True)
    ]


def _scored(
    tables: StatementTables, resources: Resources, claims: Mapping[str, list[Claim]] | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Statements with their scores, and what is decided of them."""
    scored = score_claims(
        resources,
        tables.pairs,
        tables.documents,
        tables.chunks,
        EMBEDDINGS.empty(),
        model_claims=claims,
        one_corpus=False,
    )
    return scored, decide_claims(scored, tables.pairs, resources.settings.verification)
