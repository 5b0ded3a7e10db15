"""What the front matter of a file says about it.

What belongs here: which names of fields are understood, in the handled languages. What does not: finding
the front matter (`markdown`). Front matter is never part of the text: it describes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from qa_pipeline.documents.language import declared_language

try:  # the same rules compiled, where PyYAML was built with it
    from yaml import CSafeLoader as SafeLoader
except ImportError:
    from yaml import SafeLoader  # type: ignore[assignment]

_TITLE = ("title", "rubrik", "titel")
_LANGUAGE = ("language", "lang", "språk", "sprache")
_LICENCE = ("licence", "license", "licens", "lizenz")
_SOURCE = ("source_uri", "source_url", "source", "canonical", "canonical_url", "url", "pdf_url")
_LONGEST = 50_000


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields this package uses; None where the file says nothing."""

    title: str | None = None
    language: str | None = None
    source_uri: str | None = None
    licence: str | None = None


def read_front_matter(text: str) -> FrontMatter:
    """Read the known fields; front matter that is not readable YAML says nothing."""
    fields = _fields(text)
    return FrontMatter(
        title=_first(fields, _TITLE),
        language=declared_language(_first(fields, _LANGUAGE)),
        source_uri=_first(fields, _SOURCE),
        licence=_first(fields, _LICENCE),
    )


def _fields(text: str) -> Mapping[str, object]:
    if not text.strip() or len(text) > _LONGEST:
        return {}
    try:
        loaded = yaml.load(text, Loader=SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date such as 2024-13-45
        return {}
    if not isinstance(loaded, dict):
        return {}
    return {str(name).strip().lower(): value for name, value in loaded.items()}


def _first(fields: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return None
