"""What the rules need to know of a language: its questions, and the few words around which they are asked.

In a template, `{source}` names the document, other names are what the rule found, and a part in `[…]` is used
only where the question would not say by itself what it is about.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from qa_pipeline.records import QuestionType

_OPTIONAL = re.compile(r"\[([^\[\]]{0,80})\]")


@dataclass(frozen=True, slots=True)
class Statement:
    """A kind of sentence and the question it answers.

    The groups of `expression` fill `template`: `subject` is a term, `goal` something one can do, `condition` a
    clause, `rest` what is said of the subject; `when` and `verb` are written small. `opening` asks only where
    the sentence opens a paragraph and its subject is a name or the paragraph's heading, because what a thing
    does is said in many places.
    """

    expression: re.Pattern[str]
    template: str
    question_type: QuestionType
    score: float
    opening: bool


def states(
    expression: str,
    template: str,
    question_type: QuestionType = "fact_single",
    *,
    opening: bool = False,
    score: float = 0.85,
) -> Statement:
    """Return a row of a language's statements."""
    return Statement(re.compile(expression), template, question_type, 0.7 if opening else score, opening)


@dataclass(frozen=True, slots=True)
class Attribute:
    """Ask for a key with such a value, and answer in a sentence.

    `key` and `value` are patterns of all of the key and of the beginning of the value. In the templates `{key}`
    is the key with its article, `{of}` a relation, `{subject}` what has it, `{value}` what it
    is. A template with `{key}` is passed over where the article is not known.
    """

    key: re.Pattern[str]
    value: re.Pattern[str]
    question: str
    answer: str


def attribute(value: str, question: str, answer: str, *, key: str = ".*") -> Attribute:
    """Return a row of a language's attributes."""
    return Attribute(re.compile(f"(?i:{key})"), re.compile(value), question, answer)


@dataclass(frozen=True, slots=True)
class Phrases:
    """A language's wording.

    `source` says whose statement is asked for, in the words of `laws` where the document's title is that of a
    law, as patterns and what stands in their place. `term` and `action` ask what a term of a list is, and does where `acts` opens what is said. `placed` says a finished question with its place.
    `how_to` matches a heading that
    promises instructions, whose first word must then be a key of `infinitives` where these are given;
    `references` one that only lists other places. `leads` are sentences that end in a colon before a list,
    `attributes` keys with a value, of which the first that fits is asked; `definite_forms` gives, by the end
    of a key, how it is written with its article ("{}" is the key), `relations` what joins a key to the thing
    that a heading names, and to the row of a table, `plural` the end of
    keys that are many things, `common` a lone word that is no name,
    `kinds` the end of a title that says what kind of document it is: "Fjell 8 data sheet". `key_value` asks what is stated under a key: no question of these rules, but of pairs of old.
    `definite` and `indefinite` are articles. `empty` are
    headings, keys and columns that name nothing by themselves, `manuals` kinds of documents that are of something,
    `title_case`
    says that titles have capitals throughout, `general` further words of titles that name no thing, `metadata` those that describe the document,
    `leaning` are words that stand for something said before, `pointing` ones that send the reader elsewhere,
    `addressing` ones that mean whoever reads, `idle` ones of what is on the mind of whoever reads,
    `dangling` a pattern of words by which a sentence speaks of what another one names,
    `vague` are nouns that with an article alone say
    nothing outside their page, `partial` is a word by which an answer is a first step, `weak` words and forms of `superlative` make a predicate no definition, `abstract` are nouns that only
    their context tells apart. `clauses` are words before the number of a part of a law;
    `adjective_endings` those of a word that no infinitive has.
    """

    quotes: tuple[str, str]
    source: str
    laws: tuple[tuple[re.Pattern[str], str], ...]
    key_value: str
    term: str
    action: str
    acts: re.Pattern[str]
    instructions: str
    placed: str
    how_to: re.Pattern[str]
    infinitives: Mapping[str, str]
    references: re.Pattern[str]
    statements: tuple[Statement, ...]
    leads: tuple[Statement, ...]
    attributes: tuple[Attribute, ...]
    definite_forms: Mapping[str, str]
    relations: tuple[str, str]
    plural: re.Pattern[str]
    kinds: re.Pattern[str]
    common: re.Pattern[str]
    indefinite: frozenset[str]
    definite: frozenset[str]
    empty: frozenset[str]
    manuals: frozenset[str]
    title_case: bool
    general: frozenset[str]
    metadata: frozenset[str]
    superlative: re.Pattern[str]
    leaning: frozenset[str]
    pointing: frozenset[str]
    addressing: frozenset[str]
    idle: frozenset[str]
    dangling: re.Pattern[str]
    weak: frozenset[str]
    vague: frozenset[str]
    partial: re.Pattern[str]
    abstract: frozenset[str]
    clauses: tuple[str, ...]
    adjective_endings: tuple[str, ...] = ()

    def law_named(self, title: str) -> str:
        """Say under which law something holds: "under the Housing Act"; empty where a title is not a law's."""
        for law, wording in self.laws:
            if match := law.fullmatch(title):
                preposition, _, name = match.expand(wording).rpartition("_")
                return f"{preposition} {name[:1].lower()}{name[1:]}" if preposition else name
        return ""

    def quoted(self, text: str) -> str:
        """Put a text in the quotation marks of the language."""
        return f"{self.quotes[0]}{text}{self.quotes[1]}"


def fill(template: str, names: Mapping[str, str], *, placed: bool) -> str:
    """Fill a template literally; its optional parts stay only where the place is needed."""
    wording = _OPTIONAL.sub(r"\1" if placed else "", template)
    question = " ".join(wording.format_map(dict(names)).split())
    question = question[:1].upper() + question[1:]
    return question.replace(" ?", "?").replace(" ,", ",").replace(",?", "?")


def words(text: str) -> frozenset[str]:
    """Split a word list."""
    return frozenset(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """Split a list of phrases at its commas."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


def any_of(text: str) -> str:
    """Write a list of alternatives, parted by commas, as a group of an expression."""
    return "(?:" + "|".join(re.escape(" ".join(phrase.split())) for phrase in text.split(",")) + ")"


SUBJECT = (
    r"(?P<subject>[^\s,;:.!?()][^,;:!?()]{0,70}?)(?: \((?!and |or |och |eller |und |oder )[^()]{1,60}\))?"
)
"""The words before the verb, with or without what an abbreviation stands for."""
REST = r".{15,}"
NUMBER = r"(?:[^\W\d][\w ]{0,20} )?\d"
YEAR = r"(?:1[5-9]|20)\d\d"
CLAUSE = r"[^,;:()?!]{8,120}"
"""A clause between commas."""
