"""`qa-pipeline settings`: what is in force, and from where."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import Change, Json
from qa_pipeline.cli.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:
    from qa_pipeline.settings.sources import SettingInForce


def show_settings(
    prefix: Annotated[
        str | None, typer.Argument(help="Only this setting or group, such as llm or llm.budget.")
    ] = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Show the settings in force, and from where each comes.

    A value comes from --set, a variable of the environment, the settings file, the profile, or the default,
    in this order. Secrets are masked.
    """
    from qa_pipeline.cli.console import print_document, show_table
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.sources import settings_in_force

    with errors_as_exit_codes():
        rows = _below(prefix, settings_in_force(read_assignments(change or [])))
        if as_json:
            print_document({"settings": [asdict(row) for row in rows]})
        else:
            cells = [(row.path, _text(row.value), row.source) for row in rows]
            show_table("Settings", ("setting", "value", "from"), cells)


def _below(prefix: str | None, rows: "list[SettingInForce]") -> "list[SettingInForce]":
    """Return the settings of a group, or the one of that name.

    Raises:
        SettingsError: there is no such setting or group.
    """
    from qa_pipeline.errors import SettingsError
    from qa_pipeline.settings.base import did_you_mean

    if prefix is None:
        return rows
    chosen = [row for row in rows if row.path == prefix or row.path.startswith(f"{prefix}.")]
    if not chosen:
        paths = [row.path for row in rows]
        groups = {path.rpartition(".")[0] for path in paths} | {path.split(".")[0] for path in paths}
        raise SettingsError(f"there is no setting or group {prefix}{did_you_mean(prefix, [*groups, *paths])}")
    return chosen


def _text(value: object) -> str:
    """Return a value as `--set` takes it."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
