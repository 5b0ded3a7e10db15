"""The surroundings of a sentence in its document that may take back what it says.

A sentence proves a claim only where nothing around it restricts, denies, reports or supposes it: the headings
above it, the lead-in of its list, the caption of its table, the sentences beside it, its footnote. Words that
question and claim state themselves restrict nothing further.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon, of_all, stemmer
from qa_pipeline.text.sentences import sentence_spans
from qa_pipeline.verification.consistency.reading import Reading, read
from qa_pipeline.verification.consistency.units import unit_after

_VALID, _PLAIN = frozenset(of_all("context.valid")), frozenset(of_all("stop_words"))
_VOID = frozenset().union(*map(of_all, ("context.voiding", "context.outdated", "negations")))
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
_LONGEST_DENIAL = 16
"""Words of a sentence that denies all that the one before says: "this … no longer …"."""
_SHORT_REPORT = 14
"""Words of a sentence that says of the next one whose words it gives: a longer one reports its own matter."""
_SHORTEST_UNIT = 3
"""Letters of a name of a unit in a caption: shorter ones, such as "m" and "in", are mostly other words."""
_CODE = re.compile(r"[^\W\d_]\d|\d[^\W\d_]")
_BRACKETED = re.compile(r"[(\[–—:]([^()\[\]]*)")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of neighbouring sentences of a document, each empty where there is none.

    `is_item` says that they are an item of a list that only its lead-in completes: neither a sentence of its
    own nor one with a term before it, "Timeout: seconds until …".
    """

    before: str
    after: str
    lead_ins: tuple[str, ...]
    footnotes: tuple[str, ...]
    is_row: bool
    is_item: bool


def surroundings(text: str, language: str, start: int, end: int) -> Surroundings:
    """Return what stands around the sentences from `start` to `end` of a document's canonical text."""
    spans = sentence_spans(text, language)
    if not spans:
        return Surroundings("", "", (), (), is_row=False, is_item=False)
    first = max(bisect_right(spans, (start, len(text))) - 1, 0)
    last = max(bisect_right(spans, (end - 1, len(text))) - 1, first)
    before = "" if first == 0 or _apart(text, spans, first - 1) else _written(text, spans[first - 1])
    after = "" if last + 1 == len(spans) or _apart(text, spans, last) else _written(text, spans[last + 1])
    lead_ins, footnotes = (*_lead_ins(text, spans, first),), (*_footnotes(text, start, end),)
    is_row = " | " in text[slice(*spans[first])]
    line = text.rfind("\n", 0, spans[first][0]) + 1
    item = _ITEM.match(text, line)
    is_item = (
        item is not None
        and _LABEL.match(text, line, spans[last][1]) is None
        and (text[max(item.end(), spans[first][0])].islower() or text[spans[last][1] - 1] not in ".!?")
    )
    return Surroundings(before, after, lead_ins, footnotes, is_row, is_item)


def introduction_of(text: str, at: int, language: str) -> str:
    """Return what introduces the words at a place of a passage: its term, and the lead-ins of its lists.

    The term is what the line begins with before a colon. Empty where there is neither.
    """
    line = text.rfind("\n", 0, at) + 1
    label = _LABEL.match(text, line, at)
    lead_ins: list[str] = []
    if _ITEM.match(text, line):
        spans = sentence_spans(text, language)
        lead_ins = [*_lead_ins(text, spans, max(bisect_right(spans, (at, len(text))) - 1, 0))]
    return "\n".join([*([label[1]] if label else []), *lead_ins])


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
    around: Surroundings, headings: Sequence[str], stated: Sequence[Reading], language: str, answer: str = ""
) -> Iterator[str]:
    """Yield what around a sentence restricts, denies, reports or supposes it, in words.

    Args:
        around: what stands around the sentence.
        headings: the title of its document and the headings above it.
        stated: question and claim: what they say themselves restricts nothing further.
        language: of claim and sentence.
        answer: all of the answer: a sentence beside the evidence that it repeats takes nothing back.
    """
    repeated = " ".join(answer.split())
    around = replace(
        around,
        before="" if " ".join(around.before.split()) in repeated else around.before,
        after="" if " ".join(around.after.split()) in repeated else around.after,
        lead_ins=tuple(part for part in around.lead_ins if " ".join(part.split()) not in repeated),
    )
    words = frozenset(word.folded for reading in stated for word in reading.words)
    stems = frozenset(stem for reading in stated for stem in reading.stems)
    spoken = _Spoken(lexicon(language), words, stems)
    for heading in dict.fromkeys(headings):
        if spoken.voids(heading):
            yield f'stands under "{heading}"'
    for lead_in in around.lead_ins:
        is_part = around.is_item and spoken.leaves_out(lead_in)
        if spoken.narrows(lead_in) or is_part or (around.is_row and spoken.scales(lead_in)):
            yield f'is introduced by "{lead_in}"'
    if around.is_row and headings and spoken.scales(headings[-1]):
        yield f'stands under "{headings[-1]}"'
    if spoken.supposes(around.before):
        yield f'follows "{around.before}"'
    if spoken.takes_back(around.after):
        yield f'is followed by "{around.after}"'
    for note in around.footnotes:
        if spoken.voids(note) or spoken.takes_back(note) or spoken.narrows(note):
            yield f'has the note "{note}"'


def void_status(status: str | None, stated: Sequence[Reading]) -> Iterator[str]:
    """Yield the status that the front matter of a document gives it, unless that says that it holds.

    A status in words that are not known is one: "draft", "replaced by the rules of 2024".
    """
    words = frozenset(word.folded for reading in stated for word in reading.words)
    status_words = {word.folded for word in read(status or "", "en").words}
    holds = bool(status_words & _VALID) and not status_words & _VOID
    if status_words and not holds and not (status_words - _PLAIN) & words:
        yield f'its document says of itself: "{status}"'


@functools.cache
def _group(language: str, name: str) -> tuple[Set[str], Set[str]]:
    """Return the words of a group of a language's contexts, and their stems: groups name few inflections."""
    words = getattr(lexicon(language).context, name)
    return words, frozenset(stemmer(language)(word) for word in words)


@functools.lru_cache(maxsize=4096)
def _voiding_words(heading: str, language: str) -> Set[str]:
    """Return the words of a heading that void what it stands over, cached: many claims are under each."""
    vocabulary, words = lexicon(language), read(heading, language).words
    context, negations = vocabulary.context, vocabulary.negations
    exact, stems = _group(language, "permitting")
    passed_over = vocabulary.stop_words | exact
    content = [
        word.folded
        for word in words
        if word.folded not in passed_over and stemmer(language)(word.folded) not in stems
    ]
    opens = {*content[:1]} & (context.voiding | context.outdated)
    if len(words) <= _LONGEST_TITLE:
        opens |= {*content[-1:]} & context.voiding
    inside = {word.folded for span in _BRACKETED.findall(heading) for word in read(span, language).words}
    bracketed = inside & (context.voiding | context.outdated | context.tentative | negations)
    past = {word.folded for word in words} & (vocabulary.past_copulas | context.repealing)
    alternative = vocabulary.joiners - vocabulary.conjunctions  # "… or not"
    denied = {
        word.folded
        for before, word in pairwise((words[0], *words) if words else ())
        if word.folded in negations
        and before.folded not in alternative
        and heading[word.end : word.end + 1] != "-"  # "None-aware operators"
    }
    return opens | bracketed | denied | past


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

    def _ended(self, words: Sequence[str]) -> set[str]:
        """Return the words of a sentence for what has ended: "repealed", "no longer"."""
        vocabulary = self.vocabulary
        no_longer = {
            before
            for before, word in pairwise(words)
            if before in vocabulary.negations and word in vocabulary.negation_tails
        }
        return set(words) & vocabulary.context.repealing | no_longer

    @property
    def is_present(self) -> bool:
        """Return whether neither question nor claim speaks of the past."""
        return not self.words & self.vocabulary.context.past

    def _past(self, text: str) -> set[str]:
        """Return the words of a sentence that put it in the past; none where question or claim is there too.

        A participle behind a form of "be" or "have" is none: "this is called", "it has failed".
        """
        vocabulary, context = self.vocabulary, self.vocabulary.context
        no_past = vocabulary.finite_verbs | vocabulary.copulas | vocabulary.stop_words
        words = self._folded(text)
        past = {
            word
            for before, word in pairwise(("", *words))
            if word in context.past or (word.endswith(context.past_endings) and before not in no_past)
        }
        return past if self.is_present else set()

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
        return self._unstated(_voiding_words(heading, self.vocabulary.code))

    def scales(self, caption: str) -> bool:
        """Return whether the caption of a table names a scale, or another thing, that nobody states.

        Another thing is named by letters with digits, "model P2", a unit, or a word such as "predecessor", in
        a caption that is no sentence: a sentence above a table need not be about it.
        """
        words = self._folded(caption)
        scales = self._of("scales", words) | (set(words) & self.vocabulary.scales.keys())
        if any(any(map(str.isdigit, word)) for word in self.words) and not scales <= self.words:
            return True
        if caption.rstrip().endswith((".", "!", "?")):
            return False
        others = {word for word in words if _CODE.search(word)} | set(words) & self.vocabulary.context.framing
        others |= {word for word in words if len(word) >= _SHORTEST_UNIT and unit_after(word, 0)}
        return self._unstated(others)

    def narrows(self, lead_in: str) -> bool:
        """Return whether the lead-in of a list denies, reports or supposes its items."""
        words = self._folded(lead_in)
        denying = self.vocabulary.denying | self.vocabulary.exclusive
        restricting = set(words) & denying
        restricting |= set(words) & (self.vocabulary.context.reporting | self.vocabulary.context.imagining)
        restricting |= set(words) & self.vocabulary.context.past if self.is_present else set()
        for group in ("voiding", "exempting"):
            restricting |= self._of(group, words)
        return self._unstated(restricting) or self._opens_a_supposition(lead_in)

    def leaves_out(self, lead_in: str) -> bool:
        """Return whether question and claim do not say what the lead-in of a list says of its items."""
        context = self.vocabulary.context
        plain = self.vocabulary.layout.empty | self.vocabulary.wording.pointing | context.announcing
        words = read(lead_in, self.vocabulary.code).words
        if len(words) == 1 and not lead_in.rstrip().endswith(":"):
            return False  # a heading without a mark
        return any(
            word.content and word.folded not in plain and word.stem not in self.stems for word in words
        )

    def supposes(self, before: str) -> bool:
        """Return whether the sentence before makes the next one a supposition, or what somebody says."""
        if self._opens_a_supposition(before):
            return True
        context = self.vocabulary.context
        words = self._folded(before)
        others: Set[str] = set()
        if set(words) & context.announcing or before.rstrip().endswith(":"):
            others = self._of("voiding", words) | self._ended(words)
        if len(words) <= _SHORT_REPORT or others:
            others |= set(words) & (context.reporting | context.imagining)
        return self._unstated(others | set(words[:1]) & context.framing)

    def _opens_a_supposition(self, before: str) -> bool:
        context = self.vocabulary.context
        if re.search(rf"\b(?:{'|'.join(context.quoting)})[.:]?$", before.rstrip(), re.IGNORECASE):
            return True
        return (
            re.match("|".join(context.supposing), before.lstrip(" \t-*+•\"'“„”»"), re.IGNORECASE) is not None
        )

    def takes_back(self, after: str) -> bool:
        """Return whether the sentence after denies the one before, or names an exception from it."""
        words, context = self._folded(after), self.vocabulary.context
        if not words:
            return False
        if re.match("|".join(context.revoking), after, re.IGNORECASE) or words[0] in context.interjections:
            return True
        if after.rstrip().endswith(":") and not set(words[:1]) & context.pointing:
            return False  # it announces what follows
        return self._unstated(self._against(after, words))

    def _against(self, after: str, words: Sequence[str]) -> Set[str]:
        """Return the words by which the sentence after denies, ends or restricts the one before."""
        context, vocabulary = self.vocabulary.context, self.vocabulary
        shared = self.stems & frozenset(read(after, vocabulary.code).stems)
        points = set(words[:2]) & context.pointing
        is_short, is_conditional = len(words) <= _SHORT_EXCEPTION, words[0] in vocabulary.conditional_words
        denying, only = set(words) & vocabulary.denying, set(words) & vocabulary.exclusive
        void = self._of("voiding", words) | set(words) & context.retracting
        void |= denying if self._of("confirming", words) else set()
        exempt = self._of("exempting", words)
        against = self._ended(words)
        if points:
            against |= set(words[:_OPENING_WORDS]) & context.changing
            against |= (void | exempt | only) if is_short else set()
        # "this", "that promise" speak of all that was said, "it" and "they" only of something in it
        all_said = set(words) & vocabulary.pronouns.demonstratives or denying & void & context.pointing
        if all_said and len(words) <= _LONGEST_DENIAL and not is_conditional:
            against |= void | denying | self._past(after)
        contrast = set(words[:_OPENING_WORDS]) & context.opposing or set(words) & context.parenthetic
        # "But" and "However" in front of a short sentence take something back whatever they go on to say
        if is_short and (points or shared):
            against |= set(words[:1]) & context.opposing
        same = len(shared) >= max(_SHARED, _SAME_MATTER * len(self.stems))
        if contrast and shared:
            against |= void
        if contrast and (points or len(shared) >= _SHARED or only):
            against |= denying | only | exempt
        if same and not is_conditional:  # "If it is not …" says what holds in another case
            against |= denying | exempt
        return against
