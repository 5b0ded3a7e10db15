"""Where each setting comes from: the command line, the environment, the file, the profile or its default."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource

from qa_pipeline.settings.base import FILE_NAME, PREFIX
from qa_pipeline.settings.tree import PROFILES, Settings, load_settings, read_written, settings_file

MASK = "********"
"""Of one length for all secrets, so that it does not show theirs."""
_PASSWORD = re.compile(r"(?<=://)([^/:@\s]*):[^/@\s]*@")


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A setting as a run would use it.

    Args:
        path: its name, such as `llm.workers`.
        value: what is in force, as JSON can hold it; secrets are masked.
        source: where the value comes from, in words.
    """

    path: str
    value: Any
    source: str


def settings_in_force(overrides: Mapping[str, Any]) -> list[SettingInForce]:
    """Return every setting with its value and its source, in the order of the tree.

    Args:
        overrides: the tree of settings that the command line changes.

    Raises:
        SettingsError: the settings cannot be used.
    """
    settings = load_settings(**overrides)
    values = settings.model_dump(mode="json")
    sources = [
        ("--set", overrides),
        *_variables(),
        (f"file {settings_file()}", read_written()),
    ]
    rows = []
    for path, field in setting_fields(Settings):
        parts = path.split(".")
        value = reduce(dict.__getitem__, parts, values)
        names = [name for name, tree in sources if _value_at(tree, parts) is not _MISSING]
        if names:
            # keys of a mapping are gathered from all sources; of anything else the first one wins
            source = " and ".join(names) if isinstance(value, dict) else names[0]
        elif value == _value_at(PROFILES[settings.profile], parts):
            source = f"profile {settings.profile}"
        else:
            is_default = reduce(getattr, parts, settings) == field.get_default(call_default_factory=True)
            source = "default" if is_default else "follows from other settings"
        rows.append(SettingInForce(path, _masked(value, reduce(getattr, parts, settings)), source))
    return rows


def setting_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield path and field of every setting below a group; the fields of a group before its sub-groups."""
    nested = []
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            nested.append((name, field.annotation))
        else:
            yield f"{prefix}{name}", field
    for name, below in nested:
        yield from setting_fields(below, f"{prefix}{name}.")


_MISSING = object()


def _variables() -> list[tuple[str, dict[str, Any]]]:
    """Return each variable of the environment with the tree of what it sets, the most specific first."""
    reader = EnvSettingsSource(Settings)
    names = [name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() != FILE_NAME]
    trees = []
    for name in sorted(names, key=lambda name: (-name.count("__"), name)):
        reader.env_vars = {name.lower(): os.environ[name]}
        trees.append((f"environment {name}", reader()))
    return trees


def _value_at(tree: Mapping[str, Any], parts: list[str]) -> Any:
    for part in parts:
        if not isinstance(tree, Mapping) or part not in tree:
            return _MISSING
        tree = tree[part]
    return tree


def _masked(value: Any, field_value: object) -> Any:
    """Return the value without secrets: keys and passwords, also one within an address."""
    if isinstance(field_value, SecretStr):
        return MASK
    return _PASSWORD.sub(rf"\1:{MASK}@", value) if isinstance(value, str) else value
