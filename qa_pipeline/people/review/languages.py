"""Languages of the review app's own words: English in its templates, each other one in a file of phrases.

A file `phrases.CODE.toml` has a phrase of the templates as a key and its translation as the value, or the two
of one and of many. Texts of documents and people, and what other parts of the package say, stay as they are.
"""

import functools
import tomllib
from gettext import NullTranslations
from importlib import resources
from typing import Any

from jinja2 import Environment
from starlette.requests import Request

from qa_pipeline.text.rendering import HTML, words

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "sv": "Svenska", "de": "Deutsch"}
"""Codes of the languages, with their own names."""
COOKIE = "qa_pipeline_language"
COOKIE_SECONDS = 365 * 24 * 3600
_SEPARATORS = {ENGLISH: (",", "."), "sv": ("\N{NO-BREAK SPACE}", ","), "de": (".", ",")}
"""Of thousands and of decimals."""


class Phrases(NullTranslations):
    """The phrases of a language; a phrase that its file lacks stays English.

    Args:
        language: a code of `LANGUAGES`.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        self.catalog = read_phrases(language)

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
        """Return a reason in the language; the detail behind its colon stays as it is."""
        if not text:
            return text
        phrase, colon, detail = text.partition(": ")
        return self.gettext(phrase) + colon + detail


def read_phrases(language: str) -> dict[str, Any]:
    """Return translations by English phrase: a text, or the texts of one and of many."""
    if language == ENGLISH:
        return {}
    file = resources.files("qa_pipeline.people.review").joinpath(f"phrases.{language}.toml")
    return tomllib.loads(file.read_text("utf-8"))


@functools.cache
def environment(language: str) -> Environment:
    """Return the templates of the package with their phrases and numbers in a language."""
    shown = HTML.overlay(extensions=["jinja2.ext.i18n"])
    # an overlay shares these with its original
    shown.globals, shown.filters = dict(HTML.globals), dict(HTML.filters)
    shown.policies = {**HTML.policies, "ext.i18n.trimmed": True}
    phrases = Phrases(language)
    shown.install_gettext_translations(phrases, newstyle=True)  # type: ignore[attr-defined]
    separators = str.maketrans(dict(zip(",.", _SEPARATORS[language], strict=True)))

    def formatted(value: float, form: str) -> str:
        return format(value, form).translate(separators)

    shown.filters |= {
        "phrase": phrases.gettext,
        "capital": lambda text: text[:1].upper() + text[1:],
        "words": phrases.vocabulary,
        "reason": phrases.reason,
        "thousands": lambda value: formatted(value, ","),
        "decimal": lambda value, places=2: formatted(value, f".{places}f"),
        "share": lambda count, total: formatted(count / total, ".1%") if total else "–",
    }
    return shown


def language_of(request: Request) -> str:
    """Return the language of a request: of its address, else of the cookie, else of the browser."""
    preferred = request.headers.get("accept-language", "")
    asked = [part.partition(";q=") for part in preferred.replace(" ", "").split(",")]
    by_weight = sorted(asked, key=lambda part: -_weight(part[2]))
    codes = (code.partition("-")[0].lower() for code, _, _ in by_weight)
    chosen = (request.query_params.get("lang"), request.cookies.get(COOKIE), *codes)
    return next((code for code in chosen if code in LANGUAGES), ENGLISH)


def _weight(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 0.0


def language_links(request: Request) -> dict[str, str]:
    """Return the address of this page in each language; of a form's reply, that of the first page."""
    if request.method != "GET":
        return {code: f"/?lang={code}" for code in LANGUAGES}
    return {code: f"?{request.url.include_query_params(lang=code).query}" for code in LANGUAGES}
