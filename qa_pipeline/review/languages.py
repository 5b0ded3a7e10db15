"""Languages of the review app's own words: English in its templates, each other one in a file of phrases.

A file `phrases.CODE.toml` has a phrase of the templates as a key and its translation as the value, or the two
of one and of many. Texts of documents and people, and what other parts of the package say, stay as they are.
"""

import functools
import re
import tomllib
from collections.abc import Callable, Mapping
from gettext import NullTranslations
from importlib import resources
from typing import Any

from jinja2 import Environment
from starlette.requests import Request

from qa_pipeline.errors import InputError
from qa_pipeline.text.rendering import HTML, words

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "sv": "Svenska", "de": "Deutsch"}
"""Codes of the languages, with their own names."""
COOKIE = "qa_pipeline_language"
COOKIE_SECONDS = 365 * 24 * 3600
_SIGNS: Mapping[str, dict[str, str]] = {
    ENGLISH: {},
    "sv": {",": "\N{NO-BREAK SPACE}", ".": ",", "%": "\N{NO-BREAK SPACE}%"},
    "de": {",": ".", ".": ",", "%": "\N{NO-BREAK SPACE}%"},
}
"""Signs between digits and behind them, where they are not those of English."""


_QUOTE = re.compile('"[^"]*"')
_ANY_QUOTE = '"…"'
"""The words that a difference quotes, in a phrase."""


class PhrasedError(InputError):
    """An error in the words of a phrase, which pages show in their language.

    Args:
        phrase: English, with the names of values as `%(name)s`.
        values: what stands there.
    """

    def __init__(self, phrase: str, **values: object) -> None:
        super().__init__(_filled(phrase, values, "{:,}".format))
        self.phrase, self.values = phrase, values


def _filled(phrase: str, values: Mapping[str, object], grouped: Callable[[int], str]) -> str:
    return phrase % {
        name: grouped(value) if isinstance(value, int) else value for name, value in values.items()
    }


class Phrases(NullTranslations):
    """The phrases of a language; a phrase that its file lacks stays English.

    Args:
        language: a code of `LANGUAGES`.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        self.language = language
        self.catalog = read_phrases(language)
        self._signs = str.maketrans(_SIGNS[language])

    def number(self, value: float, form: str = ",") -> str:
        """Return a number with the signs of the language."""
        return format(value, form).translate(self._signs)

    def phrase(self, text: object) -> str:
        """Return a phrase, or the words of an error, in the language; any other text as it is."""
        if isinstance(text, PhrasedError):
            return _filled(self.gettext(text.phrase), text.values, self.number)
        return self.gettext(str(text))

    def gettext(self, message: str) -> str:
        """Return a phrase in the language."""
        return str(self.catalog.get(message, message))

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Return the phrase of a count; one and many are the forms of all languages here."""
        forms = self.catalog.get(msgid1, (msgid1, msgid2))
        return str(forms[n != 1])

    def vocabulary(self, name: str) -> str:
        """Return a name of the package's code, such as a verdict, as words of the language."""
        return self.gettext(words(name))

    def reason(self, text: str | None) -> str | None:
        """Return a reason in the language; the detail behind its colon as `differences` does."""
        if not text:
            return text
        phrase, colon, detail = text.partition(": ")
        return self.gettext(phrase) + colon + (self.differences(detail) if " " in detail else detail)

    def differences(self, text: str) -> str:
        """Return differences of claim and evidence in the language, the words that they quote as they are."""
        return "; ".join(map(self._difference, text.split("; ")))

    def _difference(self, text: str) -> str:
        quotes = iter(_QUOTE.findall(text))
        phrase = self.catalog.get(_QUOTE.sub(_ANY_QUOTE, text), text)
        return _QUOTE.sub(lambda _: next(quotes), phrase)


def read_phrases(language: str) -> dict[str, Any]:
    """Return translations by English phrase: a text, or the texts of one and of many."""
    if language == ENGLISH:
        return {}
    file = resources.files("qa_pipeline.review").joinpath(f"phrases.{language}.toml")
    return tomllib.loads(file.read_text("utf-8"))


@functools.cache
def phrases_in(language: str) -> Phrases:
    """Return the phrases of a language."""
    return Phrases(language)


@functools.cache
def environment(language: str) -> Environment:
    """Return the templates of the package with their phrases and numbers in a language."""
    templates = HTML.overlay(extensions=["jinja2.ext.i18n"])
    # an overlay shares these with its original
    templates.globals, templates.filters = dict(HTML.globals), dict(HTML.filters)
    templates.policies = {**HTML.policies, "ext.i18n.trimmed": True}
    phrases = phrases_in(language)
    templates.install_gettext_translations(phrases, newstyle=True)  # type: ignore[attr-defined]
    templates.filters |= {
        "phrase": phrases.phrase,
        "capital": lambda text: text[:1].upper() + text[1:],
        "words": phrases.vocabulary,
        "reason": phrases.reason,
        "differences": phrases.differences,
        "thousands": phrases.number,
        "decimal": lambda value, places=2: phrases.number(value, f".{places}f"),
        "short": lambda value: phrases.number(value, ".4g"),
        "share": lambda count, total: phrases.number(count / total, ".1%") if total else "–",
    }
    return templates


def language_of(request: Request) -> str:
    """Return the language of a request: of its address, else of the cookie, else of the browser."""
    preferred = request.headers.get("accept-language", "")
    preferences = [part.partition(";q=") for part in preferred.replace(" ", "").split(",")]
    by_weight = sorted(preferences, key=lambda part: -_weight(part[2]))
    codes = (code.partition("-")[0].lower() for code, _, _ in by_weight)
    chosen = (request.query_params.get("lang"), request.cookies.get(COOKIE), *codes)
    return next((code for code in chosen if code in LANGUAGES), ENGLISH)


def phrases_of(request: Request) -> Phrases:
    """Return the phrases of the language of a request."""
    return phrases_in(language_of(request))


def _weight(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 0.0


def language_links(request: Request) -> dict[str, str]:
    """Return the address of this page in each language; of a form's reply, that of the first page."""
    if request.method != "GET":
        return {code: f"/?lang={code}" for code in LANGUAGES}
    url = request.url.remove_query_params("token")
    return {code: f"?{url.include_query_params(lang=code).query}" for code in LANGUAGES}
