"""Read a passage for the extractive rules: its units, sentences and names."""

import functools
import re
import tomllib
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import CAPITALS, SMALL, lexicon
from qa_pipeline.text.reading import read
from qa_pipeline.text.sentences import split_sentences, units

LONGEST_NAME = 60
_WORD = re.compile(r"[^\s,;:?!()\[\]\"“”„«»|]+")
_CODE_NAME = re.compile(r"^--?[^\W\d]|[^\W\d]_|_[^\W\d]|::|\(\)|\w\.\w{2}")  # --flag, a_b, call(), a.py
_NAME = re.compile(rf"[{SMALL}][{CAPITALS}]|[{CAPITALS}]{{2}}|[^\W\d_]-?\d")  # iPhone, DNS, B-52
_NUMBERED_NAME = re.compile(rf"(?<!\S)((?=[{CAPITALS}]|\w+ v?\d+\.\d)[^\W\d_]+) v?\d")
"""The name in "Go 2", or in "go v1.2": a word in lower case needs a version with a point."""
_NUMBERING = re.compile(
    r"(?:(?i:chapter|part|appendix|kapitel|del|teil|anhang|bilaga) \w{1,4}[.:)]?"
    r"|\d{1,3}(?:\.\d{1,3}){0,5}[.:)]?|[A-Z][.:)]) "
)
_MARKER = re.compile(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])[ \t]+(?:\d{1,3}[.)][ \t]+)?")  # "- ", "- 6. "

UnitKind = Literal["heading", "code", "item", "row", "prose"]


class Statement(BaseModel):
    """A kind of sentence (`says`, such as "{subject} is {thing}"), and the template of its question."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    question: str
    says: str


class Words(BaseModel):
    """Question templates and closed word lists of a language. See extractive_words.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    statements: tuple[Statement, ...]
    dependent: frozenset[str]
    pointing: frozenset[str]
    purposes: tuple[str, ...]
    weak: frozenset[str]


class Unit(NamedTuple):
    """A unit of text on one line, which sentences do not cross. `start` is after its marker."""

    kind: UnitKind
    text: str
    start: int
    end: int


@functools.cache
def words_of(language: str) -> Words:
    """Return the templates and word lists of a language."""
    content = tomllib.loads(Path(__file__).with_name("extractive_words.toml").read_text(encoding="utf-8"))
    return Words.model_validate(content[language])


def units_of(text: str) -> list[Unit]:
    """Return the units of a text in order."""
    spans = [(start, end) for start, end, _ in units(text) if text[start:end].strip("# \n")]
    return [_unit(text[start:end].rstrip(), start) for start, end in spans]


def _unit(written: str, start: int) -> Unit:
    """Return the unit of a text as written, such as "- an item", without its marker."""
    marker = _MARKER.match(written)
    body = written[marker.end() if marker else 0 :].lstrip()
    kind: UnitKind = "item" if marker else "row" if " | " in written else "prose"
    if written.startswith("#"):
        kind, body = "heading", written.lstrip("# ")
    elif written.lstrip().startswith(("```", "~~~")):
        kind = "code"
    end = start + len(written)
    return Unit(kind, " ".join(body.split()), end - len(body), end)


def sentences_of(unit: Unit, passage: Passage) -> list[Unit]:
    """Return the sentences of a unit."""
    spans = split_sentences(passage.text[unit.start : unit.end], passage.language)
    offsets = [(unit.start + start, unit.start + end) for start, end in spans]
    return [Unit(unit.kind, " ".join(passage.text[a:b].split()), a, b) for a, b in offsets]


def plain(heading: str) -> str:
    """Return a heading or title without numbering and marks."""
    name = " ".join(heading.replace("`", "").split()).strip(" :¶#*")
    numbering = _NUMBERING.match(name)
    return name[numbering.end() :] if numbering else name


def folded(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [name.lower() for word in _WORD.findall(text) if (name := word.strip(".'’*`"))]


def has(text: str, words: Set[str]) -> bool:
    """Return True if a text contains any of the words."""
    return not words.isdisjoint(folded(text))


def _german_names(capitalised: Iterable[tuple[str, str]], definite: Set[str]) -> set[str]:
    """Return pairs of nouns, such as "Stiftung Warentest" of (before, word), and compounds: "Haupt-Pumpe"."""
    names: set[str] = set()
    for before, word in capitalised:
        if before[:1].isupper() and before.lower() not in definite:  # not the article in "Die Pumpe läuft"
            names |= {before, word}
        elif "-" in word.strip("-"):
            names.add(word)
    return names


class Reading:
    """A passage with the words of its language."""

    def __init__(self, passage: Passage) -> None:
        self.passage, self.text = passage, passage.text
        self.words, self.grammar = words_of(passage.language), lexicon(passage.language)
        is_cut = passage.text.count("```") % 2 == 1  # a border of the passage cuts code
        self.units = [] if is_cut else units_of(passage.text)
        self.headings = [plain(heading) for heading in (passage.title, *passage.section_path)]

    def needs_context(self, text: str) -> bool:
        """Return True if a text has a word that only makes sense in its context."""
        return has(text, self.words.dependent | self.words.pointing)

    def writes_as_name(self, word: str) -> bool:
        """Return True if the passage writes a word as "Kafka" inside a sentence, and never as "kafka"."""
        if self.grammar.nouns_capitalised or not word[:1].isupper() or len(word) > LONGEST_NAME:
            return False
        inside = re.search(rf"[{SMALL},] {re.escape(word)}\b", self.text)
        return bool(inside) and not re.search(rf"\b{re.escape(word.lower())}\b", self.text)

    def names_in(self, text: str) -> set[str]:
        """Return the names in a line, in lower case, except identifiers of code, which are ambiguous.

        "How does the Main Pump work?" has "main" and "pump". In a title-case line, only words count that the
        passage always capitalises. In German, two adjacent nouns or a compound with a hyphen are names.
        """
        written = [name for word in _WORD.findall(text) if (name := word.strip(".'’*"))]
        ignored = self.grammar.stop_words | self.grammar.speakers
        candidates = {word for word in written if word.lower() not in ignored and not _CODE_NAME.search(word)}
        # words with the form of a name, and words before a version
        names = {word for word in candidates if len(word) <= LONGEST_NAME and _NAME.search(word)}
        names |= {*_NUMBERED_NAME.findall(text)} & candidates
        # capitalised words, each with the word before it
        with_before = zip(["", *written], written, strict=False)
        capitalised = [(a, word) for a, word in with_before if word in candidates and word[:1].isupper()]
        if self.grammar.nouns_capitalised:
            names |= _german_names(capitalised, self.grammar.definite) & candidates
        else:
            # in title case, only words of up to three letters are in lower case
            is_title_case = not any(word[:1].islower() and len(word) > 3 for word in candidates)
            for before, word in capitalised:
                is_capital_meaningful = before != "" and not is_title_case  # not so at the start of a line
                if is_capital_meaningful or self.writes_as_name(word):
                    names.add(word)
        return {word.lower() for word in names}

    def mentions_name(self, text: str) -> bool:
        """Return True if a text contains a name, or the first part of a compound name of the title."""
        names = {name.partition("-")[0] for name in self.names_in(plain(self.passage.title))}
        first_parts = {word.partition("-")[0] for word in folded(text)}
        return bool(self.names_in(text)) or not names.isdisjoint(first_parts)

    def is_headed(self, words: str) -> bool:
        """Return True if the innermost heading or the title contains all content words of `words`."""
        needed = self.stems(words)
        lines = (self.headings[0], self.headings[-1])
        return bool(needed) and any(needed <= self.stems(line) for line in lines)

    def stems(self, text: str) -> Set[str]:
        """Return the stems of the content words of a text."""
        return read(text, self.passage.language).stem_set

    def small(self, text: str) -> str:
        """Return a text without the capital letter of a sentence opening."""
        first = text.partition(" ")[0]
        articles = self.grammar.definite | self.grammar.indefinite
        is_noun = self.grammar.nouns_capitalised and first.lower() not in articles
        is_identifier = len(first) <= LONGEST_NAME and (_NAME.search(first) or _CODE_NAME.search(first))
        keeps = is_noun or is_identifier or self.writes_as_name(first)
        return text if keeps else text[:1].lower() + text[1:]
