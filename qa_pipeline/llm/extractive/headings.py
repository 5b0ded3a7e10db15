"""What a passage is about, as far as its headings name it.

What belongs here: turning the innermost heading into a subject that can stand in a question. What does
not: asking.
"""

import re
from dataclasses import dataclass

from qa_pipeline.llm.extractive.phrases import Kind, Phrases
from qa_pipeline.records import Passage

_NAME = re.compile(r"</?[A-Za-z][\w-]*>|[A-Za-z_][\w.-]*(?:\(\))?")
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(.*\)")
"""The name of a function whose heading is its signature: "os.open(path, flags)"."""
_PRODUCT = re.compile(r"(?=.*(?:\d|[a-z][A-Z]|[A-Z]{2}| ))[A-Z][\w-]+(?: [A-Z\d][\w-]*){0,3}")
_IDENTIFIER = re.compile(
    r"</?[A-Za-z][\w-]*>|(?=.*(?:[a-z][A-Z]|[A-Z]{2}|_|\(\)|\w\.\w|\d))[A-Za-z_@][\w.-]*(?:\(\))?"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A name in the two forms a template may need, and the bare name."""

    name: str
    subject: str
    of: str
    states: str = "specify"


def subject_of(passage: Passage, phrases: Phrases) -> Subject | None:
    """Name what the innermost heading is about; None when it is no name."""
    if not passage.section_path:
        return None
    heading = passage.section_path[-1].replace("`", "")
    call = _CALL.fullmatch(heading.rpartition(": ")[2])
    if call:
        return Subject(f"{call[1]}()", f"{call[1]}()", f"{call[1]}()")
    words = _parted([word.removesuffix(":") for word in heading.split()], phrases)
    if len(words) not in (2, 3):
        words = words[:1] if len(words) == 1 else []
    for position in range(len(words)):
        kind = phrases.kinds.get(words[position].casefold()) if words else None
        name = _name_beside(words, position)
        if kind is not None and name is not None:
            return _subject(name, kind)
    if len(words) == 1 and _IDENTIFIER.fullmatch(words[0]):
        return Subject(words[0], words[0], words[0])
    return None


def product_of(passage: Passage, phrases: Phrases) -> Subject | None:
    """Name the product a whole document is about: "Fjell 8 data sheet" is about Fjell 8.

    Not below a heading that may name another product, as one with a number in it may.
    """
    title = " ".join(passage.title.split())
    heading = passage.section_path[-1] if passage.section_path else ""
    if heading != passage.title and any(letter.isdigit() for letter in heading):
        return None
    for paper in phrases.papers:
        name = title[: -len(paper)].rstrip(" -:–—")
        if title.casefold().endswith(f" {paper}") and _PRODUCT.fullmatch(name):
            return Subject(name, name, name)
    return None


def _parted(words: list[str], phrases: Phrases) -> list[str]:
    """Part a class noun from the name a hyphen joins it to."""
    if not phrases.compounds:
        return words
    parted: list[str] = []
    for word in words:
        name, hyphen, noun = word.rpartition("-")
        parted += [name, noun] if hyphen and name and noun.casefold() in phrases.kinds else [word]
    return parted


def _name_beside(words: list[str], position: int) -> str | None:
    """Return the single name after ("Apache Module mod_x") or before ("X Directive") a class noun."""
    after, before = words[position + 1 :], words[:position]
    if len(after) == 1 and _IDENTIFIER.fullmatch(after[0]):
        return after[0]
    if not after and len(before) == 1 and _NAME.fullmatch(before[0]):
        return before[0]
    return None


def _subject(name: str, kind: Kind) -> Subject:
    return Subject(
        name,
        kind.subject.format_map({"name": name}),
        kind.of.format_map({"name": name}),
        kind.states.format_map({"name": name}),
    )
