"""Worth of a question: how likely a person would train on its row, whoever proves it, and what it lacks.

A row can be proved and teach nothing: "Status: Final". Each feature that is missing costs part of the worth;
the words for it are stored beside the reason, so that every rejection can be read.
"""

import functools
import math
from collections.abc import Iterator

from qa_pipeline.text.language import QUOTED
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency.reading import Reading, read

LEAST_WORTH = 0.4
"""Of rows that a strict reader labelled, 76 % reach it, and 87 % of the good ones."""
FULL = 0.18
"""The log odds that a strict reader calls a row good which lacks nothing."""
COSTS = {
    "few": 1.56,
    "some": 0.29,
    "narrow": 1.18,
    "nothing": 3.0,
}
"""What each feature takes from the log odds.

A logistic regression on 448 rows of three languages that two readers labelled (docs/figures/worth); on 120
rows of other sources the share of good ones rises as docs/offline.md says. "nothing" is a choice: no row that
the readers saw asked for a document's own data or named no subject.
"""
_FEW, _SOME, _MANY = 2, 4, 10
"""Content words that an answer adds to its question, or a question names: a label, a phrase, a sentence."""


def lacking(
    question: str, answer: str, headings: str, language: str, *, by_rules: bool = True
) -> tuple[float, tuple[str, ...]]:
    """Return the worth of a question from 0 to 1, and what it lacks in words.

    Args:
        question: as it is asked.
        answer: without marks of sources.
        headings: the title and the headings above what was used, a line each.
        language: of all three.
        by_rules: whether the rules wrote the row, which do not see what has to be said beside a sentence:
            "narrow" was fitted on rows of theirs alone.
    """
    lacks = dict(_lacks(read(question, language), read(answer, language), read(headings, language)))
    lacks = {words: feature for words, feature in lacks.items() if by_rules or feature != "narrow"}
    odds = FULL - sum(COSTS[feature] for feature in lacks.values())
    return 1 / (1 + math.exp(-odds)), tuple(lacks)


def _lacks(question: Reading, answer: Reading, headings: Reading) -> Iterator[tuple[str, str]]:
    """Yield what a question lacks in words, and the feature that it costs."""
    language, vocabulary = question.language, lexicon(question.language)
    titles = tuple(line.casefold() for line in headings.text.split("\n"))
    quoted = [match[0] for match in QUOTED.finditer(question.text)]
    places = [place for place in quoted if any(title.endswith(place[1:-1].casefold()) for title in titles)]
    unplaced = functools.reduce(lambda text, place: text.replace(place, " "), places, question.text)
    unquoted = read(unplaced, language)
    plain = vocabulary.question_words | vocabulary.question_openers
    subjects = {word.stem for word in unquoted.words if word.content and word.folded not in plain}
    new_terms = answer.term_set - question.term_set
    has_figure = any(term[0] == "=" for term in new_terms)
    if not subjects and not any(char.isdecimal() for char in question.text):
        yield "it names no subject beside a place", "nothing"
    new = [word for word in answer.words if word.content and word.stem not in question.stems]
    keys = {word.stem: word.folded for word in unquoted.words if word.folded in vocabulary.wording.metadata}
    asked = {word.folded for word in unquoted.words}
    is_polar = asked.isdisjoint(vocabulary.question_openers)
    is_condition = not asked.isdisjoint(vocabulary.conditional_words)
    if keys and not is_condition and subjects <= keys.keys() | set(headings.stems) and len(new) <= _SOME:
        yield f'it asks for data of the document: "{min(keys.values())}"', "nothing"
    is_circumstance = is_condition or not asked.isdisjoint(frozenset().union(*vocabulary.interrogatives))
    is_complete = is_circumstance or not asked.isdisjoint(vocabulary.copulas)  # "what does X support" is not
    enough = _SOME + 1 if is_complete else _MANY
    if len(subjects) <= _FEW and len(new) <= enough and not has_figure:
        yield "it names next to nothing of what it asks about", "narrow"
    if is_polar:
        return  # its answer tells yes from no, in whatever words
    is_short = len(new) <= _SOME and not has_figure
    if is_short and len(new) <= _FEW and len(subjects) <= _SOME and not is_circumstance:
        yield "its answer adds next to nothing", "few"
    elif is_short:  # a figure is all that is asked for
        yield "its answer adds little", "some"
