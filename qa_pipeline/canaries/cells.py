"""False statements about table rows: the value of one column told of another, or of another row.

What belongs here: reading rows as they stand in the text, and those generators. What does not: the checks'
own reading of rows, which must not decide what they are tested with.
"""

from collections.abc import Iterator
from itertools import combinations

from qa_pipeline.canaries.kinds import Generator, on_text
from qa_pipeline.canaries.material import Material, Sentence

_LONGEST = 60
_SAID = {"en": "The {0} of {1} is {2}", "sv": "{0} för {1} är {2}", "de": "{0} für {1} ist {2}"}
_BOTH = {
    "en": "The {0} of {1} is {2} and the {3} is {4}",
    "sv": "{0} för {1} är {2} och {3} är {4}",
    "de": "{0} für {1} ist {2} und {3} ist {4}",
}
_Cell = tuple[str, str]


def _cells(row: Sentence) -> list[_Cell]:
    """Column and value of each cell, where every cell has both and they are short; the first is the key."""
    found = [part.partition(": ") for part in row.text.split(" | ")]
    cells = [(column, value) for column, colon, value in found if colon]
    fit = (
        len(cells) == len(found) >= 3
        and all(0 < len(text) <= _LONGEST for cell in cells for text in cell)
        and len({column.casefold() for column, _ in cells}) == len(cells)
        and any(letter.isalpha() for letter in cells[0][1])
    )
    return cells if fit else []


def _exchangeable(left: str, right: str) -> bool:
    """Whether two values are surely two of one sort: both with figures or both without, none in the other."""
    one, other = left.casefold().rstrip("."), right.casefold().rstrip(".")
    figures = [any(sign.isdigit() for sign in value) for value in (one, other)]
    return figures[0] == figures[1] and one not in other and other not in one


def _sentence(form: str, *parts: str) -> str:
    said = form.format(*parts)
    return f"{said[0].upper()}{said[1:].rstrip('.')}."


def other_column(row: Sentence, material: Material) -> Iterator[str]:
    """One column has the value of the next that could stand there."""
    key, *cells = _cells(row) or [("", "")]
    document = material.document(row.document_id)
    for (column, value), (_, other) in combinations(cells, 2):
        if _exchangeable(value, other) and f"{column}: {other}" not in document:
            yield _sentence(_SAID[row.language], column, key[1], other)


def two_columns(row: Sentence, material: Material) -> Iterator[str]:
    """Two columns have changed values."""
    key, *cells = _cells(row) or [("", "")]
    for (column, value), (second, other) in combinations(cells, 2):
        if _exchangeable(value, other):
            yield _sentence(_BOTH[row.language], column, key[1], other, second, value)


GENERATORS = (
    Generator("cell", "tuning", "other_column", on_text(other_column), over="rows"),
    Generator("cell", "held_out", "two_columns", on_text(two_columns), over="rows"),
)
