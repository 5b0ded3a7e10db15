"""The settings that a person may change for one run: its configuration, as the launchpad shows it.

They have the names of the settings tree, and the values of the code location as defaults. A run of other
values is made as if the settings file said so: what it makes has the code version of those values, so Dagster
and the command line show it as made with other settings. Nights and sensors leave that as it is; the next run
for another reason has the settings of the code location again.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any

import dagster as dg
from pydantic import BaseModel

from qa_pipeline.errors import SettingsError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import Settings, with_changes

CHANGEABLE = (
    "generation.max_questions",
    "llm.budget.max_calls",
    "llm.budget.max_cost",
    "llm.budget.max_tokens",
    "llm.budget.rebuy_above",
    "llm.model",
)
"""In order, which groups them."""
SETTINGS_TAG = "qa_pipeline/settings"
"""On a run: the settings that differ from those of the code location."""
_TYPES: Mapping[Any, Any] = {
    str: str,
    int | None: dg.Noneable(int),
    float | None: dg.Noneable(float),
}


def launch_fields(settings: Settings) -> dict[str, dg.Field]:
    """Return the configuration of a run: a tree of what can be changed, each with description and value."""
    return _fields(settings, [path.split(".") for path in _changeable(settings)])


def _changeable(settings: Settings) -> tuple[str, ...]:
    """Return the paths of the settings; those of language models only where one is asked."""
    return tuple(path for path in CHANGEABLE if settings.llm.hosted_models or not path.startswith("llm."))


def _fields(group: BaseModel, places: Iterable[list[str]]) -> dict[str, dg.Field]:
    fields = {}
    for name, of_name in groupby(places, key=lambda place: place[0]):
        below = [place[1:] for place in of_name if place[1:]]
        declared, value = type(group).model_fields[name], getattr(group, name)
        fields[name] = (
            dg.Field(_fields(value, below))
            if below
            else dg.Field(
                _TYPES[declared.annotation],
                default_value=value,
                is_required=False,
                description=declared.description,
            )
        )
    return fields


def changes_in(config: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return what a run's configuration changes: values by path, where they differ from the settings."""
    values = {path: _value(config, path.split(".")) for path in _changeable(settings)}
    return {path: value for path, value in values.items() if value != attrgetter(path)(settings)}


def _value(config: Mapping[str, Any], place: list[str]) -> Any:
    first, *below = place
    return _value(config[first], below) if below else config[first]


def resources_of_run(
    resources: Resources, config: Mapping[str, Any], instance: dg.DagsterInstance, run_id: str
) -> Resources:
    """Return the resources under the settings of a run, whose tag then names those that were changed.

    Raises:
        Failure: the settings cannot be so.
    """
    changes = changes_in(config, resources.settings)
    if not changes:
        return resources
    try:
        settings = with_changes(resources.settings, changes)
    except SettingsError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    instance.add_run_tags(run_id, settings_tag(changes))
    return resources.with_settings(settings)


def settings_tag(changes: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag of a run whose settings were changed; nothing where none was."""
    text = ", ".join(f"{path}={value}" for path, value in changes.items())
    return {SETTINGS_TAG: text} if text else {}
