"""A passage as the rules read it: its lines and sentences, its place in a document, and what a rule finds."""

import functools
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from qa_pipeline.records import Passage, QuestionType
from qa_pipeline.text.blocks import NUMBERED_ITEM
from qa_pipeline.text.lexicon.languages import CAPITALS, LANGUAGES, SMALL, any_of_all, lexicon
from qa_pipeline.text.lexicon.phrases import Phrases
from qa_pipeline.text.sentences import split_sentences

MAX_ANSWER = 600
"""Characters of an answer; longer ones are hard to read and to prove."""
MAX_NAME = 110
"""Characters of a heading or title that can be quoted in a question."""

_NUMBERING = re.compile(
    r"^(?:(?:[^\W\d_]{1,10}\s)?\d{1,3}(?:\.\d{1,3}){0,5}(?:[.:)]| [-–—])"
    r"|(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){1,5})\s+(?=\S)"
)
_CLAUSE_WORDS = any_of_all("wording.clauses")
_CLAUSE = re.compile(rf"\d{{1,4}}(?: ?[a-z])? §|§+ ?\d{{1,4}} ?[a-z]?|{_CLAUSE_WORDS} \d{{1,4}}")
_CLAUSE_MARKER = re.compile(r"\(\d{1,2}[a-z]?\) ")
"""The number before a paragraph of a section of a law: "(2) The fee …"."""
_WORD = re.compile(r"[^\W_][\w-]*")
_IDENTIFIER = re.compile(
    rf"(?=.*(?:[{SMALL}][{CAPITALS}]|[{CAPITALS}]{{2}}|_|\(\)|[^\W\d]\.\w|\d|::|^-))[\w<@$-][^\s]*"
)
_OWN_NAME = re.compile(
    rf"(?!e[{CAPITALS}])[\w.-]{{0,60}}[{SMALL}][{CAPITALS}][\w.-]{{0,60}}|\w+\(\)|[{CAPITALS}]{{2,}}[{SMALL}]{{2,}}\w*"
)
"""A word that is nothing but a name: "SQLite", "get()"; an abbreviation may be common, and "eBook" is."""
_MANUAL_PAGE = re.compile(r"([\w.+:-]+)\(\d\w{0,3}\)")
_TITLE_PARTS = re.compile(r"(?<!\s)\s+(?:-{1,3}|[–—|·])\s+|:\s+")
_TITLE_WORD = re.compile(r"[\s,()'’/]+|(?<=\w)[-‐](?=\w)")
_STATUTE = re.compile(r"\(\d{4}:\d+\)")
_NUMBERED_NAME = re.compile(rf"(?<!\S)[{CAPITALS}][^\W\d]+ \d|(?<!\S)\w+ v?\d+\.\d")
"""A product or a rule with its number: "Fjell 8", "restic 0.16"."""
_SHORTEST_END = 6
"""Letters of a word that is looked for as the end of a compound: Benutzerhandbuch."""
_HEADING = re.compile(r"#{1,6} ")
_NUMBER = re.compile(r"\d{1,3}")
_LONGEST_HEADING = 40
"""Characters of a line in capitals that is a heading; a longer one shouts."""
_LIST_ITEM = re.compile(r" {0,16}(?:[-*]|\d{1,3}[.)]) ")

LineKind = Literal["heading", "code", "list_item", "table_row", "prose"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question a passage answers.

    `quote` is `passage.text[start:end]`, word for word; `answer` is the quote or a part of it, on one line.
    `score` is a fixed number of the rule that ranks the candidates of a passage.
    """

    question: str
    question_type: QuestionType
    answer: str
    quote: str
    start: int
    end: int
    score: float = 0.5


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its list marker, `passage.text[start:end]`; `number` is 0 but in an ordered list."""

    kind: LineKind
    text: str
    start: int
    end: int
    number: int = 0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence; `text` is on one line, `passage.text[start:end]` verbatim; `first` opens a paragraph."""

    text: str
    start: int
    end: int
    in_list: bool
    first: bool


def split_into_lines(text: str) -> list[Line]:
    """Return the lines of a passage, each with its kind; blank lines and code fences are left out."""
    raw = text.split("\n")
    in_code = _starts_in_code(raw)
    result: list[Line] = []
    offset = 0
    for line in raw:
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif line.strip():
            result.append(_line(line, offset, in_code=in_code))
        offset += len(line) + 1
    return result


def split_into_sentences(passage: Passage) -> list[Sentence]:
    """Return the sentences of paragraphs and list items, in order."""
    result: list[Sentence] = []
    for opening, end, in_list in _paragraphs(passage.text):
        marker = _CLAUSE_MARKER.match(passage.text, opening, end)
        start = marker.end() if marker else opening
        spans = split_sentences(passage.text[start:end], passage.language)
        for position, (first, second) in enumerate(spans):
            verbatim = passage.text[start + first : start + second]
            text = " ".join(verbatim.split())
            result.append(Sentence(text, start + first, start + second, in_list, first=position == 0))
    return result


def _starts_in_code(raw: list[str]) -> bool:
    """Return whether a passage seems to begin in a fence: fences are odd, the first, bare one closes it."""
    fences = [line.strip() for line in raw if line.lstrip().startswith("```")]
    return len(fences) % 2 == 1 and fences[0] == "```" and not raw[0].startswith("#")


def _line(line: str, offset: int, *, in_code: bool) -> Line:
    start, end = offset, offset + len(line)
    if in_code:
        return Line("code", line, start, end)
    if _HEADING.match(line):
        return Line("heading", line, start, end)
    if line.isupper() and len(line) <= _LONGEST_HEADING and line[-1].isalpha():
        return Line("heading", line, start, end)  # of a manual page
    marker = NUMBERED_ITEM.match(line) or _LIST_ITEM.match(line)
    if marker:
        digits = _NUMBER.search(marker[0])
        number = int(digits[0]) if digits else 0
        return Line("list_item", line[marker.end() :], start + marker.end(), end, number)
    kind: LineKind = "table_row" if " | " in line else "prose"
    return Line(kind, line, start, end)


def _paragraphs(text: str) -> list[tuple[int, int, bool]]:
    """Join neighbouring prose lines to paragraphs: (start, end, is a list item)."""
    result: list[tuple[int, int, bool]] = []
    previous_end = -1
    for line in split_into_lines(text):
        if line.kind == "prose" and result and line.start == previous_end + 1 and not result[-1][2]:
            result[-1] = (result[-1][0], line.end, False)
        elif line.kind in ("prose", "list_item"):
            result.append((line.start, line.end, line.kind == "list_item"))
        previous_end = line.end if line.kind == "prose" else -1
    return result


@dataclass(frozen=True, slots=True)
class Place:
    """Hold what a document is of, where its title names it, and the innermost heading; "" for none."""

    title: str
    heading: str

    def source(self, phrases: Phrases) -> str:
        """Say whose statement is asked for: "under the Housing Act"; empty where no title names it."""
        quoted = phrases.source.format_map({"title": phrases.quoted(self.title)}) if self.title else ""
        return phrases.law_named(self.title) or quoted


def place_of(passage: Passage, phrases: Phrases) -> Place:
    """Read what the document of a passage is of, and the innermost of its headings that names something."""
    path, title = passage.section_path, document_name(passage, phrases)
    if path and _CLAUSE.fullmatch(path[-1].strip()):
        return Place(title, "")  # the number of a paragraph names nothing
    heading = next(filter(None, (heading_name(part, phrases) for part in reversed(path))), "")
    return Place(title, "" if heading.lower() in title.lower() else heading)


def document_name(passage: Passage, phrases: Phrases) -> str:
    """Return the part of a title that names a law, program or product; empty where it names only a subject.

    "FAQ — restic 0.16 documentation" is of restic, "git-clone(1)" of git-clone, "Contact" of nobody knows.
    """
    title = passage.title.rstrip("?! ")
    if manual_page := _MANUAL_PAGE.match(title):
        return manual_page[1]
    if "_" in title and " " not in title:
        return ""  # the name of a file
    parts = [title] if phrases.law_named(title) else _TITLE_PARTS.split(title)
    names = [heading_name(part.capitalize() if part.isupper() else part, phrases) for part in parts]
    names = sorted(filter(None, names), key=lambda name: not is_manual(name, phrases))
    beside_manual = any(not _telling(name, passage, phrases) for name in names) and is_manual(title, phrases)
    proper = (name for name in names if _names_something(name, passage, phrases))
    beside = (name for name in names if beside_manual and name.istitle() and _telling(name, passage, phrases))
    return next(proper, next(beside, ""))  # "Muttprint" beside "Manual"


def _names_something(name: str, passage: Passage, phrases: Phrases) -> bool:
    """Return whether a title has a name of its own, and not only nouns.

    That is a law, an identifier, a word with a number, a capital or two nouns in the title of a manual, a
    capital inside a title whose other words are small, or a word that the passage, too, writes as a name.
    """
    telling, words = _telling(name, passage, phrases), _TITLE_WORD.split(name)
    if not telling or phrases.law_named(name) or _STATUTE.search(name) or _NUMBERED_NAME.search(name):
        return bool(telling)
    if any(is_identifier(word) for word in telling):
        return True
    capitals = [word for word in telling if word[0].isupper()]
    if is_manual(name, phrases):
        return bool(capitals) or len(telling) > 1  # "Guide to the heating plant"
    if lexicon(passage.language).nouns_capitalised:  # "Stadtbibliothek Auental" has a noun and its name
        return any(
            first[0].isupper() and not first.endswith(phrases.adjective_endings) and second in capitals
            for first, second in pairwise(name.split())
        )
    stop_words = lexicon(passage.language).stop_words
    is_sentence = not phrases.title_case or any(
        word[:1].islower() and word not in stop_words for word in words
    )
    unseen = [word for word in capitals if not re.search(rf"\b{re.escape(word.lower())}\b", passage.text)]
    return len(words) > 1 and any(
        (is_sentence and word != words[0]) or is_named_in(word, passage) for word in unseen
    )


def _telling(name: str, passage: Passage, phrases: Phrases) -> list[str]:
    """Return the words of a title that may be a name: "Debian" and "Live" of "The Debian Live Manual"."""
    generic = phrases.manuals | phrases.general | phrases.empty | lexicon(passage.language).stop_words
    return [word for word in _TITLE_WORD.split(name) if word and not _is_generic(word, generic)]


def is_manual(title: str, phrases: Phrases) -> bool:
    """Return whether a title says that it is that of a manual, which is of something."""
    return any(_is_generic(word, phrases.manuals) for word in _TITLE_WORD.split(title) if word.isalpha())


def _is_generic(word: str, generic: frozenset[str]) -> bool:
    """Return whether a word has no letter, is one of a list, or is a compound that ends in one."""
    folded = word.lower()
    ends = (end for end in generic if len(end) >= _SHORTEST_END)
    return not any(map(str.isalpha, word)) or folded in generic or folded.endswith(tuple(ends))


def is_named(question: str, subject: str, passage: Passage) -> bool:
    """Return whether a question says by a name of its own of what it asks: "What does SQLite use?".

    A word with a capital is one where it is all of the subject; elsewhere it may be that of a button.
    """
    if any(_OWN_NAME.fullmatch(word.strip("?,.“”„\"'")) for word in question.split()[1:]):
        return True
    words = subject.split()
    has_capitals = bool(words) and all(word[0].isupper() for word in words)
    return (
        has_capitals
        and not lexicon(passage.language).nouns_capitalised
        and all(is_named_in(word, passage) for word in words)
    )


def heading_name(heading: str, phrases: Phrases) -> str:
    """Strip a heading's numbering; empty when what is left names nothing or cannot be quoted."""
    name = _NUMBERING.sub("", " ".join(heading.replace("`", "").split()).rstrip(" :¶#"), count=1)
    named_by = [word.lower() for word in _WORD.findall(name)]
    if (
        not 3 <= len(name) <= MAX_NAME
        or any(mark in name for mark in '"“”„«»[]{}\ufffd|=')
        or name.count("(") != name.count(")")
        or not any(character.isalpha() for character in name)
        or all(word in phrases.empty or word.isdigit() for word in named_by)
        or (name.isupper() and (len(named_by) > 1 or len(name) > 5))
        or name.endswith(("?", "!", "...", "…", ","))
    ):
        return ""
    return name


def stems(text: str) -> set[str]:
    """Return the first five letters of each word of four or more, which inflection leaves alone."""
    return {word[:5].lower() for word in _WORD.findall(text) if len(word) >= 4}


def is_identifier(word: str) -> bool:
    """Return whether a word is a name of code or a product or an abbreviation, and no common word."""
    return len(word) <= 60 and _IDENTIFIER.fullmatch(word) is not None


def leans_on_context(text: str, phrases: Phrases) -> bool:
    """Return whether a phrase points at something outside it: "its value", "the same file"."""
    return any(word.lower() in phrases.leaning for word in _WORD.findall(text))


def points_elsewhere(text: str, phrases: Phrases) -> bool:
    """Return whether a text sends its reader elsewhere: "the following example", "as shown below"."""
    return any(word.lower() in phrases.pointing for word in _WORD.findall(text))


def decapitalised(text: str, passage: Passage, phrases: Phrases) -> str:
    """Return a text without the capital that its first word has only as an opening."""
    first, _, rest = text.partition(" ")
    words = lexicon(passage.language)
    small = first.lower() + text[len(first) :]
    if first.lower() in words.stop_words | phrases.indefinite | phrases.definite:
        return small
    if is_identifier(first) or is_named_in(first, passage):
        return text
    if words.nouns_capitalised:
        return small if rest[:1].isupper() and first.endswith(phrases.adjective_endings) else text
    is_name = rest != rest.lower() or not (rest or phrases.common.fullmatch(first))
    return text if is_name and first.lower() not in _WORD.findall(passage.text) else small


def is_named_in(word: str, passage: Passage) -> bool:
    """Return whether a capitalised word is a name, written so inside a sentence and never small."""
    name, text = re.escape(word.removesuffix("'s")), passage.text
    return bool(re.search(rf"[{SMALL},] {name}\b", text) and not re.search(rf"\b{name.lower()}\b", text))


@functools.lru_cache(maxsize=8192)
def in_language(text: str, language: str) -> bool:
    """Return whether a text of some length is written in a language and not left untranslated."""
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) < 5:
        return True
    counts = {
        code: sum(word in lexicon(code).stop_words for word in words) for code in (*LANGUAGES, language)
    }
    return counts[language] > 0 and counts[language] == max(counts.values())
