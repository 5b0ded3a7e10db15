"""What a sentence's opening pronoun stands for, by rules that would rather leave it than guess."""

import re
from collections.abc import Sequence
from dataclasses import replace

from qa_pipeline.text.lexicon.base import Pronouns
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import Token
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.splitting import Claim

_LONGEST_SUBJECT = 6
_IMPERSONAL_WITHIN = 7
_BREAK = re.compile(r"[,;:()|]")


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
    tokens = read(text[:400], language).words
    if len(tokens) < 3 or tokens[0].folded not in pronouns.singular | pronouns.plural:
        return None
    follows = tokens[1].folded in pronouns.verbs or tokens[0].folded in pronouns.certain
    ahead = {token.folded for token in tokens[1:_IMPERSONAL_WITHIN]}
    return None if not follows or ahead & pronouns.impersonal else tokens[0]


def _subject(sentence: str, pronouns: Pronouns, language: str) -> str | None:
    """Return the words before the first finite verb, where they are one short noun phrase."""
    tokens = read(sentence[:400], language).words
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
