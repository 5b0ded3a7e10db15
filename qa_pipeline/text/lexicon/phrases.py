"""What the rules need to know of a language: its questions, and the few words around which they are asked.

In a template, `{place}` is
the quoted heading with the quoted title of its document, other names are what the rule found, and a part
in `[…]` is used only where the question would not say by itself what it is about.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from qa_pipeline.records import QuestionType

_OPTIONAL = re.compile(r"\[([^\[\]]{0,80})\]")


@dataclass(frozen=True, slots=True)
class Statement:
    """A kind of sentence and the question it answers.

    The groups of `expression` fill `template`: `subject` is a term, `goal` something one can do, `rest` what
    is said of the subject. `opening` asks only where the sentence opens a paragraph under the subject's own
    heading, because what a thing does is said in many places.
    """

    expression: re.Pattern[str]
    template: str
    question_type: QuestionType
    score: float
    opening: bool


def states(
    expression: str, template: str, question_type: QuestionType = "fact_single", *, opening: bool = False
) -> Statement:
    """Return a row of a language's statements."""
    return Statement(re.compile(expression), template, question_type, 0.7 if opening else 0.85, opening)


@dataclass(frozen=True, slots=True)
class Phrases:
    """A language's wording.

    `within` joins a quoted heading to the quoted title of its document. `how_to` matches a heading that
    promises instructions, whose first word must then be a key of `infinitives` where these are given;
    `references` one that only lists other places. `definite` and `indefinite` are articles. `empty` are
    headings, keys and columns that name nothing by themselves,
    `leaning` are words that stand for something said before, `pointing` ones that send the reader elsewhere,
    `weak` words and forms of `superlative` make a predicate no definition, `abstract` are nouns that only
    their context tells apart. `chapters` and `clauses` are patterns of numbered parts of a law;
    `adjective_endings` those of a word that no infinitive has.
    """

    quotes: tuple[str, str]
    within: str
    key_value: str
    item: str
    cell: str
    steps: str
    section: str
    clause: str
    instructions: str
    how_to: re.Pattern[str]
    infinitives: Mapping[str, str]
    references: re.Pattern[str]
    statements: tuple[Statement, ...]
    indefinite: frozenset[str]
    definite: frozenset[str]
    empty: frozenset[str]
    superlative: re.Pattern[str]
    leaning: frozenset[str]
    pointing: frozenset[str]
    weak: frozenset[str]
    abstract: frozenset[str]
    chapters: tuple[str, ...]
    clauses: tuple[str, ...]
    adjective_endings: tuple[str, ...] = ()

    def quoted(self, text: str) -> str:
        """Put a text in the quotation marks of the language."""
        return f"{self.quotes[0]}{text}{self.quotes[1]}"


def fill(template: str, names: Mapping[str, str], *, placed: bool) -> str:
    """Fill a template literally; its optional parts stay only where the place is needed."""
    wording = _OPTIONAL.sub(r"\1" if placed else "", template)
    question = " ".join(wording.format_map(dict(names)).split())
    question = question[:1].upper() + question[1:]
    return question if template.endswith(" ?") else question.replace(" ?", "?")


def any_of(text: str) -> str:
    """Write a list of alternatives, parted by commas, as a group of an expression."""
    return "(?:" + "|".join(re.escape(" ".join(phrase.split())) for phrase in text.split(",")) + ")"


SUBJECT = r"(?P<subject>[^\s,;:.!?()][^,;:!?()]{0,70}?)(?: \([^()]{1,60}\))?"
"""The words before the verb, with or without what an abbreviation stands for."""
REST = r".{15,}"
NUMBER = r"(?:[^\W\d][\w ]{0,20} )?\d"
YEAR = r"(?:1[5-9]|20)\d\d"
