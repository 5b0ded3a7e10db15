"""Match a claim verbatim with a unit of its source, a fragment of a unit, or a table cell."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading, is_identifier, number_value, read
from qa_pipeline.verification.binding import only_scope
from qa_pipeline.verification.sources import Unit

_LONGEST_NAME = 120
"""Maximum characters before the colon of a cell. Longer texts are sentences."""
_LONGEST_FRAGMENT = 12
"""Maximum tokens of a fragment. Longer texts are rather sentences without a full stop."""


def fragment_in(claim: Reading, unit: Unit, question: Reading, headings: Reading) -> bool:
    """Return True if a unit proves a few words in the context of their question.

    The unit contains them once. Question or headings must contain every other content word of the unit. Words
    of scope must be in the question, the headings or the claim.
    """
    if not claim.tokens or len(claim.tokens) > _LONGEST_FRAGMENT or unit.is_row:
        return False
    places = _runs(claim.tokens, unit.reading.tokens)
    if len(places) != 1:
        return False
    spoken = question.stem_set | headings.stem_set
    others = [stem for stem in unit.reading.stems if stem not in claim.stem_set]
    if not others or any(stem not in spoken for stem in others):
        return False
    mentioned = {*question.lower_tokens, *headings.lower_tokens, *claim.lower_tokens}
    return only_scope(unit.reading, mentioned) is None


def cell_in(
    claim: Reading, unit: Unit, question: Reading, headings: Reading, neighbours: Sequence[Unit]
) -> bool:
    """Return True if a table row proves a claim about one of its cells.

    The claim must contain the cell. Together with question and headings it must name row and column. It may
    contain only their words, and the key of the row must be unique.
    """
    cells = _cells(unit.text)
    if cells is None or claim.negations or question.negations:
        return False
    (key_name, key), *values = cells
    language = claim.language
    about = question.stem_set | headings.stem_set
    stems = about | claim.stem_set
    mentioned = {*claim.lower_tokens, *question.lower_tokens, *headings.lower_tokens}
    rows = (_cells(other.text) for other in neighbours if other is not unit and other.is_row)
    keys = [row[0][1] for row in rows if row]
    key_stems = read(key, language).stem_set
    if not key_stems or key in keys or not _is_named(key, keys, stems, mentioned, language):
        return False
    if only_scope(claim, {*unit.reading.lower_tokens, *question.lower_tokens}):
        return False
    columns = [column for column, _ in values]
    for column, text in values:
        value = read(text, language)
        names = key_stems | read(column, language).stem_set | read(key_name, language).stem_set
        if (
            sum(read(other, language).tokens == value.tokens for _, other in cells) == 1
            and len(_runs(value.tokens, claim.tokens)) == 1
            and not value.stem_set <= question.stem_set
            and _is_named(column, columns, stems, mentioned, language)
            and claim.stem_set <= about | names | value.stem_set
        ):
            return True
    return False


def _is_named(name: str, others: Sequence[str], stems: Set[str], mentioned: Set[str], language: str) -> bool:
    """Return True if each word of a name is mentioned, and the name is the longest such name.

    With "P 2 S" mentioned, "P 2" is not named. Words without a stem must match exactly.
    """
    grammar = mentioned | lexicon(language).proof.articles | lexicon(language).prepositions
    words = read(name, language).words
    tokens = {*read(name, language).lower_tokens}
    longer = any(tokens < {*read(other, language).lower_tokens} <= mentioned for other in others)
    return not longer and all(
        word.stem in stems if word.content else word.folded in grammar for word in words
    )


def _cells(row: str) -> list[tuple[str, str]] | None:
    """Return the name and value of each cell of a row, key first, unless columns lack names.

    A line of a key and its value is a row of two cells.
    """
    cells = []
    for part in map(str.strip, row.split(" | ")):
        name, colon, value = part.partition(": ")
        cells.append((name, value.strip()) if colon and len(name) <= _LONGEST_NAME else ("", part))
    if len(cells) == 1:
        name, value = cells[0]
        return [("", name.lstrip("-* ")), ("", value)] if name else None
    return cells if len(cells) == 2 or all(name for name, _ in cells[1:]) else None


def _runs(run: Sequence[str], tokens: Sequence[str]) -> list[int]:
    """Return the positions where the tokens of `run` follow each other."""
    count = len(run)
    return [at for at in range(len(tokens) - count + 1) if tuple(tokens[at : at + count]) == tuple(run)]


@dataclass(frozen=True, slots=True)
class Denial:
    """A slot where claim and unit differ: the reason code and both values. An absent value is ""."""

    reason: str
    claimed: str
    stated: str

    @property
    def words(self) -> str:
        """Return a description of the difference."""
        if self.claimed and self.stated:
            return f'"{self.stated}" became "{self.claimed}"'
        return f'"{self.claimed}" added' if self.claimed else f'"{self.stated}" left out'


def one_slot_denial(claim: Reading, unit: Reading, stated: Set[str]) -> Denial | None:
    """Return the only slot where a claim differs from a unit, or None if they differ elsewhere.

    Args:
        claim: the statement.
        unit: a unit of a cited source.
        stated: all tokens of the cited sources. A token in this set does not deny a unit.
    """
    mine, theirs = claim.tokens, unit.tokens
    if len(mine) == len(theirs):
        pairs = [(first, second) for first, second in zip(mine, theirs, strict=True) if first != second]
        if len(pairs) != 1 or len(mine) < 3:
            return None
        first, second = pairs[0]
        reason = None if first in stated else _slot(first, second, claim.language)
        return Denial(reason, first, second) if reason else None
    shorter, longer = sorted((mine, theirs), key=len)
    if len(longer) - len(shorter) != 1 or len(shorter) < 3:
        return None
    at = next(
        (n for n, (first, second) in enumerate(zip(shorter, longer, strict=False)) if first != second), -1
    )
    extra = longer[at]
    if longer[:at] + longer[at:][1:] == shorter and extra.casefold() in lexicon(claim.language).negations:
        claimed, left_out = (extra, "") if longer is mine else ("", extra)
        return Denial("negation_mismatch", claimed, left_out)
    return None


def _slot(first: str, second: str, language: str) -> str | None:
    """Return the reason code if two tokens fill the same slot with different values."""
    vocabulary, both = lexicon(language), (first.casefold(), second.casefold())
    values = number_value(first, language), number_value(second, language)
    if None not in values:
        return "number_mismatch" if _differs(*values) else None
    if all(word in vocabulary.months for word in both):
        return "date_mismatch"
    if all(any(map(str.isdigit, word)) for word in both):
        return "number_mismatch"
    if all(word in vocabulary.proof.units for word in both):
        return "unit_mismatch"
    if is_identifier(first) or is_identifier(second):
        return "name_mismatch"
    denies = [word in vocabulary.negations for word in both]
    return "negation_mismatch" if denies[0] != denies[1] else None


def _differs(first: str | None, second: str | None) -> bool:
    """Return True if two numbers have different values. 5 and 5.0 may be two versions or one amount."""
    try:
        return float(first or 0) != float(second or 0)
    except ValueError:  # versions and dates, such as 3.10.1
        return first != second
