"""What canaries are made of: sentences, table rows and list items of a batch, and what a generator is.

`known` generators make what the rules were built for. `foreign` ones know nothing of the rules, so that a
rule fitted to one way of falsifying shows.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from qa_pipeline.storage.hashes import draw_number
from qa_pipeline.text.doubt import blank_doubts
from qa_pipeline.text.lexicon.languages import CAPITALS, LEXICONS
from qa_pipeline.text.sentences import split_sentences

_SHORTEST, _LONGEST, _FEWEST_WORDS = 40, 300, 6
"""Characters, and words, of a sentence that canaries are made of: shorter ones are labels, longer ones lists
or paragraphs."""
_LETTERS = 0.85
"""Share of letters and blanks in prose; references, formulas and code have fewer."""
_FEWEST_BARS = 2
"""Bars between cells of a row: one with fewer has no two values that could change places."""
_OPENING = re.compile(rf"[\"“„'(]?[{CAPITALS}][\w’'-]*[ ,]")
_NO_PROSE = re.compile(r"[|{}<>\[\]\\=]|`|::|\w://|\s[*+-]\s|\.\.|…|^\w\)|\w\s?:$|\(\)|\$|--")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+(\S.{2,300})")
_LEAD_IN = re.compile(r"(?:(?<=[.!?] )|^)[^.!?#]{1,200}:$")
_ASIDE = re.compile(r"\([^()\d]{0,200}\)")
"""Words in brackets, whose negation denies no item: "A number of reasons (not exhaustive):"."""
_FEWEST_OF_LEAD_IN = 4
"""Words of a lead-in that says something of its items; a shorter one is a label: "For example:"."""
_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_][\w’'-]*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, table row or list item of a chunk, on one line.

    `following` is the next sentence of its paragraph, if it is prose too.
    """

    chunk_id: str
    document_id: str
    language: str
    text: str
    following: str | None
    lead_in: str = ""
    """Text that announces the list that it is an item of."""


@dataclass(frozen=True)
class Material:
    """Sentences, table rows and list items of a batch, and the texts around them by chunk id."""

    sentences: tuple[Sentence, ...]
    rows: tuple[Sentence, ...]
    items: tuple[Sentence, ...]
    chunks: Mapping[str, str]
    owners: Mapping[str, str]
    seed: int = 0
    _documents: dict[str, str] = field(default_factory=dict)
    _lists: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    _found: dict[tuple[str, str], Any] = field(default_factory=dict)

    def lists(self, document_id: str) -> dict[str, set[str]]:
        """Return the items of the lists of a document, by lead-in."""
        if not self._lists:
            for item in self.items:
                self._lists.setdefault(item.document_id, {}).setdefault(item.lead_in, set()).add(item.text)
        return self._lists[document_id]

    def once(self, what: str, language: str, find: Callable[[], Any]) -> Any:
        """Return what `find` finds in all sentences of a language, computed once."""
        if (what, language) not in self._found:
            self._found[what, language] = find()
        return self._found[what, language]

    def document(self, document_id: str) -> str:
        """Return all text of a document that was cut into chunks."""
        if not self._documents:
            parts: dict[str, list[str]] = {}
            for chunk_id, owner in self.owners.items():
                parts.setdefault(owner, []).append(self.chunks[chunk_id])
            self._documents.update({owner: "\n".join(texts) for owner, texts in parts.items()})
        return self._documents[document_id]

    def pick(self, choices: Sequence[str], *key: str) -> str:
        """Return one of the choices, always the same for the same key."""
        return choices[draw_number(self.seed, *key) % len(choices)]


def gather(chunks: pl.DataFrame, seed: int = 0) -> Material:
    """Return the material of a batch, without sentences in doubt or that repeat text of another document.

    Args:
        chunks: the chunks table.
        seed: of every choice made from it.
    """
    sentences: dict[str, Sentence] = {}
    rows: dict[str, Sentence] = {}
    items: dict[tuple[str, str], Sentence] = {}
    chunks = chunks.sort("document_id", "position", "chunk_id")
    columns = ("chunk_id", "document_id", "language", "repeats", "text", "doubts", "char_start")
    for chunk_id, document_id, language, repeats, *of_text in chunks.select(columns).iter_rows():
        if language in LEXICONS and repeats is None:
            text = blank_doubts(of_text[0], language, *of_text[1:])
            for sentence in _sentences(chunk_id, document_id, language, text):
                sentences.setdefault(sentence.text, sentence)
            for line in text.split("\n"):
                if line.count(" | ") >= _FEWEST_BARS and len(line) <= _LONGEST:
                    rows.setdefault(line, Sentence(chunk_id, document_id, language, line, None))
            for lead_in, item in list_items(text):
                entry = Sentence(chunk_id, document_id, language, item, None, lead_in)
                items.setdefault((lead_in, item), entry)
    return Material(
        tuple(sentences.values()),
        tuple(rows.values()),
        tuple(items.values()),
        dict(chunks.select("chunk_id", "text").iter_rows()),
        dict(chunks.select("chunk_id", "document_id").iter_rows()),
        seed,
    )


def _sentences(chunk_id: str, document_id: str, language: str, text: str) -> Iterator[Sentence]:
    spans = split_sentences(text, language)
    lines = [" ".join(text[start:end].split()) for start, end in spans]
    for place, line in enumerate(lines):
        if not is_prose(line):
            continue
        after = lines[place + 1] if place + 1 < len(lines) else ""
        between = text[spans[place][1] : spans[place + 1][0]] if after else ""
        together = "\n\n" not in between and is_prose(after)
        yield Sentence(chunk_id, document_id, language, line, after if together else None)


def list_items(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lead-in and the text of each item of the lists that a line with a colon announces."""
    lead_in, depth = "", 0
    for line in text.split("\n"):
        item = _ITEM.fullmatch(line)
        if item is None:
            if line.strip():
                lead_in, depth = _lead_in(line), -1
        elif lead_in:
            depth = len(item[1]) if depth < 0 else depth
            if len(item[1]) == depth and item[2][-1] != ":" and not _NO_PROSE.search(item[2]):
                yield lead_in, " ".join(item[2].split())


def _lead_in(line: str) -> str:
    """Return the last sentence of a line, where it ends with a colon and says something of what follows."""
    match = _LEAD_IN.search(line)
    if match is None or len(match[0].split()) < _FEWEST_OF_LEAD_IN or _ASIDE.search(match[0]):
        return ""
    return match[0] if _NO_PROSE.search(match[0][:-1]) is None else ""


def is_prose(line: str) -> bool:
    """Return whether a line is a whole statement of some length, in words rather than in figures."""
    return (
        len(line) >= _SHORTEST
        and len(line.split()) >= _FEWEST_WORDS
        and is_statement(line)
        and sum(letter.isalpha() or letter == " " for letter in line) >= _LETTERS * len(line)
    )


def is_statement(line: str) -> bool:
    """Return whether a line is one whole statement: no heading, row, code, question or torn piece."""
    return (
        len(line) <= _LONGEST
        and line.endswith(".")
        and _OPENING.match(line) is not None
        and _NO_PROSE.search(line) is None
        and line.count("(") == line.count(")")
        and all(line.count(mark) % 2 == 0 for mark in '"')
    )


@functools.lru_cache(maxsize=4096)
def numerals(text: str) -> frozenset[str]:
    """Return every number of a text, written without grouping or decimal marks."""
    return frozenset(re.sub(r"[.,]", "", numeral) for numeral in _NUMERAL.findall(text))


@functools.lru_cache(maxsize=512)
def lower_words(text: str) -> frozenset[str]:
    """Return the words of a text that it writes in small letters somewhere."""
    return frozenset(word for word in _WORD.findall(text) if word[0].islower())


def words(text: str) -> list[str]:
    """Return the words of a text as written."""
    return _WORD.findall(text)


Family = Literal["known", "foreign"]
Over = Literal["sentences", "rows", "items"]
Expected = Literal["supported", "rejected"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim made from a sentence, and the chunk it cites: its own, unless that is what is falsified.

    `question` is what the claim answers, where the two together are what is falsified.
    """

    claim: str
    chunk_id: str
    question: str = ""


Make = Callable[[Sentence, Material], Iterator[Draft]]


@dataclass(frozen=True, slots=True)
class Generator:
    """A mechanism of one kind; `make` yields nothing for a sentence, row or item it does not suit."""

    kind: str
    family: Family
    mechanism: str
    make: Make
    expected: Expected = "rejected"
    over: Over = "sentences"


def on_text(change: Callable[[Sentence, Material], Iterator[str]]) -> Make:
    """Return a generator that changes words and cites the sentence's own chunk.

    What the chunk says anyway is left out: it would be neither false nor in other words.
    """

    def make(sentence: Sentence, material: Material) -> Iterator[Draft]:
        passage = " ".join(material.chunks[sentence.chunk_id].split())
        for claim in change(sentence, material):
            if claim not in passage:
                yield Draft(claim, sentence.chunk_id)

    return make
