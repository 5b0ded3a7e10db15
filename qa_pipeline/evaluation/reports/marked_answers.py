"""Answers with their statements marked, as pages show them: cut to a length, and chosen by number.

Texts of a data set are hostile: they are in no script, style, address or attribute but `lang`, and parts of
the data are numbers to the script.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
MOST_STATEMENTS = 40
"""Statements of an answer in a page, which holds many answers and must open fast."""
LONGEST = {"query": 1500, "answer": 6000, "reference": 1500, "context": 1200, "quote": 600, "name": 80}
"""Characters of each kind of text in a page."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


class Choices:
    """Values by which a reader filters cards, as numbers to the script.

    Args:
        columns: of the cards, in the order of the page.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._numbers: dict[str, dict[str, int]] = {column: {} for column in columns}

    def of_card(self, values: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Return the numbers of a card's values by column, as its attributes hold them."""
        return {
            column: " ".join(str(numbers.setdefault(value, len(numbers))) for value in values[column])
            for column, numbers in self._numbers.items()
        }

    def offered(self) -> list[Row]:
        """Return the columns with more than one value: their numbers and names by name."""
        return [
            {
                "column": column,
                "values": [
                    (number, cut(value, "name") or "(none)") for value, number in sorted(numbers.items())
                ],
            }
            for column, numbers in self._numbers.items()
            if len(numbers) > 1
        ]


def language_tag(language: str | None) -> str | None:
    """Return a language as an attribute may hold it; None for what is no tag."""
    return language if _LANGUAGE.fullmatch(language or "") else None


def cut(text: str | None, kind: str) -> str | None:
    """Return a text, cut where it is longer than its kind may be."""
    longest = LONGEST[kind]
    return text if text is None or len(text) <= longest else f"{text[: longest - 1]}…"


def marked(answer: str | None, statements: Sequence[Row]) -> Iterator[Row]:
    """Yield the answer in pieces: statements with their verdict and number, and the text between them.

    A statement that begins within another, or whose place is not in the answer, is only in the list beside.
    """
    text, at = cut(answer, "answer") or "", 0
    numbered = [(statement["start"], statement["end"], place) for place, statement in enumerate(statements)]
    for start, end, place in sorted(span for span in numbered if None not in span):
        if place >= MOST_STATEMENTS or not at <= start < end <= len(text):
            continue
        if start > at:
            yield {"text": text[at:start], "verdict": None, "number": None}
        yield {"text": text[start:end], "verdict": statements[place]["verdict"], "number": place + 1}
        at = end
    if at < len(text):
        yield {"text": text[at:], "verdict": None, "number": None}
