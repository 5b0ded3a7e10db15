"""Front matter: the statements of a file about itself."""

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import yaml

from qa_pipeline.settings.base import read_yaml
from qa_pipeline.text.language import declared_language
from qa_pipeline.text.lexicon.languages import of_all

try:  # the same rules compiled, where PyYAML was built with it
    from yaml import CBaseLoader as BaseLoader
except ImportError:
    from yaml import BaseLoader  # type: ignore[assignment]

_TITLE = ("title", *of_all("fields.title"))
_LANGUAGE = ("language", "lang", *of_all("fields.language"))
_LICENCE = ("licence", "license", *of_all("fields.licence"))
_SOURCE = ("source_uri", "source_url", "source", "canonical", "canonical_url", "url", "pdf_url")
_SUCCESSORS = ("superseded_by", "replaced_by", "obsoleted_by")
_FLAGS = ("draft", "deprecated", "obsolete", "repealed", "superseded", "withdrawn")
_TRUE = frozenset({"true", "yes", "1"})
_LONGEST = 50_000
_LONGEST_TOML = 10_000  # tomllib takes 6.5 s for 20,000 dotted names
_MOST_BITS = 1000  # Python refuses to write out integers of more than 4,300 digits
_NO_TEXT = frozenset({"", "~", "null", "true", "false"})
_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\n(?P<fields>.*?)^\1[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"(?:\s|#[^\n]*\n)*(?:[\w\"'][^\n:=]*[:=]|!!|- |[\[{])")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields this package uses."""

    title: str | None = None
    language: str | None = None
    source_uri: str | None = None
    licence: str | None = None
    status: str | None = None


def split_front_matter(text: str) -> tuple[str, FrontMatter, str]:
    """Return a file's front matter as written, its fields, and the rest of the file.

    It is YAML between `---` or TOML between `+++`.
    """
    match = _FRONT.match(text)
    if match is None or not (_FIELD.match(match["fields"]) or not match["fields"].strip()):
        return "", FrontMatter(), text
    written, loaded = match["fields"], None
    with suppress(yaml.YAMLError, ValueError, RecursionError):
        if match[1] == "+++":
            loaded = tomllib.loads(written) if len(written) <= _LONGEST_TOML else None
        elif len(written) <= _LONGEST:
            # as strings: a title 1.10 or 2024-13-45 and a language `no` are what they read as
            loaded = read_yaml(written, BaseLoader)
    values = loaded.items() if isinstance(loaded, dict) else ()
    fields = {str(name).strip().lower(): value for name, value in values}
    return written, replace(known_fields(fields), status=_status(fields)), text[match.end() :]


def known_fields(fields: Mapping[str, object]) -> FrontMatter:
    """Return the fields of any format about a file, by their names in small letters."""
    return FrontMatter(
        title=_first(fields, _TITLE),
        language=declared_language(_first(fields, _LANGUAGE)),
        source_uri=_first(fields, _SOURCE),
        licence=_first(fields, _LICENCE),
    )


def _status(fields: Mapping[str, object]) -> str | None:
    """Return the status of a file, from `status: repealed`, `draft: true` or `superseded_by: B`."""
    flags = (name for name in _FLAGS if str(fields.get(name, "")).strip().lower() in _TRUE)
    successors = (name.partition("_")[0] for name in _SUCCESSORS if _first(fields, (name,)))
    return _first(fields, ("status", "state")) or next(chain(flags, successors), None)


def _first(fields: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            continue
        if isinstance(value, str | int | float) and str(value).strip().lower() not in _NO_TEXT:
            return str(value).strip()
    return None
