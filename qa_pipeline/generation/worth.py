"""Worth of a question: what it lacks that would make its row worth training on, whoever proves it.

A row can be proved and teach nothing: "Status: Final". Each feature that is missing costs part of the worth;
the words for it are stored beside the reason, so that every rejection can be read.
"""

import functools
from collections.abc import Iterator

from qa_pipeline.text.language import QUOTED
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency.reading import Reading, read

LEAST_WORTH = 0.5
"""A question that lacks one feature that alone makes it worthless, or two of the others, is below."""
_FEWEST_NEW = 2
"""Words that an answer adds to its question; a single one is a label, unless it is a figure or a denial."""
_LABEL = 4
"""Words of an answer that is a label: "Final", "Apache License 2.0"."""


def lacking(question: str, answer: str, headings: str, language: str) -> tuple[float, tuple[str, ...]]:
    """Return the worth of a question from 0 to 1, and what it lacks in words.

    Args:
        question: as it is asked.
        answer: without marks of sources.
        headings: the title and the headings above what was used, a line each.
        language: of all three.
    """
    costs = dict(_costs(read(question, language), read(answer, language), read(headings, language)))
    return max(0.0, 1.0 - sum(costs.values())), tuple(costs)


def _costs(question: Reading, answer: Reading, headings: Reading) -> Iterator[tuple[str, float]]:
    """Yield what a question lacks, and how much of its worth that takes."""
    language, vocabulary = question.language, lexicon(question.language)
    titles = {line.casefold() for line in headings.text.split("\n")}
    places = [match[0] for match in QUOTED.finditer(question.text) if match[0][1:-1].casefold() in titles]
    unplaced = functools.reduce(lambda text, place: text.replace(place, " "), places, question.text)
    unquoted = read(unplaced, language)
    plain = vocabulary.question_words | vocabulary.question_openers
    subjects = {word.stem for word in unquoted.words if word.content and word.folded not in plain}
    has_subject = bool(subjects) or any(char.isdecimal() for char in question.text)
    if not has_subject:
        yield "it names no subject beside a place", 0.6
    new = [word for word in answer.words if word.content and word.stem not in question.stems]
    denies = any(word.folded in vocabulary.negations for word in answer.words)
    figures = set(answer.terms) - set(question.terms)
    tells = denies or any(term.startswith("=") or any(map(str.isdecimal, term)) for term in figures)
    keys = {word.stem: word.folded for word in unquoted.words if word.folded in vocabulary.wording.metadata}
    is_condition = any(word.folded in vocabulary.conditional_words for word in unquoted.words)
    if keys and not is_condition and subjects <= keys.keys() | set(headings.stems) and len(new) <= _LABEL:
        yield f'it asks for data of the document: "{min(keys.values())}"', 0.6
    quoted = {stem for place in places for stem in read(place, language).stems}
    stated = {word.stem for word in answer.words if word.content and word.stem not in unquoted.stems}
    if stated and not tells and stated <= quoted:
        yield "the name of its place answers it", 0.6
    if len(new) < _FEWEST_NEW and not tells:
        yield "its answer adds next to nothing", 0.3
    if subjects <= set(headings.stems) and len(subjects) <= 1:
        yield "it asks for no more than its heading says", 0.3
