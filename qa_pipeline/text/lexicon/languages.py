"""Load the word lists of the languages from `<language>.toml`, and their stemmers."""

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _casefolded(value: Any) -> Any:
    """Fold the case, so that "außer" is compared as "ausser"."""
    if isinstance(value, dict):
        return {word.casefold(): number for word, number in value.items()}
    return [word.casefold() for word in value]


Words = Annotated[frozenset[str], BeforeValidator(_casefolded)]
Numbers = Annotated[Mapping[str, int], BeforeValidator(_casefolded)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pronouns(_Table):
    """Pronouns, which refer to other text."""

    referring: Words
    demonstratives: Words
    impersonal: Words


class Proof(_Table):
    """Words for comparing a claim with a sentence of its source."""

    connectives: Words
    scope: Words  # "only", "may": restrict or weaken a sentence
    asking: Words
    how_words: Words  # "how", before a measure as in "how long"
    pronouns: Words
    impersonal: Words
    reporting: Words  # "claimed"
    supposing: Words  # "imagine"
    contrasts: Words
    demonstratives: Words
    voiding: Words  # "draft", "repealed": the text below is not valid
    revoking: Words
    determiners: Words  # also "all", "this", "my" and "which"
    who: Words
    yes: Words
    no: Words
    units: Words
    bounds: tuple[str, ...]
    clause_joiners: Words
    conditions: Words
    numbers: Numbers
    denying: Words


class Conventions(_Table):
    """Words and abbreviations for finding the ends of sentences."""

    never_final: frozenset[str]  # "dr": a sentence never ends after it
    often_final: frozenset[str]  # "inc": a sentence ends after it if the next word is an opener
    closing: frozenset[str]  # "etc": ends a list, and usually its sentence
    before_number: frozenset[str]  # "nr": belongs to the number after it
    openers: frozenset[str]  # "the", "on": often open a sentence, and are no names
    ordinal_leads: frozenset[str]  # "der": may precede an ordinal number, as in German "der 2. Versuch"
    capital_opens: bool  # True if any capital after "etc." opens a sentence; False if all nouns have one


class Layout(_Table):
    """Names that documents give their own parts."""

    contents: tuple[str, ...]
    back_matter: tuple[str, ...]
    pages: tuple[str, ...]
    of: tuple[str, ...]
    sections: tuple[str, ...]
    suspending: tuple[str, ...]
    compound_heads: tuple[str, ...]
    compound_tails: tuple[str, ...]
    word_prefixes: tuple[str, ...]
    columns: tuple[str, ...]


class Refusing(_Table):
    """Beginnings of words in refusals, and of words that may accompany them."""

    documents: Words
    denials: Words
    mentioning: Words
    phrases: Words  # "i do not know": enough for a refusal
    whole_clauses: Words  # "not stated": a refusal if the clause has no other words
    courtesies: Words
    breaks: Words


class Lexicon(_Table):
    """The closed word classes of a language. Its file describes each class."""

    code: str
    names: tuple[str, ...]
    stemmer: str
    letters: str
    token_bytes: float
    decimal_comma: bool
    nouns_capitalised: bool
    open_compounds: bool
    not_word: str
    months: Numbers
    sources: tuple[str, ...]
    stop_words: Words
    negations: Words
    rising: Words
    falling: Words
    prepositions: Words
    infinitive_marks: Words
    finite_verbs: Words
    articles: Words
    definite: Words
    indefinite: Words
    joiners: Words
    question_openers: Words
    question_words: Words
    contrasted: Words
    qualifying: Words
    conditional_words: Words
    speakers: Words
    year_leads: Words
    pronouns: Pronouns
    proof: Proof
    conventions: Conventions
    layout: Layout
    fields: dict[str, tuple[str, ...]]
    refusing: Refusing


def _load(language: str) -> Lexicon:
    content = files(__package__).joinpath(f"{language}.toml").read_text("utf-8")
    return Lexicon.model_validate(tomllib.loads(content))


LEXICONS: Mapping[str, Lexicon] = {language: _load(language) for language in ("en", "sv", "de")}
"""Words by language code. A new language needs a file, its code here and a folder of prompts."""
LANGUAGES = tuple(LEXICONS)


def lexicon(language: str) -> Lexicon:
    """Return the words of a language, by default English words."""
    return LEXICONS.get(language, LEXICONS["en"])


def of_all(field: str) -> tuple[str, ...]:
    """Return the distinct values of all lexicons in a field such as `sources` or `layout.of`, in order."""
    values: list[Any] = list(LEXICONS.values())
    for part in field.split("."):
        values = [value[part] if isinstance(value, dict) else getattr(value, part) for value in values]
    return tuple(dict.fromkeys(word for words in values for word in words))


def any_of(words: Iterable[str]) -> str:
    """Return a pattern that matches any of the words, longest first."""
    return f"(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})"


def any_of_all(field: str) -> str:
    """Return a pattern that matches the values of all languages in a field."""
    return any_of(of_all(field))


SMALL = "a-z" + "".join(of_all("letters"))
CAPITALS = "A-Z" + "".join(letter.upper() for letter in of_all("letters") if letter != "ß")
"""Letters of all languages, for use between the brackets of a pattern."""


@functools.cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return a function from a word of a language to its stem (Snowball, Porter 2001)."""
    import Stemmer

    snowball = Stemmer.Stemmer(lexicon(language).stemmer, 0)  # its cache of words is not thread-safe
    return lambda word: str(snowball.stemWord(word))
