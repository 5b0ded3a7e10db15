"""Differences between a claim and its evidence that leave the claim proved; any other leaves it undecided.

Both texts are read as rows of units (words, numbers, dates) and laid beside each other (longest matching
blocks, Ratcliff and Obershelp 1988, as in `difflib`). Every unit without a partner must be allowed by a row
of `ALLOWED`, in the direction that row names: what the claim adds, and what it leaves out. Leaving out is
safe where the rest still follows (natural logic: MacCartney and Manning 2009): a whole sentence, an aside, a
reason, a coordinate clause after "and".
"""

import difflib
import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, pairwise, product
from typing import Literal

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import any_of_all, lexicon, stemmer
from qa_pipeline.text.words import Occupied, Token
from qa_pipeline.verification.consistency.reading import Reading

Direction = Literal["added", "left out", "changed"]
_LETTER = re.compile(r"\w")
_SIGN = re.compile(
    r"""(?<!\S)--?(?=\w)|[€$£](?![ ]?\d)|(?<=\d)[ ]?[:\u2010-\u2015-][ ]?(?=\d)|!(?=[\w=])|\?
    |[^\w\s.,;:!?'"\u2018-\u201f\u00ab\u00bb\u2039\u203a()\[\]{}|\u2026\u2010-\u2015\u00ad\u2022\u00b7\u25aa\u25cf\u25a0\u25e6€$£-]""",
    re.VERBOSE,
)
"""Signs that say something: of calculation, money, options, paths, ranges; no punctuation and no bullets."""
_DASHES = re.compile("[\u2010-\u2015]")
_EMPHASIS = re.compile(r"(?<![*_`\w])([*_`]{1,3})(?=[^\s*_`])[^*_`\n]{1,400}(?<=\S)\1(?![*_`\w])")
_LONGEST_NAME = 120
"""Characters before an abbreviation that may be its words."""
_SHORTEST_CLAUSE = 4
"""Words of a clause, its "and" included."""
_COMMA = re.compile(r"[,;](?!\d)")
_REFERENCE = re.compile(
    rf"(?:(?:{any_of_all('layout.see')}) )?"
    rf"(?:{any_of_all('layout.sections')}|{any_of_all('layout.captions')}|§+)"
    r"\.? ?[\w.,–-]*\d[\w.,–-]*",
    re.IGNORECASE,
)
_OPERATOR = re.compile(r"[+*^×÷·−=]|(?<=[ ])-(?=[ ])|(?<![^\W\d_]{2})/(?![^\W\d_]{2})")
_NEAR = 3
"""Words behind "also" among which a condition makes it "even": "also then, if"."""
_LONGEST_EQUAL = 3
_LONGEST_FRONT = 6
"""Words of a part of a sentence that may stand elsewhere; longer ones hide clauses."""
_FEWEST_COMMAS = 2
"""Commas that differ, from which they part clauses in another way whatever words they stand beside."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, number, date or sign: units of equal `key` say the same; `article` is that before a word."""

    key: str
    folded: str
    start: int
    end: int
    content: bool
    article: str = ""


@dataclass(frozen=True)
class Change:
    """A place where the texts differ: units of the claim and of the evidence, one of which may be empty.

    `question_keys` has the keys of the question, `subjects` those of each thing that a pronoun may stand
    for; `defined` the abbreviations that the passages define. `note` says what differs beside
    the words.
    """

    added: Sequence[Unit]
    removed: Sequence[Unit]
    claim: Reading
    evidence: Reading
    vocabulary: Lexicon
    question_keys: frozenset[str] = frozenset()
    subjects: frozenset[frozenset[str]] = frozenset()
    defined: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @functools.cached_property
    def added_words(self) -> tuple[str, ...]:
        """Return the claim's words, casefolded."""
        return tuple(unit.folded for unit in self.added)

    @functools.cached_property
    def removed_words(self) -> tuple[str, ...]:
        """Return the evidence's words, casefolded."""
        return tuple(unit.folded for unit in self.removed)

    def before(self) -> str:
        """Return the evidence before what is left out."""
        return self.evidence.text[: self.removed[0].start]

    def after(self) -> str:
        """Return the evidence after what is left out."""
        return self.evidence.text[self.removed[-1].end :]

    def described(self) -> str:
        """Return the difference in words for people."""
        if self.note:
            return self.note
        added = self.claim.text[self.added[0].start : self.added[-1].end] if self.added else ""
        removed = self.written() if self.removed else ""
        if added and removed:
            return f'"{removed}" became "{added}"'
        return f'"{added}" added' if added else f'"{removed}" left out'

    def written(self) -> str:
        """Return what is left out, as written."""
        return self.evidence.text[self.removed[0].start : self.removed[-1].end]


@dataclass(frozen=True, slots=True)
class Allowed:
    """A kind of difference that proves no less: an example that holds, and one that does not.

    The examples are (evidence, claim) and are what the tests hold the row to.
    """

    name: str
    direction: Direction
    holds: tuple[str, str]
    does_not: tuple[str, str]
    test: Callable[[Change], bool]


def _only_fillers(change: Change) -> bool:
    """Return whether words are left out that say nothing, as in "note that"; in "even if" they do."""
    vocabulary, start = change.vocabulary, change.removed[-1].end
    first, *others = change.removed_words
    if first in vocabulary.fillers & vocabulary.context.asserting and _begins(change):
        return set(others) <= vocabulary.context.embedding
    end = next((stop for first, stop in change.evidence.sentences if first <= start <= stop), start)
    following = [unit.folded for unit in units(change.evidence) if start <= unit.start < end]
    conditions = vocabulary.conditional_words & {*following[:_NEAR]}
    limits = set(change.removed_words) & vocabulary.also and conditions
    return set(change.removed_words) <= vocabulary.fillers and not limits


def _opening(change: Change) -> bool:
    """Return whether the claim only adds an opening word that links it to others and states nothing."""
    return change.added[0] == units(change.claim)[0] and set(change.added_words) <= change.vocabulary.openings


def _restricts(words: Sequence[str], vocabulary: Lexicon) -> bool:
    """Return whether words narrow, deny, hedge or condition what they stand beside."""
    scope = vocabulary.limiting | vocabulary.conditional_words
    return any(word in scope for word in words)


def _bracketed(change: Change) -> bool:
    """Return whether all of a pair of brackets is left out, an abbreviation or a reference to a place.

    Anything else may say which of the things is meant: "cats (neutered)", "the rules (repealed)".
    """
    first, last = change.removed[0].start, change.removed[-1].end
    text = change.evidence.text
    inside = next((text[start:end] for start, end in _brackets(text) if start <= first and last <= end), "")
    is_whole = not _LETTER.search(inside.replace(text[first:last], "", 1))
    return is_whole and (inside.casefold() in change.defined or _REFERENCE.fullmatch(inside) is not None)


@functools.lru_cache(maxsize=4096)
def _brackets(text: str) -> Sequence[tuple[int, int]]:
    """Return the spans between each outermost pair of round brackets."""
    spans, depth, start = [], 0, 0
    for match in re.finditer(r"[()]", text):
        depth += 1 if match[0] == "(" else -1
        if match[0] == "(" and depth == 1:
            start = match.end()
        elif depth == 0:
            spans.append((start, match.start()))
        depth = max(depth, 0)
    return spans


def _example(change: Change) -> bool:
    """Return whether an example is left out, to the end of the sentence or to the next comma."""
    written = change.written().casefold()
    opener = next(
        (
            example_opener
            for example_opener in change.vocabulary.example_openers
            if written.startswith(example_opener)
        ),
        None,
    )
    ends = re.match(r"\s*[,.;)]|\s*$", change.after()) is not None
    begins = change.before().rstrip().endswith((",", "(")) or change.before().strip() == ""
    if opener is None or not (ends and begins):
        return False
    return not _restricts(change.removed_words[len(opener.split()) :], change.vocabulary)


def _reason(change: Change) -> bool:
    """Return whether a final reason is left out and denies nothing: "not because" may deny it alone."""
    vocabulary = change.vocabulary
    opens = change.removed_words[0] in vocabulary.reason_openers
    return (
        opens
        and _ends(change)
        and "," not in change.written()
        and not vocabulary.limiting & {word.folded for word in change.claim.words}
        and not _restricts(change.removed_words, change.vocabulary)
    )


def _ends(change: Change) -> bool:
    """Return whether what is left out reaches to the end of a sentence."""
    end = change.removed[-1].end
    ends = (stop for start, stop in change.evidence.sentences if start < end <= stop)
    return not _LETTER.search(change.evidence.text[end : next(ends, end)])


def _begins(change: Change) -> bool:
    """Return whether what is left out begins where a sentence does."""
    start = change.removed[0].start
    begins = (first for first, stop in change.evidence.sentences if first <= start < stop)
    return not _LETTER.search(change.evidence.text[next(begins, start) : start])


def _other_sentence(change: Change) -> bool:
    """Return whether whole sentences are left out, the next of which takes nothing back."""
    if not _begins(change):
        return False
    opener = change.removed_words[0]
    takes_back = opener in change.vocabulary.contrasts or opener in change.vocabulary.conditional_words
    return _ends(change) and not takes_back


def _coordinate(change: Change) -> bool:
    """Return whether a clause behind the last "and", up to the end of the sentence, is left out.

    A condition on either side may reach over the "and"; "between", "both" or "consists of" need all equals.
    """
    vocabulary, words = change.vocabulary, change.removed_words
    if len(words) < 3 or words[0] not in vocabulary.conjunctions or not _ends(change):
        return False
    claim_words = {word.folded for word in change.claim.words}
    if words[1] not in vocabulary.subject_pronouns and _in_relative_clause(change):
        return False
    if (
        vocabulary.conditional_words & claim_words.union(words)
        or claim_words & vocabulary.collectives
        or vocabulary.limiting & set(words)
    ):
        return False
    before = change.before().rstrip()
    parted = before.endswith((",", ";"))
    if ":" in before or (claim_words & (vocabulary.universal | vocabulary.limiting) and not parted):
        return False
    verb = vocabulary.finite_verbs & set(words) or _is_verb(change.removed[1], change)
    if words[1] in vocabulary.subject_pronouns or (verb and claim_words & vocabulary.finite_verbs):
        return True
    return parted and len(words) >= _SHORTEST_CLAUSE and not _COMMA.search(before[:-1])


def _in_relative_clause(change: Change) -> bool:
    """Return whether what is before an "and" may be a relative clause that goes on behind it."""
    vocabulary = change.vocabulary
    start = max(
        (first for first, _ in change.evidence.sentences if first <= change.removed[0].start), default=0
    )
    before = change.evidence.text[start : change.removed[0].start]
    comma = r",\s*" if vocabulary.verb_final else r"(?<!\w)"
    relatives = "|".join(sorted(vocabulary.relatives | vocabulary.adding_relatives))
    return re.search(rf"{comma}(?:{relatives})(?!\w)", before, re.IGNORECASE) is not None


def _is_verb(unit: Unit, change: Change) -> bool:
    """Return whether a word behind "and" can only be a verb, by its letters."""
    written = change.evidence.text[unit.start : unit.end]
    plain = not unit.article and unit.folded not in change.vocabulary.stop_words
    return plain and re.fullmatch(change.vocabulary.verb_form, written) is not None


def said_by_question(change: Change) -> bool:
    """Return whether the words are in the question already, which the claim answers."""
    content = [unit for unit in change.removed if unit.content]
    vocabulary = change.vocabulary
    written = change.written().casefold()
    return (
        bool(content)
        and all(unit.key in change.question_keys for unit in content)
        and not _restricts(change.removed_words, vocabulary)
        and re.search(rf"(?<!\w)(?:{'|'.join(vocabulary.context.excepting)})(?!\w)", written) is None
    )


def _pronoun(change: Change) -> bool:
    """Return whether a pronoun that opens the evidence is replaced by all of what it may stand for."""
    return (
        len(change.removed) == 1
        and change.removed_words[0] in change.vocabulary.subject_pronouns
        and change.removed[0] == units(change.evidence)[0]
        and frozenset(unit.key for unit in change.added if unit.content) in change.subjects
    )


def _relative(change: Change) -> bool:
    """Return whether a clause between commas is left out that only adds to what it follows.

    At the end of a sentence it may speak of all of it: "the pump needs a filter, which is a myth".
    """
    vocabulary = change.vocabulary
    opens = change.removed_words[0] in vocabulary.adding_relatives and change.before().rstrip().endswith(",")
    goes_on = re.match(r"\s*,\s*(\w+)", change.after())
    scope = vocabulary.negations | vocabulary.exclusive | vocabulary.contrasts
    ends = goes_on is not None and goes_on[1].casefold() not in vocabulary.joiners
    return opens and ends and not scope & set(change.removed_words)


def _sentence_joint(change: Change) -> bool:
    """Return whether the claim has "and" where the evidence begins another sentence."""
    if len(change.added) != 1 or change.added_words[0] not in change.vocabulary.conjunctions:
        return False
    theirs = units(change.evidence)
    mine = units(change.claim)
    place = mine.index(change.added[0])
    if place + 1 >= len(mine) or place == 0:
        return False
    after, before = mine[place + 1], mine[place - 1]
    for first, second in pairwise(theirs):
        if first.key == before.key and second.key == after.key:
            between = change.evidence.text[first.end : second.start]
            if re.search(r"[.;]", between):
                return True
    return False


def _abbreviation(change: Change) -> bool:
    """Return whether an abbreviation stands for its words, or they for it, as the passages define it."""
    added, removed = " ".join(change.added_words), " ".join(change.removed_words)
    if not added:
        match = re.match(r"\s*\((\w+)\)", change.after())
        return match is not None and change.defined.get(match[1].casefold()) == removed
    return change.defined.get(added) == removed or change.defined.get(removed) == added


@functools.lru_cache(maxsize=1024)
def abbreviations(text: str, language: str) -> Mapping[str, str]:
    """Return the words of each abbreviation that a text defines ("Words Of a Name (WON)"), casefolded."""
    vocabulary = lexicon(language)
    expansions = {}
    for match in re.finditer(r"\(([^\W\d_]{2,8})\)", text):
        if not match[1][:2].isupper():
            continue
        words = re.findall(
            r"[^\W\d_]+", text[max(0, match.start() - _LONGEST_NAME) : match.start()].casefold()
        )
        for count in range(2, min(len(words), 2 * len(match[1])) + 1):
            run = [word for word in words[-count:] if word not in vocabulary.determiners]
            letters = "".join(word[0] for word in run if word not in vocabulary.stop_words)
            if letters == match[1].casefold() and words[-count] not in vocabulary.stop_words:
                expansions[match[1].casefold()] = " ".join(run)
                break
    return expansions


def same_in_other_voice(claim: Reading, evidence: Reading) -> bool:
    """Return whether one text is the passive of the other, same agent and patient, and nothing else differs.

    A command is the passive with "must". English and Swedish, regular verbs; German participles have other
    stems and are left to a model.
    """
    vocabulary = lexicon(claim.language)
    mine, theirs = units(claim), units(evidence)
    return any(
        _is_passive(first, second, vocabulary) or _is_command(first, second, vocabulary)
        for first, second in ((mine, theirs), (theirs, mine))
    )


def same_in_other_order(claim: Reading, evidence: Reading) -> bool:
    """Return whether one text is the other with its parts in another order that says the same.

    "A and B" is "B and A", "A is the B" is "The B is A", and what stands in front of a main clause may stand
    behind it, where German and Swedish then turn subject and verb round.
    """
    vocabulary = lexicon(claim.language)
    mine, theirs = units(claim), units(evidence)
    if len(mine) != len(theirs) or sorted(unit.key for unit in mine) != sorted(unit.key for unit in theirs):
        return False
    keys = [unit.key for unit in mine]
    orders = chain(
        _equals_exchanged(theirs, vocabulary),
        _identities(theirs, vocabulary),
        _front_moved(theirs, vocabulary),
        _end_moved(theirs, vocabulary),
    )
    return any(
        [unit.key for unit in order] == keys
        and all(
            _same_form(first, second, vocabulary) and _same_article(first, second, vocabulary)
            for first, second in zip(mine, order, strict=True)
        )
        for order in orders
    )


def _equals_exchanged(text: Sequence[Unit], vocabulary: Lexicon) -> Iterator[list[Unit]]:
    """Yield a text with what stands on either side of an "and" exchanged, one to three content words each."""
    for place, unit in enumerate(text):
        if unit.folded not in vocabulary.conjunctions:
            continue
        for before, after in product(range(1, _LONGEST_EQUAL + 1), repeat=2):
            first, second = text[max(place - before, 0) : place], text[place + 1 : place + 1 + after]
            if len(first) == before and len(second) == after and all(u.content for u in (*first, *second)):
                yield [*text[: place - before], *second, unit, *first, *text[place + 1 + after :]]


def _identities(text: Sequence[Unit], vocabulary: Lexicon) -> Iterator[list[Unit]]:
    """Yield "The B is A" for "A is the B", where each side is one definite thing."""
    copulas = [place for place, unit in enumerate(text) if unit.folded in vocabulary.copulas]
    if len(copulas) != 1 or not text[copulas[0] + 1 :] or not copulas[0]:
        return
    (place,) = copulas
    limits = vocabulary.negations | vocabulary.exclusive | vocabulary.partial | vocabulary.joiners
    definite = text[place + 1].article in vocabulary.definite and text[0].article not in vocabulary.indefinite
    if definite and text[0].content and limits.isdisjoint(unit.folded for unit in text):
        yield [*text[place + 1 :], text[place], *text[:place]]


def _front_moved(text: Sequence[Unit], vocabulary: Lexicon) -> Iterator[list[Unit]]:
    """Yield a main clause with the prepositional phrase in front of it behind its verb or at its end."""
    if not _moves(text, vocabulary):
        return
    for width in range(1, min(_LONGEST_FRONT, len(text) - 2) + 1):
        front, rest = text[:width], text[width:]
        if not vocabulary.verb_second:
            yield [*rest, *front]
            continue
        for subject in range(1, min(_LONGEST_FRONT, len(rest) - 1) + 1):
            turned = [*rest[1 : 1 + subject], rest[0]]
            yield [*turned, *rest[1 + subject :], *front]
            yield [*turned, *front, *rest[1 + subject :]]


def _end_moved(text: Sequence[Unit], vocabulary: Lexicon) -> Iterator[list[Unit]]:
    """Yield a main clause with a prepositional phrase of it in front, where it is the only one."""
    for start, stop in combinations(range(1, len(text) + 1), 2):
        front, rest = text[start:stop], [*text[:start], *text[stop:]]
        if len(front) > _LONGEST_FRONT or (stop < len(text) and not vocabulary.verb_second):
            continue
        if not _moves([*front, *rest], vocabulary):
            continue
        if not vocabulary.verb_second:
            yield [*front, *rest]
            continue
        for subject in range(1, min(_LONGEST_FRONT, len(rest) - 1) + 1):
            yield [*front, rest[subject], *rest[:subject], *rest[subject + 1 :]]


def _moves(text: Sequence[Unit], vocabulary: Lexicon) -> bool:
    """Return whether a clause opens with its only prepositional phrase, and nothing in it has a scope.

    In German an object may stand there too, where its article says that it is one.
    """
    words = [unit.folded for unit in text]
    scope = vocabulary.denying | vocabulary.exclusive | vocabulary.joiners
    scope |= vocabulary.conditional_words | vocabulary.relatives | vocabulary.question_openers
    prepositions = [word for word in words if word in vocabulary.prepositions]
    only = bool(prepositions) and words[0] == prepositions[0] and prepositions.count(words[0]) == 1
    is_object = text[0].article.endswith(vocabulary.object_cases) if vocabulary.object_cases else False
    return (only or is_object) and scope.isdisjoint(words[1:]) and words[0] not in vocabulary.exclusive


def _is_command(passive: Sequence[Unit], command: Sequence[Unit], vocabulary: Lexicon) -> bool:
    """Return whether one text says "the valve must not be used", the other "do not use the valve"."""
    obliging = vocabulary.strong & vocabulary.finite_verbs
    must = next((at for at, unit in enumerate(passive) if unit.folded in obliging), 0)
    ordered = command[1:] if command and command[0].folded in vocabulary.auxiliaries else command
    denies = vocabulary.not_word in {unit.folded for unit in ordered[:2]}
    ordered = [unit for at, unit in enumerate(ordered) if at > 1 or unit.folded != vocabulary.not_word]
    between = [vocabulary.not_word] * denies + vocabulary.passive_infinitive.split()
    verb_phrase = passive[must + 1 + len(between) :]
    linked = [unit.folded for unit in passive[must + 1 : must + 1 + len(between)]] == between
    if not (must and ordered and verb_phrase and linked):
        return False
    verb, done = ordered[0], verb_phrase[0]
    participle = done.key == verb.key and done.folded != verb.folded
    same = (
        participle
        if vocabulary.passive_infinitive
        else done.folded in (f"{verb.folded}s", f"{verb.folded}as")
    )
    roles = [unit.key for unit in (*passive[:must], *verb_phrase[1:])]
    return same and roles == [unit.key for unit in ordered[1:]]


def _is_passive(passive: Sequence[Unit], active: Sequence[Unit], vocabulary: Lexicon) -> bool:
    """Return whether patient, verb, agent, rest of one sentence are agent, verb, patient, rest of another."""
    agents = [at for at, unit in enumerate(passive) if unit.folded in vocabulary.passive_agents]
    if len(agents) != 1 or agents[0] < 2:
        return False
    (by,) = agents
    verb, auxiliary = passive[by - 1], passive[by - 2].folded
    has_auxiliary = auxiliary in vocabulary.copulas
    patient = passive[: by - 2 if has_auxiliary else by - 1]
    for width in range(1, len(passive) - by):
        agent, rest = passive[by + 1 : by + 1 + width], passive[by + 1 + width :]
        roles = [unit.key for unit in (*agent, *patient, *rest)]
        if not patient or roles != [unit.key for unit in (*active[:width], *active[width + 1 :])]:
            continue
        participle = active[width]
        if has_auxiliary:
            past = auxiliary in vocabulary.past_copulas
            return participle.key == verb.key and past == (participle.folded == verb.folded)
        base = verb.folded[:-1]
        return verb.folded.endswith("s") and participle.folded in (base, f"{base}r", f"{base}er")
    return False


ALLOWED: tuple[Allowed, ...] = (
    Allowed(
        "filler",
        "left out",
        ("However, the pump needs a filter.", "The pump needs a filter."),
        ("Perhaps the pump needs a filter.", "The pump needs a filter."),
        _only_fillers,
    ),
    Allowed(
        "opening",
        "added",
        ("The pump needs a filter.", "Also, the pump needs a filter."),
        ("The pump needs a filter.", "Only the pump needs a filter."),
        _opening,
    ),
    Allowed(
        "reference in brackets",
        "left out",
        ("The pump (see section 3) needs a filter.", "The pump needs a filter."),
        ("The pump (model A) needs a filter.", "The pump needs a filter."),
        _bracketed,
    ),
    Allowed(
        "example",
        "left out",
        ("The pump needs a fine filter, for example a mesh.", "The pump needs a fine filter."),
        ("The pump needs a fine filter, unless it runs dry.", "The pump needs a fine filter."),
        _example,
    ),
    Allowed(
        "reason",
        "left out",
        ("The pump needs a filter because the water is hard.", "The pump needs a filter."),
        ("The pump needs no filter because the water is hard.", "The pump needs no filter."),
        _reason,
    ),
    Allowed(
        "other sentence",
        "left out",
        ("The pump needs a filter. It is cheap.", "The pump needs a filter."),
        ("The pump needs a filter. However, the new one needs none.", "The pump needs a filter."),
        _other_sentence,
    ),
    Allowed(
        "coordinate clause",
        "left out",
        ("The pump is new, and the filter is old.", "The pump is new."),
        ("The pump is new or the filter is old.", "The pump is new."),
        _coordinate,
    ),
    Allowed(
        "said by the question",
        "left out",
        ("The pump of the boiler needs a filter.", "The pump needs a filter."),
        ("The pump of the cellar needs a filter.", "The pump needs a filter."),
        said_by_question,
    ),
    Allowed(
        "pronoun of the heading",
        "changed",
        ("It needs a filter.", "The boiler needs a filter."),
        ("It needs a filter.", "The oven needs a filter."),
        _pronoun,
    ),
    Allowed(
        "abbreviation",
        "changed",
        ("The Nordic Pump Union (NPU) tests filters.", "The NPU tests filters."),
        ("The Nordic Pump Union (NPU) tests filters.", "The NPA tests filters."),
        _abbreviation,
    ),
    Allowed(
        "adding relative clause",
        "left out",
        ("The pump, which is cheap, needs a filter.", "The pump needs a filter."),
        ("The pump needs a filter, which is a myth.", "The pump needs a filter."),
        _relative,
    ),
    Allowed(
        "and between sentences",
        "added",
        ("The pump is new. The filter is old.", "The pump is new and the filter is old."),
        ("The pump is new, if the filter is old.", "The pump is new and the filter is old."),
        _sentence_joint,
    ),
)


@functools.lru_cache(maxsize=4096)
def units(reading: Reading) -> Sequence[Unit]:
    """Return the units of a text in order, articles taken to the word after them and contractions apart."""
    vocabulary = lexicon(reading.language)
    result = [
        Unit(f"@{d.year}-{d.month}-{d.day}", d.text.casefold(), d.start, d.end, True) for d in reading.dates
    ]
    for n in reading.numbers:
        dimension = n.unit.dimension if n.unit else ""
        result.append(
            Unit(
                f"#{n.version or f'{n.value:.9g}'}{dimension}{n.kind}",
                n.text.casefold(),
                n.start,
                n.end,
                True,
            )
        )
    taken = Occupied(len(reading.text), ((unit.start, unit.end) for unit in result))
    for word in reading.words:
        if not taken.free(word.start, word.end):
            continue
        for part in vocabulary.contractions.get(word.folded, (word.folded,)):
            content = word.content and part == word.folded
            key = _spelled(word, vocabulary) if content else vocabulary.same_words.get(part, part)
            result.append(Unit(key, part, word.start, word.end, content))
    result += _signs(reading.text, taken)
    result.sort(key=lambda unit: (unit.start, unit.end))
    joined: list[Unit] = []
    article: Unit | None = None
    for unit in result:
        written = reading.text[unit.start : unit.end]
        if unit.folded in vocabulary.determiners and (
            written.islower() or (article is None and _opens(reading.text, unit))
        ):
            article = unit
            continue
        joined.append(replace(unit, start=article.start, article=article.folded) if article else unit)
        article = None
    return _joined(joined, vocabulary) if vocabulary.same_phrases else joined


def _joined(text: list[Unit], vocabulary: Lexicon) -> list[Unit]:
    """Return the units with words that say one thing together as one: "has to" is "must".

    Behind a negation they say something else: who does not have to pay may pay.
    """
    result: list[Unit] = []
    for unit in text:
        before = result[-1] if result else None
        word = vocabulary.same_phrases.get((before.folded, unit.folded)) if before else None
        if before is None or word is None or any(u.folded in vocabulary.negations for u in result[-3:]):
            result.append(unit)
        else:
            key = stemmer(vocabulary.code)(word) if unit.content else word
            result[-1] = replace(before, key=key, folded=word, end=unit.end, content=unit.content)
    return result


def _spelled(word: Token, vocabulary: Lexicon) -> str:
    """Return the stem of a word, however it is spelled: colour and color are one, sold and sell."""
    if word.folded in vocabulary.same_words:
        return vocabulary.same_words[word.folded]
    usual = _usual(vocabulary.irregular.get(word.folded, word.folded), vocabulary.code)
    return word.stem if usual == word.folded else stemmer(vocabulary.code)(usual)


@functools.lru_cache(maxsize=50_000)
def _usual(word: str, language: str) -> str:
    for pattern, usual in lexicon(language).spellings:
        word = re.sub(pattern, usual, word)
    return word


def _signs(text: str, taken: Occupied) -> Iterator[Unit]:
    """Yield the signs of a text, marks of emphasis aside."""
    marks = {
        place
        for match in _EMPHASIS.finditer(text)
        for width in [len(match[1])]
        for place in (*range(match.start(), match.start() + width), *range(match.end() - width, match.end()))
    }
    for place in _grouping(text):
        yield Unit(f"~{text[place]}", text[place], place, place + 1, False)
    for match in _SIGN.finditer(text):
        if match.start() not in marks and taken.free(match.start(), match.end()):
            sign = unicodedata.normalize("NFKC", match[0].strip())
            yield Unit(f"~{_DASHES.sub('-', sign)}", sign, match.start(), match.end(), False)


def _grouping(text: str) -> Iterator[int]:
    """Yield the places of brackets that group the operands of a formula."""
    opened: list[int] = []
    for match in re.finditer(r"[()]", text) if _OPERATOR.search(text) else ():
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            if _OPERATOR.search(text, start, match.end()):
                yield from (start, match.start())


def _opens(text: str, unit: Unit) -> bool:
    """Return whether a word opens a sentence, where a capital says nothing of it."""
    before = text[: unit.start].rstrip(" \"'“„«(•-*#")
    return not before or before[-1] in ".!?:\n"


def differences(
    claim: Reading,
    evidence: Reading,
    question_keys: frozenset[str] = frozenset(),
    subjects: frozenset[frozenset[str]] = frozenset(),
    passages: str = "",
) -> list[Change]:
    """Return every place where a claim and its evidence differ in what they say, allowed or not."""
    vocabulary = lexicon(claim.language)
    mine, theirs = units(claim), units(evidence)
    defined = abbreviations(f"{passages}\n{evidence.text}", claim.language)
    matcher = difflib.SequenceMatcher(None, [u.key for u in theirs], [u.key for u in mine], autojunk=False)
    changes: list[Change] = []
    commas: list[Change] = []
    for kind, low, high, start, end in matcher.get_opcodes():
        if kind != "equal":
            added, out = mine[start:end], theirs[low:high]
            changes.append(Change(added, out, claim, evidence, vocabulary, question_keys, subjects, defined))
            continue
        pairs = list(zip(mine[start:end], theirs[low:high], strict=True))
        for first, second in pairs:
            if not _same_form(first, second, vocabulary) or not _same_article(first, second, vocabulary):
                changes.append(Change([first], [second], claim, evidence, vocabulary))
        for (first, second), (next_first, next_second) in pairwise(pairs):
            if _modifies(first, second, next_first, next_second, vocabulary):
                changes.append(Change([first], [second], claim, evidence, vocabulary))
            texts = claim.text[first.end : next_first.start], evidence.text[second.end : next_second.start]
            if ("," in texts[0]) != ("," in texts[1]) and next_first.folded not in vocabulary.joiners:
                note = f'a comma before "{next_first.folded}" differs'
                commas.append(Change([next_first], [next_second], claim, evidence, vocabulary, note=note))
    return [*changes, *(commas if len(commas) >= _FEWEST_COMMAS else filter(_parts_clauses, commas))]


def _parts_clauses(comma: Change) -> bool:
    """Return whether a comma stands where it changes what is said: "no, …", "the guests, who …"."""
    vocabulary, word = comma.vocabulary, comma.added[0]
    before = next((unit.folded for unit in reversed(units(comma.claim)) if unit.end <= word.start), "")
    answers = vocabulary.negations | vocabulary.context.replies
    return before in answers or word.folded in vocabulary.relatives | vocabulary.adding_relatives


def _modifies(first: Unit, second: Unit, next_first: Unit, next_second: Unit, vocabulary: Lexicon) -> bool:
    """Return whether words differ that stand before a noun, as in custom and customs forms."""
    different = vocabulary.open_compounds and first.folded != second.folded
    different = different and first.content and first.key[0] not in "#@"
    if not different or _usual(first.folded, vocabulary.code) == _usual(second.folded, vocabulary.code):
        return False
    return all(
        unit.content and not unit.article and unit.key[0] not in "#@" for unit in (next_first, next_second)
    )


def _same_form(first: Unit, second: Unit, vocabulary: Lexicon) -> bool:
    """Return whether two words of one stem are forms of one word that state the same."""
    if first.folded == second.folded or not first.content or first.key[:1] in "@#":
        return True
    if vocabulary.same_words.get(first.folded, first.folded) == vocabulary.same_words.get(
        second.folded, second.folded
    ):
        return True
    if vocabulary.spellings:
        first, second = (
            replace(unit, folded=_usual(unit.folded, vocabulary.code)) for unit in (first, second)
        )
    shared = len(common_beginning(first.folded, second.folded))
    ends = {first.folded[shared:], second.folded[shared:]}
    pairs = (f"{first.folded}/{second.folded}", f"{second.folded}/{first.folded}")
    return ends <= vocabulary.endings and not any(re.fullmatch(vocabulary.apart, pair) for pair in pairs)


def common_beginning(first: str, second: str) -> str:
    """Return the letters that two words begin with."""
    for place, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return first[:place]
    return min(first, second, key=len)


def _same_article(first: Unit, second: Unit, vocabulary: Lexicon) -> bool:
    """Return whether an article is missing or both agree in case, which in German tells who does what.

    Before a function word, and before "few" or "little", the article is what says how many there are.
    """
    if not first.content or first.folded in vocabulary.counted_by_article:
        return first.article == second.article
    if not first.article or not second.article:
        return True
    cases = [next(filter(unit.article.endswith, vocabulary.article_cases), "") for unit in (first, second)]
    return cases[0] == cases[1]


def is_allowed(change: Change) -> bool:
    """Return whether some row of `ALLOWED` covers a difference."""
    direction = "changed" if change.added and change.removed else "added" if change.added else "left out"
    return any(row.test(change) for row in ALLOWED if row.direction in (direction, "changed"))
