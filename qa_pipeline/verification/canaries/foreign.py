"""Falsehoods made by operators that know nothing of the rules: what the rules forbid is not looked up here.

Each operator changes a sentence at places drawn at random: it takes away a run of words, puts in a word of
the corpus, puts another word of the same class in a word's place, exchanges two runs, or joins halves of two
sentences. Edits that keep the meaning are left out: words that are only taken away with "and", words in
brackets, equals of a list that change places, words that state nothing.
"""

import functools
import re
from collections.abc import Iterator, Sequence

from qa_pipeline.text.lexicon.base import Lexicon
from qa_pipeline.text.lexicon.languages import lexicon, stemmer
from qa_pipeline.verification.canaries.material import Generator, Material, Sentence, draw, on_text

_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_SIGNS = "<>≤≥=≠±+−%‰€$£→/&#@^~"
_LONGEST_RUN = 6
_TRIES = 6
Span = tuple[int, int]


@functools.lru_cache(maxsize=1024)
def _words(text: str) -> tuple[Span, ...]:
    return tuple(found.span() for found in _WORD.finditer(text))


def _states_nothing(word: str, known: Lexicon) -> bool:
    return word.casefold() in known.determiners or word.casefold() in known.fillers


def _content(word: str, known: Lexicon) -> bool:
    return word.casefold() not in known.stop_words and len(word) > 1


def _places(sentence: Sentence, material: Material, key: str, count: int) -> list[int]:
    """Places among `count` in an order that looks random, a few of them."""
    ordered = sorted(range(count), key=lambda place: draw(material.seed, key, sentence.text, str(place)))
    return ordered[:_TRIES]


def _in_brackets(text: str, span: Span) -> bool:
    return text.count("(", 0, span[0]) > text.count(")", 0, span[0])


def _without(text: str, span: Span) -> str:
    left, right = text[: span[0]].rstrip(), text[span[1] :]
    if not left:
        right = right.lstrip(" ,;:")
        return right[:1].upper() + right[1:]
    joined = left + (right if right[:1] in ",.;:" else " " + right.lstrip())
    return re.sub(r"[,;:]+(?=[.,;:])", "", joined)


def _removable(text: str, run: Sequence[Span], known: Lexicon) -> bool:
    """Whether a run of words, once gone, takes something with it that the rest needs."""
    start, end = run[0][0], run[-1][1]
    words = [text[a:b] for a, b in run]
    if all(_states_nothing(word, known) for word in words) or _in_brackets(text, run[0]):
        return False
    if any(mark in text[start:end] for mark in "()"):
        return False
    before = text[:start].rstrip().rsplit(" ", 1)[-1].casefold().strip(",")
    after = text[end:].lstrip(" ,").split(" ", 1)[0].casefold().strip(",.")
    edges = {words[0].casefold(), words[-1].casefold(), before, after}
    listed = text[:start].rstrip().endswith(",") or text[end:].startswith(",")
    return not edges & known.joiners and not (listed and edges & known.joiners)


def _deleted(sentence: Sentence, material: Material, longest: int, shortest: int, key: str) -> Iterator[str]:
    known, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    for place in _places(sentence, material, key, len(spans) - shortest):
        count = shortest + draw(material.seed, key, text, "long") % (longest - shortest + 1)
        run = spans[place : place + count]
        if len(run) == count and len(spans) - count >= 3 and _removable(text, run, known):
            yield _without(text, (run[0][0], run[-1][1]))


def word_deleted(sentence: Sentence, material: Material) -> Iterator[str]:
    """One word is gone."""
    yield from _deleted(sentence, material, 1, 1, "word_deleted")


def phrase_deleted(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two to six neighbouring words are gone."""
    yield from _deleted(sentence, material, _LONGEST_RUN, 2, "phrase_deleted")


def tail_deleted(sentence: Sentence, material: Material) -> Iterator[str]:
    """The sentence ends before its last part."""
    known, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    for place in _places(sentence, material, "tail", len(spans) - 4):
        run = spans[place + 4 :]
        if len(run) <= 2 * _LONGEST_RUN and _removable(text, run, known):
            yield text[: run[0][0]].rstrip(" ,;:–-") + "."


def word_inserted(sentence: Sentence, material: Material) -> Iterator[str]:
    """A content word of another sentence of the corpus is before a content word."""
    known, text = lexicon(sentence.language), sentence.text
    spans = [span for span in _words(text) if _content(text[slice(*span)], known)]
    for place in _places(sentence, material, "inserted", len(spans)):
        word = _foreign_word(sentence, material, known, f"inserted{place}", like=None)
        if word:
            start = spans[place][0]
            yield text[:start] + (word if start else word.capitalize()) + " " + text[start:]


def item_added(sentence: Sentence, material: Material) -> Iterator[str]:
    """A list has one more item."""
    known, text = lexicon(sentence.language), sentence.text
    for start, end in _words(text):
        if text[start:end].casefold() in known.joiners:
            word = _foreign_word(sentence, material, known, f"item{start}", like=None)
            if word and start:
                yield text[: start - 1].rstrip(",") + f", {word} " + text[start:]


def word_replaced(sentence: Sentence, material: Material) -> Iterator[str]:
    """A content word of the corpus with the same ending and case is in another's place."""
    known, text = lexicon(sentence.language), sentence.text
    spans = [span for span in _words(text) if _content(text[slice(*span)], known)]
    for place in _places(sentence, material, "replaced", len(spans)):
        start, end = spans[place]
        word = _foreign_word(sentence, material, known, f"replaced{place}", like=text[start:end])
        if word:
            yield text[:start] + word + text[end:]


def _foreign_word(
    sentence: Sentence, material: Material, known: Lexicon, key: str, like: str | None
) -> str | None:
    """A content word of another sentence, of the class of `like`: digits, capital, last two letters."""
    stem = stemmer(sentence.language)
    own = {stem(sentence.text[a:b].casefold()) for a, b in _words(sentence.text)}
    for attempt in range(40):
        other = material.sentences[
            draw(material.seed, key, sentence.text, str(attempt)) % len(material.sentences)
        ]
        spans = _words(other.text)[1:]
        if not spans or other.language != sentence.language:
            continue
        a, b = spans[draw(material.seed, key, other.text, "w") % len(spans)]
        word = other.text[a:b]
        if not _content(word, known) or stem(word.casefold()) in own or any(c.isdigit() for c in word):
            continue
        if like is None or (like[0].isupper() == word[0].isupper() and like[-2:] == word[-2:]):
            return word
    return None


def words_exchanged(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two content words have changed places."""
    known, text = lexicon(sentence.language), sentence.text
    spans = [span for span in _words(text) if _content(text[slice(*span)], known)]
    for place in _places(sentence, material, "words_exchanged", len(spans) - 1):
        left = spans[place]
        right = spans[place + 1 + draw(material.seed, "other", text) % max(len(spans) - place - 1, 1)]
        yield from _exchange(text, left, right, known)


def phrases_exchanged(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two runs of two to four words have changed places."""
    known, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    for place in _places(sentence, material, "phrases_exchanged", len(spans) - 5):
        one = 2 + draw(material.seed, "one", text, str(place)) % 3
        two = 2 + draw(material.seed, "two", text, str(place)) % 3
        gap = place + one + draw(material.seed, "gap", text, str(place)) % 3
        left, right = spans[place : place + one], spans[gap : gap + two]
        if len(left) == one and len(right) == two:
            yield from _exchange(text, (left[0][0], left[-1][1]), (right[0][0], right[-1][1]), known)


def _exchange(text: str, left: Span, right: Span, known: Lexicon) -> Iterator[str]:
    between = text[left[1] : right[0]]
    linked = {word.casefold() for word in re.findall(r"\w+", between)}
    one, two = text[slice(*left)], text[slice(*right)]
    equals = linked & known.joiners or (between.strip() == ",")
    if equals or one.casefold() == two.casefold() or any(mark in text[left[0] : right[1]] for mark in "()"):
        return
    if left[0] == 0:
        one, two = one[:1].lower() + one[1:], two[:1].upper() + two[1:]
    changed = text[: left[0]] + two + between + one + text[right[1] :]
    if changed.casefold() != text.casefold():
        yield changed


def function_word_flipped(sentence: Sentence, material: Material) -> Iterator[str]:
    """A function word gave way to another of its class: and, or; must, may; before, after."""
    known, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    for place in _places(sentence, material, "flipped", len(spans)):
        start, end = spans[place]
        word = text[start:end]
        for group in known.function_classes:
            others = sorted(group - {word.casefold()})
            if word.casefold() in group and others:
                new = material.pick(others, "flipped", text, word)
                yield text[:start] + (new.capitalize() if word[0].isupper() else new) + text[end:]


def function_word_deleted(sentence: Sentence, material: Material) -> Iterator[str]:
    """A function word that says how far the rest holds is gone: a modal, a quantifier, a hedge."""
    known, text = lexicon(sentence.language), sentence.text
    spans = _words(text)
    scope = known.partial | known.exclusive | known.weak | known.negations
    for place in _places(sentence, material, "unscoped", len(spans)):
        if text[slice(*spans[place])].casefold() in scope:
            yield _without(text, spans[place])


def sign_replaced(sentence: Sentence, material: Material) -> Iterator[str]:
    """A sign of calculation, money, paths or the like is in another's place."""
    text = sentence.text
    spans = [place for place, letter in enumerate(text) if letter in _SIGNS]
    for place in (spans[one] for one in _places(sentence, material, "sign", len(spans))):
        others = [sign for sign in _SIGNS if sign != text[place]]
        yield text[:place] + material.pick(others, "sign", text, str(place)) + text[place + 1 :]


def _neighbours(sentence: Sentence, material: Material) -> list[str]:
    """The other sentences of its document."""
    owner = sentence.document_id
    return [one.text for one in material.sentences if one.document_id == owner and one != sentence]


def halves_joined(sentence: Sentence, material: Material) -> Iterator[str]:
    """The beginning of one sentence has the end of another of the same document."""
    text = sentence.text
    others = _neighbours(sentence, material)
    spans = _words(text)
    for attempt in range(_TRIES if others else 0):
        other = material.pick(others, "half", text, str(attempt))
        theirs = _words(other)
        if len(spans) > 5 and len(theirs) > 5:
            yield text[: spans[len(spans) // 2][0]] + other[theirs[len(theirs) // 2][0] :]


def subject_replaced(sentence: Sentence, material: Material) -> Iterator[str]:
    """The first words of another sentence of the document open this one."""
    text = sentence.text
    others = _neighbours(sentence, material)
    spans = _words(text)
    for attempt in range(_TRIES if others else 0):
        other = material.pick(others, "subject", text, str(attempt))
        theirs = _words(other)
        if len(spans) > 6 and len(theirs) > 6 and other[: theirs[2][1]] != text[: spans[2][1]]:
            yield other[: theirs[2][1]] + text[spans[2][1] :]


GENERATORS = tuple(
    Generator(change.__name__, "foreign", change.__name__, on_text(change))
    for change in (
        word_deleted,
        phrase_deleted,
        tail_deleted,
        word_inserted,
        item_added,
        word_replaced,
        words_exchanged,
        phrases_exchanged,
        function_word_flipped,
        function_word_deleted,
        sign_replaced,
        halves_joined,
        subject_replaced,
    )
)
