"""Questions about what a sentence states: what a term is or does, a figure, a date, how to reach a goal.

The kinds of sentences are rows of each language; what a subject must be to be asked for is here.
"""

from collections.abc import Iterator

from qa_pipeline.llm.extractive.passages import (
    Candidate,
    Place,
    Sentence,
    decapitalised,
    in_language,
    is_identifier,
    is_named_in,
    leans_on_context,
    place_of,
    points_elsewhere,
    split_into_sentences,
    stems,
)
from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.lexicon.phrases import Phrases, Statement, fill

MIN_SENTENCE, MAX_SENTENCE = 30, 420
"""Characters of a sentence that can be an answer; a shorter one is a fragment."""
MAX_SUBJECT = 6
"""Words; a longer subject mostly holds a clause."""


def find(passage: Passage, phrases: Phrases) -> Iterator[Candidate]:
    """Ask what the sentences of a passage state."""
    place = place_of(passage, phrases)
    for sentence in split_into_sentences(passage):
        if not _readable(sentence, passage, phrases):
            continue
        for statement in phrases.statements:
            question = _question(statement, sentence, place, passage, phrases)
            if question:
                span = (sentence.start, sentence.end)
                quote = passage.text[slice(*span)]
                yield Candidate(
                    question, statement.question_type, sentence.text, quote, *span, statement.score
                )
                break


def _question(
    statement: Statement, sentence: Sentence, place: Place, passage: Passage, phrases: Phrases
) -> str | None:
    match = statement.expression.fullmatch(sentence.text)
    if match is None or (statement.opening and (sentence.in_list or not sentence.first)):
        return None
    groups = {name: value or "" for name, value in match.groupdict().items()}
    placed = False
    if "subject" in groups:
        subject = _subject(groups["subject"], passage, phrases)
        headed = not statement.opening or _headed(groups["subject"], passage, phrases)
        if subject is None or not headed or _weak(groups.get("rest", ""), phrases):
            return None
        placed = not _is_mentioned(groups["subject"], passage, phrases)
        groups["subject"] = subject
    if "goal" in groups:
        if leans_on_context(groups["goal"], phrases) or len(groups["goal"].split()) < 2:
            return None
        placed = not any(is_identifier(word) for word in groups["goal"].split())
    where = place.quoted(phrases) if place.heading or len(groups.get("subject", "").split()) > 2 else ""
    if placed and not (where and "{place}" in statement.template):
        return None
    return fill(statement.template, {**groups, "place": where}, placed=placed)


def _readable(sentence: Sentence, passage: Passage, phrases: Phrases) -> bool:
    text = sentence.text
    return (
        MIN_SENTENCE <= len(text) <= MAX_SENTENCE
        and text[0].isupper()
        and text[-1] == "."
        and not text.endswith("..")
        and "```" not in text
        and " | " not in text
        and "\ufffd" not in text
        and not points_elsewhere(text, phrases)
        and in_language(text, passage.language)
    )


def _subject(subject: str, passage: Passage, phrases: Phrases) -> str | None:
    """Return the subject as it is in a question; None where it is no name of a thing."""
    words = subject.split()
    first = words[0].lower()
    inner = words[1:] if first in phrases.indefinite | phrases.definite else words
    outer = lexicon(passage.language).stop_words | phrases.abstract
    if (
        not inner
        or len(words) > MAX_SUBJECT
        or leans_on_context(" ".join(inner), phrases)
        or first in phrases.leaning - phrases.definite - phrases.indefinite
        or not outer.isdisjoint(word.lower() for word in (inner[0], inner[-1]))
        or not phrases.weak.isdisjoint(word.lower() for word in inner)
        or not any(character.isalpha() for character in subject)
        or any(mark in subject for mark in '"“”„«»[]{}<>=|*')
    ):
        return None
    return decapitalised(subject, passage, phrases)


def _is_mentioned(subject: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a subject means the same outside the passage: a class of things, a name or a heading."""
    words = subject.split()
    first = words[0].lower()
    nouns_capitalised = lexicon(passage.language).nouns_capitalised
    return (
        first in phrases.indefinite
        or any(is_identifier(word) for word in words)
        or ((len(words) == 1 or not nouns_capitalised) and any(is_named_in(word, passage) for word in words))
        or _headed(subject, passage, phrases)
    )


def _headed(subject: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a heading above the passage speaks of little else than the subject."""
    needed = stems(" ".join(word for word in subject.split() if word.lower() not in phrases.definite))
    headings = (stems(heading) for heading in (passage.title, *passage.section_path[-1:]))
    return bool(needed) and any(needed <= heading and 2 * len(needed) > len(heading) for heading in headings)


def _weak(rest: str, phrases: Phrases) -> bool:
    """Return whether a predicate judges or points and does not define: "a good idea", "the same"."""
    words = [word.strip(",.") for word in rest.split()[1:3]]
    return any(word.lower() in phrases.weak or phrases.superlative.fullmatch(word) for word in words)
