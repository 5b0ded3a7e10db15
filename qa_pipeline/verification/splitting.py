"""An answer as claims: its sentences and list items, each with its place and the sources marked in it.

What belongs here: what counts as a claim. What does not: sentence boundaries (`sentences.py`) and evidence.
"""

import re
from dataclasses import dataclass

from qa_pipeline.sources import NUMBER_MARK, SOURCE_MARK, mark_references
from qa_pipeline.verification.lexicon.language import lexicon
from qa_pipeline.verification.sentences import split_sentences
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

    Headings, questions, greetings and bare citation marks are no claims. A mark before the first word of a
    sentence belongs to the sentence before it, as does a mark that stands alone.
    """
    claims: list[Claim] = []
    for start, end in split_sentences(answer, language):
        piece = answer[start:end]
        lead = _leading_marks(piece) if claims else 0
        if lead:
            claims[-1] = _with_references(claims[-1], mark_references(piece[:lead]))
        claim = _claim(answer, start + lead, end)
        if claim and is_claim(claim.text, language):
            claims.append(claim)
    return claims


def _leading_marks(piece: str) -> int:
    """Length of the source marks, and the spaces around them, at the beginning of a sentence."""
    position = 0
    while match := re.compile(rf"\s*(?:{SOURCE_MARK.pattern})[\s.,;]*", re.IGNORECASE).match(piece, position):
        position = match.end()
    return position


def _with_references(claim: Claim, references: list[str]) -> Claim:
    return Claim(claim.text, claim.start, claim.end, (*claim.references, *references))


def _claim(answer: str, start: int, end: int) -> Claim | None:
    """Trim bullets in front and marks behind; marks inside stay in the span and leave the text."""
    piece = answer[start:end]
    bullet = _BULLET.match(piece)
    start += bullet.end() if bullet else 0
    piece = answer[start:end]
    words = SOURCE_MARK.sub(lambda mark: " " * len(mark[0]), piece)
    words = NUMBER_MARK.sub(lambda mark: " " * len(mark[0]), words)
    text = " ".join(words.split())
    text = re.sub(r" +([.,;:!?])", r"\1", text)
    if not text or text.startswith("#"):
        return None
    inner = words.rstrip()
    start += len(inner) - len(inner.lstrip())
    return Claim(text, start, start + len(inner.strip()), tuple(mark_references(piece)))


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
