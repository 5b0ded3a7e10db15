"""Rows of a release proved again from its passages, by the rules that accept without a model.

What a model or a person decided cannot be decided again here. It must still not be what the rules refuse
before they ask anybody.
"""

import re
from collections.abc import Iterator, Mapping

from qa_pipeline.publishing.candidates import ReleasedClaim, ReleasedRow
from qa_pipeline.records import Passage
from qa_pipeline.text.injection import blank_injections
from qa_pipeline.verification.claims import antecedent_of
from qa_pipeline.verification.consistency.proof import Proof, prove
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.context import introduction_of
from qa_pipeline.verification.deciding import ALIGNMENT
from qa_pipeline.verification.evidence import is_row
from qa_pipeline.verification.outcomes import SUPPORTED
from qa_pipeline.verification.splitting import is_fragment, self_contained, split_claims

_MODELS = ("entailment", "llm")
_OTHERS = ("similarity_only", "person")
_MOST_PLACES = 20
"""Places of a quote that are tried: a sentence that stands under every item of a list."""
_TOLERATED = ("unsupported", "undecided")
"""Verdicts of a claim that an accepted row may have where accept_grounding is below 1."""


def proof_problems(
    row: ReleasedRow, passages: Mapping[str, Passage], accept_grounding: float
) -> Iterator[str]:
    """Yield why a row is not what local proof, or what decided in its place, can have accepted.

    Args:
        row: of a release.
        passages: by chunk_id; one that is unknown is not looked at.
        accept_grounding: share of its claims that must be supported.
    """
    claims, evidence = row["claims"], row["evidence"]
    if row["coverage"] == "none":
        if claims or evidence:
            yield "is a refusal and has claims or evidence"
        return
    if not claims:
        yield "has no claim"
        return
    yield from _cut_otherwise(row)
    supported = [row_claim for row_claim in claims if row_claim["verdict"] == SUPPORTED]
    others = {row_claim["verdict"] for row_claim in claims} - {SUPPORTED}
    if others - {*_TOLERATED} or len(supported) / len(claims) < accept_grounding:
        yield f"has {len(claims) - len(supported)} claims that are not supported"
    texts = {row_claim["text"] for row_claim in supported}
    if any(piece["claim"] not in texts for piece in evidence):
        yield "has evidence of a claim that is not its own"
    for claim in supported:
        yield from _claim_problems(row, claim, passages)


def _cut_otherwise(row: ReleasedRow) -> Iterator[str]:
    """Yield whether the rules cut other claims from the answer than its own."""
    if any(claim["split_by"] != "rules" for claim in row["claims"]):
        return  # a model cut it, and would have to be asked again
    cut = self_contained(split_claims(row["answer"], row["language"]), row["question"], row["language"])
    if [(claim.text, claim.self_contained) for claim in cut] != [
        (claim["text"], claim["self_contained"]) for claim in row["claims"]
    ]:
        yield "has other claims than its answer states"


def _claim_problems(row: ReleasedRow, claim: ReleasedClaim, passages: Mapping[str, Passage]) -> Iterator[str]:
    text, step = claim["text"], claim["decided_by"]
    pieces = [evidence for evidence in row["evidence"] if evidence["claim"] == text]
    if not pieces:
        yield f"has no evidence for {text[:60]!r}"
    elif step not in (ALIGNMENT, *_MODELS, *_OTHERS):
        yield f"has a claim that no step decides ({step})"
    elif step not in _OTHERS:
        proofs = [
            _proof(row, claim, piece["quote"] or "", passage, at, passages)
            for piece in pieces
            if (passage := passages.get(piece["chunk_id"] or ""))
            for at in _places(piece["quote"] or "", passage.text)
        ]
        if not proofs:
            yield f"rests on a passage that is not there, for {text[:60]!r}"
        elif step == ALIGNMENT and all(proof.unproved for proof in proofs):
            yield f"is not proved: {text[:60]!r}: {proofs[0].unproved[0]}"
        elif step in _MODELS and all(proof.unproved for proof in proofs) and _refused(proofs[0], step):
            yield f"states what its evidence denies: {text[:60]!r}"


def _places(quote: str, text: str) -> list[int]:
    """Return where a passage has a quote, since one of several places may speak of what was asked."""
    places = [match.start() for match in re.finditer(re.escape(quote), text)] if quote else []
    return places[:_MOST_PLACES] or [0]


def _refused(proof: Proof, step: str) -> bool:
    """Return whether the rules keep a model from accepting such a claim."""
    return bool(proof.denied) or (step == "entailment" and proof.scope_differs)


def _proof(
    row: ReleasedRow,
    claim: ReleasedClaim,
    quote: str,
    passage: Passage,
    at: int,
    passages: Mapping[str, Passage],
) -> Proof:
    language = row["language"]
    stated = read(claim["self_contained"] or claim["text"], language)
    nearest_first = dict.fromkeys((passage.chunk_id, *claim["chunk_ids"]))
    readable = [passages[chunk_id] for chunk_id in nearest_first if chunk_id in passages]
    evidence = read(quote, language)
    return prove(
        stated,
        evidence,
        question=read(row["question"], language),
        answer=read(row["answer"], language),
        headings=read("\n".join((passage.title, *passage.section_path)), language),
        elsewhere=[read(blank_injections(shown.text, shown.language), language) for shown in readable],
        fragment=is_fragment(claim["text"], len(stated.term_set)),
        is_row=is_row(quote),
        introduction=introduction_of(passage.text, at, language),
        antecedent=antecedent_of(passage.text, at, evidence),
    )
