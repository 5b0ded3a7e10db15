"""The settings in force, as shown by the command `settings`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from qa_pipeline.settings.tree import Settings, load_settings

MASK = "********"
"""Replaces every secret, with a fixed length that does not reveal theirs."""
_PASSWORD = re.compile(r"(?<=://)([^/:@\s]*):[^/@\s]*@")


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A setting as a run would use it: path, value as JSON with secrets masked, and description."""

    path: str
    value: Any
    meaning: str


def settings_in_force(overrides: Mapping[str, Any]) -> list[SettingInForce]:
    """Return every setting with its value, in the order of the tree.

    Args:
        overrides: the settings changed on the command line.

    Raises:
        SettingsError: the settings are invalid.
    """
    settings = load_settings(**overrides)
    values = settings.model_dump(mode="json")
    rows = []
    for path, field in setting_fields(Settings):
        parts = path.split(".")
        value: Any = reduce(dict.__getitem__, parts, values)
        if isinstance(reduce(getattr, parts, settings), SecretStr):
            value = MASK
        if isinstance(value, str):
            value = _PASSWORD.sub(rf"\1:{MASK}@", value)
        rows.append(SettingInForce(path, value, field.description or ""))
    return rows


def setting_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield path and field of every setting of a group; its own fields come before its sub-groups."""
    nested = []
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            nested.append((name, field.annotation))
        else:
            yield f"{prefix}{name}", field
    for name, below in nested:
        yield from setting_fields(below, f"{prefix}{name}.")
