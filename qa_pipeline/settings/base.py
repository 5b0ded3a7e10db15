"""Base of all setting groups, and readers for files, the environment, the command line and locations.

Locations are local folders, or addresses that fsspec can open. Addresses never contain credentials, which
would reach logs, tables and messages; the library of each store reads them from the environment.
"""

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from qa_pipeline.errors import SettingsError
from qa_pipeline.storage.object_stores import STORES, store_of, stored_path


class PlainLoader(yaml.BaseLoader):
    """A YAML loader for strings, lists, mappings and null; aliases and repeated names are errors.

    Numbers and dates stay strings: 1.10 may be a title, and `no` a language.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node, or raise an error for an alias, since aliases can multiply."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _yaml_problem("aliases are not read; write the value again", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping, or raise an error for a repeated name."""
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in names:
                    raise _yaml_problem(f"{key.value[:100]!r} appears twice", key.start_mark)
                names.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_scalar(self, node: yaml.ScalarNode) -> Any:
        """Return a string, or None for a value that is empty or null and without quotes."""
        return None if node.style is None and node.value in ("", "~", "null") else str(node.value)


def read_yaml(text: str) -> Any:
    """Return the strings, lists and mappings of a YAML text.

    Raises a YAMLError if the text is not plain YAML; a `MarkedYAMLError` names the line.
    """
    try:
        return yaml.load(text, Loader=PlainLoader)  # noqa: S506 - constructs strings only
    except RecursionError as error:
        raise yaml.YAMLError("it is nested too deep") from error


def _yaml_problem(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


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
    """Read a YAML file of settings; a missing or empty file gives an empty mapping."""
    try:
        values = read_yaml(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise SettingsError(f"settings file {path} is not plain YAML: {problem}") from error
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise SettingsError(f"settings file {path} must contain names and values, such as `out: data`")
    return values


FOREIGN_NAMES = {
    "EMBEDDING_ENABLE_REFERENCE_VALIDATION": "GENERATION__ENABLE_REFERENCE_VALIDATION",
    "EMBEDDING_VALIDATION_MODEL": "GENERATION__VALIDATION_MODEL",
    "EMBEDDING_VALIDATION_MAX_REFS_PER_ITEM": "GENERATION__VALIDATION_MAX_REFS_PER_ITEM",
}
"""Environment variables named in the specification, and their names after the prefix."""


def check_environment(variables: Iterable[str], setting_names: Iterable[str]) -> None:
    """Refuse variables with the prefix that match no setting, so that a typing error is not ignored."""
    known_names = [*setting_names, FILE_NAME.removeprefix(PREFIX).lower()]
    for variable in sorted(variables):
        upper = variable.upper()
        if upper in FOREIGN_NAMES:
            raise SettingsError(
                f"environment variable {variable} is ignored; set {PREFIX}{FOREIGN_NAMES[upper]} instead"
            )
        name = upper.removeprefix(PREFIX).split("__")[0].lower()  # llm of QA_PIPELINE_LLM__WORKERS
        if upper.startswith(PREFIX) and name not in known_names:
            raise SettingsError(
                f"environment variable {variable} is not a setting; known settings: {', '.join(known_names)}"
            )


def read_assignments(texts: Sequence[str], named_values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Parse `path=value` texts, as for `--set`, into a tree of settings such as {llm: {workers: 20}}.

    The value `none` means null, and lists are written as JSON. `named_values` by path take precedence.
    """
    value_by_path: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not all(path.strip().split(".")):
            raise SettingsError(f"--set {text!r} must be PATH=VALUE, such as llm.workers=20")
        value_by_path[path.strip()] = _parsed_value(path.strip(), value.strip())
    tree: dict[str, Any] = {}
    for path, value in {**value_by_path, **(named_values or {})}.items():
        *group_names, name = path.split(".")
        group = tree
        for group_name in group_names:
            group = group.setdefault(group_name, {})
            if not isinstance(group, dict):
                raise SettingsError(f"--set {path}: {group_name} already has a value")
        group[name] = value
    return tree


def _parsed_value(path: str, text: str) -> Any:
    """Parse null, a list or a mapping; other texts are converted by the type of the setting."""
    if text.lower() in ("none", "null"):
        return None
    if not text.startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsError(f"--set {path}: {text} is not valid JSON: {error}") from error


def explain(error: ValidationError) -> str:
    """Return the problem of each setting on a single line, without values, since they may be secret."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        name = ".".join(map(str, problem["loc"]))
        text = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            lines.append(f"setting {name} is unknown; qa-pipeline settings lists all")
        else:
            lines.append(f"setting {name}: {text}" if name else text)
    return "; ".join(lines)


_LOCAL = frozenset({"file", "local"})
_SCHEME_END = "://"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""The scheme of an address, also after `Path` merged its slashes; a Windows drive has a single letter."""


def location_of(value: object) -> str:
    """Return an address in stored form: a local path, or `scheme://path` without a trailing slash.

    Raises a ValueError for an unknown scheme, a missing package or credentials.
    """
    text = str(value)
    scheme, separator, path = text.partition(_SCHEME_END)
    if not separator:
        return text
    scheme = scheme.lower()
    if scheme in _LOCAL:
        return path or "/"
    _check_path(scheme, path)
    _check_scheme(scheme)
    return f"{scheme}{_SCHEME_END}{path.rstrip('/')}"


def local_folder(value: T) -> T:
    """Return a local folder unchanged, and refuse an address: its `Path` would be a folder named `s3:`."""
    if isinstance(value, str | Path) and _SCHEME.match(str(value)):
        raise ValueError(f"{value} is an address; name a local folder")
    return value


def output_folder(value: object) -> Path:
    """Return a folder for results, on disk or in an object store; refuse other addresses."""
    if isinstance(value, Path):
        return local_folder(value)
    if not isinstance(value, str):
        if store_of(cast("Path", value)) is None:
            raise ValueError("name a folder or an address")
        return cast("Path", value)  # the result of `stored_path`, whose class is not a `Path`
    scheme = value.partition(_SCHEME_END)[0].lower()
    if _SCHEME_END not in value or scheme in _LOCAL:
        return Path(local_folder(value))
    if scheme not in STORES:
        raise ValueError(
            f"results are written to local folders and to {', '.join(STORES)} only, not to {scheme}://"
        )
    return stored_path(location_of(value))


def is_remote(location: str) -> bool:
    """Return True if a location is an address, not a local path."""
    return _SCHEME_END in location


def _check_path(scheme: str, path: str) -> None:
    """Refuse credentials, such as `user:password@host/folder`, queries, and chained addresses."""
    user, at, _ = path.partition("/")[0].rpartition("@")
    is_web = scheme in ("http", "https")
    if at and (":" in user or is_web):  # a user of a web address is a token
        raise ValueError("it contains a password or token; set it in the environment instead")
    if "?" in path and is_web:
        raise ValueError(
            "it has a query, which may contain a token; name a folder that can be listed without it"
        )
    if "::" in path:
        raise ValueError("chained addresses are not supported; copy the files to a folder")


def _check_scheme(scheme: str) -> None:
    """Refuse a scheme that fsspec does not know, or whose package is missing."""
    from fsspec import get_filesystem_class

    try:
        get_filesystem_class(scheme or "no scheme")  # fsspec takes "" for a local file
    except ImportError as error:
        raise ValueError(f"{scheme}:// needs a package that is not installed: {error}") from error
    except ValueError as error:
        raise ValueError(f"{scheme}:// is unknown; name a local folder or an s3:// address") from error
