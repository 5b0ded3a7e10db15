"""Check if a unit of a source answers the question of a claim, and where the two differ."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

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
    """Strip an opening yes or no from a claim: "Yes, it is." becomes "it is.".

    Returns:
        the rest of the claim, and True for yes, False for no or None if neither opens it.
    """
    words = lexicon(language).proof
    first, _, rest = claim.partition(" ")
    opening = first.rstrip(",.!;:–—-").casefold()
    is_separate = len(opening) < len(first) or not rest  # by a sign such as a comma, or as the whole claim
    if is_separate and (opening in words.yes or opening in words.no):
        return rest.lstrip("–—- "), opening in words.yes
    return claim, None


def question_words(question: Reading) -> list[Token]:
    """Return the content words that name the topic of a question.

    Words of asking, such as "mean", are left out, and so is the measure in "How long …".
    """
    vocabulary = lexicon(question.language).proof
    topics = []
    before = ""
    for word in question.words:
        # "long" in "How long …", but not "all" in "How all parts …"
        is_measure = before in vocabulary.how_words and word.folded not in vocabulary.determiners
        if word.content and word.folded not in vocabulary.asking and not is_measure:
            topics.append(word)
        before = word.folded
    return topics


def question_mismatches(unit: Reading, context: Context) -> Iterator[str]:
    """Yield the reasons why a unit may not answer the question."""
    question = context.question
    topics = question_words(question)
    if not question.tokens:
        return  # a claim without a question
    if not topics:
        yield "the question names nothing"
        return
    # "here" is in the unit, its introduction or the answer, since each claim of the answer is verified itself
    mentioned_here = unit.stem_set | context.introduction.stem_set | context.answer.stem_set
    mentioned = mentioned_here | context.headings.stem_set
    missing = [word.folded for word in topics if word.stem not in mentioned]
    if missing:
        yield f"of the question neither here nor in a heading: {', '.join(missing)}"
    elif not any(word.stem in mentioned_here for word in topics):
        yield "only a heading speaks of what is asked"
    if not is_polar(question) and bool(question.negations) != bool(unit.negations):
        yield "only one of question and source has a negation"
    yield from _role_mismatches(topics, unit, question)


def _role_mismatches(topics: Sequence[Token], unit: Reading, question: Reading) -> Iterator[str]:
    """Yield reasons if words of the question (`topics`) have another order or preposition in the unit."""
    unit_stems = [word.stem for word in unit.words]
    shared = [word for word in topics if word.stem in unit.stem_set]
    positions = [unit_stems.index(word.stem) for word in shared]  # in the unit, in the order of the question
    is_in_order = _ascend(positions)
    # after "Who" the order matters ("Bob paid Ann" is not "Ann paid Bob"); else one word may be misplaced
    if not question.opens_with(lexicon(question.language).proof.who, longest=1):
        without_one = (positions[:n] + positions[n + 1 :] for n in range(len(positions)))
        is_in_order = is_in_order or any(map(_ascend, without_one))
    if not is_in_order:
        yield "the words of the question are in another order here"
    for word in shared:
        # both sets have "" if the word follows no preposition in either text
        if not _prepositions(question, word.stem) & _prepositions(unit, word.stem):
            yield f'"{word.folded}" follows another preposition in the source than in the question'


def _ascend(positions: Sequence[int]) -> bool:
    """Return True if each position is greater than the position before it."""
    return all(first < second for first, second in pairwise(positions))


def _prepositions(text: Reading, stem: str) -> Set[str]:
    """Return the prepositions before a word, "" if another word precedes it. Determiners are skipped."""
    vocabulary = lexicon(text.language)
    prepositions = set()
    before = ""  # the last word that is no determiner
    for word in text.words:
        if word.stem == stem:
            prepositions.add(before if before in vocabulary.prepositions else "")
        if word.folded not in vocabulary.proof.determiners:
            before = word.folded
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
    """Return the slot where a claim denies a unit, or None if they are equal or differ otherwise.

    "It has 5 ports." denies "It has 4 ports.", unless 5 is in `stated`, the tokens of all cited sources. "It
    does not leak." denies "It does leak." in any case. "It has red ports." only differs.
    """
    if min(len(claim.tokens), len(unit.tokens)) < _FEWEST_TOKENS:
        return None
    if len(claim.tokens) == len(unit.tokens):
        pairs = zip(claim.tokens, unit.tokens, strict=True)
        differing = [(claimed, in_unit) for claimed, in_unit in pairs if claimed != in_unit]
        if len(differing) != 1:
            return None
        claimed, in_unit = differing[0]
        reason = None if claimed in stated else _mismatch(claimed, in_unit, claim.language)
        return Denial(reason, claimed, in_unit) if reason else None
    if added := _extra_negation(claim.tokens, unit.tokens, claim.language):
        return Denial("negation_mismatch", added, "")
    if left_out := _extra_negation(unit.tokens, claim.tokens, claim.language):
        return Denial("negation_mismatch", "", left_out)
    return None


def _extra_negation(longer: tuple[str, ...], shorter: tuple[str, ...], language: str) -> str | None:
    """Return the only token of the longer text that the shorter lacks, if it is a negation."""
    if len(longer) != len(shorter) + 1:
        return None
    index = next((n for n, token in enumerate(shorter) if token != longer[n]), len(shorter))
    is_only_difference = longer[index + 1 :] == shorter[index:]
    is_negation = longer[index].casefold() in lexicon(language).negations
    return longer[index] if is_only_difference and is_negation else None


def _mismatch(first: str, second: str, language: str) -> str | None:
    """Return the reason code if two tokens fill the same slot with different values."""
    vocabulary, both = lexicon(language), (first.casefold(), second.casefold())
    numbers = [number_value(token, language) for token in (first, second)]
    if None not in numbers:
        return "number_mismatch" if _differs(*numbers) else None
    if all(word in vocabulary.months for word in both):
        return "date_mismatch"
    if all(any(map(str.isdigit, word)) for word in both):  # such as "B-52" and "B-17"
        return "number_mismatch"
    if all(word in vocabulary.proof.units for word in both):
        return "unit_mismatch"
    if is_identifier(first) or is_identifier(second):
        return "name_mismatch"
    first_denies, second_denies = (word in vocabulary.negations for word in both)
    return "negation_mismatch" if first_denies != second_denies else None


def _differs(first: str | None, second: str | None) -> bool:
    """Return True if two numbers have different values. 5 and 5.0 may be two versions or one amount."""
    try:
        return float(first or 0) != float(second or 0)
    except ValueError:  # versions and dates, such as 3.10.1
        return first != second
