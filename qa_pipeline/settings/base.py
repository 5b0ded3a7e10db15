"""Base of all setting groups, and readers for settings files, the environment and the command line."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.plain_yaml import read_yaml
from qa_pipeline.settings.removed import removal_of

PREFIX = "QA_PIPELINE_"
FILE_NAME = "QA_PIPELINE_SETTINGS"
T = TypeVar("T")
_DECIDES = "decides"
Decides = Annotated[T, _DECIDES]
"""Type of a setting that only re-decides stored scores; changing it calls no model."""


class Group(BaseModel):
    """A group of settings: frozen, and unknown names are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True
    )

    @classmethod
    def deciding(cls) -> tuple[str, ...]:
        """Return the names of the settings that only re-decide stored scores, in order."""
        return tuple(name for name, field in cls.model_fields.items() if _DECIDES in field.metadata)


def read_settings_file(path: Path) -> dict[str, Any]:
    """Read a YAML file of settings; a missing or empty file gives an empty mapping.

    Raises:
        SettingsError: the file cannot be read, is not YAML, or does not contain names and values.
    """
    try:
        values = read_yaml(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(
            f"settings file {path} is not plain YAML: {' '.join(f'{error}'.split())}"
        ) from error
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise SettingsError(f"settings file {path} must contain names and values, such as `out: data`")
    return values


FOREIGN_NAMES = {
    "EMBEDDING_ENABLE_REFERENCE_VALIDATION": "GENERATION__ENABLE_REFERENCE_VALIDATION",
    "EMBEDDING_VALIDATION_MODEL": "GENERATION__VALIDATION_MODEL",
    "EMBEDDING_VALIDATION_MAX_REFS_PER_ITEM": "GENERATION__VALIDATION_MAX_REFS_PER_ITEM",
}
"""Environment variables named in the specification, and their names after the prefix."""


def check_environment(environ: Iterable[str], prefix: str, names: Collection[str]) -> None:
    """Refuse variables with the prefix that match no setting, so that a typing error is not ignored.

    Raises:
        SettingsError: with the first such variable.
    """
    for name in sorted(environ):
        if (our_name := FOREIGN_NAMES.get(name.upper())) is not None:
            raise SettingsError(f"environment variable {name} is not read; set {prefix}{our_name} instead")
        if not name.upper().startswith(prefix):
            continue
        path = name[len(prefix) :].lower().replace("__", ".")
        if removal := removal_of(path):
            raise SettingsError(f"environment variable {name}: setting {removal}")
        first = path.split(".")[0]
        if first not in names:
            raise SettingsError(f"environment variable {name} names no setting; known: {', '.join(names)}")


def read_assignments(texts: Sequence[str], named_values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Parse `path=value` texts, as for `--set`, into a tree of settings.

    Args:
        texts: the texts; the value `none` means null, and lists are written as JSON.
        named_values: further values by path, which take precedence.

    Raises:
        SettingsError: a text has another form.
    """
    values: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not all(path.strip().split(".")):
            raise SettingsError(f"--set {text!r} must be PATH=VALUE, such as llm.workers=20")
        values[path.strip()] = _value(path.strip(), value.strip())
    tree: dict[str, Any] = {}
    for path, value in {**values, **(named_values or {})}.items():
        *groups, name = path.split(".")
        group = tree
        for part in groups:
            group = group.setdefault(part, {})
            if not isinstance(group, dict):
                raise SettingsError(f"--set {path}: {part} has a value of its own already")
        group[name] = value
    return tree


def _value(path: str, text: str) -> Any:
    if text.lower() in ("none", "null"):
        return None
    if not text.startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsError(f"--set {path}: {text} is not valid JSON: {error}") from error


def explain(error: ValidationError) -> str:
    """Return the problem of each setting on a single line; values are omitted, since they may be secret."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(_problem(".".join(map(str, problem["loc"])), problem) for problem in problems)


def _problem(name: str, problem: Mapping[str, Any]) -> str:
    if problem["type"] == "extra_forbidden":
        if removal := removal_of(name):
            return f"setting {removal}"
        return f"setting {name} is unknown; qa-pipeline settings lists those there are"
    text = problem["msg"].removeprefix("Value error, ")
    return f"setting {name}: {text}" if name else text
