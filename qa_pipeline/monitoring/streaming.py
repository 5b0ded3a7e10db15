"""Verdicts on the statements of an answer while it is still being written, by the local verifier.

A statement is judged as soon as the sentence after it has begun, with what was said before it and nothing of
what follows. When the answer ends it is judged as a whole: what differs then, and the last statement, is told
last. Nothing here depends on the pieces in which the text arrives.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.verification.splitting import Claim, split_claims, with_references
from qa_pipeline.verification.verify import Means, Statement, verify

WITHDRAWN = "withdrawn"
_ENDINGS = frozenset(".!?…:\n")
MOST_EARLY = 20_000
"""Characters of an answer within which statements are judged early; those behind are judged at its end."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one statement.

    Args:
        start: of the statement, in characters of the answer.
        end: likewise.
        text: the statement.
        verdict: supported, contradicted, unsupported, undecided or failed; or withdrawn, where the whole
            answer showed that an earlier one was no statement of its own.
        score: similarity to the best chunk it cites; None without any.
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


def stream_verdicts(
    pieces: Iterable[str],
    contexts: Sequence[str],
    resources: Resources,
    question: str = "",
    language: str = "en",
) -> Iterator[Verdict]:
    """Yield verdicts as an answer arrives, the first before its last piece if it has two sentences.

    Taken together by their places, later ones in place of earlier ones, they are those on the whole answer
    (`judge_answer`); neither they nor their order depend on how the answer is cut into pieces.

    Args:
        pieces: the answer's text, piece by piece.
        contexts: the texts that should prove it.
        resources: with `evaluation_settings`; no language model is asked.
        question: what was asked; a statement of a few words says nothing without it.
        language: of all texts.
    """
    about = Statement("", tuple(contexts), language, question)
    answer, judged = "", 0
    reported: dict[tuple[int, int], Verdict] = {}
    for piece in pieces:
        read_before, answer = len(answer), answer + piece
        for at in range(max(read_before, 1), min(len(answer), MOST_EARLY)):
            if not answer[at].isspace() or answer[at - 1].isspace():  # no word has just ended
                continue
            for claim in _ended_claims(answer[:at], judged, language):
                judged = claim.end
                for verdict in judge_answer(replace(about, text=answer[:at]), resources, claim):
                    reported[verdict.start, verdict.end] = verdict
                    yield verdict
    at_end = judge_answer(replace(about, text=answer), resources)
    at_the_end = {(verdict.start, verdict.end): verdict for verdict in at_end}
    for place in sorted({*reported, *at_the_end}):
        early, late = reported.get(place), at_the_end.get(place)
        if late is None and early is not None:
            yield replace(early, verdict=WITHDRAWN, final=True)
        elif late is not None and (early is None or replace(early, final=True) != late):
            yield late


def _ended_claims(text: str, judged: int, language: str) -> list[Claim]:
    """Return the statements after `judged` that have ended: all but those of the last sentence."""
    if not _ENDINGS & set(text[judged:]):
        return []
    sentences = split_sentences(text, language)
    if len(sentences) < 2:
        return []
    begun = sentences[-1][0]
    claims = split_claims(text[:begun], language)
    return [claim for claim in with_references(claims, text[:begun]) if claim.start >= judged]


def judge_answer(statement: Statement, resources: Resources, alone: Claim | None = None) -> list[Verdict]:
    """Return the verdicts on an answer in their order; on one claim alone where the answer is not whole."""
    settings = resources.settings.verification
    means = Means(settings, resources.embedder, resources.entailment)
    given = None if alone is None else {statement.statement_id: [alone]}
    verified = verify([statement], means, given_claims=given, to_the_question=False)
    names = ("start", "end", "text", "verdict", "decided_by", "reason")
    claims = verified.claims_with_verdicts().select(*names, score="similarity", quote="evidence_quote")
    return [Verdict(**claim, final=alone is None) for claim in claims.iter_rows(named=True)]
