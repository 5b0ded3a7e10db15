"""Base of all setting groups, and readers for settings files, the environment and the command line."""

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from qa_pipeline.errors import SettingsError


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

    Raises:
        yaml.YAMLError: the text is not plain YAML; a `MarkedYAMLError` names the line.
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


def check_environment(environ: Iterable[str], names: Collection[str]) -> None:
    """Refuse variables with the prefix that match no setting, so that a typing error is not ignored."""
    for name in sorted(environ):
        upper = name.upper()
        if upper in FOREIGN_NAMES:
            raise SettingsError(
                f"environment variable {name} is ignored; set {PREFIX}{FOREIGN_NAMES[upper]} instead"
            )
        group = upper.removeprefix(PREFIX).split("__")[0].lower()
        if upper.startswith(PREFIX) and group not in names:
            raise SettingsError(
                f"environment variable {name} is not a setting; known settings: {', '.join(names)}"
            )


def read_assignments(texts: Sequence[str], named_values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Parse `path=value` texts, as for `--set`, into a tree of settings such as {llm: {workers: 20}}.

    The value `none` means null, and lists are written as JSON. `named_values` by path take precedence.
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
        for group_name in groups:
            group = group.setdefault(group_name, {})
            if not isinstance(group, dict):
                raise SettingsError(f"--set {path}: {group_name} already has a value")
        group[name] = value
    return tree


def _value(path: str, text: str) -> Any:
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
