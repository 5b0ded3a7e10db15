"""Probes: false claims made from the passages of a request, which show whether a model reads them.

A probe is a statement of the passages with one slot changed by a generator of canaries. Its new value is in
none of the passages, so that it is false whatever else they say. It depends on nothing but the passages and
the claims of its request: equal rows give equal requests, whatever else is in the batch. Hence no name is
changed, since another one would have to come from outside of the passages.
"""

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from qa_pipeline.records import Passage
from qa_pipeline.storage.hashes import draw_number
from qa_pipeline.text.lexicon.languages import LEXICONS, lexicon
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.canaries.known import GENERATORS, cell_statement, named_cells
from qa_pipeline.verification.canaries.material import (
    Material,
    Sentence,
    is_statement,
    list_items,
    lower_words,
    numerals,
)

Choice = TypeVar("Choice")
SLOTS = ("number", "date", "unit", "negation")
NUMBER_ADDED = "number_added"
"""The kind of a probe for which the passages have no slot."""
_OF_VALUES = tuple(generator for generator in GENERATORS if generator.kind in SLOTS[:-1])
_OF_NEGATIONS = tuple(generator for generator in GENERATORS if generator.kind == SLOTS[-1])
_DIGIT = re.compile(r"\d")
_FEWEST_WORDS = 3
"""Words of a statement: a passage may be one short sentence."""
_TRIES = 4
"""Values that are drawn for a slot: some are in the passages already."""
_MARK = re.compile(r"(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_AMOUNT = re.compile(r"(?<!\d)\d{1,18}\s[^\W\d_]{1,40}")
_FIRST_NUMBER, _NUMBERS = 13, 970
"""Of numbers that are added: few of them are written as words, and none is a year."""
_LONGEST_LINE = 300
_MARKS = "#>|*+-• \t"


@dataclass(frozen=True, slots=True)
class Probe:
    """A false claim, and the kind of its change: one of `SLOTS`, or `NUMBER_ADDED`."""

    text: str
    kind: str


def probe_of(passages: Sequence[Passage], claims: Sequence[str], language: str) -> Probe:
    """Return a claim that the passages do not state, always the same for the same passages and claims.

    A value is changed where a statement has one, else a negation, else a number is added.

    Args:
        passages: as the model sees them.
        claims: the real ones of the request, none of which the probe repeats.
        language: of the claims. Passages in it come first: a probe in another one would stand out.
    """
    texts = (text for passage in passages for text in (passage.title, *passage.section_path, passage.text))
    shown, seed = "\n\n".join(texts), draw_number(*claims)
    sources = [passage for passage in passages if passage.language == language] or passages
    statements = [
        Sentence("", "", source.language, text, None)
        for source in sources
        for text in _statements(source.text, source.language)
    ]
    folded = "\n".join(claims).casefold()
    with_digits = [statement for statement in statements if _DIGIT.search(statement.text)]
    rounds = [(with_digits, _OF_VALUES, seed + draw) for draw in range(_TRIES)]
    for choices, generators, drawn in (*rounds, (statements, _OF_NEGATIONS, seed)):
        among = Material(tuple(statements), (), (), {"": shown}, {"": ""}, drawn)
        for statement, generator in itertools.product(_turned(choices, seed), _turned(generators, seed)):
            for draft in generator.make(statement, among):
                is_new = draft.claim.rstrip(".").casefold() not in folded
                if is_new and not _is_value_shown(draft.claim, statement, shown):
                    return Probe(draft.claim, generator.kind)
    return Probe(_with_number(statements, shown, claims, language, seed), NUMBER_ADDED)


def _turned(choices: Sequence[Choice], seed: int) -> Sequence[Choice]:
    """Return the choices in order, from a drawn place on."""
    start = seed % len(choices) if choices else 0
    return [*choices[start:], *choices[:start]]


@functools.lru_cache(maxsize=1024)
def _statements(text: str, language: str) -> tuple[str, ...]:
    """Return the statements of a passage: its sentences, cells of tables, and items behind their lead-ins."""
    return tuple(dict.fromkeys(_lines(text, language))) if language in LEXICONS else ()


def _lines(text: str, language: str) -> Iterator[str]:
    for start, end in sentence_spans(text, language):
        line = " ".join(text[start:end].split())
        if " | " in line:
            cells = named_cells(line, language)
            yield from (cell_statement(name, cells[0][1], value, language) for name, value in cells[1:])
        elif is_statement(line := _MARK.sub("", line, count=1)) and len(line.split()) >= _FEWEST_WORDS:
            yield line
    yield from (f"{lead_in} {item}" for lead_in, item in list_items(text))


def _is_value_shown(claim: str, statement: Sentence, shown: str) -> bool:
    """Return whether the passages hold the new number in words, or the new amount."""
    new = numerals(claim) - numerals(statement.text)
    spelt = {word for word, value in lexicon(statement.language).numbers.items() if f"{value:.12g}" in new}
    amounts = {*_AMOUNT.findall(claim)} - {*_AMOUNT.findall(statement.text)}
    return not spelt.isdisjoint(lower_words(shown.casefold())) or any(amount in shown for amount in amounts)


def _with_number(
    statements: Sequence[Sentence], shown: str, claims: Sequence[str], language: str, seed: int
) -> str:
    """Return a statement, else a line of the passages or a claim, with a number that none of them holds."""
    vocabulary, every = lexicon(language), "\n".join((shown, *claims))
    lines = [statement.text for statement in statements] or [
        line.lstrip(_MARKS) for line in every.split("\n") if len(line.split()) > 1
    ]
    tokens = _turned(lines or every.split() or [""], seed)[0][:_LONGEST_LINE].split()
    places = [
        place
        for place, token in enumerate(tokens)
        if place and token.isalpha() and token.casefold() not in vocabulary.stop_words
    ]
    behind_article = [place for place in places if tokens[place - 1].casefold() in vocabulary.definite]
    place = _turned(behind_article or places or [len(tokens)], seed)[0]
    present = numerals(every)
    numbers = map(str, itertools.count(_FIRST_NUMBER + seed % _NUMBERS))
    absent = next(number for number in numbers if number not in present)
    return " ".join([*tokens[:place], absent, *tokens[place:]])
