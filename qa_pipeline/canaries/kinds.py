"""The kinds of canaries, the two families of their generators, and what a generator is.

What belongs here: names and shapes. What does not: any generator.

`tuning` generators may be looked at while rules are developed. `held_out` ones change the same kind of thing
by another mechanism and are only measured, so that a rule fitted to one way of falsifying shows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from qa_pipeline.canaries.material import Material, Sentence

Family = Literal["tuning", "held_out"]
Over = Literal["sentences", "rows"]
Expected = Literal["supported", "rejected"]

TRUE_KINDS = ("clause_dropped", "sentences_merged", "reordered", "numbers_as_words", "units_converted")
FALSE_KINDS = (
    "number",
    "unit",
    "date",
    "name",
    "negation",
    "quantifier",
    "cause_effect",
    "cell",
    "wrong_passage",
)
KINDS = (*TRUE_KINDS, *FALSE_KINDS)


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim made from a sentence, and the chunk it cites: its own, unless that is what is falsified."""

    claim: str
    chunk_id: str


Make = Callable[[Sentence, Material], Iterator[Draft]]


@dataclass(frozen=True, slots=True)
class Generator:
    """One mechanism of one kind; `make` yields nothing for a sentence or table row it does not suit."""

    kind: str
    family: Family
    mechanism: str
    make: Make
    over: Over = "sentences"

    @property
    def expected(self) -> Expected:
        """The right verdict of its claims."""
        return "supported" if self.kind in TRUE_KINDS else "rejected"


def on_text(change: Callable[[Sentence, Material], Iterator[str]]) -> Make:
    """A generator that changes words and cites the sentence's own chunk.

    What the chunk says anyway is left out: it would be neither false nor in other words.
    """

    def make(sentence: Sentence, material: Material) -> Iterator[Draft]:
        passage = " ".join(material.chunks[sentence.chunk_id].split())
        for claim in change(sentence, material):
            if claim not in passage:
                yield Draft(claim, sentence.chunk_id)

    return make
