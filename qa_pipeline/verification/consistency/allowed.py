"""Differences between a claim and its evidence that leave the claim proved; any other leaves it undecided.

Both texts are read as rows of units (words, numbers, dates) and laid beside each other (longest matching blocks,
Ratcliff and Obershelp 1988, as in `difflib`). Every unit that has no partner must be allowed by a row of
`ALLOWED`, in the direction that row names: what the claim adds, and what it leaves out. Leaving out is safe
where the rest still follows (natural logic: MacCartney and Manning 2009): a whole sentence, an aside, a reason,
a coordinate clause after "and".
"""

import difflib
import functools
import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.verification.consistency.cells import Row, row_cells
from qa_pipeline.verification.consistency.reading import Reading

Direction = Literal["added", "left out", "changed", "moved"]
_LONGEST = 400
"""Units of a text; longer ones are left to a model."""
_LONGEST_VALUE = 12
"""Words of a key's value; more are a sentence."""
_LETTER = re.compile(r"\w")
_RUN = re.compile(r"\w+")
_ENDINGS = {
    "en": frozenset(("", "s", "es", "'s", "'")),
    "sv": frozenset(("", "s", "n", "en", "et", "t", "ar", "er", "or", "na", "arna", "erna", "orna", "a", "e", "ens", "ets")),
    "de": frozenset(("", "s", "es", "n", "en", "e", "er", "em")),
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, number or date: units of equal `key` say the same; `article` is the article before a word."""

    key: str
    folded: str
    start: int
    end: int
    content: bool
    article: str = ""


@dataclass(frozen=True)
class Change:
    """A place where the texts differ: units of the claim and of the evidence, either of which may be empty."""

    added: Sequence[Unit]
    left: Sequence[Unit]
    claim: Reading
    evidence: Reading
    known: Lexicon

    @functools.cached_property
    def added_words(self) -> tuple[str, ...]:
        """The claim's words, casefolded."""
        return tuple(unit.folded for unit in self.added)

    @functools.cached_property
    def left_words(self) -> tuple[str, ...]:
        """The evidence's words, casefolded."""
        return tuple(unit.folded for unit in self.left)

    def before(self) -> str:
        """The evidence before what is left out."""
        return self.evidence.text[: self.left[0].start]

    def after(self) -> str:
        """The evidence after what is left out."""
        return self.evidence.text[self.left[-1].end :]

    def written(self) -> str:
        """What is left out, as written."""
        return self.evidence.text[self.left[0].start : self.left[-1].end]


@dataclass(frozen=True, slots=True)
class Allowed:
    """One kind of difference that proves no less: an example that holds, and one that does not.

    The examples are (evidence, claim) and are what the tests hold the row to.
    """

    name: str
    languages: tuple[str, ...]
    direction: Direction
    holds: tuple[str, str]
    does_not: tuple[str, str]
    test: Callable[[Change], bool]


def _only_fillers(change: Change) -> bool:
    return all(word in change.known.fillers for word in change.left_words)


def _opening(change: Change) -> bool:
    """A word before the claim that links it to others and states nothing of its own."""
    return change.added[0] == units(change.claim)[0] and set(change.added_words) <= change.known.openings


def _restricts(words: Sequence[str], known: Lexicon) -> bool:
    """Whether words narrow, deny, hedge or condition what they stand beside."""
    scope = known.negations | known.soft_negations | known.exclusive | known.conditional_words | known.contrasts
    return any(word in scope for word in words)


def _bracketed(change: Change) -> bool:
    """All of what is in a pair of brackets, where that neither restricts nor hedges."""
    first, last = change.left[0].start, change.left[-1].end
    text = change.evidence.text
    whole = any(
        start <= first and last <= end and not _LETTER.search(text[start:first] + text[last:end])
        for start, end in _brackets(text)
    )
    scope = change.known.partial | change.known.weak
    return whole and not _restricts(change.left_words, change.known) and not scope & set(change.left_words)


@functools.lru_cache(maxsize=4096)
def _brackets(text: str) -> Sequence[tuple[int, int]]:
    """What each outermost pair of round brackets encloses."""
    spans, depth, start = [], 0, 0
    for found in re.finditer(r"[()]", text):
        depth += 1 if found[0] == "(" else -1
        if found[0] == "(" and depth == 1:
            start = found.end()
        elif depth == 0:
            spans.append((start, found.start()))
        depth = max(depth, 0)
    return spans


def _example(change: Change) -> bool:
    """An example to the end of the sentence or to the next comma."""
    opens = any(change.written().casefold().startswith(opener) for opener in change.known.example_openers)
    ends = re.match(r"\s*[,.;)]|\s*$", change.after()) is not None
    begins = change.before().rstrip().endswith((",", "(")) or change.before().strip() == ""
    return opens and ends and begins and not _restricts(change.left_words, change.known)


def _reason(change: Change) -> bool:
    """A reason at the end of a sentence that denies nothing."""
    opens = bool(change.left_words) and change.left_words[0] in change.known.reason_openers
    kept = [word.folded for word in change.claim.words]
    return (
        opens
        and _ends(change)
        and "," not in change.written()
        and not _restricts(kept, change.known)
        and not _restricts(change.left_words, change.known)
    )


def _ends(change: Change) -> bool:
    """Whether what is left out reaches to the end of a sentence."""
    end = change.left[-1].end
    ends = (stop for start, stop in _sentences(change.evidence) if start < end <= stop)
    return not _LETTER.search(change.evidence.text[end : next(ends, end)])


def _begins(change: Change) -> bool:
    """Whether what is left out begins where a sentence does."""
    start = change.left[0].start
    begins = (first for first, stop in _sentences(change.evidence) if first <= start < stop)
    return not _LETTER.search(change.evidence.text[next(begins, start) : start])


@functools.lru_cache(maxsize=4096)
def _sentences(evidence: Reading) -> Sequence[tuple[int, int]]:
    return split_sentences(evidence.text, evidence.language)


def _other_sentence(change: Change) -> bool:
    """Whole sentences, the next of which takes nothing back."""
    if not _begins(change):
        return False
    opener = change.left_words[0]
    takes_back = opener in change.known.contrasts or opener in change.known.conditional_words
    return _ends(change) and not takes_back


def _coordinate(change: Change) -> bool:
    """The clause or verb phrase after the last "and", up to the end of the sentence.

    A condition in what is kept may reach over the "and", as may what only the last of equals narrows.
    """
    known, words = change.known, change.left_words
    if len(words) < 3 or words[0] not in known.conjunctions or not _ends(change):
        return False
    clause = change.before().rstrip().endswith((",", ";"))
    kept = {word.folded for word in change.claim.words}
    takes_back = known.negations | known.soft_negations | known.exclusive | known.contrasts
    if kept & known.conditional_words or not kept & known.finite_verbs or takes_back & set(words):
        return False
    if set(words[1:4]) & known.conditional_words:
        return False
    plain = not kept & (known.universal | known.exclusive | takes_back)
    return clause or (plain and words[1] in known.finite_verbs)


def _relative(change: Change) -> bool:
    """A clause that only adds to what it follows: after a comma, in English and for whole statements."""
    opens = change.left_words[0] in change.known.adding_relatives and change.before().rstrip().endswith(",")
    ends = _ends(change) or change.after().lstrip().startswith(",")
    scope = change.known.negations | change.known.exclusive | change.known.contrasts
    return opens and ends and not scope & set(change.left_words)


def _sentence_joint(change: Change) -> bool:
    """ "And" in the claim where the evidence begins another sentence."""
    if change.added_words not in {(word,) for word in change.known.conjunctions}:
        return False
    theirs = units(change.evidence)
    mine = units(change.claim)
    place = mine.index(change.added[0])
    if place + 1 >= len(mine) or place == 0:
        return False
    after, before = mine[place + 1], mine[place - 1]
    for left, right in zip(theirs, theirs[1:], strict=False):
        if left.key == before.key and right.key == after.key:
            between = change.evidence.text[left.end : right.start]
            if re.search(r"[.;]", between):
                return True
    return False


def _article(change: Change) -> bool:
    words = (*change.added_words, *change.left_words)
    return bool(words) and all(word in change.known.determiners for word in words)


_ALL = ("en", "sv", "de")
ALLOWED: tuple[Allowed, ...] = (
    Allowed(
        "article",
        _ALL,
        "changed",
        ("The pump needs a filter.", "A pump needs a filter."),
        ("The pump needs a filter.", "Every pump needs a filter."),
        _article,
    ),
    Allowed(
        "filler",
        _ALL,
        "left out",
        ("However, the pump needs a filter.", "The pump needs a filter."),
        ("Perhaps the pump needs a filter.", "The pump needs a filter."),
        _only_fillers,
    ),
    Allowed(
        "opening",
        _ALL,
        "added",
        ("The pump needs a filter.", "Also, the pump needs a filter."),
        ("The pump needs a filter.", "Only the pump needs a filter."),
        _opening,
    ),
    Allowed(
        "aside in brackets",
        _ALL,
        "left out",
        ("The pump (model A) needs a filter.", "The pump needs a filter."),
        ("The pump (if used daily) needs a filter.", "The pump needs a filter."),
        _bracketed,
    ),
    Allowed(
        "example",
        _ALL,
        "left out",
        ("The pump needs a fine filter, for example a mesh.", "The pump needs a fine filter."),
        ("The pump needs a fine filter, unless it runs dry.", "The pump needs a fine filter."),
        _example,
    ),
    Allowed(
        "reason",
        _ALL,
        "left out",
        ("The pump needs a filter because the water is hard.", "The pump needs a filter."),
        ("The pump needs no filter because the water is hard.", "The pump needs no filter."),
        _reason,
    ),
    Allowed(
        "other sentence",
        _ALL,
        "left out",
        ("The pump needs a filter. It is cheap.", "The pump needs a filter."),
        ("The pump needs a filter. However, the new one needs none.", "The pump needs a filter."),
        _other_sentence,
    ),
    Allowed(
        "coordinate clause",
        _ALL,
        "left out",
        ("The pump is new, and the filter is old.", "The pump is new."),
        ("The pump is new or the filter is old.", "The pump is new."),
        _coordinate,
    ),
    Allowed(
        "adding relative clause",
        _ALL,
        "left out",
        ("The pump needs a filter, which is cheap.", "The pump needs a filter."),
        ("The pump needs a filter which is cheap.", "The pump needs a filter."),
        _relative,
    ),
    Allowed(
        "and between sentences",
        _ALL,
        "added",
        ("The pump is new. The filter is old.", "The pump is new and the filter is old."),
        ("The pump is new, if the filter is old.", "The pump is new and the filter is old."),
        _sentence_joint,
    ),
)


def units(reading: Reading) -> list[Unit]:
    """The units of a text in order, articles taken to the word after them and contractions apart."""
    known = lexicon(reading.language)
    found = [Unit(f"@{d.year}-{d.month}-{d.day}", d.text.casefold(), d.start, d.end, True) for d in reading.dates]
    for n in reading.numbers:
        dimension = n.unit.dimension if n.unit else ""
        found.append(Unit(f"#{n.version or f'{n.value:.9g}'}{dimension}{n.kind}", n.text.casefold(), n.start, n.end, True))
    taken = [(unit.start, unit.end) for unit in found]
    for word in reading.words:
        if any(start < word.end and word.start < end for start, end in taken):
            continue
        for part in known.contractions.get(word.folded, (word.folded,)):
            content = word.content and part == word.folded
            key = word.stem if content else part
            found.append(Unit(key, part, word.start, word.end, content))
    found.sort(key=lambda unit: (unit.start, unit.end))
    joined: list[Unit] = []
    article: Unit | None = None
    for unit in found:
        written = reading.text[unit.start : unit.end]
        if unit.folded in known.determiners and (written.islower() or article is None and _opens(reading.text, unit)):
            article = unit
            continue
        before, start = (article.folded, article.start) if article else ("", unit.start)
        joined.append(replace(unit, start=start, article=before))
        article = None
    return joined


def _opens(text: str, unit: Unit) -> bool:
    """Whether a word opens a sentence, where a capital says nothing of it."""
    before = text[: unit.start].rstrip(" \"'“„«(•-*#")
    return not before or before[-1] in ".!?:\n"


def differences(claim: Reading, evidence: Reading) -> list[Change]:
    """Every place where a claim and its evidence differ in what they say, allowed or not."""
    known = lexicon(claim.language)
    mine, theirs = units(claim), units(evidence)
    matcher = difflib.SequenceMatcher(None, [u.key for u in theirs], [u.key for u in mine], autojunk=False)
    changes: list[Change] = []
    for kind, low, high, left, right in matcher.get_opcodes():
        if kind != "equal":
            changes.append(Change(mine[left:right], theirs[low:high], claim, evidence, known))
            continue
        for one, other in zip(mine[left:right], theirs[low:high], strict=True):
            if not _same_form(one, other, known) or not _same_article(one, other, known):
                changes.append(Change([one], [other], claim, evidence, known))
    return changes


def _same_form(one: Unit, other: Unit, known: Lexicon) -> bool:
    """Whether two words of one stem are forms of one word that state the same."""
    if one.folded == other.folded or not one.content or one.key[:1] in "@#":
        return True
    shared = len(_common(one.folded, other.folded))
    ends = {one.folded[shared:], other.folded[shared:]}
    return ends <= _ENDINGS.get(known.code, frozenset())


def _common(left: str, right: str) -> str:
    for place, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return left[:place]
    return min(left, right, key=len)


def _same_article(one: Unit, other: Unit, known: Lexicon) -> bool:
    """Articles may come, go and change; in German only within a case, which tells who does what."""
    if not one.article or not other.article or known.code != "de":
        return True
    return _case(one.article) == _case(other.article)


def _case(article: str) -> str:
    return article[-2:] if article[-2:] in ("en", "em", "es", "er") else "e"


def unlicensed(claim: Reading, evidence: Reading) -> tuple[str, ...]:
    """The differences that no row of `ALLOWED` allows, in words; none says that the evidence proves the claim."""
    if claim.repeats(evidence):
        return ()
    if max(len(claim.words), len(evidence.words)) > _LONGEST:
        return ("longer than the local checks can read",)
    found = []
    for change in differences(claim, evidence):
        if not any(_applies(one, change) for one in ALLOWED):
            found.append(_described(change))
    return tuple(found)


def _applies(one: Allowed, change: Change) -> bool:
    sides = {"added": (True, False), "left out": (False, True)}.get(one.direction)
    fits = sides is None or sides == (bool(change.added), bool(change.left))
    return fits and change.known.code in one.languages and one.test(change)


def unproved(
    claim: Reading, evidence: Reading, question: Reading, headings: Reading, *, fragment: bool, is_row: bool
) -> tuple[str, ...]:
    """What of a claim its evidence does not prove, in words; none where all differences are allowed.

    Args:
        claim: as it is understood alone.
        evidence: one to three sentences, or a table row.
        question: what the claim answers; empty where there is none.
        headings: the title and the headings the evidence is under.
        fragment: whether the claim states something only together with its question.
        is_row: whether the evidence is a table row or key-value line.
    """
    row = row_cells(evidence.text, evidence.language) if is_row else None
    if row is not None and not _is_sentence(row) and not claim.repeats(evidence):
        found = _unproved_by_row(claim, row, question, headings)
    elif fragment and not claim.repeats(evidence):
        found = _unproved_fragment(claim, evidence, question, headings)
    else:
        found = unlicensed(claim, evidence)
    return (*found, *_unanswered(claim, evidence, question, headings))


def _keys(*readings: Reading) -> set[str]:
    return {unit.key for reading in readings for unit in units(reading)}


def _unanswered(claim: Reading, evidence: Reading, question: Reading, headings: Reading) -> tuple[str, ...]:
    """Words of the question that neither answer nor evidence speaks of: it may be another question's answer."""
    known = lexicon(question.language)
    held = _keys(claim, evidence, headings)
    missing = [
        unit
        for unit in units(question)
        if unit.content and unit.key not in held and unit.folded not in known.question_words
    ]
    doubts = [f'the question\'s "{unit.folded}" is not in the evidence' for unit in missing]
    scope = known.negations | known.exclusive
    asked = {unit.folded for unit in units(question)} & scope
    if asked - {unit.folded for unit in (*units(evidence), *units(claim))}:
        doubts.append("question and evidence differ in a negation")
    return tuple(doubts)


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
            if not any(_applies(one, change) for one in ALLOWED):
                doubts.append(_described(change))
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
    """Values that do not stand in one piece, or of several, those that do not follow their own column's name."""
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


def contradictions(
    claim: Reading, evidence: Reading, elsewhere: Sequence[Reading]
) -> tuple[tuple[str, str], ...]:
    """Reason and words of each slot in which a claim denies its evidence.

    A slot is a place where each text has one number, date, name or word of a closed class, between units that
    both share; everywhere else the two must say the same but for differences that are allowed, and no cited
    passage may hold what the claim has there. Names that have only changed places need no such look.
    """
    if max(len(claim.words), len(evidence.words)) > _LONGEST:
        return ()
    open_changes = [
        change for change in differences(claim, evidence) if not any(_applies(one, change) for one in ALLOWED)
    ]
    reasons = [_denied(change) for change in open_changes]
    exchanged = len(open_changes) == 2 and _exchanged(*open_changes)
    found: list[tuple[str, str]] = []
    for change, reason in zip(open_changes, reasons, strict=True):
        if reason is None or not exchanged and any(_held(change, one) for one in elsewhere):
            return ()
        found.append((reason, _described(change)))
    return tuple(found)


def _exchanged(first: Change, second: Change) -> bool:
    """Whether two slots have changed their contents, and are not equals of one list."""
    if not (first.added and first.left and second.added and second.left):
        return False
    turned = [u.key for u in first.added] == [u.key for u in second.left]
    turned = turned and [u.key for u in second.added] == [u.key for u in first.left]
    between = first.evidence.text[first.left[-1].end : second.left[0].start]
    words = set(_RUN.findall(between.casefold()))
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
    if change.added and change.left and _names(change.added, change.claim) and _names(change.left, change.evidence):
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
    prefixed = any(long == prefix + short for prefix in known.negative_prefixes for long, short in (pair, pair[::-1]))
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


def _described(change: Change) -> str:
    added = change.claim.text[change.added[0].start : change.added[-1].end] if change.added else ""
    left = change.written() if change.left else ""
    if added and left:
        return f'"{left}" became "{added}"'
    return f'"{added}" added' if added else f'"{left}" left out'
