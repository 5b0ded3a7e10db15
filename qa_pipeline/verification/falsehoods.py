"""Falsify a sentence by changing one number, date, name or negation.

Only letters and digits are compared, so these tests are independent of the rules of the verification.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

from qa_pipeline.records import Passage
from qa_pipeline.storage.hashes import draw_number
from qa_pipeline.text.lexicon.languages import any_of_all, lexicon
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.text.words import fold, tokenize

_LONGEST = 300  # characters of a sentence that is falsified
_YEAR = r"(?:1[5-9]|20)\d\d"
_VALUES = {
    "date": re.compile(rf"(?<![\w,:/–-])({_YEAR})(?=(?:-\d\d-\d\d)?(?![\w:/–-]|[.,]\d| \d))"),
    "number": re.compile(
        rf"(?<![\w.,:/§–-])(?<!\d )(?!{_YEAR}(?!\d))(\d{{1,6}}(?:[.,]\d{{1,3}})?)(?![\w:/–-]|[.,]\d| \d)"
    ),
    "name": re.compile(r"(?<![\w.-])([^\W\d_]+-?\d+(?:\.\d+)*)(?![\w-]|\.\d)"),
}
"""Values that can be changed, such as "1998", "12.5" and "B-52". The group is the changed part."""
_BOUND = re.compile(rf"\b{any_of_all('proof.bounds')}\b|[<>≤≥±~+]", re.IGNORECASE)
"""Words of a bound or guess. Another value next to them need not be false."""
_NEAR, _LARGEST_WORD = 18, 12
"""Characters searched on each side of a value, and the largest number that is usually spelled out."""


@dataclass(frozen=True, slots=True)
class Falsehood:
    """A falsified sentence and the kind of its change: number, date, name or negation."""

    text: str
    kind: str


def falsehoods(sentence: str, passage: str, language: str, seed: int = 0) -> Iterator[Falsehood]:
    """Yield the sentence with one change that the passage does not support, once for each position."""
    for part in chain(_changeable_values(sentence), _changeable_negations(sentence, language)):
        # a changed value must be absent from the passage, unlike an added or dropped "not"
        is_negation = part.kind == "negation"
        usable = [text for text in part.replacements if is_negation or not contains(passage, text)]
        if usable:
            replacement = usable[draw_number(seed, sentence, part.start) % len(usable)]
            changed = sentence[: part.start] + replacement + sentence[part.end :]
            if not contains(passage, changed):
                yield Falsehood(changed, part.kind)


def contains(passage: str, value: str) -> bool:
    """Return True if the passage contains the value as separate words, with or without digit grouping."""
    return any(
        text in form and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", form) is not None
        for text in _forms(value)
        for form in _forms(passage)
    )


@functools.lru_cache(maxsize=1024)
def _forms(text: str) -> tuple[str, str]:
    plain = fold(text).casefold()
    return plain, re.sub(r"(?<=\d)[., ](?=\d)", "", plain)


class _Part(NamedTuple):
    """A part of a sentence that can be changed. `kind` is the kind of the `Falsehood`."""

    kind: str
    start: int
    end: int
    replacements: list[str]


def _changeable_values(sentence: str) -> Iterator[_Part]:
    """Yield the dates, numbers and names that can be changed, such as "12.5" to "12.7"."""
    for kind, pattern in _VALUES.items():
        for match in pattern.finditer(sentence):
            start, end = match.span(1)
            near = sentence[max(0, match.start() - _NEAR) : start], sentence[end : end + _NEAR]
            if not any(map(_BOUND.search, near)):
                yield _Part(kind, start, end, _other_digits(match[1]))


def _changeable_negations(sentence: str, language: str) -> Iterator[_Part]:
    """Yield the only "not", to be removed, or the end of the first verb, to be followed by a "not"."""
    words, not_word = tokenize(sentence, language), lexicon(language).not_word
    negations = [word for word in words if word.negative]
    if not negations:
        # a verb that opens the sentence asks a question
        verbs = (word for word in words[1:] if word.folded in lexicon(language).finite_verbs)
        verb = next(verbs, None)
        if verb is not None and sentence[verb.end : verb.end + 1] == " ":
            yield _Part("negation", verb.end, verb.end, [f" {not_word}"])
    elif len(negations) == 1 and negations[0].folded == not_word and negations[0].start > 0:
        yield _Part("negation", negations[0].start - 1, negations[0].end, [""])  # with the space before it


def _other_digits(text: str) -> list[str]:
    """Return variants of a value with another last digit, or with a digit before its only digit."""
    if len(text) == 1:
        values = [digit + text for digit in "123456789"]
    else:
        last = max(index for index, letter in enumerate(text) if letter.isdigit())
        other_digits = "0123456789".replace(text[last], "")
        values = [f"{text[:last]}{digit}{text[last + 1 :]}" for digit in other_digits]
    # without small numbers, which a passage may spell out
    return [value for value in values if not value.isdecimal() or int(value) > _LARGEST_WORD]


def probe_of(passages: Sequence[Passage], claims: Sequence[str], language: str) -> str:
    """Return a probe, a false claim to test if a model reads the passages. The result is deterministic.

    It is a falsified sentence of the passages, and not part of a claim. Passages in the `language` of the
    claims are preferred, since a probe in another language is easy to notice. If no sentence can be
    falsified, a number is added to one.
    """
    in_language = [passage for passage in passages if passage.language == language] or passages
    language_by_sentence = {
        " ".join(passage.text[start:end].split()): passage.language
        for passage in in_language
        for start, end in sentence_spans(passage.text, passage.language)
        if end - start <= _LONGEST and not passage.text.startswith("#", start)  # a heading
    }
    texts = [text for passage in passages for text in (passage.title, *passage.section_path, passage.text)]
    all_text, all_claims = "\n\n".join(texts), "\n".join(claims).casefold()
    seed = draw_number(*claims)
    # sentences with a full stop first, in pseudo-random order
    ordered = sorted(language_by_sentence, key=lambda line: (not line.endswith("."), draw_number(seed, line)))
    for sentence in ordered:
        for false in falsehoods(sentence, all_text, language_by_sentence[sentence], seed):
            if false.text.rstrip(".").casefold() not in all_claims:
                return false.text
    # instead, add an absent number to a sentence, or to any text if there is no sentence
    sentence = ordered[0] if ordered else all_text or all_claims
    words = sentence[:_LONGEST].rstrip(".").split() or ["1"]
    numbers = map(str, count(_LARGEST_WORD + 1 + seed % 900))  # pseudo-random, too large to be spelled out
    absent = next(number for number in numbers if not contains(f"{all_text} {all_claims}", number))
    return " ".join([*words, absent])
