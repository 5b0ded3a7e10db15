"""All consistency checks of one claim against one piece of evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

from qa_pipeline.verification.consistency.alignment import (
    aligned_findings,
    exchanged_terms,
    pieced_together,
    replaced_terms,
)
from qa_pipeline.verification.consistency.cells import cell_findings
from qa_pipeline.verification.consistency.dates import date_findings
from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.names import name_findings
from qa_pipeline.verification.consistency.polarity import (
    exchanged_clauses,
    frequency_findings,
    polarity_findings,
    quantifier_findings,
    same_clauses,
)
from qa_pipeline.verification.consistency.quantities import bound_findings, number_findings
from qa_pipeline.verification.consistency.reading import Reading, read

LONGEST_READ = 2000
"""Characters; longer claims and evidence are left to a model, since the checks read sentences."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Findings by kind; `open_points` are those of all kinds."""

    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    polarity: tuple[str, ...] = ()
    quantifiers: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    open_points: tuple[str, ...] = ()


def compare(
    claim: Reading,
    evidence: Reading,
    headings: Reading,
    elsewhere: Sequence[Reading],
    *,
    in_order: bool = True,
    question: Reading | None = None,
) -> Comparison:
    """Hold a claim against its evidence; numbers, dates and names may also stand in the headings above it.

    `elsewhere` is the rest of what is cited: what stands only there neither proves nor refutes. The same
    words in the same order are the same statement, whatever the checks would say. The cells of a table row
    have no order to compare (`in_order`), but each proves only its own row and column; the `question` may
    name what the claim leaves out. The first of `elsewhere` is the passage of the evidence.
    """
    if claim.repeats(evidence):
        return Comparison()
    dates = date_findings(claim, evidence, headings, elsewhere)
    numbers = number_findings(claim, evidence, headings, elsewhere)
    names = name_findings(claim, evidence, headings, elsewhere)
    polarity = polarity_findings(claim, evidence)
    quantifiers = quantifier_findings(claim, evidence) + bound_findings(claim, evidence)
    quantifiers += frequency_findings(claim, evidence)
    polarity += exchanged_clauses(claim, evidence)
    if in_order and not same_clauses(claim, evidence):
        polarity += exchanged_terms(claim, evidence)
    if in_order:
        names = _added(names, pieced_together(claim, evidence))
        beside = aligned_findings(claim, evidence)
        names, numbers = _added(names, beside.names), _added(numbers, beside.numbers)
        dates, polarity = _added(dates, beside.dates), _added(polarity, beside.polarity)
        quantifiers = _added(quantifiers, beside.quantifiers)
    replaced = replaced_terms(claim, evidence) if in_order else Findings()
    cells = Findings()
    if not in_order and elsewhere:
        cells = cell_findings(claim, question or read("", claim.language), evidence, elsewhere[0])
    parts = (numbers, dates, names, polarity, quantifiers, replaced, cells)
    return Comparison(
        numbers=numbers.conflicts,
        dates=dates.conflicts,
        names=names.conflicts,
        polarity=polarity.conflicts,
        quantifiers=quantifiers.conflicts,
        cells=cells.conflicts,
        open_points=tuple(point for part in parts for point in part.open_points),
    )


def _added(found: Findings, more: Findings) -> Findings:
    """What the alignment adds: nothing where the other checks have found a conflict of the kind."""
    return found if found.conflicts else found + more
