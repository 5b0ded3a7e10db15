"""An answer as claims: its sentences, list items and table rows, each with its place and marked sources.

A claim that opens with a pronoun also says what it states alone, by rules that would rather leave a pronoun
than guess what it stands for.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from qa_pipeline.text.lexicon.base import Pronouns
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.references import NUMBER_MARK, SOURCE_MARK, mark_references, without_marks
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.text.words import Token
from qa_pipeline.verification.consistency.reading import read

_LABEL = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|>\s*|#{1,6}\s+)+")
_FRAGMENT_TERMS = 1
"""A claim of at most so many content words answers a question, and states nothing without it."""
MOST_CLAIMS = 500
"""Claims of an answer; one with more fails. Checking more of them would let one answer stop a whole run."""
_LONGEST_SUBJECT = 6
"""Words of a subject that is put in the place of a pronoun; longer ones are rarely one noun phrase."""
_IMPERSONAL_WITHIN = 7
"""Words in which "it is important that" shows that its pronoun stands for nothing."""
_READ_OF_A_SENTENCE = 400
"""Characters read for pronoun or subject: both are at the beginning."""
_BREAK = re.compile(r"[,;:()|]")

SplitBy = Literal["rules", "model"]
TOO_MANY = "too_many_claims"


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkable statement: `text` is the answer from start to end without its citation marks.

    `self_contained` says the same so that it is understood alone, where `text` is not; `split_reason` why
    the rules had to cut where a model should have.
    """

    text: str
    start: int
    end: int
    references: tuple[str, ...] = ()
    self_contained: str | None = None
    split_by: SplitBy = "rules"
    split_reason: str | None = None


def split_claims(answer: str, language: str, most: int = MOST_CLAIMS) -> list[Claim]:
    """Return the claims of an answer in order.

    Every word of the answer belongs to a claim: headings, heads of tables, questions, greetings and further
    turns of a conversation too. Only list labels, punctuation and citation marks stand outside. A mark
    belongs to the claim it is in, else to the last one that begins before it, else to the first.

    An answer with more than `most` claims has one more that holds the rest, with the reason
    `too_many_claims`.
    """
    words = without_marks(answer)
    spans = [_trimmed(words, start, end) for start, end in sentence_spans(words, language)]
    claims = [
        Claim(plain(words[start:end]), start, end) for start, end in spans if is_claim(words[start:end])
    ]
    if len(claims) > most:
        rest = Claim(plain(words[claims[most].start :]), claims[most].start, claims[-1].end)
        claims[most:] = [replace(rest, split_reason=TOO_MANY)]
    return with_references(claims, answer)


def with_references(claims: Sequence[Claim], answer: str) -> list[Claim]:
    """Give each claim the sources marked behind its beginning; a piece without any those of its sentence.

    Claims that a model cut out of one sentence have that sentence's sources already, and keep them where they
    have none of their own.
    """
    owned: dict[int, list[str]] = {}
    owner = 0
    marks = [*SOURCE_MARK.finditer(answer), *NUMBER_MARK.finditer(answer)]
    for mark in sorted(marks, key=lambda reference: reference.start()):
        while owner + 1 < len(claims) and claims[owner + 1].start < mark.start():
            owner += 1
        owned.setdefault(owner, []).extend(mark_references(mark[0]) or [mark[0]])
    return [
        replace(claim, references=tuple(owned.get(place, claim.references)))
        for place, claim in enumerate(claims)
    ]


def _trimmed(words: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without list labels and heading signs in front and blanks around."""
    label = _LABEL.match(words, start, end)
    start = label.end() if label else start
    piece = words[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def plain(piece: str) -> str:
    """Return the text of a claim: one line, no gap where a mark stood."""
    return re.sub(r" ([.,;:!?])", r"\1", " ".join(piece.split()))


def is_claim(text: str) -> bool:
    """Return True if a text holds a letter, digit or symbol, and not punctuation and spaces alone."""
    return any(character.isalnum() or unicodedata.category(character) == "So" for character in text)


def is_fragment(text: str, terms: int, most: int = _FRAGMENT_TERMS) -> bool:
    """Return whether a claim states something only with its question: few words, or no whole sentence."""
    is_complete = not text[:1].islower() and text.rstrip("\"'”’»)* ")[-1:] in (".", "!")
    return terms <= most or not is_complete


def self_contained(claims: Sequence[Claim], question: str, language: str) -> list[Claim]:
    """Return the claims, `self_contained` filled in where an opening pronoun is beyond doubt."""
    made: list[Claim] = []
    before: list[str] = []
    for claim in claims:
        wording = claim.self_contained
        if wording is None and claim.split_by == "rules":
            wording = resolved(claim.text, before, question, language)
        made.append(replace(claim, self_contained=wording))
        before.append(wording or claim.text)
    return made


def resolved(text: str, before: Sequence[str], question: str, language: str) -> str | None:
    """Return the sentence with its opening pronoun replaced by what it stands for; None where unsure.

    `before` are the sentences before it, themselves resolved, nearest last.
    """
    vocabulary = lexicon(language).pronouns
    pronoun = _opening(text, vocabulary, language)
    if pronoun is None:
        return None
    subject = _subject(before[-1], vocabulary, language) if before else None
    if subject is not None and not _agrees(pronoun, subject, vocabulary, language):
        return None
    name = _only_name(question, language)
    chosen = _single(subject, name, language) if before else name
    if chosen is None:
        return None
    return f"{chosen}{text[pronoun.end :]}"


def _opening(text: str, pronouns: Pronouns, language: str) -> Token | None:
    """Return the pronoun that is the subject: a verb follows it, and the sentence is not impersonal."""
    tokens = read(text[:_READ_OF_A_SENTENCE], language).words
    if len(tokens) < 3 or tokens[0].folded not in pronouns.singular | pronouns.plural:
        return None
    follows = tokens[1].folded in pronouns.verbs or tokens[0].folded in pronouns.certain
    ahead = {token.folded for token in tokens[1:_IMPERSONAL_WITHIN]}
    return None if not follows or ahead & pronouns.impersonal else tokens[0]


def _subject(sentence: str, pronouns: Pronouns, language: str) -> str | None:
    """Return the words before the first finite verb, where they are one short noun phrase."""
    tokens = read(sentence[:_READ_OF_A_SENTENCE], language).words
    end = next((place for place, token in enumerate(tokens) if token.folded in pronouns.verbs), None)
    if end is None or not 0 < end <= _LONGEST_SUBJECT:
        return None
    first, last = tokens[0], tokens[end - 1]
    text = sentence[first.start : last.end]
    inner = {token.folded for token in tokens[:end]} & (lexicon(language).joiners | pronouns.impersonal)
    is_name = first.folded in pronouns.articles or (text[0].isupper() and first.content)
    if inner or _BREAK.search(text) or not is_name or not last.content:
        return None
    return None if first.folded in pronouns.singular | pronouns.plural and end == 1 else text


def _agrees(pronoun: Token, subject: str, pronouns: Pronouns, language: str) -> bool:
    """Return whether number or gender lets the pronoun stand for the subject."""
    tokens = read(subject, language).words
    head = tokens[-1].folded
    if pronouns.genders:
        return pronouns.genders.get(pronoun.folded) == tokens[0].folded
    if pronouns.endings:
        endings = pronouns.endings.get(pronoun.folded)
        return endings is not None and head.endswith(endings)
    plural = head.endswith("s") and not head.endswith(pronouns.singular_endings)
    return plural == (pronoun.folded in pronouns.plural)


def _only_name(question: str, language: str) -> str | None:
    """Return the name in the question, if it has exactly one."""
    names = {name.folded: name.text for name in read(question, language).names}
    return next(iter(names.values())) if len(names) == 1 else None


def _single(subject: str | None, name: str | None, language: str) -> str | None:
    """Return the one candidate; None where there are two that differ, or none."""
    if subject is None:
        return None
    if name is None or set(read(name, language).stems) <= set(read(subject, language).stems):
        return subject
    return None
