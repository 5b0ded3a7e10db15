"""An answer as claims: its sentences and list items, each with its place and the sources marked in it.

What belongs here: what counts as a claim. What does not: sentence boundaries (`sentences`) and evidence.
"""

import re
from dataclasses import dataclass

from qa_pipeline.sentences.boundaries import split_sentences
from qa_pipeline.sources import NUMBER_MARK, SOURCE_MARK, mark_references
from qa_pipeline.verification.lexicon.language import lexicon
from qa_pipeline.verification.words import tokenize

_BULLET = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|>\s*)+")
_GREETING_WORDS = 6


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement: `text` is the answer from start to end without its citation marks."""

    text: str
    start: int
    end: int
    references: tuple[str, ...] = ()


def split_claims(answer: str, language: str) -> list[Claim]:
    """Claims of an answer in order.

    Headings, questions, greetings and bare citation marks are no claims. A mark belongs to the claim it
    stands in, else to the last one that begins before it, else to the first.
    """
    words = _without_marks(answer)
    spans = [_trimmed(words, start, end) for start, end in split_sentences(words, language)]
    claims = [
        Claim(text, start, end)
        for start, end in spans
        if (text := _plain(words[start:end])) and is_claim(text, language)
    ]
    for mark in SOURCE_MARK.finditer(answer):
        owner = max((place for place, one in enumerate(claims) if one.start < mark.start()), default=0)
        if claims:
            owned = claims[owner]
            references = (*owned.references, *mark_references(mark[0]))
            claims[owner] = Claim(owned.text, owned.start, owned.end, references)
    return claims


def _without_marks(answer: str) -> str:
    """The answer with blanks in place of its citation marks, so that every offset stays."""
    for pattern in (SOURCE_MARK, NUMBER_MARK):
        answer = pattern.sub(lambda mark: " " * len(mark[0]), answer)
    return answer


def _trimmed(words: str, start: int, end: int) -> tuple[int, int]:
    """The span without list marks in front and blanks around."""
    bullet = _BULLET.match(words, start, end)
    start = bullet.end() if bullet else start
    piece = words[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _plain(piece: str) -> str:
    """The text of a claim: one line, no gap where a mark stood; nothing for a heading."""
    text = re.sub(r" +([.,;:!?])", r"\1", " ".join(piece.split()))
    return "" if text.startswith("#") else text


def is_claim(text: str, language: str) -> bool:
    """Whether a sentence states something that can be checked."""
    tokens = tokenize(text, language)
    if not tokens or text.rstrip("\"'”’»)* ").endswith("?"):
        return False
    greetings = lexicon(language).greetings
    stop_words = lexicon(language).stop_words
    courteous = [token.folded in greetings or token.folded in stop_words for token in tokens]
    greets = any(token.folded in greetings for token in tokens)
    return not (greets and all(courteous) and len(tokens) <= _GREETING_WORDS)


def is_fragment(text: str, terms: int, most: int) -> bool:
    """Whether a claim only states something together with its question: few words, or no whole sentence."""
    whole = not text[:1].islower() and text.rstrip("\"'”’»)* ")[-1:] in (".", "!")
    return terms <= most or not whole
