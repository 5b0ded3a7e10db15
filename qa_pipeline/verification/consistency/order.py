"""Who does what to whom: a claim with the words of its evidence, two of them exchanged.

What belongs here: words that changed places. What does not: numbers that did (`quantities.py`).
"""

from collections.abc import Sequence

from qa_pipeline.verification.consistency.findings import Findings


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
