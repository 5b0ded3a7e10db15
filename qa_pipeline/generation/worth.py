"""Worth of a question: how likely a person would train on its row, whoever proves it, and what it lacks.

A row can be proved and teach nothing: "Status: Final". Each feature that is missing costs part of the worth;
the words for it are stored beside the reason, so that every rejection can be read.
"""

import functools
import math
from collections.abc import Iterator
from itertools import pairwise

from qa_pipeline.generation.offline.passages import is_identifier
from qa_pipeline.text.language import QUOTED
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency.reading import Reading, read

LEAST_WORTH = 0.5
"""Below it a row is more likely to be thin or bad than good."""
FULL = 1.38
"""The log odds that a row is good which lacks nothing."""
COSTS = {
    "few": 1.67,
    "some": 0.66,
    "bare": 1.27,
    "definition": 0.17,
    "other": 0.43,
    "nothing": 3.0,
}
"""Cost of each feature in log odds.

A logistic regression on 255 rows of three languages that a reader labelled (docs/figures/worth); on 120 rows
of other sources the share of good ones rises as docs/offline.md says. "nothing" is a choice: no row that the
reader saw asked for a document's own data or named no subject.
"""
_FEW, _SOME = 2, 4
"""Content words that an answer adds to its question: a label, and a short phrase."""


def lacking(question: str, answer: str, headings: str, language: str) -> tuple[float, tuple[str, ...]]:
    """Return the worth of a question from 0 to 1, and what it lacks in words.

    Args:
        question: as it is asked.
        answer: without marks of sources.
        headings: the title and the headings above what was used, a line each.
        language: of all three.
    """
    lacks = dict(_lacks(read(question, language), read(answer, language), read(headings, language)))
    odds = FULL - sum(COSTS[feature] for feature in lacks.values())
    return 1 / (1 + math.exp(-odds)), tuple(lacks)


def _lacks(question: Reading, answer: Reading, headings: Reading) -> Iterator[tuple[str, str]]:
    """Yield what a question lacks in words, and the feature that it costs."""
    language, vocabulary = question.language, lexicon(question.language)
    titles = headings.text.casefold()
    places = [match[0] for match in QUOTED.finditer(question.text) if match[0][1:-1].casefold() in titles]
    unplaced = functools.reduce(lambda text, place: text.replace(place, " "), places, question.text)
    unquoted = read(unplaced, language)
    plain = vocabulary.question_words | vocabulary.question_openers
    subjects = {word.stem for word in unquoted.words if word.content and word.folded not in plain}
    if not subjects and not _has_digit(question.text):
        yield "it names no subject beside a place", "nothing"
    new = [word for word in answer.words if word.content and word.stem not in question.stems]
    keys = {word.stem: word.folded for word in unquoted.words if word.folded in vocabulary.wording.metadata}
    words_of_question = {word.folded for word in unquoted.words}
    is_polar = words_of_question.isdisjoint(vocabulary.question_openers)
    is_condition = not words_of_question.isdisjoint(vocabulary.conditional_words)
    if keys and not is_condition and subjects <= keys.keys() | set(headings.stems) and len(new) <= _SOME:
        yield f'it asks for data of the document: "{min(keys.values())}"', "nothing"
    if is_polar:
        return  # its answer tells yes from no, in whatever words
    is_circumstance = is_condition or not words_of_question.isdisjoint(
        frozenset().union(*vocabulary.interrogatives)
    )
    # "R290" and "get_limit()" tell as much as a figure, and of "fault code E23" one thing is to be known
    is_short = (
        len(new) <= _SOME
        and not _has_digit("".join(answer.term_set - question.term_set))
        and not any(is_identifier(word) and word not in question.text for word in answer.text.split())
    )
    is_plain = not is_circumstance and not _has_digit(unplaced)
    if is_short and len(new) <= _FEW and len(subjects) <= _SOME and is_plain:
        yield "its answer adds next to nothing", "few"
    elif is_short:  # a figure is all that is asked for
        yield "its answer adds little", "some"
    if is_circumstance:
        return
    is_definition = any(
        first.folded in vocabulary.question_openers and second.folded in vocabulary.copulas
        for first, second in pairwise(unquoted.words[:6])
    )
    if is_definition:
        yield "it asks what something is, and for no way, reason, place, time or condition", "definition"
    elif len(subjects) <= 2:
        yield "it asks for one thing of a subject, and for no way, reason, place, time or condition", "bare"
    else:
        yield "it asks for no way, reason, place, time or condition", "other"


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))
