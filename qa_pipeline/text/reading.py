"""Read a text once into its comparable form, tokens, words and figures.

Claims may differ from their source only by the folding here.
"""

import functools
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.text.words import Token, fold, tokenize

_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")  # [text](address)
_NOTE = re.compile(r"(?<=[.,;:!?\"')])\[\^?\d{1,3}\]|\[\^\d{1,3}\]")  # [^1], or [1] after punctuation
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]{1,500}?)(?<=[^\s*])\1(?![\w*])")  # *word*
_LABEL = re.compile(
    r"(?:[-*+•>] (?:\d{1,3}(?:\.\d{1,3})*[.)] )?)?(?:\[[ xX]\] |\(\w{1,4}\) |(?:\d{1,3}|[A-Za-z])\) )?"
)
"""A label as "- 2. ", "[x] " or "b) ". A number with a full stop needs a list mark: "3. April" is a date."""
_EDGES = "\"'(),;:!?…[]{}.*"
_NUMBER = re.compile(r"([+-]?)(\d+(?:[.,]\d+)*)([^\W\d_]{1,3}|[%‰°][CF]?|[€$£])?")  # -1,234.5kg
_SPACED_GROUPS = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")  # the space in "10 000"
_PARTS = re.compile(r"(?<=\d)[-/](?=\d)")  # the signs in "2024-05-03"
_COUNTED = re.compile(r"^(\d+)-[^\W\d_]+$")  # a number before a word, such as "a 5-person committee"
_BRACKETS = re.compile(r"\((?!\))|(?<!\()\)|[\[\]{}=]")  # all but the "()" of a call
_COMPARISONS = "<>≤≥~≈±"
_IDENTIFIER = re.compile(
    r"-{1,2}[^\W\d_][\w-]*|\.[^\W\d_]\w*"  # --flag, .env
    r"|[^\W\d_]\w+(?:[.:\\@][^\W\d_]\w+)+|\w+\(\)"  # dotted.path, call()
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase
    r"|[^\W\d_]+[+*#'-]+"  # C++, B-
)


@dataclass(frozen=True)
class Reading:
    """A text in a known language."""

    written: str
    language: str

    @cached_property
    def folded(self) -> str:
        """Return the form that is compared letter by letter: "it is on" for "- However, *it* is on.".

        Unicode form, quotation marks, dashes, spaces, emphasis, links and note marks are folded. List labels,
        an opening connective, the first capital, spaces before punctuation and the final stop are dropped.
        """
        text = _without_markup(self.written)
        text = text[_LABEL.match(text).end() :]  # type: ignore[union-attr]  # matches the empty string
        text = _small_beginning(_without_connective(text, self.language), self.language)
        return re.sub(r" ([.,;:!?])", r"\1", text).rstrip(" .")

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Return the words, numbers and identifiers of the folded form in order."""
        return tuple(token for word in self.folded.split() if (token := _strip_punctuation(word)))

    @cached_property
    def words(self) -> tuple[Token, ...]:
        """Return all words in order. Identifiers and compounds are split."""
        return tokenize(self.written, self.language)

    @cached_property
    def lower_tokens(self) -> tuple[str, ...]:
        """Return the tokens casefolded, for lookup in word lists."""
        return tuple(token.casefold() for token in self.tokens)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """Return the stems of the content words in order, including repeats."""
        return tuple(word.stem for word in self.words if word.content)

    @cached_property
    def stem_set(self) -> Set[str]:
        """Return the distinct stems of the content words."""
        return frozenset(self.stems)

    @cached_property
    def negations(self) -> int:
        """Count the negating words."""
        negations = lexicon(self.language).negations
        return sum(word.folded in negations for word in self.words)

    @cached_property
    def figures(self) -> Set[str]:
        """Return numbers and parts of dates by value, and identifiers verbatim.

        Number words count as numbers, except "one", which is an article in all three languages.
        """
        return frozenset(_figures(_without_markup(self.written), self.language))

    def opens_with(self, phrases: Set[str], longest: int = 4) -> bool:
        """Return True if the text begins with any of the phrases, of at most `longest` words."""
        first = [word.folded for word in self.words[:longest]]
        return any(" ".join(first[:count]) in phrases for count in range(1, len(first) + 1))

    def contains_any(self, phrases: Set[str]) -> bool:
        """Return True if the text contains any of the phrases."""
        line = f" {' '.join(word.folded for word in self.words)} "
        return any(f" {phrase} " in line for phrase in phrases)


@functools.lru_cache(maxsize=32_768)
def read(text: str, language: str) -> Reading:
    """Return the cached reading of a text, since the claims of a batch cite the same passages."""
    return Reading(text, language)


def is_identifier(token: str) -> bool:
    """Return True if every sign of a token matters, as in an option, path, code or acronym."""
    joined = any(map(str.isalpha, token)) and ("_" in token or any(map(str.isdigit, token)))
    return joined or (len(token) > 1 and token.isupper()) or _IDENTIFIER.fullmatch(token) is not None


def number_value(token: str, language: str) -> str | None:
    """Return a number without unit, such as `1234.5` for a German `1.234,5kg`, or None for other tokens."""
    worded = lexicon(language).proof.numbers.get(token.casefold())
    if worded is not None:
        return str(worded)
    match = _NUMBER.fullmatch(token)
    if match is None:
        return None
    grouping, decimal = (".", ",") if lexicon(language).decimal_comma else (",", ".")
    sign, digits = match[1].replace("+", ""), match[2]
    grouped = rf"\d{{1,3}}(?:{re.escape(grouping)}\d{{3}})+(?:{re.escape(decimal)}\d+)?"  # "1,234,567.5"
    if re.fullmatch(grouped, digits):
        digits = digits.replace(grouping, "")
    return sign + digits.replace(",", ".")


def _figures(text: str, language: str) -> Iterator[str]:
    """Yield numbers, parts of dates and identifiers: 3, 5 and 2024 for "3 May 2024"."""
    months, vocabulary = lexicon(language).months, lexicon(language).proof
    separated = _BRACKETS.sub(" ", _SPACED_GROUPS.sub("", text))
    words = [_strip_punctuation(word.lstrip(_COMPARISONS)) for word in separated.split()]  # "≥5" is 5
    for index, word in enumerate(words):
        folded = word.casefold()
        before = words[index - 1] if index else ""
        after = words[index + 1] if index + 1 < len(words) else ""
        if folded in vocabulary.numbers and before.casefold() in vocabulary.determiners:
            continue  # "all three" refers to named items and does not state a number
        if folded in months and (before[:1].isdigit() or after[:1].isdigit()):
            yield str(months[folded])  # "3 May 2024" has the figures of "2024-05-03"
            continue
        parts = _PARTS.split(_COUNTED.sub(r"\1", word))  # three in "2024-05-03", only "5" in "5-person"
        numbers = [number for part in parts if (number := number_value(part, language)) is not None]
        if len(numbers) == len(parts):  # such as a date, a range or "three"
            figures = [number for number in numbers if number != "1"]  # others may write the article "one"
            is_date = len(parts) == 3  # its "05" is the figure 5
            yield from (number.lstrip("0") if is_date else number for number in figures)
        elif is_identifier(word) and not word.isalpha():  # such as "B-52", but not "WHO"
            yield word


def _without_markup(text: str) -> str:
    """Return the folded text without emphasis, links and note marks."""
    text = _NOTE.sub("", _LINK.sub(r"\1", fold(text)))
    return " ".join(_EMPHASIS.sub(r"\2", text).split()) if "*" in text else text


def _without_connective(text: str, language: str) -> str:
    """Return the text without an opening connective and its comma."""
    words = text.split(" ", 4)
    for count in range(min(4, len(words) - 1), 0, -1):  # the longest connective has four words
        opening = " ".join(words[:count])
        if opening.casefold().rstrip(",") in lexicon(language).proof.connectives:
            return text[len(opening) + 1 :]
    return text


def _small_beginning(text: str, language: str) -> str:
    """Return the text with a lower-case first letter, if its first word is an ordinary word."""
    first = _strip_punctuation(text.partition(" ")[0])
    is_stop_word = len(first) == 1 and first.casefold() in lexicon(language).stop_words  # such as "A"
    if not (first[1:].islower() or is_stop_word):
        return text  # an acronym or code
    start = text.find(first)
    return text[:start] + text[start].lower() + text[start + 1 :]


def _strip_punctuation(word: str) -> str:
    """Return a word without surrounding punctuation. Signs of code are kept, as in `.env` and `call()`."""
    trimmed = word.rstrip(_EDGES)
    if word.startswith(trimmed + "()"):
        trimmed += "()"
    # a leading dot is kept only before a letter
    stripped = trimmed.lstrip("\"'(,;:!?…[]{}*")
    return stripped if stripped[:1] != "." or stripped[1:2].isalpha() else stripped.lstrip(".")
