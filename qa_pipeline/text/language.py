"""Identify the languages of a document and of its parts.

Languages without a lexicon are identified too, so that French is not mistaken for English.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from qa_pipeline.errors import StorageError
from qa_pipeline.text.lexicon.languages import LANGUAGES, LEXICONS

UNDETERMINED = "und"
"""ISO 639-2 code for a text in an unknown language, such as a table of numbers."""
_LANGUAGES = tuple(dict.fromkeys((
    *LANGUAGES, "da", "no", "fi", "fr", "es", "it", "nl", "pl", "pt", "cs", "hu", "ro", "tr", "ru", "uk",
    "el", "ar", "he", "zh", "ja", "ko",
)))  # fmt: skip
"""Languages that can be identified. With more languages, short texts are misidentified more often."""
_NAMES = {name: code for code, vocabulary in LEXICONS.items() for name in vocabulary.names}
_SEGMENT_LENGTH = 1200  # characters, after which a part ends whose language is identified separately
_MOST_READ = 600  # characters read to identify a language
_CERTAIN = 0.95  # minimum probability to overrule a declared or expected language
_LIKELY = 0.6  # minimum probability of a language; below it the language is only a guess
_LIKELY_WITH_LEXICON = 0.9  # minimum probability among the languages with a lexicon, if all are unlikely
_LIKELIER = 0.5  # minimum probability among these for a list of words: more than all others together
_MOST_WORDS = 100  # distinct words, enough to identify a language
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEWEST_PART_LETTERS = 80  # a part with fewer has the language of its document
_FEWEST_PAIR_LETTERS = 20  # a question or answer with fewer has the expected language
QUOTED = re.compile(r"[“”„\"«][^“”„\"«»\n]{1,200}[“”\"»]|`[^`\n]{1,200}`")
"""A name or term in quotation marks, or code."""
_ENOUGH_TO_OVERRULE = 2  # segments that are certainly not in the declared language
_CODE = re.compile(r"^(`{3,}+)[^\n]*\n.*?^\1$", re.DOTALL | re.MULTILINE)  # from "```python" to "```"


@dataclass(frozen=True, slots=True)
class LanguageShare:
    """A language and its share of a document's text."""

    language: str
    share: float


def declared_language(value: str | None) -> str | None:
    """Return the language code of a tag such as `de-AT` or a name such as `svenska`, if known."""
    if not value:
        return None
    tag = value.strip().lower().replace("_", "-")
    code = _NAMES.get(tag, tag.split("-")[0])
    return code if code in _LANGUAGES else None


def languages_of(text: str, declared: str | None = None, title: str | None = None) -> list[LanguageShare]:
    """Return the languages of a document with their share of its text, main language first.

    A declared language is the main language, unless the text is clearly in other languages. Templates of web
    sites often declare a wrong language.
    """
    segments = list(_segments(text))
    identified = [_identify(segment[:_MOST_READ]) for segment in segments]
    main = _main_language(segments, identified, declared)
    if main == UNDETERMINED:
        # such as a table, which repeats its column names in each row, so only distinct words are read
        main = _by_words(f"{title or ''}\n{text}")
    lengths: Counter[str] = Counter()  # characters by language
    for segment, (language, certainty) in zip(segments, identified, strict=True):
        is_certain = certainty >= _CERTAIN and _letter_count(segment) >= _FEWEST_PART_LETTERS
        lengths[language if is_certain else main] += len(segment)
    total = lengths.total()
    if not total:
        return [LanguageShare(main, 1.0)]
    codes = sorted({main, *lengths}, key=lambda code: (code != main, -lengths[code], code))  # main first
    return [LanguageShare(code, round(lengths[code] / total, 4)) for code in codes]


def segment_language(text: str, main: str) -> str:
    """Return the language of a part of a document if certain, else the main language."""
    prose = _CODE.sub("", text)
    if _letter_count(prose) < _FEWEST_PART_LETTERS:
        return main
    language, certainty = _identify(prose[:_MOST_READ])
    return language if certainty >= _CERTAIN else main


def _main_language(
    segments: Sequence[str], identified: Sequence[tuple[str, float]], declared: str | None
) -> str:
    """Return the declared language unless the text contradicts it, else the language of most text."""
    lengths: Counter[str] = Counter()  # characters by likely language
    for segment, (language, certainty) in zip(segments, identified, strict=True):
        if certainty >= _LIKELY:
            lengths[language] += len(segment)
    if declared is not None:
        contradicting = sum(code != declared and certainty >= _CERTAIN for code, certainty in identified)
        has_likely_segment = lengths[declared] > 0  # a single one confirms the declared language
        if has_likely_segment or contradicting < _ENOUGH_TO_OVERRULE:
            return declared
    return max(lengths, key=lambda code: (lengths[code], code), default=UNDETERMINED)


def _segments(text: str) -> Iterator[str]:
    """Yield groups of adjacent blocks without code; all but the last exceed `_SEGMENT_LENGTH`."""
    segment = ""
    for block in _CODE.sub("", text).split("\n\n"):
        segment += f"{block}\n"
        if len(segment) > _SEGMENT_LENGTH:
            yield segment
            segment = ""
    if segment.strip():
        yield segment


def _letter_count(text: str) -> int:
    """Count the letters of a text that are read to identify its language."""
    return sum(character.isalpha() for character in text[:_MOST_READ])


def _identify(text: str) -> tuple[str, float]:
    """Return the likeliest language and its probability.

    If all are unlikely, only languages with a lexicon are tried, which have Latin letters.
    """
    letters = [character for character in text if character.isalpha()]
    if not letters:
        return UNDETERMINED, 0.0
    language, certainty = _identifier(_LANGUAGES).classify(text)
    # letters before U+0250 are Latin
    is_latin = sum(character < "\u0250" for character in letters) > len(letters) / 2
    if certainty < _LIKELY and is_latin:
        nearest, probability = _identifier(LANGUAGES).classify(text)
        if probability >= _LIKELY_WITH_LEXICON:
            return str(nearest), _LIKELY  # not certain enough to overrule a declared language
    return str(language), float(certainty)


def _by_words(text: str) -> str:
    """Return the likeliest language with a lexicon for the distinct words of a text."""
    words = " ".join(islice(dict.fromkeys(_WORD.findall(text[:_SEGMENT_LENGTH])), _MOST_WORDS))
    language, certainty = _identifier(LANGUAGES).classify(words)
    likeliest_of_all, _ = _identifier(_LANGUAGES).classify(words)
    is_likely = language == likeliest_of_all and certainty >= _LIKELIER
    return str(language) if words and is_likely else UNDETERMINED


def in_other_language(text: str, language: str) -> str | None:
    """Return the language of a question or answer if it is certainly another language.

    Quoted names are ignored, since they may be in any language. A text with most stop words in the expected
    language is in that language, whatever names it has.
    """
    unquoted = QUOTED.sub(" ", text)
    if language not in LEXICONS or _letter_count(unquoted) < _FEWEST_PAIR_LETTERS:
        return None
    used = set(re.findall(r"[^\W\d_]+", unquoted.casefold()))
    stop_word_counts = {code: len(used & vocabulary.stop_words) for code, vocabulary in LEXICONS.items()}
    if stop_word_counts[language] and stop_word_counts[language] == max(stop_word_counts.values()):
        return None
    identified, certainty = _identify(unquoted[:_MOST_READ])
    return identified if identified != language and certainty >= _CERTAIN else None


@cache
def _identifier(languages: tuple[str, ...]) -> Any:
    """Return the model restricted to some languages. All restrictions share its largest lists."""
    identifier = copy(load_model())
    identifier.set_languages(list(languages))
    return identifier


@cache
def load_model() -> Any:
    """Load the model that identifies languages, once. The library unpacks it into a temporary file.

    Raises:
        StorageError: the temporary folder is full or not writable.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:
        raise StorageError(
            f"the language model cannot be unpacked into {tempfile.gettempdir()}: {error.strerror}; "
            "free some space there, or name another folder in TMPDIR"
        ) from error
