"""The surroundings of a sentence in its document that may take back what it says.

A sentence proves a claim only where nothing around it restricts, denies, reports or supposes it: the headings
above it, the lead-in of its list, the caption of its table, the sentences beside it, its footnote. Words that
question and claim state themselves restrict nothing further.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import zip_longest

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon, of_all, stemmer
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.consistency.reading import Reading, read

_VOID = frozenset(of_all("context.voiding"))
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])[ \t]+")
_LABEL = re.compile(r"[ \t]*(?:[-*+•][ \t]+)?(?:\d{1,4}[.)][ \t]+)?([^\n:]{1,80}?)(?::|[ ][-–—])[ \t]")
_HEADING = re.compile(r"#{1,6}[ \t]")
_FOOTNOTE = re.compile(r"\[\^?\d{1,3}\]|(?<=[\w.,;)])\*{1,3}(?=[\s.,;)]|$)")
_FARTHEST_ITEM = 100
"""Sentences of a list that are passed on the way up to its lead-in: longer lists are mostly registers."""
_LONGEST_GOVERNOR = 600
"""Characters of a sentence that is looked at: a longer one is a paragraph of its own."""
_OPENING_WORDS = 4
"""Words in which a contrast stands that speaks of the sentence before: "This, however, …"."""
_SHARED = 2
_SAME_MATTER = 0.5
"""How many words, and which share, of question and claim an exception repeats: "no refund is paid"."""
_LONGEST_TITLE = 6
"""Words of a heading that is only what it voids: "Deprecated functions", not an article about myths."""
_SHORT_EXCEPTION = 12
"""Words of a sentence that is about its neighbour: a longer one has matters of its own."""
_BRACKETED = re.compile(r"[(\[–—:]([^()\[\]]*)")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of neighbouring sentences of a document, each empty where there is none."""

    before: str
    after: str
    lead_ins: tuple[str, ...]
    footnotes: tuple[str, ...]
    is_row: bool


def surroundings(text: str, language: str, start: int, end: int) -> Surroundings:
    """Return what stands around the sentences from `start` to `end` of a document's canonical text."""
    spans = sentence_spans(text, language)
    if not spans:
        return Surroundings("", "", (), (), is_row=False)
    first = max(bisect_right(spans, (start, len(text))) - 1, 0)
    last = max(bisect_right(spans, (end - 1, len(text))) - 1, first)
    before = "" if first == 0 or _apart(text, spans, first - 1) else _written(text, spans[first - 1])
    after = "" if last + 1 == len(spans) or _apart(text, spans, last) else _written(text, spans[last + 1])
    lead_ins, footnotes = (*_lead_ins(text, spans, first),), (*_footnotes(text, start, end),)
    return Surroundings(before, after, lead_ins, footnotes, is_row=" | " in text[slice(*spans[first])])


def label_of(text: str, at: int) -> str:
    """Return what the line at a place begins with before a colon: the term of an item; empty without one."""
    line = text.rfind("\n", 0, at) + 1
    label = _LABEL.match(text, line, at)
    return label[1] if label else ""


def _apart(text: str, spans: Sequence[tuple[int, int]], place: int) -> bool:
    """Return whether a sentence and the next one do not speak of each other: items, rows, headings."""
    both = spans[place : place + 2]
    if any(_HEADING.match(text, *span) or " | " in text[slice(*span)] for span in both):
        return True
    return _ITEM.match(text, *both[1]) is not None


def _written(text: str, span: tuple[int, int]) -> str:
    return text[span[0] : min(span[1], span[0] + _LONGEST_GOVERNOR)]


def _lead_ins(text: str, spans: Sequence[tuple[int, int]], place: int) -> Iterator[str]:
    """Yield what announces the list or table that a sentence is in, the nearest first."""
    depth = _depth(text, spans[place])
    row = " | " in text[slice(*spans[place])]
    if depth is None and not row:
        return
    for at in range(place - 1, max(place - _FARTHEST_ITEM, -1), -1):
        span = spans[at]
        if _HEADING.match(text, *span):
            return
        above = _depth(text, span)
        if row and " | " in text[slice(*span)]:
            continue
        if above is None:
            if row or text[span[1] - 1] == ":" or text[span[1] - 1].isalnum():
                yield _written(text, span)
            return
        if depth is not None and above < depth:
            depth = above
            yield _written(text, span)


def _depth(text: str, span: tuple[int, int]) -> int | None:
    """Return the indentation of the list item that a sentence is in; None outside of lists."""
    line = text.rfind("\n", 0, span[0]) + 1
    item = _ITEM.match(text, line)
    return None if item is None else len(item[0]) - len(item[0].lstrip())


def _footnotes(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the notes that marks in a sentence point at."""
    for mark in _FOOTNOTE.finditer(text, start, min(end + 4, len(text))):
        note = re.compile(rf"^[ \t]*(?:[-*] )?{re.escape(mark[0])}:?[ \t]+(?=\S)", re.MULTILINE).search(text)
        if note and not start <= note.start() < end:
            yield text[note.end() : note.end() + _LONGEST_GOVERNOR].partition("\n")[0]


def restrictions(
    around: Surroundings, headings: Sequence[str], stated: Sequence[Reading], language: str
) -> Iterator[str]:
    """Yield what around a sentence restricts, denies, reports or supposes it, in words.

    Args:
        around: what stands around the sentence.
        headings: the title of its document and the headings above it.
        stated: question and claim: what they say themselves restricts nothing further.
        language: of claim and sentence.
    """
    words = frozenset(word.folded for reading in stated for word in reading.words)
    stems = frozenset(stem for reading in stated for stem in reading.stems)
    spoken = _Spoken(lexicon(language), words, stems)
    for heading in headings:
        if spoken.voids(heading):
            yield f'stands under "{heading}"'
    for lead_in in around.lead_ins:
        if spoken.narrows(lead_in) or (around.is_row and spoken.scales(lead_in)):
            yield f'is introduced by "{lead_in}"'
    if around.is_row and headings and spoken.scales(headings[-1]):
        yield f'stands under "{headings[-1]}"'
    if spoken.supposes(around.before):
        yield f'follows "{around.before}"'
    if spoken.takes_back(around.after):
        yield f'is followed by "{around.after}"'
    for note in around.footnotes:
        if spoken.voids(note) or spoken.takes_back(note):
            yield f'has the note "{note}"'


def void_status(status: str | None, stated: Sequence[Reading]) -> Iterator[str]:
    """Yield the status that the front matter of a document gives it, where nothing in it holds: "draft"."""
    words = frozenset(word.folded for reading in stated for word in reading.words)
    status_words = {word.folded for word in read(status or "", "en").words}
    if status_words & _VOID and not status_words & words:
        yield f'its document says of itself: "{status}"'


@functools.cache
def _group(language: str, name: str) -> tuple[Set[str], Set[str]]:
    """Return the words of a group of a language's contexts, and their stems: groups name few inflections."""
    words = getattr(lexicon(language).context, name)
    return words, frozenset(stemmer(language)(word) for word in words)


@dataclass(frozen=True)
class _Spoken:
    """The words and stems of question and claim, to which a text around the evidence is compared."""

    vocabulary: Lexicon
    words: Set[str]
    stems: Set[str]

    def _folded(self, text: str) -> tuple[str, ...]:
        return tuple(word.folded for word in read(text, self.vocabulary.code).words)

    def _of(self, group: str, words: Sequence[str]) -> set[str]:
        """Return the words of a text that belong to a group, inflected or not."""
        exact, stems = _group(self.vocabulary.code, group)
        stem = stemmer(self.vocabulary.code)
        return {word for word in words if word in exact or stem(word) in stems}

    def _unstated(self, restricting: Set[str]) -> bool:
        """Return whether question and claim leave out a word that restricts the sentence."""
        denying = self.vocabulary.denying
        return any(
            word not in self.words
            and not (word in denying and self.words & denying)
            and self.stems.isdisjoint(read(word, self.vocabulary.code).stems)
            for word in restricting
        )

    def voids(self, heading: str) -> bool:
        """Return whether a heading says that what it stands over is forbidden, false or no longer holds."""
        words = self._folded(heading)
        permitting = self._of("permitting", words)
        content = [
            word for word in words if word not in self.vocabulary.stop_words and word not in permitting
        ]
        context = self.vocabulary.context
        opens: set[str] = set()
        if len(words) <= _LONGEST_TITLE:
            opens = {*content[:1], *content[-1:]} & context.voiding | {*content[:1]} & context.outdated
        inside = {word for span in _BRACKETED.findall(heading) for word in self._folded(span)}
        bracketed = inside & (context.voiding | context.outdated | context.tentative)
        denied = {
            word
            for word, following in zip_longest(words, words[1:], fillvalue="")
            if word in self.vocabulary.negations and {following, *words[-2:]} & permitting
        }
        return self._unstated(opens | bracketed | denied)

    def scales(self, caption: str) -> bool:
        """Return whether the caption of a table gives a scale of its numbers that nobody states."""
        words = self._folded(caption)
        scales = self._of("scales", words) | (set(words) & self.vocabulary.scales.keys())
        return any(any(map(str.isdigit, word)) for word in self.words) and not scales <= self.words

    def narrows(self, lead_in: str) -> bool:
        """Return whether the lead-in of a list denies, reports or supposes its items."""
        words = self._folded(lead_in)
        denying = self.vocabulary.denying | self.vocabulary.exclusive
        restricting = set(words) & denying
        restricting |= set(words) & self.vocabulary.context.reporting
        for group in ("voiding", "exempting"):
            restricting |= self._of(group, words)
        return self._unstated(restricting) or self.supposes(lead_in)

    def supposes(self, before: str) -> bool:
        """Return whether the sentence before makes the next one a supposition, or what somebody says."""
        context = self.vocabulary.context
        if re.search(rf"\b(?:{'|'.join(context.quoting)})[.:]?$", before.rstrip(), re.IGNORECASE):
            return True
        if re.match("|".join(context.supposing), before.lstrip(" \t-*+•\"'“„”»"), re.IGNORECASE):
            return True
        words = self._folded(before)
        announces = before.rstrip().endswith(":") or self._of("announcing", words)
        reporting = set(words) & context.reporting if announces else set()
        return self._unstated(reporting | (self._of("voiding", words) if announces else set()))

    def takes_back(self, after: str) -> bool:
        """Return whether the sentence after denies the one before, or names an exception from it."""
        words = self._folded(after)
        context, negations = self.vocabulary.context, self.vocabulary.negations
        if not words:
            return False
        if re.match("|".join(context.revoking), after, re.IGNORECASE):
            return True
        shared = self.stems & frozenset(read(after, self.vocabulary.code).stems)
        points = bool(set(words[:2]) & context.pointing)
        void = self._of("voiding", words) | (
            set(words) & negations if self._of("confirming", words) else set()
        )
        near = points or shared or (void & negations and set(words) & context.pointing)
        if near and len(words) <= _SHORT_EXCEPTION and self._unstated(void):
            return True
        excepts = set(words) & (negations | self.vocabulary.exclusive) | self._of("exempting", words)
        contrast = set(words[:_OPENING_WORDS]) & context.opposing or set(words) & context.parenthetic
        limited = shared or points or set(words) & self.vocabulary.exclusive
        if contrast and limited and self._unstated(excepts | void):
            return True
        # "If it is not …" says what holds in another case, and takes nothing back
        same = len(shared) >= max(_SHARED, _SAME_MATTER * len(self.stems))
        same = same and words[0] not in self.vocabulary.conditional_words
        return (same and self._unstated(excepts - self.vocabulary.exclusive)) or (
            bool(shared or points)
            and len(words) <= _SHORT_EXCEPTION
            and self._unstated(self._of("exempting", words))
        )
