"""Which canaries a batch gets, the same for the same chunks and seed, and their shape as pairs.

They have the form of imported pairs that cite a chunk, so that the very code verifies them that verifies real
pairs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from qa_pipeline.storage.hashes import draw_number, hash_parts
from qa_pipeline.storage.rows import CitationStruct, PairColumns
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline.verification.canaries import foreign, known, misplaced
from qa_pipeline.verification.canaries.material import Draft, Generator, Material, Sentence

ORIGIN = "canary"
EVERY: tuple[Generator, ...] = (*known.GENERATORS, *misplaced.GENERATORS, *foreign.GENERATORS)
KINDS: tuple[str, ...] = tuple(dict.fromkeys(generator.kind for generator in EVERY))
"""In a stable order."""
PER_KIND = 20
"""Most canaries of a kind in a batch."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A claim whose right verdict is known, and where it comes from."""

    canary_id: str
    generator: Generator
    sentence: Sentence
    draft: Draft


def seed_canaries(material: Material, per_kind: int = PER_KIND) -> list[Canary]:
    """Draw at most `per_kind` canaries of each kind, from its generators in turn, one of a sentence.

    A kind the batch has too little material for gets fewer.
    """
    return [
        canary
        for kind in KINDS
        for canary in draw_canaries(material, [made for made in EVERY if made.kind == kind], per_kind)
    ]


def draw_canaries(
    material: Material, generators: Sequence[Generator], most: int, per_sentence: int = 1
) -> list[Canary]:
    """Draw claims from generators in turn, each sentence at most `per_sentence` times, no claim twice."""
    running = [_claims(generator, material) for generator in generators]
    drawn: dict[str, Canary] = {}
    used: Counter[str] = Counter()
    while running and len(drawn) < most:
        for source in list(running):
            canary = next(
                (candidate for candidate in source if used[candidate.sentence.text] < per_sentence), None
            )
            if canary is None:
                running.remove(source)
            elif len(drawn) < most and canary.canary_id not in drawn:
                drawn[canary.canary_id] = canary
                used[canary.sentence.text] += 1
    return list(drawn.values())


def _claims(generator: Generator, material: Material) -> Iterator[Canary]:
    """Yield all claims of a generator, over the sentences, rows or items in an order that looks random."""
    key = (generator.kind, generator.mechanism)
    pieces: tuple[Sentence, ...] = getattr(material, generator.over)
    ordered = sorted(pieces, key=lambda piece: (draw_number(material.seed, *key, piece.text), piece.chunk_id))
    for sentence in ordered:
        for draft in generator.make(sentence, material):
            yield Canary(_id(generator, draft), generator, sentence, draft)


def _id(generator: Generator, draft: Draft) -> str:
    question = (draft.question,) if draft.question else ()
    return hash_parts(generator.kind, draft.chunk_id, draft.claim, *question)[:32]


def canary_pairs(canaries: Sequence[Canary], material: Material, batch: str) -> pl.DataFrame:
    """Return the canaries as rows of the pairs table: answers that cite one chunk."""
    return PAIRS.frame([_pair(canary, material, batch) for canary in canaries])


def _pair(canary: Canary, material: Material, batch: str) -> PairColumns:
    chunk_id = canary.draft.chunk_id
    citation: CitationStruct = {
        "raw": chunk_id,
        "document_id": material.owners[chunk_id],
        "chunk_id": chunk_id,
        "quote": None,
        "number": None,
        "resolution": "chunk",
    }
    return {
        "pair_id": canary.canary_id,
        "batch": batch,
        "question": canary.draft.question,
        "answer": canary.draft.claim,
        "language": canary.sentence.language,
        "question_type": "imported",
        "origin": "imported",
        "passage_ids": [chunk_id],
        "used_chunk_ids": [chunk_id],
        "citations": [citation],
        "coverage": "full",
        "status": "drafted",
        "generator": ORIGIN,
    }
