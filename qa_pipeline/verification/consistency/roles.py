"""Roles of words in a claim and in the sentence that is to prove it: who does what to whom.

The words may differ, since a model has read both as one statement; those that both have are compared.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import combinations

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency.allowed import Unit, units
from qa_pipeline.verification.consistency.reading import Reading


def exchanged_roles(claim: Reading, sentence: Reading) -> Iterator[str]:
    """Yield the words that have exchanged their roles in a claim and a sentence that is said to prove it.

    These are two words of which each stands behind the other's preposition; a subject that is none in the
    sentence, whose own subject the claim lacks or moves; words whose article is in another case; and words
    behind one preposition, or behind none, in another order. Of those behind none one may move: "free entry",
    "entry is free". In a passive the one who acts stands behind "by", and the order says nothing.
    """
    vocabulary = lexicon(claim.language)
    mine, theirs = units(claim), units(sentence)
    is_passive = [any(unit.folded in vocabulary.passive_agents for unit in text) for text in (mine, theirs)]
    passive = is_passive[0] != is_passive[1]
    subject, other_subject = (
        next((at for at, unit in enumerate(text) if unit.content), -1) for text in (mine, theirs)
    )
    lacks_subject = all(unit.key != theirs[other_subject].key for unit in mine)
    moved: list[tuple[Unit, Set[str], Set[str]]] = []
    in_order: dict[str, list[tuple[int, Unit]]] = {}
    for place, there in shared_places(mine, theirs, vocabulary):
        unit, other_unit = mine[place], theirs[there]
        behind, other = _behind(mine, place, vocabulary), _behind(theirs, there, vocabulary)
        turned = not passive and bool(behind & other) and not _same_case(unit, other_unit, vocabulary)
        if behind & other:
            in_order.setdefault(min(behind & other), []).append((there, unit))
        elif not (passive and (behind | other) & vocabulary.passive_agents):
            moved.append((unit, behind, other))
            turned = there == other_subject or (place == subject and lacks_subject)
        if turned:
            yield f'"{unit.folded}" has another role in the quote'
    for (unit, behind, other), (_, next_behind, next_other) in combinations(moved, 2):
        if behind & next_other and next_behind & other:
            yield f'"{unit.folded}" has another role in the quote'
    for preposition, words in in_order.items():
        moves = count_moves([there for there, _ in words])
        if not passive and moves > (preposition == ""):
            yield f'the quote has "{words[0][1].folded}" in another order'


def shared_places(
    mine: Sequence[Unit], theirs: Sequence[Unit], vocabulary: Lexicon
) -> Iterator[tuple[int, int]]:
    """Yield the places in two texts of the plain words that each has once."""
    places = {unit.key: place for place, unit in enumerate(theirs)}
    keys, other_keys = (Counter(unit.key for unit in text) for text in (mine, theirs))
    for place, unit in enumerate(mine):
        is_plain = unit.content and unit.folded not in vocabulary.prepositions and unit.key[0] not in "#@~"
        if is_plain and keys[unit.key] == other_keys[unit.key] == 1:
            yield place, places[unit.key]


def _behind(text: Sequence[Unit], place: int, vocabulary: Lexicon) -> Set[str]:
    """Return the prepositions that a word may stand behind, next to it or before words that describe it.

    Without one it is the empty word.
    """
    unit = text[place]
    if vocabulary.genitives and unit.folded.endswith(vocabulary.genitives):
        return {vocabulary.of_word}
    prepositions = {preposition_before(text, place, vocabulary)}
    while place and not text[place].article and text[place - 1].content:
        place -= 1
        prepositions.add(preposition_before(text, place, vocabulary))
    return prepositions


def preposition_before(text: Sequence[Unit], place: int, vocabulary: Lexicon) -> str:
    """Return the preposition or "than" next before a word, in its usual form; empty without one."""
    before = text[place - 1].folded if place else ""
    if before not in vocabulary.prepositions | vocabulary.comparing:
        return ""
    return vocabulary.same_words.get(before, before)


def _same_case(unit: Unit, other: Unit, vocabulary: Lexicon) -> bool:
    articles = [article for article in (unit.article, other.article) if article]
    return len({case_of(article, vocabulary) for article in articles}) < 2


def case_of(article: str, vocabulary: Lexicon) -> str:
    """Return the ending by which an article tells its case; empty where it tells none."""
    return next(filter(article.endswith, vocabulary.article_cases), "")


def count_moves(places: Sequence[int]) -> int:
    """Return how many words must move until all are in order."""
    ends: list[int] = []
    for place in places:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(places) - len(ends)
