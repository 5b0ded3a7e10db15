"""The evidence of one claim: which candidate proves it best, and what the two say of each other.

Gathering candidates and embedding them is `evidence.py` and `claims.py`, verdicts are `deciding.py`.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from qa_pipeline.text.words import order_agreement, recall
from qa_pipeline.verification.citations import ClaimCitations
from qa_pipeline.verification.consistency.comparing import LONGEST_READ, Comparison, compare
from qa_pipeline.verification.consistency.reading import Reading
from qa_pipeline.verification.evidence import Batch, Candidate
from qa_pipeline.verification.splitting import Claim

Row = dict[str, Any]
_ELSEWHERE = 20
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
ENOUGH_ALONE = 0.80
"""Share of a claim's words from which one passage is looked at alone."""
GAIN = 0.20
"""Share of the claim's words that a second passage must add, or it is there by chance."""
_FEW = 2
_COVERAGE = 0.60
"""Share of its evidence that a fragment and its question must make up: more is another statement."""
_UNREAD = Comparison(open_points=("longer than the local checks can read",))


@dataclass(frozen=True)
class Task:
    """One claim, read, with everything it will be compared with.

    `stated` is the reading of the claim as it is understood alone: what evidence must hold of it, the words
    that stand for its pronouns included. `compared_text` is what is embedded: the same text, or a fragment
    with its question.
    """

    pair: Mapping[str, Any]
    position: int
    claim: Claim
    reading: Reading
    stated: Reading
    question: Reading
    citations: ClaimCitations
    fragment: bool
    compared_text: str
    pool: tuple[Candidate, ...]
    others: tuple[Candidate, ...]
    cited_documents: tuple[str, ...]


def evidence_columns(task: Task, batch: Batch, cosines: Sequence[float]) -> Row:
    """Columns of the chosen evidence and of what its comparison with the claim says."""
    place = _choose(task, batch, cosines)
    if place is None:
        return {"verbatim": False, "number_conflicts": [], "name_conflicts": [], "polarity_conflicts": []}
    evidence, language = task.pool[place], task.reading.language
    headings = batch.headings(evidence.chunk_id, language)
    held = evidence.reading.term_set | headings.term_set
    same = task.reading.repeats(evidence.reading)
    found = _UNREAD
    if max(len(task.claim.text), len(evidence.text)) <= LONGEST_READ:
        around = [batch.reading(i, language) for i in _nearest_first(evidence.chunk_id, task)]
        found = compare(
            task.reading,
            evidence.reading,
            headings,
            around,
            in_order=not evidence.is_row,
            question=task.question,
        )
    doubts = [] if same or evidence.is_row or not task.fragment else _fragment_doubts(task, evidence.reading)
    columns = {
        "verbatim": evidence.reading.holds(task.reading),
        "token_recall": recall(task.stated.terms, held),
        "wording_recall": recall(task.reading.context, held),
        "order_agreement": None
        if evidence.is_row
        else order_agreement(task.reading.terms, evidence.reading.terms),
        "question_recall": recall(task.question.stems, held | task.reading.term_set),
        "cited_recall": _cited_recall(task, batch, headings),
        "number_conflicts": list(found.numbers),
        "date_conflicts": list(found.dates),
        "name_conflicts": list(found.names),
        "polarity_conflicts": list(found.polarity),
        "quantifier_conflicts": list(found.quantifiers),
        "cell_conflicts": list(found.cells),
        "open_points": [*found.open_points, *doubts, *_unseen(task.claim.text)],
        "fragment": task.fragment and not same,
        "evidence_is_row": evidence.is_row,
        "evidence_sentences": evidence.sentences,
        **_placed("evidence", evidence, batch),
    }
    second = _second_piece(task.stated.terms, held, evidence, task.pool, cosines)
    if second is None:
        return columns
    return {**columns, **_placed("second_evidence", second, batch)}


def _second_piece(
    terms: Sequence[str],
    held: Set[str],
    evidence: Candidate,
    pool: Sequence[Candidate],
    cosines: Sequence[float],
) -> Candidate | None:
    """The piece of another passage that holds most of what the evidence lacks.

    None where the evidence alone holds enough of the claim's terms, or where no other piece adds enough. To
    accept by two pieces is left to a step that reads both: words can be pieced together from anywhere.

    Args:
        terms: of the claim.
        held: terms of the evidence and the headings above it.
        evidence: the chosen piece.
        pool: pieces of the cited passages.
        cosines: of the claim to each of the pool.
    """
    alone = recall(terms, held)
    if alone is None or alone >= ENOUGH_ALONE:
        return None
    wanted = frozenset(terms)
    have = wanted & held
    ranked = [
        (len(have | (wanted & one.reading.term_set)), cosine, -one.sentences, -place)
        for place, (one, cosine) in enumerate(zip(pool, cosines, strict=True))
        if one.chunk_id != evidence.chunk_id
    ]
    best = max(ranked, default=None)
    if best is None or best[0] / len(wanted) - alone < GAIN:
        return None
    return pool[-best[3]]


def _placed(name: str, piece: Candidate, batch: Batch) -> Row:
    """Columns of a piece of evidence: where in its document it stands."""
    chunk = batch.chunks[piece.chunk_id]
    document = batch.documents[chunk["document_id"]]
    start = chunk["char_start"] + piece.start
    pages = (page["number"] for page in document["pages"] if page["start"] <= start < page["end"])
    return {
        f"{name}_document_id": chunk["document_id"],
        f"{name}_content_sha256": document["content_sha256"],
        f"{name}_chunk_id": piece.chunk_id,
        f"{name}_start": start,
        f"{name}_end": start + len(piece.text),
        f"{name}_page": next(pages, None),
        f"{name}_quote": piece.text,
    }


def _choose(task: Task, batch: Batch, cosines: Sequence[float]) -> int | None:
    """Place of the best candidate: half recall, half cosine, a little for being short.

    The claim's own words, where they stand in one piece, are always the evidence; for a fragment, which may
    stand in many places, the question's words decide as well.
    """
    wanted = task.stated.term_set
    asked = task.question.stems if task.fragment else ()

    def score(place: int) -> tuple[float, int]:
        one = task.pool[place]
        held = one.reading.term_set | batch.headings(one.chunk_id, task.reading.language).term_set
        exact = one.reading.holds(task.reading)
        asked_share = recall(asked, held) or 0.0
        total = (
            (recall(wanted, held) or 0.0) + cosines[place] + exact + asked_share - 0.1 * (one.sentences - 1)
        )
        return (round(total, 6), -place)

    return max(range(len(task.pool)), key=score, default=None)


def _cited_recall(task: Task, batch: Batch, headings: Reading) -> float | None:
    """Share of the claim's content words that stand anywhere in what it cites, or in the headings above."""
    wanted = task.stated.term_set
    missing = set(wanted - headings.term_set)
    for chunk_id in task.citations.chunk_ids:
        missing.difference_update(batch.reading(chunk_id, task.reading.language).term_set)
    return 1.0 - len(missing) / len(wanted) if wanted else None


def _fragment_doubts(task: Task, evidence: Reading) -> list[str]:
    """Why a fragment may stand in its evidence and still be no answer."""
    question, claim = task.question, task.reading
    doubts = ["too few words to rule out a chance match"] if len(claim.term_set) <= _FEW else []
    if (recall(evidence.terms, question.term_set | claim.term_set) or 0.0) < _COVERAGE:
        doubts.append("the evidence contains more than question and answer")
    asked, answered, written = (any(t.negative for t in one.words) for one in (question, claim, evidence))
    if asked != written and not answered:
        doubts.append("question and evidence differ in a negation")
    return doubts


def _unseen(text: str) -> list[str]:
    """A doubt about a claim that is not read as it is shown: reading order turned, or signs nobody sees."""
    return (
        ["contains control characters or marks that reverse its reading order"]
        if _UNSEEN.search(text)
        else []
    )


def _nearest_first(chunk_id: str, task: Task) -> list[str]:
    """Chunks in which a missing number or name may stand: the evidence's own, then the others cited."""
    others = [i for i in task.citations.chunk_ids if i != chunk_id]
    return [chunk_id, *others][:_ELSEWHERE]
