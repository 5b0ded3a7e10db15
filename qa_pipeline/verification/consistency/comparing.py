"""All consistency checks of one claim against one piece of evidence."""

from collections.abc import Sequence
from dataclasses import dataclass

from qa_pipeline.text.characters import skeleton
from qa_pipeline.text.words import nearest_word
from qa_pipeline.verification.consistency.alignment import (
    aligned_findings,
    exchanged_terms,
    pieced_together,
    replaced_terms,
)
from qa_pipeline.verification.consistency.cells import cell_findings
from qa_pipeline.verification.consistency.dates import Date, held_in_parts
from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.names import Name, fold, holds_part, name_parts
from qa_pipeline.verification.consistency.numbers import Number
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


def name_findings(
    claim: Reading, evidence: Reading, headings: Reading, elsewhere: Sequence[Reading]
) -> Findings:
    """Hold each name of the claim against the evidence and its headings, and the rest of what is cited.

    A name the evidence lacks is a conflict when the evidence has another name in its place: one the claim
    lacks, beside the same word. Otherwise it stays open; the evidence may say "it" or "the company".
    """
    near = (headings, evidence)
    own = {form for name in claim.names for form in name_parts(name.folded)}
    whole = {name.folded for name in claim.names}
    rivals = [
        other
        for other in evidence.all_names
        if (other.folded not in whole if other.identifier else not name_parts(other.folded) & own)
    ]
    shared = {token.stem for token in claim.words if token.content} & {token.stem for token in evidence.words}
    conflicts, open_points = [], []
    for name in claim.names:
        if _held(name, near):
            continue
        if _looks_held(name, near):
            open_points.append(f"{name.text} is written in letters of another script")
            continue
        beside = nearest_word(name.start, name.end, claim.words, shared)
        placed = [n for n in rivals if nearest_word(n.start, n.end, evidence.words, shared) == beside]
        rival = next((n for n in placed if n.identifier == name.identifier), None) if beside else None
        if rival:
            conflicts.append(f"{name.text} instead of {rival.text}")
        elif _held(name, elsewhere):
            open_points.append(f"{name.text} is elsewhere in the cited passages")
        else:
            open_points.append(f"{name.text} is not in the evidence")
    return Findings(tuple(conflicts), tuple(open_points))


def _held(name: Name, texts: Sequence[Reading]) -> bool:
    """An identifier must stand in a text; of a proper name every part in one of them, inflection aside."""
    if name.identifier:
        return any(name.folded in one.casefolded for one in texts)
    return all(any(holds_part(part, one.forms) for one in texts) for part in name_parts(name.folded))


def _looks_held(name: Name, texts: Sequence[Reading]) -> bool:
    """Whether only look-alike letters, on either side, keep a name from standing in the texts."""
    written = skeleton(name.text)
    seen = [one.shown for one in texts]
    if written == name.text and all(one.shown is one for one in texts):
        return False
    return _held(Name(written, fold(written), name.start, name.end, name.identifier), seen)


def date_findings(
    claim: Reading, evidence: Reading, headings: Reading, elsewhere: Sequence[Reading]
) -> Findings:
    """Hold each date of the claim against the evidence and its headings; `elsewhere` is the rest cited.

    A year stands proved by a full date of that year, a full date only by all its parts, of which the year
    may stand apart in the evidence or its headings. A date found only elsewhere leaves the claim open,
    unless the evidence has another date in its place.
    """
    conflicts, open_points = [], []
    near = [*evidence.dates, *_as_years(evidence.numbers), *headings.dates]
    unclaimed = [date for date in near if not any(own.held_by(date) for own in claim.dates)]
    for date in claim.dates:
        if any(date.held_by(other) for other in near) or held_in_parts(date, near):
            continue
        rivals = [other for other in unclaimed if date.denies(other)]
        if rivals:
            conflicts.append(f"{date.text} instead of {rivals[0].text}")
        elif any(date.held_by(other) for one in elsewhere for other in one.dates):
            open_points.append(f"{date.text} is elsewhere in the cited passages")
        else:
            conflicts.append(f"{date.text} is not in the evidence")
    return Findings(tuple(conflicts), tuple(open_points))


def _as_years(numbers: Sequence[Number]) -> list[Date]:
    """Plain numbers that a claim may have as years."""
    return [
        Date(int(number.value), None, None, number.start, number.end, number.text)
        for number in numbers
        if number.kind == "cardinal"
        and number.unit is None
        and 1000 <= number.value < 2100
        and number.value % 1 == 0
    ]
