"""Check that a unit of a source answers the question.

Every content word of the question must be in the unit or near it, in the same order and role. Word forms
count as equal if they share a stem.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading
from qa_pipeline.text.words import Token


@dataclass(frozen=True, slots=True)
class QuestionContext:
    """A question with the texts of the answer and the source that may mention its topic."""

    question: Reading
    answer: Reading
    headings: Reading
    introduction: Reading
    """The term that begins the line of the unit, and the lead-ins of its lists."""


def is_polar(question: Reading) -> bool:
    """Return True if a question asks for yes or no."""
    return question.opens_with(lexicon(question.language).finite_verbs, 1)


def without_polar_word(claim: str, language: str) -> tuple[str, bool | None]:
    """Strip an opening yes or no from a claim.

    Returns:
        the rest of the claim, and True for yes, False for no or None if neither opens it.
    """
    words = lexicon(language).proof
    first, _, rest = claim.partition(" ")
    opening = first.rstrip(",.!;:–—-").casefold()
    is_alone = len(opening) < len(first) or not rest
    if is_alone and (opening in words.yes or opening in words.no):
        return rest.lstrip("–—- "), opening in words.yes
    return claim, None


def asked_words(question: Reading) -> list[Token]:
    """Return the content words that name the topic of a question."""
    words = lexicon(question.language).proof
    topics = []
    before = ""
    for word in question.words:
        measures = before in words.degree and word.folded not in words.articles
        if word.content and word.folded not in words.asking and not measures:
            topics.append(word)
        before = word.folded
    return topics


def unbound(unit: Reading, context: QuestionContext) -> Iterator[str]:
    """Yield the reasons why a unit may not answer the question."""
    question = context.question
    words = asked_words(question)
    if not question.tokens:
        return
    if not words:
        yield "the question names nothing"
        return
    near = unit.stem_set | context.introduction.stem_set | context.answer.stem_set
    missing = [word.folded for word in words if word.stem not in near | context.headings.stem_set]
    if missing:
        yield f"of the question neither here nor in a heading: {', '.join(missing)}"
    elif not any(word.stem in near for word in words):
        yield "only a heading speaks of what is asked"
    if not is_polar(question) and bool(question.negations) != bool(unit.negations):
        yield "question and source do not agree in their negations"
    yield from _out_of_order(words, unit, question)


def _out_of_order(words: Sequence[Token], unit: Reading, question: Reading) -> Iterator[str]:
    """Yield reasons if words shared by question and unit differ in order or role."""
    stated = [word.stem for word in unit.words]
    shared = [word for word in words if word.stem in unit.stem_set]
    places = [stated.index(word.stem) for word in shared]
    moved = len(places) - _longest_rise(places)
    asks_who = question.opens_with(lexicon(question.language).proof.who, 1)
    if moved > (0 if asks_who else 1):
        yield "the words of the question are in another order here"
    for word in shared:
        if not _prepositions(question, word.stem) & _prepositions(unit, word.stem):
            yield f'"{word.folded}" is behind another preposition here'


def _longest_rise(places: Sequence[int]) -> int:
    """Return the length of the longest rising subsequence (patience sorting)."""
    ends: list[int] = []
    for place in places:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends)


def _prepositions(text: Reading, stem: str) -> Set[str]:
    """Return the prepositions before each occurrence of a word, "" for an occurrence without one.

    Articles in between are skipped.
    """
    vocabulary = lexicon(text.language)
    prepositions = set()
    for place, word in enumerate(text.words):
        if word.stem == stem:
            at = place
            while at and text.words[at - 1].folded in vocabulary.proof.articles:
                at -= 1
            before = text.words[at - 1].folded if at else ""
            prepositions.add(before if before in vocabulary.prepositions else "")
    return prepositions


def only_scope(unit: Reading, spoken: Set[str]) -> str | None:
    """Return the first word of scope (such as "only") that a unit has and the `spoken` tokens lack."""
    scope = lexicon(unit.language).proof.scope
    line = f" {' '.join(unit.lower_tokens)} "
    lacking = (phrase for phrase in sorted(scope) if f" {phrase} " in line and phrase not in spoken)
    return next(lacking, None)
