"""What a piece of evidence proves of a claim, and what it denies: by kind of difference, not by score.

A claim is proved where every difference from its evidence is allowed (`allowed.py`) and the evidence speaks
of what was asked. It is denied where everything else agrees and a slot holds another value. Anything between
is left to a model or a person, with the first difference named.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from qa_pipeline.text.characters import reads_otherwise
from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency.allowed import Change, Unit, differences, is_allowed, units
from qa_pipeline.verification.consistency.cells import Row, row_cells
from qa_pipeline.verification.consistency.reading import Reading

LONGEST_READ = 2000
"""Characters; longer claims and evidence are left to a model, since the checks read sentences."""
_LONGEST_VALUE = 12
"""Words of a key's value; more are a sentence."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A slot in which one text denies the other: the reason code, both contents in words, and their keys."""

    reason: str
    words: str
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class Proof:
    """`unproved` names what no allowed difference covers; with none the claim is proved.

    `scope_differs` says that a number, name, negation, quantifier, modal or condition is among it: no score
    of a model may accept the claim then.
    """

    unproved: tuple[str, ...] = ()
    denied: tuple[Denial, ...] = ()
    scope_differs: bool = False


def prove(
    claim: Reading,
    evidence: Reading,
    *,
    question: Reading,
    answer: Reading,
    headings: Reading,
    elsewhere: Sequence[Reading],
    fragment: bool,
    is_row: bool,
) -> Proof:
    """Hold a claim against its evidence.

    Args:
        claim: as it is understood alone.
        evidence: one to three sentences, or a table row.
        question: what the claim answers; empty where there is none.
        answer: all of the answer, other claims of which may name what was asked.
        headings: the title and the headings the evidence is under.
        elsewhere: the passages cited, that of the evidence first.
        fragment: whether the claim states something only together with its question.
        is_row: whether the evidence is a table row or key-value line.
    """
    if max(len(claim.text), len(evidence.text)) > LONGEST_READ:
        return Proof(("longer than the local checks can read",), (), True)
    doubts = list(_unanswered(answer, evidence, question, headings))
    if reads_otherwise(claim.written):
        doubts.append("contains control characters or marks that reverse its reading order")
    row = row_cells(evidence.text, evidence.language) if is_row else None
    if claim.repeats(evidence):
        return Proof(tuple(doubts))
    if row is not None and not _is_sentence(row):
        found = _unproved_by_row(claim, row, question, headings)
        return Proof((*found, *doubts), (), bool(found))
    changes = [change for change in differences(claim, evidence) if not is_allowed(change)]
    denied = _denials(changes, elsewhere)
    if fragment:
        found = _unproved_fragment(claim, evidence, question, headings)
        return Proof((*found, *doubts), denied, bool(found))
    found = tuple(change.described() for change in changes)
    return Proof((*found, *doubts), denied, any(_in_scope(change) for change in changes))


def denials(claim: Reading, evidence: Reading) -> tuple[Denial, ...]:
    """The slots in which a text denies another, where they say the same in all else; none otherwise."""
    if max(len(claim.text), len(evidence.text)) > LONGEST_READ:
        return ()
    return _denials([change for change in differences(claim, evidence) if not is_allowed(change)], ())


def _in_scope(change: Change) -> bool:
    """Whether a difference touches a number, date, name, negation, quantifier, modal or condition."""
    known = change.known
    scope = known.negations | known.soft_negations | known.exclusive | known.universal | known.partial
    scope |= known.strong | known.weak | known.conditional_words
    both = (*change.added, *change.left)
    figures = any(unit.key[0] in "#@" for unit in both)
    return figures or any(unit.folded in scope for unit in both) or _names(change.added, change.claim)


def _keys(*readings: Reading) -> set[str]:
    return {unit.key for reading in readings for unit in units(reading)}


def _unanswered(answer: Reading, evidence: Reading, question: Reading, headings: Reading) -> Iterator[str]:
    """Words of the question that neither answer nor evidence speaks of: it may be another one's answer."""
    if not question.words:
        return
    known = lexicon(question.language)
    asked, held = units(question), _keys(answer, evidence, headings)
    for unit in asked:
        if unit.content and unit.key not in held and unit.folded not in known.question_words:
            yield f'the question\'s "{unit.folded}" is not in the evidence'
    scope = {unit.folded for unit in asked} & (known.negations | known.exclusive)
    if scope - {unit.folded for unit in (*units(evidence), *units(answer))}:
        yield "question and evidence differ in a negation"


def _unproved_fragment(
    claim: Reading, evidence: Reading, question: Reading, headings: Reading
) -> tuple[str, ...]:
    """A few words prove something where question and words together are what the evidence says."""
    known = lexicon(claim.language)
    mine, theirs = units(claim), units(evidence)
    wanted = [unit.key for unit in mine]
    keys = [unit.key for unit in theirs]
    places = [at for at in range(len(keys) - len(wanted) + 1) if keys[at : at + len(wanted)] == wanted]
    if not wanted or not places:
        return ("not in the evidence in these words",)
    asked = _keys(question, headings)
    best: tuple[str, ...] | None = None
    for at in places:
        doubts = []
        for run in _runs(theirs, at, at + len(wanted), asked, known):
            change = Change([], run, claim, evidence, known)
            if not is_allowed(change):
                doubts.append(change.described())
        if best is None or len(doubts) < len(best):
            best = tuple(doubts)
    return best or ()


def _runs(
    theirs: Sequence[Unit], start: int, end: int, asked: set[str], known: Lexicon
) -> Iterator[Sequence[Unit]]:
    """Runs of the evidence that neither the claim nor its question states; plain function words are none."""
    scope = known.negations | known.exclusive | known.conditional_words | known.contrasts | known.partial
    scope |= known.universal | known.strong | known.weak | known.soft_negations
    run: list[Unit] = []
    plain = True
    for place, unit in enumerate([*theirs, None]):
        stated = unit is None or start <= place < end or unit.key in asked
        if not stated and unit is not None:
            run.append(unit)
            plain = plain and not unit.content and unit.folded not in scope
        elif run:
            if not plain:
                yield run
            run, plain = [], True


def _is_sentence(row: Row) -> bool:
    """Whether a line with a colon is rather a sentence, whose words have an order."""
    last = row.cells[-1].value
    return len(row.cells) <= 2 and (len(last.words) > _LONGEST_VALUE or last.text.rstrip().endswith("."))


def _unproved_by_row(claim: Reading, row: Row, question: Reading, headings: Reading) -> tuple[str, ...]:
    """A row proves whole cells, each under the name of its column, of the key the claim or question names."""
    known = lexicon(claim.language)
    asked = _keys(question, headings)
    cells = [_keys(cell.value) for cell in row.cells]
    columns = [_keys(cell.column) for cell in row.cells]
    held = set().union(asked, *cells, *columns)
    stated = units(claim)
    mine = {unit.key for unit in stated}
    doubts = [
        f'"{unit.folded}" added'
        for unit in stated
        if unit.key not in held and (unit.content or unit.folded not in known.row_glue)
    ]
    whole = [place for place, cell in enumerate(cells) if cell and cell <= mine]
    touched = {place for place, cell in enumerate(cells) if (cell & mine) - asked}
    doubts += [f'part of "{row.cells[place].value.written}"' for place in sorted(touched - set(whole))]
    if not whole:
        doubts.append("no whole cell")
    first = cells[0] | columns[0] if not row.named else cells[0]
    named = mine | asked
    if len(cells) > 1 and not first <= named:
        doubts.append(f'row "{row.cells[0].value.written}" is not named')
    values = [place for place in whole if place and not cells[place] <= asked]
    for place in values:
        if not columns[place] <= named:
            doubts.append(f'column "{row.cells[place].column.written}" is not named')
    return (*dict.fromkeys(doubts), *_out_of_order(claim, row, values))


def _out_of_order(claim: Reading, row: Row, values: Sequence[int]) -> Iterator[str]:
    """Values that are not in one piece, or do not follow the name of their own column."""
    keys = [unit.key for unit in units(claim)]
    ends: list[tuple[int, int, bool]] = []
    for place in values:
        value = [unit.key for unit in units(row.cells[place].value)]
        at = _find(keys, value)
        if at is None:
            yield f'"{row.cells[place].value.written}" is not there in one piece'
            continue
        ends.append((at, place, True))
    columns = [_find(keys, [unit.key for unit in units(cell.column)]) for cell in row.cells]
    ends += [(at, place, False) for place, at in enumerate(columns) if place and at is not None]
    if len(ends) < 2:
        return
    last = None
    for _, place, is_value in sorted(ends):
        if is_value and last != place and not (last is None and columns[place] is None):
            yield f'"{row.cells[place].value.written}" does not follow the name of its column'
        last = None if is_value else place


def _find(keys: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where a run of keys begins in another; None where it does not stand in it or is empty."""
    places = range(len(keys) - len(wanted) + 1) if wanted else ()
    return next((at for at in places if list(keys[at : at + len(wanted)]) == list(wanted)), None)


def _denials(changes: Sequence[Change], elsewhere: Sequence[Reading]) -> tuple[Denial, ...]:
    """The slots in which a claim denies its evidence; none where anything else differs too.

    A slot is a place where each text has one number, date, name or word of a closed class, between units that
    both share. No cited passage may hold what the claim has there; names that have only changed places need
    no such look.
    """
    reasons = [_denied(change) for change in changes]
    exchanged = len(changes) == 2 and _exchanged(*changes)
    found = []
    for change, reason in zip(changes, reasons, strict=True):
        if reason is None or (not exchanged and any(_held(change, one) for one in elsewhere)):
            return ()
        keys = frozenset(unit.key for unit in (*change.added, *change.left))
        found.append(Denial(reason, change.described(), keys))
    return tuple(found)


def _exchanged(first: Change, second: Change) -> bool:
    """Whether two slots have changed their contents, and are not equals of one list."""
    if not (first.added and first.left and second.added and second.left):
        return False
    turned = [u.key for u in first.added] == [u.key for u in second.left]
    turned = turned and [u.key for u in second.added] == [u.key for u in first.left]
    start, end = first.left[-1].end, second.left[0].start
    words = {word.folded for word in first.evidence.words if start <= word.start < end}
    return turned and not words <= first.known.joiners


def _held(change: Change, passage: Reading) -> bool:
    wanted = [unit.key for unit in change.added if unit.content]
    return bool(wanted) and _find([unit.key for unit in units(passage)], wanted) is not None


def _denied(change: Change) -> str | None:
    """Reason code of a difference in which the claim denies what is there; None for any other."""
    known = change.known
    mine, theirs = set(change.added_words), set(change.left_words)
    words = mine | theirs
    if words & known.negations and words <= known.negations | known.auxiliaries | known.negation_tails:
        return "negation_mismatch" if bool(mine & known.negations) != bool(theirs & known.negations) else None
    if _names(change.added, change.claim) and _names(change.left, change.evidence):
        return "name_mismatch"
    if len(change.added) != 1 or len(change.left) != 1:
        return None
    one, other = change.added[0], change.left[0]
    if {one.key[0], other.key[0]} == {"#"}:
        return "number_mismatch"
    if {one.key[0], other.key[0]} == {"@"}:
        return "date_mismatch"
    return _opposed(one.folded, other.folded, known)


def _opposed(claimed: str, written: str, known: Lexicon) -> str | None:
    """Reason code of one word in another's place, where the two exclude each other."""
    pair = (claimed, written)
    turned = (pair, pair[::-1])
    prefixed = any(long == prefix + short for prefix in known.negative_prefixes for long, short in turned)
    if prefixed or any(_across(pair, sides) for sides in known.opposites):
        return "negation_mismatch"
    stronger = claimed in known.universal and written in known.partial
    scopes = ((known.weak, known.strong), (known.universal | known.partial, known.negations))
    return "quantifier_mismatch" if stronger or any(_across(pair, sides) for sides in scopes) else None


def _across(pair: tuple[str, str], sides: tuple[Set[str], Set[str]]) -> bool:
    left, right = sides
    return (pair[0] in left and pair[1] in right) or (pair[0] in right and pair[1] in left)


def _names(of: Sequence[Unit], reading: Reading) -> bool:
    """Whether all of some units are names: capitalised where that says something."""
    spans = [(name.start, name.end) for name in reading.names]
    return bool(of) and all(any(a <= unit.end - 1 and unit.end <= b for a, b in spans) for unit in of)
