"""Check the quotes that a verifying model gives for an accept.

They must be in the passages verbatim. They must contain every number, date and identifier of the claim, and a
negation if the claim has one. The model decides about the meaning of the other words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.quotes import locate_quote
from qa_pipeline.text.reading import Reading, read


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """The position of a model's quote in a passage. Offsets are within the passage's text."""

    passage: Passage
    start: int
    end: int


def missing_figures(claim: Reading, texts: Iterable[Reading]) -> list[str]:
    """Return the numbers, date parts and identifiers of a claim that are missing from the texts."""
    figures = frozenset[str]().union(*(text.figures for text in texts))
    return sorted(claim.figures - figures)


def find_quote(quote: str, passages: Sequence[Passage]) -> QuotePlace | None:
    """Find a quote in the passages verbatim, except for runs of white space."""
    for passage in passages:
        place = locate_quote(quote, passage.text)
        if place is not None and place.kind == "exact":
            return QuotePlace(passage, place.start, place.end)
    return None


def unfounded(
    claim: Reading, question: Reading, quotes: Sequence[str], passages: Sequence[Passage]
) -> tuple[str, str] | None:
    """Return the reason code and detail why an accept is not credible, if any.

    A number or identifier may also be in the question or in the headings of the quoted passages.
    """
    if not any(quote.strip() for quote in quotes):
        return "no_quote", "the reply accepts the claim and quotes nothing"
    places = []
    for quote in quotes:
        place = find_quote(quote, passages)
        if place is None:
            return "quote_not_found", f"not in the passages: {quote[:200]}"
        places.append(place)
    language = claim.language
    texts = [read(place.passage.text[place.start : place.end], language) for place in places]
    headings = [
        read(heading, language)
        for place in places
        for heading in (place.passage.title, *place.passage.section_path)
    ]
    missing = missing_figures(claim, [*texts, *headings, question])
    if missing:
        return "quote_lacks_figure", f"not in the quotes: {', '.join(missing)}"
    denying = lexicon(language).proof.denying
    if claim.negations and not any(text.negations or text.holds_any(denying) for text in texts):
        return "quote_lacks_negation", "the claim denies something and its quotes deny nothing"
    return None
