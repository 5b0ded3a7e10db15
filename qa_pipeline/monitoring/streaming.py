"""Verdicts on the statements of an answer while it is written, by the local steps of verification.

A statement is judged once the next sentence has begun, with the text before it. At the end the whole answer
is judged, and verdicts that differ are reported again. The result is independent of how the text is divided.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.verification.splitting import Claim, split_claims, with_references
from qa_pipeline.verification.verify import Statement, VerificationModels, verify

WITHDRAWN = "withdrawn"
"""The verdict on an early statement that the whole answer does not have."""
_ENDINGS = frozenset(".!?…:\n")
"""Characters that may end a sentence."""
MOST_EARLY = 20_000
"""Characters of an answer that are judged early; later statements are judged at its end."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on the statement from `start` to `end` of the answer.

    `verdict` is supported, contradicted, unsupported, undecided or failed; or withdrawn, if the whole answer
    splits into other statements. `score` is the similarity to the best context, `reason` a code, `quote` the
    evidence. `final` is True if the whole answer was known.
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
    parts: Iterable[str],
    contexts: Sequence[str],
    resources: Resources,
    question: str = "",
    language: str = "en",
) -> Iterator[Verdict]:
    """Yield verdicts while the parts of an answer arrive. Later verdicts of a span replace earlier ones.

    Together they are the verdicts of `judge_answer` on the whole answer. The question helps to understand
    statements of a few words.
    """
    without_answer = Statement("", tuple(contexts), language, question)
    answer, judged_end = "", 0  # `judged_end` is the end of the last judged statement
    reported: dict[tuple[int, int], Verdict] = {}  # by start and end
    for part in parts:
        length_before, answer = len(answer), answer + part
        # after each word, as if the words came one by one, so that the division into parts has no effect
        for end in _word_ends(answer, length_before):
            for claim in _ended_claims(answer[:end], judged_end, language):
                judged_end = claim.end
                for verdict in judge_answer(replace(without_answer, text=answer[:end]), resources, claim):
                    reported[verdict.start, verdict.end] = verdict
                    yield verdict
    verdicts = judge_answer(replace(without_answer, text=answer), resources)
    final = {(verdict.start, verdict.end): verdict for verdict in verdicts}
    for span in sorted({*reported, *final}):
        if span not in final:
            yield replace(reported[span], verdict=WITHDRAWN, final=True)
        elif span not in reported or replace(reported[span], final=True) != final[span]:
            yield final[span]  # new or changed; an equal verdict is not repeated


def _word_ends(answer: str, start: int) -> list[int]:
    """Return the offsets from `start` of the first space after a word, up to MOST_EARLY."""
    offsets = range(max(start, 1), min(len(answer), MOST_EARLY))
    return [end for end in offsets if answer[end].isspace() and not answer[end - 1].isspace()]


def _ended_claims(text: str, judged_end: int, language: str) -> list[Claim]:
    """Return the statements from `judged_end`, without the last sentence, which may continue."""
    if not _ENDINGS & set(text[judged_end:]):  # saves splitting the text after each word
        return []
    sentences = split_sentences(text, language)
    if len(sentences) < 2:
        return []
    ended = text[: sentences[-1][0]]
    claims = with_references(split_claims(ended, language), ended)
    return [claim for claim in claims if claim.start >= judged_end]


def judge_answer(
    statement: Statement, resources: Resources, single_claim: Claim | None = None
) -> list[Verdict]:
    """Return the verdicts on an answer in order, or on a single claim of an unfinished answer."""
    models = VerificationModels(resources.settings.verification, resources.embedder, resources.entailment)
    claims_by_id = None if single_claim is None else {statement.statement_id: [single_claim]}
    verified = verify([statement], models, given_claims=claims_by_id, must_answer=False)
    names = ("start", "end", "text", "verdict", "decided_by", "reason")
    claims = verified.claims_with_verdicts().select(*names, score="similarity", quote="evidence_quote")
    return [Verdict(**claim, final=single_claim is None) for claim in claims.iter_rows(named=True)]
