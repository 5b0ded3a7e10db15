"""False names: two of a sentence exchanged, one of the document or of another document in its place.

What belongs here: finding names for that purpose, and those generators. What does not: the checks' own idea
of a name, which must not decide what they are tested with.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from qa_pipeline.canaries.kinds import Generator, on_text
from qa_pipeline.canaries.material import Material, Sentence, lower_words, word_set

_SPECIAL = re.compile(
    r"(?<![\w./’'-])(?:[A-Z][a-z]+[A-Z]\w*|[A-Z]{2}[A-Za-z0-9]*|[a-z]{2,}_[a-z_]*[a-z])(?![\w(/’'-]|\.\w)"
)
_PROPER = re.compile(r"(?<=[a-zåäöé,] )[A-ZÅÄÖ][a-zåäöé]{2,}(?: [A-ZÅÄÖ][a-zåäöé]{2,}){0,2}(?![\w’'-])")
_NO_NAMES = word_set(
    """MUST NOT SHOULD MAY SHALL REQUIRED OPTIONAL RECOMMENDED AND THE FOR NO NB NOTE TODO OK
    January February March April May June July August September October November December Monday
    Tuesday Wednesday Thursday Friday Saturday Sunday Section Figure Table Chapter Appendix Part
    Step The This That These It In Internet Web English German Swedish American European Open Source
    Förenta Europeiska Nordiska Internationella Främre Kungl Kungliga Svenska"""
)
_JOINERS = word_set("""and or och eller und oder samt sowie nor & , as like som wie""")
_MUTUAL = re.compile(
    r"\b(?:between|mellan|zwischen|both|same|similar|different|equal|equivalent|compatible|together|sowohl|"
    r"Verbindung|identi\w*|såväl|combin\w*|with each other|correspond\w*|motsvara\w*|samma|olika|gleich|"
    r"unterschied\w*|compare\w*|versus|instead|respectively|either|also known)\b",
    re.IGNORECASE,
)


def _class(name: str) -> str:
    if "_" in name:
        return "identifier"
    if name.isupper():
        return "acronym"
    return "mixed" if re.search(r"[a-z][A-Z]|[A-Z]{2}", name) else "proper"


def find(text: str, language: str, ordinary: frozenset[str]) -> list[re.Match[str]]:
    """Names of a text: identifiers, acronyms and mixed case; capitalised words too where nouns are small."""
    patterns: Sequence[re.Pattern[str]] = (_SPECIAL,) if language == "de" else (_SPECIAL, _PROPER)
    return sorted(
        (
            found
            for pattern in patterns
            for found in pattern.finditer(text)
            if not set(found[0].split()) & _NO_NAMES
            and not ({part.lower() for part in found[0].split()} & ordinary)
        ),
        key=lambda found: found.start(),
    )


@functools.lru_cache(maxsize=1024)
def _of_document(text: str, language: str) -> tuple[str, ...]:
    found = find(text, language, lower_words(text))
    return tuple(sorted({one[0] for one in found}))


def _named(sentence: Sentence, material: Material) -> list[re.Match[str]]:
    """Names that stand once in the sentence."""
    found = find(sentence.text, sentence.language, lower_words(material.document(sentence.document_id)))
    return [one for one in found if sentence.text.count(one[0]) == 1]


def _whole(text: str, found: re.Match[str]) -> bool:
    """Whether no capitalised word stands beside a name, which would make it a part of a longer one."""
    return not re.search(r"[A-ZÅÄÖ][\w-]{0,60} $", text[: found.start()]) and not re.match(
        r"[ :] ?[A-ZÅÄÖ]", text[found.end() :]
    )


def exchanged(sentence: Sentence, material: Material) -> Iterator[str]:
    """Two names of a sentence change places, where more than a conjunction stands between them."""
    names, text = _named(sentence, material), sentence.text
    for left, right in pairwise(names):
        between = text[left.end() : right.start()].split()
        if not (_whole(text, left) and _whole(text, right)):
            continue
        verbal = sum(word.strip(",.").casefold() not in _JOINERS for word in between) >= 2
        if (
            verbal
            and not re.search("[,()]", text[left.start() : right.end() + 1])
            and not _MUTUAL.search(text)
            and _differ(left[0], right[0])
        ):
            yield (
                text[: left.start()]
                + right[0]
                + text[left.end() : right.start()]
                + left[0]
                + text[right.end() :]
            )


def same_document(sentence: Sentence, material: Material) -> Iterator[str]:
    """A name of elsewhere in the document, which the passage does not name."""
    there = _of_document(material.document(sentence.document_id), sentence.language)
    yield from _put(sentence, material, there, "same document")


def other_document(sentence: Sentence, material: Material) -> Iterator[str]:
    """A name of another document, which the passage does not name."""
    others = [one for one in material.documents() if one != sentence.document_id]
    if not others:
        return
    for place in range(3):
        document = material.pick(others, sentence.text, "document", str(place))
        there = _of_document(material.document(document), sentence.language)
        found = list(_put(sentence, material, there, "other document"))
        if found:
            yield from found
            return


def _put(sentence: Sentence, material: Material, names: Sequence[str], key: str) -> Iterator[str]:
    passage = material.chunks[sentence.chunk_id].casefold()
    for found in _named(sentence, material):
        alike = [
            name
            for name in names
            if _class(name) == _class(found[0])
            and _differ(name, found[0])
            and name.casefold() not in passage
            and len(name.split()) == len(found[0].split())
            and name.endswith("s") == found[0].endswith("s")
        ]
        if alike:
            new = material.pick(alike, sentence.text, str(found.start()), key)
            yield sentence.text[: found.start()] + new + sentence.text[found.end() :]


def _differ(left: str, right: str) -> bool:
    """Whether two names are surely two: no part of each other, no shared beginning."""
    one, other = left.casefold(), right.casefold()
    return one not in other and other not in one and one[:3] != other[:3] and _class(left) == _class(right)


GENERATORS = (
    Generator("name", "tuning", "exchanged_in_sentence", on_text(exchanged)),
    Generator("name", "tuning", "other_of_document", on_text(same_document)),
    Generator("name", "held_out", "other_of_other_document", on_text(other_document)),
)
