"""The reference of tables, settings, commands, metrics and allowed differences, made from the code.

`python -m qa_pipeline.cli.reference docs/reference` writes the pages; a test compares them.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import typer.main
from markupsafe import Markup
from pydantic.fields import FieldInfo
from typer.cli import get_docs_for_click

from qa_pipeline.cli.app import app
from qa_pipeline.settings.sources import setting_fields
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.tables import SCHEMA_VERSION, STORED
from qa_pipeline.text.rendering import markdown_table
from qa_pipeline.verification.consistency.allowed import ALLOWED


def pages() -> Mapping[str, str]:
    """Return the text of each page by its file name."""
    return {
        "tables.md": tables_page(),
        "settings.md": settings_page(),
        "commands.md": commands_page(),
        "allowed_differences.md": differences_page(),
        "metrics.md": metrics_page(),
    }


def tables_page() -> str:
    """Return the page of every stored table: its grain, key and columns."""
    parts = [
        "# Tables\n",
        (
            f"One Parquet file per table and batch, schema version {SCHEMA_VERSION}. "
            "Columns that may be null say so; null is unknown, never a default."
        ),
    ]
    for table in STORED.values():
        parts.append(
            f"\n## {table.name}\n\n{table.grain} Key: {', '.join(f'`{name}`' for name in table.key)}.\n"
        )
        rows = [
            (
                f"`{column.name}`",
                f"{_type(str(column.dtype))}{', null' if column.nullable else ''}",
                column.description,
            )
            for column in table.columns
        ]
        parts.append(_table(("column", "type", "meaning"), rows))
    return "\n".join(parts) + "\n"


def differences_page() -> str:
    """Return the page of every difference between a claim and its evidence that leaves the claim proved."""
    parts = [
        "# Allowed differences\n",
        (
            "A claim is accepted where each difference from its evidence is one of these. Besides them, "
            "words may differ in inflection, case and spelling, and numbers, units and dates in how they are "
            "written; an active sentence may be passive with its roles kept, and a command the "
            'passive with "must" (English, Swedish).\n'
        ),
    ]
    rows = []
    for first in ALLOWED:
        evidence, claim = first.holds
        second = f"{first.does_not[1]} (from: {first.does_not[0]})"
        if first.does_not[0] == evidence:
            second = first.does_not[1]
        rows.append((first.name, first.direction, evidence, claim, second))
    columns = ("difference", "the claim's words are", "evidence", "proves", "does not prove")
    return "\n".join([*parts, _table(columns, rows)]) + "\n"


def metrics_page() -> str:
    """Return the page of every metric of an evaluation, by family."""
    from qa_pipeline.evaluation.metrics.registry import FAMILIES

    parts = [
        "# Metrics\n",
        (
            "What `qa-pipeline eval run` measures; formulas and who decides are in [metrics](../metrics.md). "
            "A row that lacks a column that a metric needs has no value. `precision`, `recall`, `f1` and "
            "`ndcg` may be asked for at any depth (`precision_at_3`)."
        ),
    ]
    for family, metrics in FAMILIES.items():
        rows = []
        for metric in metrics:
            low, high = metric.range
            limits = f"{low:g} to {high:g}" if high is not None else f"from {low:g}"
            needs = ", ".join(f"`{name}`" for name in metric.needs)
            rows.append(
                (f"`{metric.name}`", limits, metric.direction, needs, str(metric.version), metric.source)
            )
        columns = ("metric", "range", "better", "needs", "version", "source")
        parts.append(f"\n## {family}\n\n{_table(columns, rows)}")
    return "\n".join(parts) + "\n"


def settings_page() -> str:
    """Return the page of every setting: path, default and meaning, by group."""
    parts = [
        "# Settings\n",
        (
            "A setting is given as `--set GROUP.NAME=VALUE`, in `qa_pipeline.yaml` in the working directory "
            "(`QA_PIPELINE_SETTINGS` names another file), or as `QA_PIPELINE_GROUP__NAME` in the environment."
        ),
    ]
    for group, fields in groupby(setting_fields(Settings), key=lambda item: item[0].rpartition(".")[0]):
        rows = [(f"`{path}`", f"`{_default(field)}`", field.description or "") for path, field in fields]
        parts.append(f"\n## {group or 'general'}\n\n{_table(('setting', 'default', 'meaning'), rows)}")
    return "\n".join(parts) + "\n"


def commands_page() -> str:
    """Return the page of every command with its arguments and options, as `--help` prints them."""
    command = typer.main.get_command(app)
    _whole_summaries(command)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="qa-pipeline", title="Commands")
    return text.rstrip() + "\n"


def _whole_summaries(command: Any) -> None:
    """Have lists of commands show first paragraphs whole, which click cuts at 45 characters."""
    for below in getattr(command, "commands", {}).values():
        below.short_help = below.short_help or (below.help or "").partition("\n\n")[0].replace("\n", " ")
        _whole_summaries(below)


def _type(dtype: str) -> str:
    return f"`{dtype}`" if len(dtype) < 40 else f"`{dtype.partition('(')[0]}`"


def _default(field: FieldInfo) -> str:
    value = field.default
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown of the package."""
    cells = ([Markup(cell.replace("|", "\\|").replace("\n", " ")) for cell in row] for row in rows)  # noqa: S704
    return str(markdown_table(cells, columns))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
