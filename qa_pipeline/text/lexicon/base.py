"""What the checks must know of a language, as one record, and which record a language code names."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The closed word classes of one language; every entry is casefolded.

    `negations` deny in so many words, `soft_negations` by their meaning. `clause_openers` begin a clause that
    a negation before them does not reach. `passive_agents` bring in who did it, `joiners` list equals.
    `opposites` are pairs of groups: a word of one side denies a word of the other. `lower_bounds`,
    `upper_bounds` and `approximations` stand before (or, like "or more", after) a number. `universal`,
    `partial`, `exclusive`, `strong` and `weak` are quantifiers and obligations. `conditions` open a
    clause without which the rest of a sentence need not hold.
    `cell_sentence` states column, row and value of a table cell in words. `measures` has the dimensions of
    units that a word of a question asks for.
    """

    code: str
    stemmer: str
    decimal_comma: bool
    nouns_capitalised: bool
    stop_words: Set[str]
    not_word: str
    and_word: str
    cell_sentence: str
    negations: Set[str]
    soft_negations: Set[str]
    clause_openers: Set[str]
    passive_agents: Set[str]
    joiners: Set[str]
    negative_prefixes: tuple[str, ...]
    opposites: tuple[tuple[Set[str], Set[str]], ...]
    numbers: Mapping[str, float]
    ordinals: Mapping[str, int]
    scales: Mapping[str, float]
    months: Mapping[str, int]
    lower_bounds: tuple[str, ...]
    upper_bounds: tuple[str, ...]
    approximations: tuple[str, ...]
    universal: Set[str]
    partial: Set[str]
    exclusive: Set[str]
    strong: Set[str]
    weak: Set[str]
    conditions: tuple[str, ...]
    greetings: Set[str]
    determiners: Set[str]
    fillers: Set[str]
    conjunctions: Set[str]
    contrasts: Set[str]
    conditional_words: Set[str]
    example_openers: tuple[str, ...]
    reason_openers: Set[str]
    finite_verbs: Set[str]
    contractions: Mapping[str, tuple[str, ...]]
    function_classes: tuple[Set[str], ...]
    question_words: Set[str]
    row_glue: Set[str]
    adding_relatives: Set[str]
    auxiliaries: Set[str]
    negation_tails: Set[str]
    openings: Set[str]
    endings: Set[str]
    collectives: Set[str]
    copulas: Set[str]
    past_copulas: Set[str]
    relatives: Set[str]
    subject_pronouns: Set[str]
    degree_words: Set[str]
    value_columns: Set[str]
    measures: Mapping[str, tuple[str, ...]]


def words(text: str) -> frozenset[str]:
    """Split a word list."""
    return frozenset(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """Split a list of phrases at its commas."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


def compounds(tens: str, units: str, join: Callable[[str, str], str]) -> dict[str, int]:
    """Number words of 21 to 99 that are written as one, from the words for 20 to 90 and for 1 to 9."""
    return {
        join(ten, unit): 10 * tenfold + number
        for tenfold, ten in enumerate(tens.split(), 2)
        for number, unit in enumerate(units.split(), 1)
    }


def classes(text: str) -> tuple[frozenset[str], ...]:
    """Split word lists that are separated by commas."""
    return tuple(words(part) for part in text.split(","))


def contracted(text: str) -> dict[str, tuple[str, ...]]:
    """Read `can't=can+not` entries."""
    pairs = (entry.split("=") for entry in text.split())
    return {short: tuple(long.split("+")) for short, long in pairs}


def numbered(text: str, first: int = 1) -> dict[str, int]:
    """Number a word list; forms of one number are joined by a slash."""
    return {form: number for number, forms in enumerate(text.split(), first) for form in forms.split("/")}


def opposed(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Read `a,b/c,d` groups: a word on one side of the slash denies a word on the other."""
    pairs = (pair.split("/") for pair in text.split())
    return tuple((frozenset(left.split(",")), frozenset(right.split(","))) for left, right in pairs)
