"""Check if a unit of a source answers the question of a claim, and where the two differ."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import combinations, pairwise

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.reading import Reading, is_identifier, number_value
from qa_pipeline.text.words import Token

_NOTHING = Reading("", "en")


@dataclass(frozen=True, slots=True)
class Context:
    """The question and the complete answer of a claim, and texts of its source that may mention the topic.

    If `must_answer` is False, the source need not answer the question. `introduction` is the term that
    begins the line of the unit, and the lead-ins of its lists.
    """

    question: Reading
    answer: Reading
    must_answer: bool = True
    headings: Reading = _NOTHING
    introduction: Reading = _NOTHING


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
    is_alone = len(opening) < len(first) or not rest  # before a sign, or the whole claim
    if is_alone and (opening in words.yes or opening in words.no):
        return rest.lstrip("–—- "), opening in words.yes
    return claim, None


def question_words(question: Reading) -> list[Token]:
    """Return the content words that name the topic of a question.

    Words of asking are left out, and so is the word after "how", as in "How long …".
    """
    vocabulary = lexicon(question.language).proof
    topics = []
    before = ""
    for word in question.words:
        follows_how = before in vocabulary.degree and word.folded not in vocabulary.articles
        if word.content and word.folded not in vocabulary.asking and not follows_how:
            topics.append(word)
        before = word.folded
    return topics


def question_mismatches(unit: Reading, context: Context) -> Iterator[str]:
    """Yield the reasons why a unit may not answer the question."""
    question = context.question
    words = question_words(question)
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
        yield "only one of question and source has a negation"
    yield from _out_of_order(words, unit, question)


def _out_of_order(words: Sequence[Token], unit: Reading, question: Reading) -> Iterator[str]:
    """Yield reasons if words shared by question and unit differ in order or role."""
    stated = [word.stem for word in unit.words]
    shared = [word for word in words if word.stem in unit.stem_set]
    positions = [stated.index(word.stem) for word in shared]  # in the unit
    # the answer to "Who …" depends on the order: "Ann paid Bob" and "Bob paid Ann"
    asks_who = question.opens_with(lexicon(question.language).proof.who, 1)
    most_moved = 0 if asks_who else 1
    # the words are in order if all of them ascend, or all but the word that may have moved
    orders = combinations(positions, max(len(positions) - most_moved, 0))
    if not any(all(first < second for first, second in pairwise(order)) for order in orders):
        yield "the words of the question are in another order here"
    for word in shared:
        if not _prepositions(question, word.stem) & _prepositions(unit, word.stem):
            yield f'"{word.folded}" follows another preposition in the source than in the question'


def _prepositions(text: Reading, stem: str) -> Set[str]:
    """Return the prepositions before each occurrence of a word, "" for an occurrence without one.

    Articles in between are skipped.
    """
    vocabulary = lexicon(text.language)
    prepositions = set()
    for index, word in enumerate(text.words):
        if word.stem == stem:
            at = index
            while at and text.words[at - 1].folded in vocabulary.proof.articles:
                at -= 1
            before = text.words[at - 1].folded if at else ""
            prepositions.add(before if before in vocabulary.prepositions else "")
    return prepositions


def adds_scope_word(unit: Reading, stated: Set[str]) -> bool:
    """Return True if a unit has a word of scope (such as "only") that the `stated` tokens lack."""
    line = f" {' '.join(unit.lower_tokens)} "
    return any(f" {phrase} " in line for phrase in lexicon(unit.language).proof.scope - stated)


@dataclass(frozen=True, slots=True)
class Denial:
    """A slot (a token such as a number) where claim and unit differ: reason code and both values, or ""."""

    reason: str
    claimed: str
    stated: str

    @property
    def words(self) -> str:
        """Return a description of the difference."""
        if self.claimed and self.stated:
            return f'"{self.stated}" became "{self.claimed}"'
        return f'"{self.claimed}" added' if self.claimed else f'"{self.stated}" left out'


_FEWEST_TOKENS = 3  # minimum tokens of texts that are compared; shorter texts differ in one token by chance


def one_slot_denial(claim: Reading, unit: Reading, stated: Set[str]) -> Denial | None:
    """Return the only slot where a claim differs from a unit, or None if they differ elsewhere.

    `stated` has all tokens of the cited sources. A token in this set does not deny a unit.
    """
    shorter, longer = sorted((claim.tokens, unit.tokens), key=len)
    if len(shorter) < _FEWEST_TOKENS or len(longer) - len(shorter) > 1:
        return None
    differing = [
        index for index, (first, second) in enumerate(zip(shorter, longer, strict=False)) if first != second
    ]
    if len(shorter) == len(longer):
        if len(differing) != 1:
            return None
        claimed, unit_token = claim.tokens[differing[0]], unit.tokens[differing[0]]
        reason = None if claimed in stated else _slot(claimed, unit_token, claim.language)
        return Denial(reason, claimed, unit_token) if reason else None
    # one text has a token more, which must be a negation
    at = differing[0] if differing else len(shorter)  # of the extra token
    extra = longer[at]
    is_only_difference = longer[:at] + longer[at + 1 :] == shorter
    if not is_only_difference or extra.casefold() not in lexicon(claim.language).negations:
        return None
    if longer == claim.tokens:
        return Denial("negation_mismatch", extra, "")
    return Denial("negation_mismatch", "", extra)


def _slot(first: str, second: str, language: str) -> str | None:
    """Return the reason code if two tokens fill the same slot with different values."""
    vocabulary, both = lexicon(language), (first.casefold(), second.casefold())
    values = number_value(first, language), number_value(second, language)
    if None not in values:
        return "number_mismatch" if _differs(*values) else None
    if all(word in vocabulary.months for word in both):
        return "date_mismatch"
    if all(any(map(str.isdigit, word)) for word in both):
        return "number_mismatch"
    if all(word in vocabulary.proof.units for word in both):
        return "unit_mismatch"
    if is_identifier(first) or is_identifier(second):
        return "name_mismatch"
    denies = [word in vocabulary.negations for word in both]
    return "negation_mismatch" if denies[0] != denies[1] else None


def _differs(first: str | None, second: str | None) -> bool:
    """Return True if two numbers have different values. 5 and 5.0 may be two versions or one amount."""
    try:
        return float(first or 0) != float(second or 0)
    except ValueError:  # versions and dates, such as 3.10.1
        return first != second
