"""How a Swedish statute is named in a question.

What belongs here: finding the statute a passage belongs to, its definite form ("lagen (1951:442) om …"), and
putting it where a provision says "denna lag". What does not: the rules that ask.

A provision is worded the same in a hundred statutes, so a question about one names the statute.
"""

import re
from dataclasses import dataclass

from qa_pipeline.records import Passage

MAX_NAME = 95
"""Characters of a statute's name in a question; a longer title gives way to its number."""

_KINDS = {
    "lag": "lagen",
    "förordning": "förordningen",
    "kungörelse": "kungörelsen",
    "balk": "balken",
    "stadga": "stadgan",
    "instruktion": "instruktionen",
    "reglemente": "reglementet",
    "ordning": "ordningen",
    "tillkännagivande": "tillkännagivandet",
    "beslut": "beslut",
}
_ENDINGS = "|".join(sorted(_KINDS, key=len, reverse=True))
_TITLE = re.compile(
    rf"(?:Allmän )?(?P<stem>(?:Regeringens |[A-ZÅÄÖa-zåäö][a-zåäöé]{{2,40}}?)?)(?P<kind>(?i:{_ENDINGS}))"
    r"(?: \((?P<number>\d{4}:\d{1,5})\))?"
    r"(?P<about> (?:om|med|angående|mot|av|för|till|i) [^\n]{3,200})?"
)
_SELF = re.compile(rf"\b[Dd](?:enna|etta) (?:{_ENDINGS})\b(?!s)")
_SELF_DEFINITE = re.compile(
    rf"(?:{'|'.join(name for name in _KINDS.values() if name != 'beslut')})\b(?!s| \()", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Statute:
    """A statute's name in the definite form, its number when the title carries one, and its subject."""

    name: str
    number: str | None
    about: str

    @property
    def bare(self) -> bool:
        """Whether the name is a number alone and says nothing of the statute's subject."""
        return self.about != "" and self.about not in self.name

    def known_from(self, question: str) -> bool:
        """Tell whether a question names what a document without a number is about: no need to name it too."""
        return self.number is None and self.about != "" and self.about in question

    def named_in(self, question: str) -> str:
        """Put the name where the provision points at its own statute."""
        return _SELF.sub(lambda _: self.name, question)


def statute_of(passage: Passage) -> Statute | None:
    """Find the statute in the title or the outermost heading; None for other documents."""
    titles = (*passage.section_path[:1], passage.title)
    matches = [match for title in titles if (match := _TITLE.fullmatch(title.strip()[:400]))]
    named = [match for match in matches if match["number"] or match["about"] or _one_word(match)]
    return _statute(max(named, key=lambda match: match["number"] is not None)) if named else None


def opens_with_itself(sentence: str) -> bool:
    """Tell whether a sentence's subject is its own statute: "Denna lag …", "Förordningen …"."""
    return _SELF.match(sentence) is not None or _SELF_DEFINITE.match(sentence) is not None


def _one_word(match: re.Match[str]) -> bool:
    """Tell "Utlänningsdataförordning" from nouns that only end like a statute: "Förslag", "Anordning"."""
    return bool(match["stem"]) and match["kind"].lower() in ("förordning", "kungörelse")


def _statute(match: re.Match[str]) -> Statute:
    kind = match["kind"]
    head = (match["stem"] + _KINDS[kind.lower()]).lower()
    number = match["number"]
    numbered = f"{head} ({number})" if number else head
    full = numbered + (match["about"] or "").rstrip()
    about = (match["about"] or "").strip().partition(" ")[2]
    return Statute(full if len(full) <= MAX_NAME or number is None else numbered, number, about)
