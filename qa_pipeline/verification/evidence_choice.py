"""The evidence of one claim: which candidate proves it best, and what the two say of each other.

What belongs here: choosing among candidates whose cosines are known, and the columns that follow from the
choice. What does not: gathering candidates and embedding them (`claims.py`), and verdicts (`deciding.py`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.references import Sources
from qa_pipeline.text.words import content_stems, find_words, order_agreement, recall, same_words
from qa_pipeline.verification.citations import ClaimCitations
from qa_pipeline.verification.consistency.comparing import Comparison, compare
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.evidence import Candidate, ChunkWords, second_piece
from qa_pipeline.verification.splitting import Claim

Row = dict[str, Any]
_ELSEWHERE = 20
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
_FEW = 2
_UNREAD = Comparison(open_points=("longer than the local checks read",))


@dataclass(frozen=True)
class Batch:
    """What every pair of a batch is read against; `texts` has blanks in the place of orders."""

    sources: Sources
    documents: Mapping[str, Row]
    chunks: Mapping[str, Row]
    texts: Mapping[str, str]
    words: ChunkWords

    def verbatim(self, pool: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Candidates, each once, that stand in their chunk as they are: none reaches over an order."""
        return tuple(
            one
            for one in dict.fromkeys(pool)
            if self.chunks[one.chunk_id]["text"][one.start : one.end] == one.text
        )


@dataclass(frozen=True)
class Task:
    """One claim with everything it will be compared with."""

    pair: Row
    position: int
    claim: Claim
    citations: ClaimCitations
    fragment: bool
    pool: tuple[Candidate, ...]
    others: tuple[Candidate, ...]
    cited_documents: tuple[str, ...]

    @property
    def compared_text(self) -> str:
        """What is embedded: the claim as it is understood alone; a fragment with its question."""
        if self.claim.self_contained is not None:
            return self.claim.self_contained
        return f"{self.pair['question']} {self.claim.text}" if self.fragment else self.claim.text

    @property
    def terms(self) -> tuple[str, ...]:
        """What evidence must hold of the claim: the words that stand for its pronouns included."""
        return read(self.claim.self_contained or self.claim.text, self.pair["language"]).terms

    @property
    def reading(self) -> Reading:
        """The claim, read."""
        return read(self.claim.text, self.pair["language"])


def prove(task: Task, batch: Batch, cosines: Sequence[float], settings: VerificationSettings) -> Row:
    """Columns of the chosen evidence and of what its comparison with the claim says."""
    place = _choose(task, batch, cosines)
    if place is None:
        return {"verbatim": False, "number_conflicts": [], "name_conflicts": [], "polarity_conflicts": []}
    evidence = task.pool[place]
    chunk = batch.chunks[evidence.chunk_id]
    language = task.pair["language"]
    headings = _headings(chunk)
    around = [read(batch.texts[i], language) for i in _nearest_first(evidence.chunk_id, task)]
    found = _UNREAD
    if max(len(task.claim.text), len(evidence.text)) <= settings.longest_claim:
        found = compare(
            task.reading,
            read(evidence.text, language),
            read(headings, language),
            around,
            in_order=not evidence.is_row,
            question=read(task.pair["question"], language),
        )
    return {
        **_scores(task, batch, evidence, headings),
        **_second(task, batch, evidence, cosines, settings),
        **_findings(found, [*_fragment_doubts(task, evidence, settings), *_unseen(task.claim.text)]),
        "fragment": task.fragment and not same_words(task.claim.text, evidence.text, language),
        "evidence_row": evidence.is_row,
        "evidence_sentences": evidence.sentences,
        **_placed("evidence", evidence, batch),
    }


def _placed(name: str, piece: Candidate, batch: Batch) -> Row:
    """Columns of a piece of evidence: where in its document it stands."""
    chunk = batch.chunks[piece.chunk_id]
    document = batch.documents[chunk["document_id"]]
    start = chunk["char_start"] + piece.start
    return {
        f"{name}_document_id": chunk["document_id"],
        f"{name}_content_sha256": document["content_sha256"],
        f"{name}_chunk_id": piece.chunk_id,
        f"{name}_start": start,
        f"{name}_end": start + len(piece.text),
        f"{name}_page": _page(document["pages"], start),
        f"{name}_quote": piece.text,
    }


def _second(
    task: Task, batch: Batch, evidence: Candidate, cosines: Sequence[float], settings: VerificationSettings
) -> Row:
    language = task.pair["language"]
    headings = _headings(batch.chunks[evidence.chunk_id])
    held = (*read(evidence.text, language).terms, *read(headings, language).terms)
    found = second_piece(task.terms, held, evidence, task.pool, cosines, language, settings)
    if found is None:
        return {}
    piece, share = found
    return {"pair_recall": share, **_placed("second_evidence", piece, batch)}


def _choose(task: Task, batch: Batch, cosines: Sequence[float]) -> int | None:
    """Place of the best candidate: half recall, half cosine, a little for being short.

    The claim's own words, where they stand in one piece, are always the evidence; for a fragment, which may
    stand in many places, the question's words decide as well.
    """
    language = task.pair["language"]
    terms = task.terms
    asked = content_stems(task.pair["question"], language) if task.fragment else ()

    def score(place: int) -> tuple[float, int]:
        one = task.pool[place]
        held = read(one.text, language).terms
        around = (*held, *read(_headings(batch.chunks[one.chunk_id]), language).terms)
        exact = find_words(task.claim.text, one.text, language) is not None
        asked_share = recall(asked, around) or 0.0
        total = (
            (recall(terms, around) or 0.0) + cosines[place] + exact + asked_share - 0.1 * (one.sentences - 1)
        )
        return (round(total, 6), -place)

    return max(range(len(task.pool)), key=score, default=None)


def _scores(task: Task, batch: Batch, evidence: Candidate, headings: str) -> Row:
    language = task.pair["language"]
    held = read(evidence.text, language).terms
    above = read(headings, language).terms
    asked = content_stems(task.pair["question"], language)
    in_order = None if evidence.is_row else order_agreement(task.reading.terms, held)
    return {
        "verbatim": find_words(task.claim.text, evidence.text, language) is not None,
        "token_recall": recall(task.terms, (*held, *above)),
        "context_recall": recall(task.reading.context, (*held, *above)),
        "order_agreement": in_order,
        "question_recall": recall(asked, (*held, *above, *task.reading.terms)),
        "cited_recall": _cited_recall(task, batch, above),
    }


def _cited_recall(task: Task, batch: Batch, above: Sequence[str]) -> float | None:
    """Share of the claim's content words that stand anywhere in what it cites, or in the headings above."""
    wanted = set(task.terms)
    missing = wanted.difference(above)
    for chunk_id in task.citations.chunk_ids:
        missing.difference_update(read(batch.texts[chunk_id], task.pair["language"]).terms)
    return 1.0 - len(missing) / len(wanted) if wanted else None


def _fragment_doubts(task: Task, evidence: Candidate, settings: VerificationSettings) -> list[str]:
    """Why a fragment may stand in its evidence and still be no answer."""
    language = task.pair["language"]
    if not task.fragment or evidence.is_row or same_words(task.claim.text, evidence.text, language):
        return []
    question, held = read(task.pair["question"], language), read(evidence.text, language)
    doubts = ["too few words to rule out a chance match"] if len(set(task.reading.terms)) <= _FEW else []
    if (recall(held.terms, (*question.terms, *task.reading.terms)) or 0.0) < settings.fragment_coverage:
        doubts.append("the evidence contains more than question and answer")
    asked, said, written = (any(t.negative for t in one.words) for one in (question, task.reading, held))
    return doubts + (["question and evidence differ in a negation"] if asked != written and not said else [])


def _unseen(text: str) -> list[str]:
    """A doubt about a claim that is not read as it is shown: reading order turned, or signs nobody sees."""
    return ["holds control characters or marks that turn its reading order"] if _UNSEEN.search(text) else []


def _findings(found: Comparison, doubts: Sequence[str]) -> Row:
    return {
        "number_conflicts": list(found.numbers),
        "date_conflicts": list(found.dates),
        "name_conflicts": list(found.names),
        "polarity_conflicts": list(found.polarity),
        "quantifier_conflicts": list(found.quantifiers),
        "cell_conflicts": list(found.cells),
        "open_points": [*found.open_points, *doubts],
    }


def _headings(chunk: Mapping[str, Any]) -> str:
    return "\n".join((chunk["title"], *chunk["section_path"]))


def _nearest_first(chunk_id: str, task: Task) -> list[str]:
    """Chunks in which a missing number or name may stand: the evidence's own, then the others cited."""
    others = [i for i in task.citations.chunk_ids if i != chunk_id]
    return [chunk_id, *others][:_ELSEWHERE]


def _page(pages: Sequence[Mapping[str, int]], start: int) -> int | None:
    return next((page["number"] for page in pages if page["start"] <= start < page["end"]), None)
