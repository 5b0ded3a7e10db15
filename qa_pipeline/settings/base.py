"""The model of a group of settings, and reading settings from files, the environment and the command line."""

import difflib
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
"""Type of a setting that only decides over stored scores: another value asks no model."""


class Group(BaseModel):
    """A branch of the tree: frozen, and a misspelt name is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True
    )

    @classmethod
    def deciding(cls) -> tuple[str, ...]:
        """Return the names of the settings that only decide over stored scores, in their order."""
        return tuple(name for name, field in cls.model_fields.items() if _DECIDES in field.metadata)


_LARGEST = 1_000_000
"""Bytes of a settings file; all settings with comments take some 30,000, so a larger file is another one."""


def read_settings_file(path: Path, groups: Collection[str]) -> dict[str, Any]:
    """Read the YAML file of settings; no file and an empty file say nothing.

    Args:
        path: the file.
        groups: names whose value is a mapping of settings.

    Raises:
        SettingsError: the file cannot be read, is no YAML, or is not made of names and values.
    """
    values = _parsed(path)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"settings file {path} must contain names and values, such as `out: data`")
    for name, value in values.items():
        if not isinstance(name, str):
            raise SettingsError(f"settings file {path}: {name!r} is no name of a setting")
        if name in groups and not isinstance(value, dict):
            raise SettingsError(f"settings file {path}: {name} is a group; write its settings below it")
    return values


def _parsed(path: Path) -> Any:
    try:
        if path.stat().st_size > _LARGEST:
            raise SettingsError(f"settings file {path} is larger than {_LARGEST} bytes")
        return read_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"settings file {path} cannot be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SettingsError(f"settings file {path}{line}: {error.problem}; it must be plain YAML") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"settings file {path} is not readable YAML in UTF-8") from error


def check_environment(environ: Iterable[str], prefix: str, names: Collection[str]) -> None:
    """Refuse a name that looks like a setting and is none: a typing slip must not leave a default in force.

    Raises:
        SettingsError: naming the first such variable.
    """
    for name in sorted(environ):
        if not name.upper().startswith(prefix):
            continue
        path = name[len(prefix) :].lower().replace("__", ".")
        if removal := removal_of(path):
            raise SettingsError(f"environment variable {name}: setting {removal}")
        first = path.split(".")[0]
        if first not in names:
            raise SettingsError(f"environment variable {name} names no setting{did_you_mean(first, names)}")


def read_assignments(texts: Sequence[str], named_values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Read `path=value` texts, as `--set` takes them, into a tree of settings.

    Args:
        texts: the texts; the value `none` is no value, and lists are written as JSON.
        named_values: further values by path, which win.

    Raises:
        SettingsError: a text is not of that form.
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


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the problem with each setting, in one line a person can act on.

    The values are left out, for one may be a secret.
    """
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(_problem(problem, model) for problem in problems)


def _problem(problem: Mapping[str, Any], model: type[BaseModel]) -> str:
    place = [str(part) for part in problem["loc"]]
    name = ".".join(place)
    if problem["type"] == "extra_forbidden":
        if removal := removal_of(name):
            return f"setting {removal}"
        return f"setting {name} is unknown{did_you_mean(place[-1], _names_beside(place, model))}"
    text = problem["msg"].removeprefix("Value error, ")
    return f"setting {name}: {text}" if name else text


def _names_beside(place: list[str], model: type[BaseModel]) -> Collection[str]:
    """Return the settings of the group that a misplaced name is in."""
    for part in place[:-1]:
        group = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(group, type) and issubclass(group, BaseModel)):
            return ()
        model = group
    return tuple(model.model_fields)


def did_you_mean(name: str, names: Collection[str]) -> str:
    """Return the end of an error about an unknown name: the nearest name there is, else all of them."""
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(names)}" if names else ""
