"""Table rows as cells: a value is proof only for its own row and its own column."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import Token
from qa_pipeline.verification.consistency.allowed import common_beginning, units
from qa_pipeline.verification.consistency.reading import Reading, read

_BAR, _COLON = " | ", ": "
_LONGEST_NAME = 120
"""Characters before the first colon or bar of a row; more are a sentence."""
_LONGEST_VALUE = 12
"""Words of a key's value; more are a sentence."""
_FEWEST_SHARED = 5
"""Letters that two forms of one word begin with: shorter beginnings are often a prefix."""
_SHARED_LETTERS = 0.6
"""Share of the longer form that both begin with: a smaller one joins words of one family that say other
things."""
_SHORTEST_WORD = 3
"""Letters of a word before its ending: shorter ones are other words, as "en" and "ena"."""
_BRACKETS = re.compile(r"(?<!\w)\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a row and the name of its column, empty where the table has none."""

    column: Reading
    value: Reading


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one line, the first of them the row's key; `has_names` is true in tables."""

    cells: tuple[Cell, ...]
    has_names: bool

    @property
    def key(self) -> frozenset[str]:
        """Return the terms of the key; none where the first cell is a bare figure like the others."""
        first = self.cells[0].value
        return frozenset(first.terms if any(not term.startswith("=") for term in first.terms) else ())

    @property
    def is_sentence(self) -> bool:
        """Return whether the line is rather a sentence with a colon, whose words have an order."""
        last = self.cells[-1].value
        table = len(self.cells) > 1 and all(cell.column.text for cell in self.cells)
        long = len(last.words) > _LONGEST_VALUE or last.text.rstrip().endswith(".")
        return not table and len(self.cells) <= 2 and long

    def proof(self, claim: Reading, question: Reading, headings: Reading) -> tuple[list[str], list[str]]:
        """Return what the row does not prove of a claim, and the cells the claim denies, in words.

        A row proves whole cells: claim or question names the row's key and each cell's column, and in the
        claim each value follows the name of its own column, if any is named. A claim denies the cell of a
        column it names where it holds another figure in the place of the value.
        """
        vocabulary = lexicon(claim.language)
        stated = [_key(word) for word in claim.words]
        question_keys = {_key(word) for reading in (question, headings) for word in reading.words}
        mentioned = {*stated, *question_keys}
        values = [_tokens(_without_brackets(cell.value)) for cell in self.cells]
        columns = [_tokens(cell.column) for cell in self.cells]
        twins = {
            at
            for at, column_keys in enumerate(columns)
            if sum(set(column_keys) == set(other) for other in columns) > 1
        }
        inside = {key for cell in self.cells for text in (cell.value, cell.column) for key in _tokens(text)}
        written = {word.folded for cell in self.cells for word in (*cell.value.words, *cell.column.words)}
        doubts = [
            f'"{word.folded}" added'
            for word, key in zip(claim.words, stated, strict=True)
            if key not in inside | question_keys
            and (word.content or word.folded not in vocabulary.row_glue)
            and not any(_inflected(word.folded, other, vocabulary.endings) for other in written)
        ]
        key_named = set(values[0]) <= mentioned if self.key or len(self.cells) > 1 else True
        if not key_named:
            doubts.append(f'row "{self.cells[0].value.written}" is not named')
        ends: list[tuple[int, int, bool]] = []
        denied = []
        figures = _figures(claim) - _figures(question) - _figures(headings)
        for place in range(1 if len(self.cells) > 1 else 0, len(self.cells)):
            value, column = values[place], columns[place]
            at = find_run(stated, value)
            named_at = (
                find_run(stated, column) if place in twins else _column_place(stated, column, vocabulary)
            )
            plain = not column or set(column) <= vocabulary.value_columns
            name_at = find_run(stated, values[0]) if not self.has_names else None if plain else named_at
            follows = at is not None and name_at is not None and name_at < at
            if at is not None and (follows or not set(value) <= question_keys):
                ends.append((at, place, True))
                if (
                    not plain
                    and named_at is None
                    and (place in twins or not _all_named(column, mentioned, vocabulary))
                ):
                    doubts.append(f'column "{self.cells[place].column.written}" is not named')
            partly = set(value) & set(stated) - question_keys - set().union(*values[:1], *columns)
            if at is None and partly and not any(partly <= set(other) for other in values if other != value):
                doubts.append(f'part of "{self.cells[place].value.written}"')
            if named_at is not None and not plain:
                ends.append((named_at, place, False))
            is_wanted = (
                named_at is not None
                or not self.has_names
                or (not ends and _all_named(column, question_keys, vocabulary))
            )
            theirs = _figures(self.cells[place].value)
            others = figures - theirs - _figures(self.cells[0].value) - _figures(self.cells[place].column)
            if key_named and is_wanted and at is None and theirs and others and not theirs & figures:
                denied.append(f'"{self.cells[place].value.written}" became "{" ".join(sorted(others))}"')
        used = [self.cells[place].value for _, place, is_value in ends if is_value]
        if not used:
            doubts.append("no whole cell")
        value_signs = {sign for text in used for sign in _signs(text)}
        allowed = value_signs.union(*map(_signs, (question, headings)))
        differing = {*(_signs(claim) - allowed), *(value_signs - _signs(claim))}
        doubts += [f'sign "{sign[1:]}" differs' for sign in sorted(differing)]
        misplaced = list(self._out_of_order(ends, vocabulary))
        doubts += misplaced
        denied += misplaced if key_named else []
        return list(dict.fromkeys(doubts)), denied

    def _out_of_order(self, ends: Sequence[tuple[int, int, bool]], vocabulary: Lexicon) -> Iterator[str]:
        """Yield values that follow the name of another column than their own."""
        last: int | None = None
        if len({place for _, place, _ in ends}) == 1:
            return  # "Oslo has 700 000 inhabitants" names one column only, behind its value
        for _, place, is_value in sorted(ends):
            at_column = any(at == place and not value for _, at, value in ends)
            plain = set(_tokens(self.cells[place].column)) <= vocabulary.value_columns
            if is_value and not plain and last != place and (last is not None or at_column):
                yield f'"{self.cells[place].value.written}" does not follow the name of its column'
            last = (last if plain else None) if is_value else place


def _signs(reading: Reading) -> set[str]:
    """Return the signs of a text that say something, those of negative numbers included."""
    signs = {unit.key for unit in units(reading) if unit.key.startswith("~")}
    signs |= {f"~{sign}" for sign in "€$£" if sign in reading.text}
    return signs | {"~-" for number in reading.numbers if number.values[0] < 0}


def _figures(reading: Reading) -> set[str]:
    """Return the numbers of a text, as written and in base units, and words with digits, such as E11."""
    values = {f"{value:.12g}" for number in reading.numbers for value in (number.values[0], number.value)}
    return values | {term.lstrip("=") for term in reading.terms if any(map(str.isdecimal, term))}


def _inflected(word: str, other: str, endings: Set[str]) -> bool:
    """Return whether a word is another with an ending that changes nothing in what it says: yta, ytan."""
    short, long = sorted((word, other), key=len)
    return len(short) >= _SHORTEST_WORD and long.startswith(short) and long[len(short) :] in endings


def _key(word: Token) -> str:
    return word.stem if word.content else word.folded


def _tokens(reading: Reading) -> list[str]:
    return [_key(word) for word in reading.words]


def _without_brackets(reading: Reading) -> Reading:
    return read(_BRACKETS.sub(" ", reading.text), reading.language)


def _all_named(column: Sequence[str], words: Set[str], vocabulary: Lexicon) -> bool:
    """Return whether a text names a column: by its words, or a compound of them."""
    return bool(column) and all(any(_related(key, word, vocabulary) for word in words) for key in column)


def _column_place(stated: Sequence[str], column: Sequence[str], vocabulary: Lexicon) -> int | None:
    """Return the place where a claim names a column; None where it does not."""
    places = [
        next((at for at, word in enumerate(stated) if _related(key, word, vocabulary)), None)
        for key in column
    ]
    matched = [at for at in places if at is not None]
    return max(matched) if matched and len(matched) == len(places) else None


def _related(key: str, word: str, vocabulary: Lexicon) -> bool:
    """Return whether two words are forms of one: backspolning and backspolas share most of their letters."""
    if key == word or _inflected(word, key, vocabulary.endings):
        return True
    shared = len(common_beginning(key, word))
    return shared >= max(_FEWEST_SHARED, _SHARED_LETTERS * max(len(key), len(word)))


def find_run(keys: Sequence[str], run: Sequence[str]) -> int | None:
    """Return the place where a run of keys begins in another; None where it is not in it or is empty."""
    places = range(len(keys) - len(run) + 1) if run else ()
    return next((at for at in places if list(keys[at : at + len(run)]) == list(run)), None)


def row_cells(text: str, language: str) -> Row | None:
    """Read a line as `Column: value | Column: value`, `Key: value | value` or `Key: value`."""
    parts = text.strip().split(_BAR)
    split = [part.partition(_COLON) for part in parts]
    if len(split[0][0]) > _LONGEST_NAME or not (split[0][1] or len(parts) > 1):
        return None
    if any(colon for _, colon, _ in split[1:]):
        named_values = [(name, value) if colon else ("", name) for name, colon, value in split]
    elif split[0][1]:
        named_values = [("", split[0][0]), ("", split[0][2]), *(("", part) for part in parts[1:])]
    else:
        named_values = [("", part) for part in parts]
    cells = tuple(Cell(read(name, language), read(value, language)) for name, value in named_values)
    return Row(cells, any(name for name, _ in named_values))
