"""Falsehoods made by operators that know nothing of the rules: what the rules forbid is not looked up here.

Each operator changes a sentence at places drawn at random: it takes away a run of words, puts in a word of
the corpus, puts another word of the same class in a word's place, exchanges two runs, or joins halves of two
sentences. Edits that may keep the meaning are left out: words that are only taken away with "and", words in
brackets, whole clauses that restrict nothing, equals of a list or neighbours that change places, words that
state nothing, other inflections of the same words. A single word that is taken away is mostly a modifier,
without which the sentence stays true, so only words that limit it are taken away alone.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence

from qa_pipeline.storage.hashes import draw_number
from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon, stemmer
from qa_pipeline.verification.canaries.material import Generator, Make, Material, Sentence, on_text

_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_SIGNS = "<>≤≥=≠±+−%‰€$£→/&#@^~"
_SIGN = f"[{re.escape(_SIGNS)}]"
_STATING_SIGN = re.compile(rf"(?<=\d){_SIGN}|(?<=\d ){_SIGN}|{_SIGN}(?= ?\d)|(?<=[ .])/(?=\w)")
_CLAUSE_MARKS = ",;:()–—"
_LONGEST_RUN = 6
"""Words that are taken away at once: with more the rest is hardly a sentence."""
_TRIES = 6
"""Places or other sentences tried for a sentence, so that a long one does not make most of the canaries."""
_FEWEST_LEFT = 4
"""Words before a condition that is cut off: fewer state nothing."""
Span = tuple[int, int]


@functools.lru_cache(maxsize=1024)
def _words(text: str) -> tuple[Span, ...]:
    return tuple(match.span() for match in _WORD.finditer(text))


def _states_nothing(word: str, vocabulary: Lexicon) -> bool:
    return word.casefold() in vocabulary.determiners or word.casefold() in vocabulary.fillers


def _content(word: str, vocabulary: Lexicon) -> bool:
    return word.casefold() not in vocabulary.stop_words and len(word) > 1


def _places(sentence: Sentence, material: Material, key: str, count: int) -> list[int]:
    """Return a few of `count` places in an order that looks random."""
    ordered = sorted(
        range(count), key=lambda place: draw_number(material.seed, key, sentence.text, str(place))
    )
    return ordered[:_TRIES]


def _in_brackets(text: str, span: Span) -> bool:
    return text.count("(", 0, span[0]) > text.count(")", 0, span[0])


def _without(text: str, span: Span) -> str:
    first, second = text[: span[0]].rstrip(), text[span[1] :]
    if not first:
        second = second.lstrip(" ,;:")
        return second[:1].upper() + second[1:]
    joined = first + (second if second[:1] in ",.;:" else " " + second.lstrip())
    return re.sub(r"[,;:]+(?=[.,;:])", "", joined)


def _removable(text: str, run: Sequence[Span], vocabulary: Lexicon) -> bool:
    """Return whether a run of words, once gone, takes something with it that the rest needs."""
    start, end = run[0][0], run[-1][1]
    words = [text[a:b] for a, b in run]
    if all(_states_nothing(word, vocabulary) for word in words) or _in_brackets(text, run[0]):
        return False
    if any(mark in text[start:end] for mark in "()"):
        return False
    before = text[:start].rstrip().rsplit(" ", 1)[-1].casefold().strip(",")
    after = text[end:].lstrip(" ,").split(" ", 1)[0].casefold().strip(",.")
    edges = {words[0].casefold(), words[-1].casefold(), before, after}
    return not edges & vocabulary.joiners and not _is_loose_clause(text, start, end, words[0], vocabulary)


def _is_loose_clause(text: str, start: int, end: int, first_word: str, vocabulary: Lexicon) -> bool:
    """Return whether words are set off by punctuation at both ends and state no condition."""
    is_set_off = (
        text[:start].rstrip()[-1:] in _CLAUSE_MARKS and text[end:].lstrip()[:1] in f"{_CLAUSE_MARKS}."
    )
    return is_set_off and first_word.casefold() not in vocabulary.conditional_words


def phrase_deleted(sentence: Sentence, material: Material) -> Iterator[str]:
    """Take two to six neighbouring words away, not the first ones, which may only connect."""
    vocabulary, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    count = 2 + draw_number(material.seed, "phrase_deleted", text, "long") % (_LONGEST_RUN - 1)
    for place in _places(sentence, material, "phrase_deleted", len(spans) - 2):
        run = spans[place : place + count]
        fits = place > 0 and len(run) == count and len(spans) - count >= 3
        if fits and _removable(text, run, vocabulary):
            yield _without(text, (run[0][0], run[-1][1]))


def tail_deleted(sentence: Sentence, material: Material) -> Iterator[str]:
    """End the sentence before the condition that limits it."""
    vocabulary, text = lexicon(sentence.language), sentence.text
    conditions = "|".join(phrase for phrase in vocabulary.conditions if phrase not in vocabulary.exclusive)
    for condition in re.finditer(rf"(?<=\w),? (?:{conditions})\b", text, re.IGNORECASE):
        if len(_words(text[: condition.start()])) >= _FEWEST_LEFT:
            yield text[: condition.start()] + "."


def word_inserted(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with a content word of another sentence before one of its own."""
    vocabulary, text = lexicon(sentence.language), sentence.text
    spans = [span for span in _words(text) if _content(text[slice(*span)], vocabulary)]
    for place in _places(sentence, material, "inserted", len(spans)):
        word = _foreign_word(sentence, material, vocabulary, f"inserted{place}", like=None)
        if word:
            start = spans[place][0]
            yield text[:start] + (word if start else word.capitalize()) + " " + text[start:]


def item_added(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with one more item in a list."""
    vocabulary, text = lexicon(sentence.language), sentence.text
    for start, end in _words(text):
        if text[start:end].casefold() in vocabulary.joiners:
            word = _foreign_word(sentence, material, vocabulary, f"item{start}", like=None)
            if word and start:
                yield text[: start - 1].rstrip(",") + f", {word} " + text[start:]


def word_replaced(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence with a content word replaced by one of the corpus with the same ending and case."""
    vocabulary, text = lexicon(sentence.language), sentence.text
    spans = [span for span in _words(text) if _content(text[slice(*span)], vocabulary)]
    for place in _places(sentence, material, "replaced", len(spans)):
        start, end = spans[place]
        word = _foreign_word(sentence, material, vocabulary, f"replaced{place}", like=text[start:end])
        if word:
            yield text[:start] + word + text[end:]


def _foreign_word(
    sentence: Sentence, material: Material, vocabulary: Lexicon, key: str, like: str | None
) -> str | None:
    """Return a content word of another sentence, like `like` in digits, capital and last two letters."""
    stem = stemmer(sentence.language)
    sentence_stems = {stem(sentence.text[a:b].casefold()) for a, b in _words(sentence.text)}
    for attempt in range(40):
        other = material.sentences[
            draw_number(material.seed, key, sentence.text, str(attempt)) % len(material.sentences)
        ]
        spans = _words(other.text)[1:]
        if not spans or other.language != sentence.language:
            continue
        a, b = spans[draw_number(material.seed, key, other.text, "w") % len(spans)]
        word = other.text[a:b]
        if (
            not _content(word, vocabulary)
            or stem(word.casefold()) in sentence_stems
            or any(c.isdigit() for c in word)
        ):
            continue
        if like is None or (like[0].isupper() == word[0].isupper() and like[-2:] == word[-2:]):
            return word
    return None


def words_exchanged(sentence: Sentence, material: Material) -> Iterator[str]:
    """Let two content words change places, each of which stands alone behind a function word."""
    vocabulary, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    is_content = [_content(text[slice(*span)], vocabulary) for span in spans]
    alone = [
        spans[place]
        for place in range(1, len(spans))
        if is_content[place] and not is_content[place - 1] and not any(is_content[place + 1 : place + 2])
    ]
    for place in _places(sentence, material, "words_exchanged", len(alone) - 1):
        first = alone[place]
        second = alone[place + 1 + draw_number(material.seed, "other", text) % (len(alone) - 1 - place)]
        first_word, second_word, between = (
            text[slice(*first)],
            text[slice(*second)],
            text[first[1] : second[0]],
        )
        linked = {word.casefold() for word in re.findall(r"\w+", between)}
        is_list = linked & vocabulary.joiners or between.strip() == ","
        if not is_list and not _in_brackets(text, first) and not _in_brackets(text, second):
            yield text[: first[0]] + second_word + between + first_word + text[second[1] :]


def function_word_flipped(sentence: Sentence, material: Material) -> Iterator[str]:
    """Let a function word give way to one that excludes it: must, may; before, after."""
    vocabulary, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    for place in _places(sentence, material, "flipped", len(spans)):
        start, end = spans[place]
        word = text[start:end]
        for group in vocabulary.function_classes:
            others = sorted(group - {word.casefold()})
            if word.casefold() in group and others:
                new = material.pick(others, "flipped", text, word)
                yield text[:start] + (new.capitalize() if word[0].isupper() else new) + text[end:]


def function_word_deleted(sentence: Sentence, material: Material) -> Iterator[str]:
    """Take away a word that says how far the rest holds: "only", a negation, a quantifier that opens it."""
    vocabulary, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    for place in _places(sentence, material, "unscoped", len(spans)):
        scope = vocabulary.exclusive | vocabulary.negations | (frozenset() if place else vocabulary.partial)
        if text[slice(*spans[place])].casefold() in scope:
            yield _without(text, spans[place])


def sign_replaced(sentence: Sentence, material: Material) -> Iterator[str]:
    """Put another sign in the place of one of an amount or a path.

    Between two words a sign stands for "or", and another one there is no falsehood.
    """
    text = sentence.text
    spans = [match.start() for match in _STATING_SIGN.finditer(text)]
    for place in (spans[number] for number in _places(sentence, material, "sign", len(spans))):
        others = [sign for sign in _SIGNS if sign != text[place]]
        yield text[:place] + material.pick(others, "sign", text, str(place)) + text[place + 1 :]


def _neighbours(sentence: Sentence, material: Material) -> list[str]:
    """Return the other sentences of its document."""
    owner = sentence.document_id
    return [other.text for other in material.sentences if other.document_id == owner and other != sentence]


def halves_joined(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the beginning of one sentence with the end of another of the same document."""
    text = sentence.text
    others = _neighbours(sentence, material)
    spans = _words(text)
    for attempt in range(_TRIES if others else 0):
        other = material.pick(others, "half", text, str(attempt))
        theirs = _words(other)
        if len(spans) > 5 and len(theirs) > 5:
            yield text[: spans[len(spans) // 2][0]] + other[theirs[len(theirs) // 2][0] :]


def subject_replaced(sentence: Sentence, material: Material) -> Iterator[str]:
    """Yield the sentence opened by the first words of another sentence of the document."""
    text = sentence.text
    others = _neighbours(sentence, material)
    spans = _words(text)
    for attempt in range(_TRIES if others else 0):
        other = material.pick(others, "subject", text, str(attempt))
        theirs = _words(other)
        if len(spans) > 6 and len(theirs) > 6:
            opening, rest = other[: theirs[2][1]], text[spans[2][1] :]
            new, old = (_content_stems(part, sentence.language) for part in (opening, text[: spans[2][1]]))
            is_clause = not any(mark in opening + text[: spans[3][0]] for mark in _CLAUSE_MARKS)
            if is_clause and new - _content_stems(text, sentence.language) and old - new:
                yield opening + rest


def _content_stems(text: str, language: str) -> set[str]:
    vocabulary, stem = lexicon(language), stemmer(language)
    words = (text[slice(*span)] for span in _words(text))
    return {stem(word.casefold()) for word in words if _content(word, vocabulary)}


def _stated(text: str, language: str) -> list[str]:
    vocabulary, stem = lexicon(language), stemmer(language)
    tokens = re.findall(rf"{_WORD.pattern}|{_SIGN}", text)
    return [stem(token.casefold()) for token in tokens if not _states_nothing(token, vocabulary)]


def _false(change: Callable[[Sentence, Material], Iterator[str]]) -> Make:
    """Return a generator of the changed sentences that do not restate their source."""

    def changed(sentence: Sentence, material: Material) -> Iterator[str]:
        for claim in change(sentence, material):
            if _stated(claim, sentence.language) != _stated(sentence.text, sentence.language):
                yield claim

    return on_text(changed)


GENERATORS = tuple(
    Generator(change.__name__, "foreign", change.__name__, _false(change))
    for change in (
        phrase_deleted,
        tail_deleted,
        word_inserted,
        item_added,
        word_replaced,
        words_exchanged,
        function_word_flipped,
        function_word_deleted,
        sign_replaced,
        halves_joined,
        subject_replaced,
    )
)
