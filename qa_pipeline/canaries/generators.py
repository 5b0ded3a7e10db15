"""All generators of canaries in one stable order.

What belongs here: the list. What does not: any generator.
"""

from qa_pipeline.canaries import (
    cells,
    clauses,
    dates,
    names,
    negations,
    numbers,
    passages,
    quantifiers,
    spelling,
    units,
)
from qa_pipeline.canaries.kinds import KINDS, Generator

_ALL = (
    *clauses.GENERATORS,
    *spelling.GENERATORS,
    *units.GENERATORS,
    *numbers.GENERATORS,
    *dates.GENERATORS,
    *names.GENERATORS,
    *negations.GENERATORS,
    *quantifiers.GENERATORS,
    *cells.GENERATORS,
    *passages.GENERATORS,
)

GENERATORS: dict[str, tuple[Generator, ...]] = {
    kind: tuple(one for one in _ALL if one.kind == kind) for kind in KINDS
}
"""Generators by kind."""
