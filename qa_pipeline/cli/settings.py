"""`qa-pipeline settings`: what is in force, and what it means."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import Change, Json
from qa_pipeline.cli.exit_codes import errors_as_exit_codes
from qa_pipeline.errors import SettingsError


def show_settings(
    prefix: Annotated[
        str | None, typer.Argument(help="Only this setting or group, such as llm or llm.budget.")
    ] = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Show the settings in force, and what each means.

    A value comes from --set, a variable of the environment, the settings file, the profile, or the default,
    in this order. Secrets are masked.
    """
    from qa_pipeline.cli.console import show
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import settings_in_force

    with errors_as_exit_codes():
        rows = settings_in_force(read_assignments(change or []))
        if prefix is not None:
            rows = [row for row in rows if row.path == prefix or row.path.startswith(f"{prefix}.")]
        if not rows:
            raise SettingsError(f"there is no setting or group {prefix}; without it all are listed")
        cells = [{"setting": row.path, "value": _text(row.value), "meaning": row.meaning} for row in rows]
        document = {"settings": [asdict(row) for row in rows]}
        show(document, as_json=as_json, screen={"settings": cells}, every=True)


def _text(value: object) -> str:
    """Return a value as `--set` takes it."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
