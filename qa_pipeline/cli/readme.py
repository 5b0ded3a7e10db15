"""The README's lists of tables and settings, made from the code so that they cannot drift.

What belongs here: rendering `tables.py` and the settings as Markdown between markers. What does not: any
other text of the README. `python -m qa_pipeline.cli.readme README.md` writes them in place.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from qa_pipeline.settings.tree import Settings
from qa_pipeline.tables import STORED


def tables_section() -> str:
    """One line a table: name, grain, key and columns."""
    rows = [
        f"| `{table.name}` | {table.grain.rstrip('.')} | {', '.join(table.schema)} |"
        for table in STORED.values()
    ]
    return "\n".join(["| table | grain | columns |", "|---|---|---|", *rows])


def settings_section() -> str:
    """One line a setting: path, default, meaning."""
    rows = [
        f"| `{name}` | `{_default(field)}` | {_escaped(field.description or '')} |"
        for name, field in _leaves(Settings)
    ]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _leaves(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _default(field: FieldInfo) -> str:
    value = field.default
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def with_sections(text: str) -> str:
    """The README with both lists as the code has them now."""
    for name, section in (("tables", tables_section()), ("settings", settings_section())):
        marked = re.compile(f"(<!-- {name} -->\n).*?(\n<!-- end {name} -->)", re.DOTALL)
        text = marked.sub(lambda found, made=section: found[1] + made + found[2], text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    readme = Path(sys.argv[1])
    readme.write_text(with_sections(readme.read_text(encoding="utf-8")), encoding="utf-8")
