"""What a question names so that it can be read without its passage: headings, titles and terms."""

import functools
import re
from dataclasses import dataclass

from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import CAPITALS, LANGUAGES, SMALL, any_of_all, lexicon
from qa_pipeline.text.lexicon.phrases import Phrases

MAX_NAME = 90
"""Characters of a heading or title that can be quoted in a question."""

_NUMBERING = re.compile(
    r"^(?:(?:[^\W\d_]{1,10}\s)?\d{1,3}(?:\.\d{1,3}){0,5}[.:)]|\d{1,3}(?:\.\d{1,3}){1,5})\s+(?=\S)"
)
_CLAUSE_WORDS = any_of_all("wording.clauses")
_CLAUSE = re.compile(rf"\d{{1,4}}(?: ?[a-z])? §|§+ ?\d{{1,4}} ?[a-z]?|{_CLAUSE_WORDS} \d{{1,4}}")
_CHAPTER = re.compile(any_of_all("wording.chapters"))
_WORD = re.compile(r"[^\W_][\w-]*")
_IDENTIFIER = re.compile(
    rf"(?=.*(?:[{SMALL}][{CAPITALS}]|[{CAPITALS}]{{2}}|_|\(\)|[^\W\d]\.\w|\d|::|^-))[\w<@$-][^\s]*"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A document's title, a passage's innermost heading and its paragraph of a law; "" for none."""

    title: str
    heading: str
    clause: str

    def quoted(self, phrases: Phrases) -> str:
        """Name the place in a question; empty when there is nothing to name it by."""
        if not self.title or not self.heading:
            return phrases.quoted(self.title) if self.title else ""
        names = {"heading": phrases.quoted(self.heading), "title": phrases.quoted(self.title)}
        return phrases.within.format_map(names)


def place_of(passage: Passage, phrases: Phrases) -> Place:
    """Read the title of a passage and the innermost of its headings that names something."""
    title, path = telling(passage.title, phrases), passage.section_path
    clause = _CLAUSE.fullmatch(path[-1].strip()) if path else None
    if clause:
        chapter = next((match[0] for part in path[:-1] if (match := _CHAPTER.match(part))), "")
        return Place(title, "", f"{chapter} {clause[0]}".strip())
    heading = next(filter(None, (telling(part, phrases) for part in reversed(path))), "")
    if heading.lower() in title.lower():
        heading = ""
    elif title.lower() in heading.lower():
        title, heading = heading if title else "", ""
    return Place(title, heading, "")


def telling(heading: str, phrases: Phrases) -> str:
    """Strip a heading's numbering; empty when what is left names nothing or cannot be quoted."""
    name = _NUMBERING.sub("", " ".join(heading.replace("`", "").split()).rstrip(" :¶#"), count=1)
    named_by = [word.lower() for word in _WORD.findall(name)]
    if (
        not 3 <= len(name) <= MAX_NAME
        or any(mark in name for mark in '"“”„«»[]{}\ufffd|')
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


def leans(text: str, phrases: Phrases) -> bool:
    """Return whether a phrase points at something outside it: "its value", "the same file"."""
    return any(word.lower() in phrases.leaning for word in _WORD.findall(text))


def points(text: str, phrases: Phrases) -> bool:
    """Return whether a text sends its reader elsewhere: "the following example", "as shown below"."""
    return any(word.lower() in phrases.pointing for word in _WORD.findall(text))


def decapitalised(text: str, passage: Passage, phrases: Phrases) -> str:
    """Return a text without the capital that its first word has only as an opening."""
    first, words = text.split(" ", 1)[0], lexicon(passage.language)
    if first.lower() not in words.stop_words | phrases.indefinite | phrases.definite and (
        is_identifier(first)
        or words.nouns_capitalised
        or text[1:] != text[1:].lower()
        or is_named_in(first, passage)
    ):
        return text
    return first.lower() + text[len(first) :]


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
