"""A passage as the rules read it: its lines and sentences, its place in a document, and what a rule finds."""

import functools
import re
from dataclasses import dataclass
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
_HEADING = re.compile(r"#{1,6} ")
_NUMBER = re.compile(r"\d{1,3}")
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
    """A document's title and a passage's innermost heading; "" for none."""

    title: str
    heading: str

    def source(self, phrases: Phrases) -> str:
        """Say whose statement is asked for: "under the Housing Act"; empty where nothing names it."""
        name = self.title or self.heading
        quoted = phrases.source.format_map({"title": phrases.quoted(name)}) if name else ""
        return phrases.law_named(self.title) or quoted


def place_of(passage: Passage, phrases: Phrases) -> Place:
    """Read the title of a passage and the innermost of its headings that names something."""
    written, path = passage.title.rstrip("?! "), passage.section_path
    is_file_name = "_" in written and " " not in written
    title = heading_name(written.capitalize() if written.isupper() else written, phrases)
    title = "" if is_file_name else title
    if path and _CLAUSE.fullmatch(path[-1].strip()):
        return Place(title, "")  # the number of a paragraph names nothing
    heading = next(filter(None, (heading_name(part, phrases) for part in reversed(path))), "")
    if not title or heading.lower() in title.lower():
        title, heading = title or heading, ""
    elif title.lower() in heading.lower():
        title, heading = heading, ""
    return Place(title, heading)


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
