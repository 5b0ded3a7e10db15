"""Where on a PDF page the characters of its canonical text stand.

What belongs here: aligning canonical text with the characters of a page. What does not: drawing
(`page_pictures`). The two differ in blanks, hyphens at line ends, ligatures, marks of Markdown, the names of
columns repeated in each table row, and in their order; letters and digits are the same.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter

from qa_pipeline.documents.pdf.hyphens import BROKEN_WORD

_SEED = 8
_CANDIDATES = 40
_LONE = 4
_NEAR = 80
_WORD = re.compile(f"\\d+(?:[.,:]\\d+)+|[^\\W_]+(?:{BROKEN_WORD}\\s*[^\\W_]+)*")
"""Numbers with their decimals and other words."""

Places = list[int | None]


def align(text: str, page: str) -> Places:
    """For each character of `text` its place in `page`, or None where it has none.

    Letters and digits are matched in stretches: where eight in a row are found, the longest stretch that
    begins with them; then what goes on before and behind a stretch; then whole words that are left, where
    they are alone or near what stands before them. Each character of the page is used once, so that repeated
    column names stay without a place.
    Linear in the length of both, but for texts that repeat themselves throughout.
    """
    matching = _Matching(*_letters(text), *_letters(page))
    matching.seed()
    matching.extend()
    matching.words(text, page)
    found: Places = [None] * len(text)
    for number, place in enumerate(matching.match):
        if place is not None:
            found[matching.origin[number]] = matching.target[place]
    return found


def _letters(text: str) -> tuple[str, list[int]]:
    """Letters and digits of a text in their plain form, and where each comes from."""
    letters: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        plain = character if character.isascii() else unicodedata.normalize("NFKD", character)
        for part in plain:
            if part.isalnum():
                letters.append(part)
                origin.append(place)
    return "".join(letters), origin


class _Matching:
    """Letters of the text on their way to places among the letters of the page."""

    def __init__(self, wanted: str, origin: list[int], given: str, target: list[int]) -> None:
        self.wanted = wanted
        self.origin = origin
        self.given = given
        self.target = target
        self.match: Places = [None] * len(wanted)
        self.taken = [False] * len(given)

    def seed(self) -> None:
        """Match long stretches, wherever they are."""
        wanted, given = self.wanted, self.given
        runs: dict[str, list[int]] = defaultdict(list)
        for place in range(len(given) - _SEED + 1):
            runs[given[place : place + _SEED]].append(place)
        number = expected = 0
        while number <= len(wanted) - _SEED:
            places = runs.get(wanted[number : number + _SEED], [])
            lengths = [(self._length(number, place), place) for place in _nearest(places, expected)]
            length, place = max(lengths, key=itemgetter(0), default=(0, 0))
            if length < _SEED:
                number += 1
                continue
            self._take(number, place, length)
            number, expected = number + length, place + length

    def extend(self) -> None:
        """Match characters that go on behind a stretch within its word, then such as stand before one."""
        for step, numbers in ((1, range(1, len(self.wanted))), (-1, range(len(self.wanted) - 2, -1, -1))):
            for number in numbers:
                beside = self.match[number - step]
                within_word = abs(self.origin[number] - self.origin[number - step]) <= 1
                if self.match[number] is not None or beside is None or not within_word:
                    continue
                place = beside + step
                if 0 <= place < len(self.given) and self._length(number, place, most=1):
                    self._take(number, place, 1)

    def words(self, text: str, page: str) -> None:
        """Match whole words that have no place yet to free words of the page.

        Words that occur once come first; others, such as cells of a table, are looked for near what stands
        before them.
        """
        free: dict[str, list[int]] = defaultdict(list)
        for word, place in _words(page, self.target):
            if not any(self.taken[place : place + len(word)]):
                free[word].append(place)
        wanted = [found for found in _words(text, self.origin) if self._is_open(*found)]
        counts = Counter(word for word, _ in wanted)
        for word, number in wanted:
            if len(word) >= _LONE and counts[word] == len(free.get(word, ())) == 1:
                self._take(number, free[word].pop(), len(word))
        expected = 0
        for word, number in _words(text, self.origin):
            places = free.get(word, [])
            if places and self._is_open(word, number):
                nearest = _nearest_of(places, expected)
                if abs(places[nearest] - expected) <= _NEAR:
                    self._take(number, places.pop(nearest), len(word))
            matched = self.match[number]
            if matched is not None:
                expected = matched + len(word)

    def _is_open(self, word: str, number: int) -> bool:
        return all(place is None for place in self.match[number : number + len(word)])

    def _length(self, number: int, place: int, most: int | None = None) -> int:
        """How many characters from a place on are equal and free."""
        room = min(len(self.wanted) - number, len(self.given) - place)
        length = 0
        for length in range(room if most is None else min(room, most)):
            if self.wanted[number + length] != self.given[place + length] or self.taken[place + length]:
                return length
        return length + 1 if room else 0

    def _take(self, number: int, place: int, length: int) -> None:
        for step in range(length):
            self.match[number + step] = place + step
            self.taken[place + step] = True


def _nearest(places: Sequence[int], expected: int) -> list[int]:
    """The places nearest to the expected one, those behind it first."""
    after = bisect_left(places, expected)
    return [*places[after : after + _CANDIDATES], *places[max(after - _CANDIDATES, 0) : after][::-1]]


def _nearest_of(places: Sequence[int], expected: int) -> int:
    """Which of the places, which rise, is nearest to the expected one."""
    after = bisect_left(places, expected)
    if after == len(places) or (after and expected - places[after - 1] < places[after] - expected):
        return after - 1
    return after


def _words(text: str, origin: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Words in their plain form, and the number of their first letter."""
    for found in _WORD.finditer(text):
        number = bisect_left(origin, found.start())
        word, _ = _letters(found.group())
        if word:
            yield word, number
