"""Words out of place: a claim reads like its evidence, with two words exchanged or one replaced.

What belongs here: differences of sequence. What does not: numbers that changed places (`quantities.py`).
"""

import difflib
from collections.abc import Sequence

from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.reading import Reading

_LONGEST = 4


def exchanged_terms(claim: Sequence[str], evidence: Sequence[str]) -> Findings:
    """A conflict when the evidence reads like the claim with terms exchanged in pairs.

    Only the evidence's terms that the claim has are read. "A replaced B" and "B replaced A" differ so; a
    passive or another order of clauses moves words without exchanging them place for place, and stays open
    through the order score.
    """
    shared = set(claim)
    held = [term for term in evidence if term in shared]
    if len(held) != len(claim):
        return Findings()
    exchanged: dict[str, str] = {}
    for mine, theirs in zip(claim, held, strict=True):
        if exchanged.setdefault(mine, theirs) != theirs:
            return Findings()
    moved = sorted(mine for mine, theirs in exchanged.items() if mine != theirs)
    if not moved or any(exchanged.get(exchanged[mine]) != mine for mine in moved):
        return Findings()
    if len(moved) > len(exchanged) // 2:
        return Findings()
    names = [term.removeprefix("=") for term in moved[:2]]
    return Findings((f"{names[0]} and {names[1]} have changed places",))


def replaced_terms(claim: Reading, evidence: Reading) -> Findings:
    """An open point for a word the evidence lacks that stands where the evidence has another.

    A replaced word is how a small falsification reads, and also how a synonym reads; no local check tells
    them apart.
    """
    mine, theirs = claim.terms, evidence.terms
    matcher = difflib.SequenceMatcher(None, mine, theirs, autojunk=False)
    for kind, left, right, low, high in matcher.get_opcodes():
        new = [term for term in mine[left:right] if term not in theirs]
        if kind == "replace" and new and high - low <= _LONGEST:
            said, held = _written(claim, mine[left:right]), _written(evidence, theirs[low:high])
            return Findings(open_points=(f"{said}: the evidence says {held}",))
    return Findings()


def _written(reading: Reading, terms: Sequence[str]) -> str:
    """Terms as a reader knows them: whole words for stems, figures without their mark."""
    words = {word.stem: word.folded for word in reading.words}
    return " ".join(words.get(term, term.removeprefix("=")) for term in terms)
