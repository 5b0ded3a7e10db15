"""Canaries of the kinds the checks were built for: one value, name, word or passage changed, or other words.

A false claim denies its sentence for sure: a number or date has no bound before it, a new value is nowhere in
the passage. A true one states the same or less.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.canaries.material import (
    Draft,
    Generator,
    Material,
    Sentence,
    lower_words,
    numerals,
    on_text,
    words,
)
from qa_pipeline.verification.consistency.cells import row_cells
from qa_pipeline.verification.consistency.names import Name
from qa_pipeline.verification.consistency.numbers import Number
from qa_pipeline.verification.consistency.reading import Reading, read

_YEARS = 9  # a year is moved by as many at most
_BEFORE, _AFTER = 24, 16
"""Characters in which a bound may be written beside a value."""
_OTHER_BEFORE = re.compile(r"\d\W{0,3}(?:\w{1,30}\W{1,2})?$")
_OTHER_AFTER = re.compile(r"\+|\W{0,3}(?:\w{1,30}\W{1,2})?\d")
"""Another number beside a value: the two may be a range."""
_LARGEST_WORD = 12
"""Largest number that is spelled out: up to twelve each language has a word for it that is no compound."""
_TRIES = 8
"""Chunks of other documents tried for one that does not state the sentence too; each is a reading."""
_MOST_SHARED = 0.6  # of the longer words of a sentence: a passage with more may prove it
_FEWEST_WORDS = 5
"""Words of a sentence that is left when its last clause is cut off: fewer state too little to be answered."""
_LONGEST_CELL = 60
"""Characters of a name of a column and of a value that are stated in words: longer ones are sentences."""
_TOGETHER = 400
"""Characters of two sentences that are joined by "and": answers hardly hold longer ones."""


def _read(sentence: Sentence) -> tuple[Reading, Lexicon]:
    return read(sentence.text, sentence.language), lexicon(sentence.language)


def _put(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _bounded(text: str, start: int, end: int, vocabulary: Lexicon) -> bool:
    """Return whether a value is a bound, an end of a range or a guess: another value need not deny it."""
    before, after = text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]
    phrases = (
        *vocabulary.lower_bounds,
        *vocabulary.upper_bounds,
        *vocabulary.approximations,
        *vocabulary.exclusive,
    )
    neighbours = f"{before} {after}".casefold()
    bound = any(re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", neighbours) for phrase in phrases)
    return bound or _OTHER_BEFORE.search(before) is not None or _OTHER_AFTER.match(after) is not None


def _counts(reading: Reading, vocabulary: Lexicon) -> Iterator[Number]:
    """Yield numbers in figures that say how many or how much."""
    for number in reading.numbers:
        plain = number.kind == "cardinal" and not number.as_word and re.match(r"\d+(?![\d.,:/])", number.text)
        if plain and not _bounded(reading.text, number.start, number.end, vocabulary):
            yield number


def number_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with one digit of a number changed."""
    reading, vocabulary = _read(sentence)
    numbers_of_chunk = numerals(material.chunks[sentence.chunk_id])
    for number in _counts(reading, vocabulary):
        digits = re.match(r"\d+", number.text)[0]  # type: ignore[index]
        place = len(digits) - 1 - (len(digits) > 1 and digits.endswith("0"))
        others = [str(digit) for digit in range(1, 10) if str(digit) != digits[place]]
        new = digits[:place] + material.pick(others, sentence.text, str(number.start)) + digits[place + 1 :]
        if new not in numbers_of_chunk:
            yield _put(reading.text, number.start, number.start + len(digits), new)


def year_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with a year moved by up to nine."""
    reading, vocabulary = _read(sentence)
    numbers_of_chunk = numerals(material.chunks[sentence.chunk_id])
    for date in reading.dates:
        at = date.text.find(str(date.year)) if date.year and not date.decade else -1
        if at >= 0 and not _bounded(reading.text, date.start, date.end, vocabulary):
            years = [str(date.year + step) for step in range(-_YEARS, _YEARS + 1) if step and date.year]
            new = material.pick(years, sentence.text, str(date.start))
            if new not in numbers_of_chunk:
                yield _put(reading.text, date.start + at, date.start + at + 4, new)


def _units(material: Material, language: str) -> Mapping[str, Mapping[str, float]]:
    """Return the units of each dimension in the batch's sentences, as written after amounts over one."""
    units_by_document: Mapping[str, Mapping[str, float]] = material.once(
        "units", language, lambda: _find_units(material, language)
    )
    return units_by_document


def _find_units(material: Material, language: str) -> dict[str, dict[str, float]]:
    sources: dict[str, dict[str, float]] = {}
    for sentence in material.sentences:
        if sentence.language != language:
            continue
        for number in read(sentence.text, language).numbers:
            written = re.fullmatch(r"\d+ ([^\W\d_]+)", number.text)
            if number.unit and written and number.values[0] > 1:
                sources.setdefault(number.unit.dimension, {})[written[1]] = number.unit.factor
    return sources


def unit_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with a unit replaced by another of its dimension from the batch."""
    reading, vocabulary = _read(sentence)
    written = _units(material, sentence.language)
    for number in _counts(reading, vocabulary):
        unit = number.unit
        if unit is None or number.values[0] <= 1:
            continue
        alike = written.get(unit.dimension, {})
        others = sorted(name for name, factor in alike.items() if factor != unit.factor)
        if others and " " in number.text:
            new = material.pick(others, sentence.text, str(number.start))
            at = number.start + number.text.index(" ") + 1
            yield _put(reading.text, at, number.end, new)


def units_converted(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with an amount converted to a smaller unit of the batch."""
    reading, vocabulary = _read(sentence)
    written = _units(material, sentence.language)
    for number in _counts(reading, vocabulary):
        unit = number.unit
        if unit is None or " " not in number.text:
            continue
        for name, factor in sorted(written.get(unit.dimension, {}).items()):
            amount = number.values[0] * unit.factor / factor
            if factor < unit.factor and amount == int(amount):
                yield _put(reading.text, number.start, number.end, f"{amount:.0f} {name}")


def name_changed(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with a name replaced by one of the batch that the passage does not hold."""
    reading, _ = _read(sentence)
    passage = material.chunks[sentence.chunk_id].casefold()
    names: list[str] = material.once(
        "names", sentence.language, lambda: _all_names(material, sentence.language)
    )
    for name in _names(sentence, material):
        alike = [
            other
            for other in names
            if other.isupper() == name.text.isupper()
            and other.endswith("s") == name.text.endswith("s")
            and other[:3].casefold() != name.text[:3].casefold()
            and other.casefold() not in passage
        ]
        if alike and reading.text.count(name.text) == 1:
            yield _put(reading.text, name.start, name.end, material.pick(alike, sentence.text, name.text))


def _all_names(material: Material, language: str) -> list[str]:
    sentences = (sentence for sentence in material.sentences if sentence.language == language)
    return sorted({name.text for sentence in sentences for name in _names(sentence, material)})


def _names(sentence: Sentence, material: Material) -> list[Name]:
    """Return the names of one word that its document writes with a capital throughout."""
    small = lower_words(material.document(sentence.document_id))
    names = read(sentence.text, sentence.language).names
    return [
        name for name in names if not name.identifier and name.text.isalpha() and name.folded not in small
    ]


def negation_inserted(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with its main clause negated."""
    reading, vocabulary = _read(sentence)
    ahead: set[str] = set()
    denied = {word.folded for word in reading.words} & vocabulary.denying
    for word in () if denied else reading.words:
        if word.folded in vocabulary.finite_verbs and ahead and reading.text[word.end : word.end + 1] == " ":
            if not ahead & (vocabulary.conditional_words | vocabulary.relatives):
                yield _put(reading.text, word.end, word.end, f" {vocabulary.not_word}")
            return
        ahead.add(word.folded)


def negation_removed(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence without its only negation."""
    reading, vocabulary = _read(sentence)
    negated = [word for word in reading.words if word.folded in vocabulary.negations]
    scope = (
        vocabulary.universal
        | vocabulary.exclusive
        | vocabulary.contrasts - {vocabulary.not_word}
        | vocabulary.negation_tails
    )
    alone = len(negated) == 1 and negated[0].folded == vocabulary.not_word
    if alone and not scope & {word.folded for word in reading.words}:
        yield _put(reading.text, negated[0].start - 1, negated[0].end, "")


def other_column(row: Sentence, material: Material) -> Iterator[str]:
    """Yield the row with the value of one column replaced by that of another."""
    cells = named_cells(row.text, row.language)
    document = material.document(row.document_id)
    for (column, value), (_, second) in combinations(cells[1:], 2):
        first, two = value.casefold(), second.casefold()
        figures = {any(sign.isdigit() for sign in text) for text in (first, two)}
        if (
            len(figures) == 1
            and first not in two
            and two not in first
            and f"{column}: {second}" not in document
        ):
            yield cell_statement(column, cells[0][1], second, row.language)


def named_cells(row: str, language: str) -> list[tuple[str, str]]:
    """Return column and value of each cell of a table row, the key first; none where one is empty or long."""
    read_as = row_cells(row, language)
    if read_as is None or not read_as.has_names:
        return []
    cells = [(cell.column.text, cell.value.text) for cell in read_as.cells]
    return cells if all(0 < len(text) <= _LONGEST_CELL for cell in cells for text in cell) else []


def cell_statement(column: str, key: str, value: str, language: str) -> str:
    """Return a cell of a table in words."""
    statement = lexicon(language).cell_sentence.format(column, key, value.rstrip("."))
    return statement[0].upper() + statement[1:]


def other_document(sentence: Sentence, material: Material) -> Iterator[Draft]:
    """Yield the sentence citing a passage of another document that has few of its longer words."""
    others = [owner for owner in material.owners if material.owners[owner] != sentence.document_id]
    sentence_words = {word.casefold() for word in words(sentence.text) if len(word) > 3}
    for place in range(_TRIES if others else 0):
        chosen = material.pick(others, sentence.text, str(place))
        chosen_words = {word.casefold() for word in words(material.chunks[chosen])}
        if sentence_words and len(sentence_words & chosen_words) <= _MOST_SHARED * len(sentence_words):
            yield Draft(sentence.text, chosen)
            return


def brackets_dropped(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence without what is in brackets, which must limit nothing."""
    _, vocabulary = _read(sentence)
    for match in re.finditer(r" \(([^()]{4,})\)", sentence.text):
        opener = match[1].split()[0].casefold() if match[1].split() else ""
        if opener not in vocabulary.stop_words and not _limits(match[1], vocabulary):
            yield _put(sentence.text, match.start(), match.end(), "")


def clause_dropped(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the first of two whole statements joined by "and"."""
    _, vocabulary = _read(sentence)
    match = re.search(rf",? {vocabulary.and_word} (\w+) [^,]+\.$", sentence.text)
    remainder = sentence.text[: match.start()] if match else ""
    is_clause = match is not None and match[1] in vocabulary.subject_pronouns and "," not in remainder
    if is_clause and not _limits(sentence.text, vocabulary) and len(remainder.split()) >= _FEWEST_WORDS:
        yield f"{remainder}."


def _limits(text: str, vocabulary: Lexicon) -> bool:
    scope = vocabulary.limiting | vocabulary.conditional_words | vocabulary.collectives
    scope |= vocabulary.partial | vocabulary.weak
    return bool(scope & {word.casefold() for word in words(text)})


def sentences_merged(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield two neighbouring sentences joined by "and"."""
    after, vocabulary = sentence.following or "", lexicon(sentence.language)
    first, text = after.split(" ", 1)[0].casefold(), material.document(sentence.document_id)
    links = vocabulary.openings | vocabulary.conjunctions | vocabulary.joiners
    if after and first not in links and len(sentence.text) + len(after) <= _TOGETHER:
        inside = re.search(rf"[^\W\d_],? {re.escape(after.split(' ', 1)[0])}\b", text)
        small = first in vocabulary.stop_words or not (vocabulary.nouns_capitalised or inside)
        second = after[0].lower() + after[1:] if small else after
        yield f"{sentence.text[:-1]}, {vocabulary.and_word} {second}"


def numbers_as_words(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with a number up to twelve in words."""
    reading, vocabulary = _read(sentence)
    spelt: dict[int, str] = {}
    for word, value in vocabulary.numbers.items():
        if value in range(2, _LARGEST_WORD + 1):
            spelt.setdefault(int(value), word)
    for number in _counts(reading, vocabulary):
        counted = re.fullmatch(r"(\d+)( [^\W\d_]+)?", number.text)
        before, after = reading.text[: number.start], reading.text[number.end :]
        between = re.search(r"[^\W\d_] $", before) and re.match(r"[ .,]", after)
        labelled = not before.split() or not before.split()[-1].islower()
        if counted and between and not labelled and int(counted[1]) in spelt:
            word = spelt[int(counted[1])]
            yield _put(reading.text, number.start, number.start + len(counted[1]), word)


def words_as_numbers(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with a number word in figures."""
    reading, _ = _read(sentence)
    for number in reading.numbers:
        counts = number.as_word and number.kind == "cardinal" and number.unit is None and number.start
        if counts and number.value in range(2, _LARGEST_WORD + 1):
            yield _put(reading.text, number.start, number.end, f"{number.value:.0f}")


GENERATORS = (
    Generator("number", "known", "digit_changed", on_text(number_changed)),
    Generator("date", "known", "year_changed", on_text(year_changed)),
    Generator("unit", "known", "unit_of_dimension", on_text(unit_changed)),
    Generator("name", "known", "name_of_batch", on_text(name_changed)),
    Generator("negation", "known", "inserted", on_text(negation_inserted)),
    Generator("negation", "known", "removed", on_text(negation_removed)),
    Generator("cell", "known", "other_column", on_text(other_column), over="rows"),
    Generator("wrong_passage", "known", "other_document", other_document),
    Generator("clause_dropped", "known", "brackets_dropped", on_text(brackets_dropped), "supported"),
    Generator("clause_dropped", "known", "statement_dropped", on_text(clause_dropped), "supported"),
    Generator("sentences_merged", "known", "merged_by_and", on_text(sentences_merged), "supported"),
    Generator("numbers_as_words", "known", "figures_as_words", on_text(numbers_as_words), "supported"),
    Generator("numbers_as_words", "known", "words_as_figures", on_text(words_as_numbers), "supported"),
    Generator("units_converted", "known", "to_smaller_unit", on_text(units_converted), "supported"),
)
