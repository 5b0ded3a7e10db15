"""Falsehoods in the document's own words, which a sentence proves that is matched with the wrong thing.

A true sentence answers another question, an item stands under another lead-in, two things have their roles
exchanged.
Every word of them is near their evidence. What tells them from the truth is what the sentence was matched
with: the question, the lead-in, the order.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.canaries.known import negation_removed
from qa_pipeline.verification.canaries.material import (
    Draft,
    Generator,
    Material,
    Sentence,
    is_prose,
    on_text,
    words,
)

_WORD = re.compile(r"[^\W_][\w’'-]*")
_SHORTEST = 5
"""Letters of a word by which a question is told from another one: shorter ones are in many sentences."""
_LONGEST_NAME = 2
"""Words of a noun phrase that changes places: a longer one mostly holds an adjective or an object."""
_ENDING = 2
"""Last letters that two nouns without an article share: they are then mostly of one form."""


def neighbours_question(sentence: Sentence, material: Material) -> Iterator[Draft]:
    """Yield the sentence as the answer to who or what does that which the next one says of its subject.

    The sentence must not speak of all that is asked for, nor lean on another one: it may then go on about
    the same thing under another name.
    """
    vocabulary, following = lexicon(sentence.language), sentence.following or ""
    subject = _subject(following, vocabulary)
    if subject is None:
        return
    question, text = _asked(following[subject.end :], vocabulary), sentence.text.casefold()
    leaning = vocabulary.pronouns.leaning | vocabulary.wording.leaning - vocabulary.definite
    shaping = vocabulary.stop_words | vocabulary.question_words | vocabulary.question_openers
    asked_words = [word for word in words(question.casefold()) if word not in shaping]
    absent = [word for word in asked_words if len(word) >= _SHORTEST and word[:_SHORTEST] not in text]
    if absent and words(text)[0] not in leaning:
        yield Draft(sentence.text, sentence.chunk_id, question)


def _asked(predicate: str, vocabulary: Lexicon) -> str:
    """Return the question who or what does what a predicate says."""
    return f"{min(vocabulary.subject_askers).capitalize()}{predicate.rstrip('.')}?"


def lead_in_affirmed(item: Sentence, material: Material) -> Iterator[str]:
    """Yield an item behind the lead-in of its list without the negation in it."""
    lead_in = Sentence(item.chunk_id, item.document_id, item.language, item.lead_in, None)
    for affirmed in negation_removed(lead_in, material):
        yield f"{affirmed} {item.text}"


def lead_in_exchanged(item: Sentence, material: Material) -> Iterator[str]:
    """Yield an item behind the lead-in of another list of its document that does not have the item.

    One of the two lists denies what the other one says: an item of two lists that both allow may be true of
    both.
    """
    lists = material.lists(item.document_id)
    vocabulary = lexicon(item.language)
    for lead_in, items in sorted(lists.items()):
        is_other = lead_in != item.lead_in and item.text not in items
        if is_other and _denies(lead_in, vocabulary) != _denies(item.lead_in, vocabulary):
            yield f"{lead_in} {item.text}"


def _denies(lead_in: str, vocabulary: Lexicon) -> bool:
    """Return whether a lead-in denies each of its items: "not all of them" does not, nor "not here but"."""
    folded = {word.casefold() for word in words(lead_in)}
    denying = vocabulary.context.voiding | {vocabulary.not_word}
    limited = (
        vocabulary.universal | vocabulary.contrasts | vocabulary.exclusive | vocabulary.conditional_words
    )
    return not folded.isdisjoint(denying) and folded.isdisjoint(limited - denying)


def lead_in_dropped(item: Sentence, material: Material) -> Iterator[Draft]:
    """Yield a whole statement that the lead-in of its list calls forbidden or false, without the lead-in.

    A lead-in with "not" need not deny its items: "What it does not guard against are:".
    """
    vocabulary = lexicon(item.language)
    forbids = not vocabulary.context.voiding.isdisjoint(words(item.lead_in.casefold()))
    if forbids and is_prose(item.text) and _denies(item.lead_in, vocabulary):
        yield Draft(item.text, item.chunk_id)


def subject_and_object(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with its subject and another thing that it names exchanged."""
    for roles in _roles(sentence, material):
        text = f"{roles.other}{roles.between}{roles.subject}{roles.rest}"
        yield text[0].upper() + text[1:]


def question_turned(sentence: Sentence, material: Material) -> Iterator[Draft]:
    """Yield the sentence as the answer to a question that has its subject in the place of another thing."""
    for roles in _roles(sentence, material):
        predicate = f"{roles.between}{roles.subject}{roles.rest}"
        yield Draft(sentence.text, sentence.chunk_id, _asked(predicate, lexicon(sentence.language)))


@dataclass(frozen=True, slots=True)
class _Roles:
    """The parts of a sentence around two noun phrases that can change places."""

    subject: str
    between: str
    other: str
    rest: str


@dataclass(frozen=True, slots=True)
class _Subject:
    """The beginning of a sentence before its verb: an article, or none, and one or two words."""

    article: str
    noun: str
    end: int
    verb: str


def _subject(text: str, vocabulary: Lexicon) -> _Subject | None:
    """Return the subject of a sentence, where it is short and its verb is a known one."""
    spans = [match.span() for match in _WORD.finditer(text)]
    folded = [text[slice(*span)].casefold() for span in spans]
    first = 1 if folded and folded[0] in vocabulary.definite | vocabulary.indefinite else 0
    last = _end_of_phrase(text, spans, folded, first, vocabulary)
    if not first < last < len(spans) or folded[last] not in vocabulary.finite_verbs:
        return None
    if folded[0] in vocabulary.prepositions or text[spans[last - 1][1] : spans[last][0]] != " ":
        return None
    article = folded[0] if first else ""
    return _Subject(article, folded[last - 1], spans[last - 1][1], folded[last])


def _roles(sentence: Sentence, material: Material) -> Iterator[_Roles]:
    """Yield the subject of a sentence with each other noun phrase of the same form.

    A phrase with the subject's article is of its form; without an article, a word behind a preposition with
    its ending. Things that "is" makes equal, or that "and" lists can change places
    in a true sentence, and so can two names of one thing ("the board" and "the advisory board").
    """
    text, vocabulary = sentence.text, lexicon(sentence.language)
    subject = _subject(text, vocabulary)
    if subject is None:
        return
    name, has_article = text[: subject.end], bool(subject.article)
    inside = re.compile(rf"[^\W\d_],? {re.escape(name.split()[0])}\b")
    is_name = vocabulary.nouns_capitalised or inside.search(material.document(sentence.document_id))
    if has_article or not is_name:
        name = name[0].lower() + name[1:]
    spans = [match.span() for match in _WORD.finditer(text)]
    folded = [text[slice(*span)].casefold() for span in spans]
    verb = folded.index(subject.verb)
    for place in range(verb + 2, len(spans)):
        before, end = folded[place - 1], _end_of_phrase(text, spans, folded, place, vocabulary)
        if end == place:
            continue
        start = place - 1 if has_article else place
        noun, follows = folded[end - 1], folded[end] if end < len(spans) else ""
        alike = before == subject.article if has_article else before in vocabulary.prepositions
        is_equal = start == verb + 1 and subject.verb in vocabulary.copulas
        same_thing = noun.endswith(subject.noun) or subject.noun.endswith(noun)
        same_form = has_article or noun.endswith(subject.noun[-_ENDING:])
        listed = vocabulary.joiners & {folded[start - 1], follows}
        if alike and same_form and not (is_equal or same_thing or listed):
            first, last = spans[start][0], spans[end - 1][1]
            yield _Roles(name, text[subject.end : first], text[first:last], text[last:])


def _end_of_phrase(
    text: str, spans: Sequence[tuple[int, int]], folded: Sequence[str], start: int, vocabulary: Lexicon
) -> int:
    """Return the place behind the content words from `start` on; `start` where they are none or too many."""
    end = start
    while end < len(spans) and folded[end] not in vocabulary.stop_words | vocabulary.finite_verbs:
        if end > start and text[spans[end - 1][1] : spans[end][0]] != " ":
            break
        end += 1
    return end if end - start <= _LONGEST_NAME else start


KINDS = ("neighbours_question", "other_lead_in", "roles_exchanged")
GENERATORS = (
    Generator(KINDS[0], "known", "question_of_the_next", neighbours_question),
    Generator(KINDS[1], "known", "lead_in_affirmed", on_text(lead_in_affirmed), over="items"),
    Generator(KINDS[1], "known", "lead_in_exchanged", on_text(lead_in_exchanged), over="items"),
    Generator(KINDS[1], "known", "lead_in_dropped", lead_in_dropped, over="items"),
    Generator(KINDS[2], "known", "subject_and_object", on_text(subject_and_object)),
    Generator(KINDS[2], "known", "question_turned", question_turned),
)
