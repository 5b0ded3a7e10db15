"""The page of tables, which `python -m qa_pipeline_tests.support.tables_page` prints."""

import sys

from markupsafe import Markup

from qa_pipeline.storage.tables import SCHEMA_VERSION, STORED
from qa_pipeline.text.rendering import markdown_table


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
        keys = ", ".join(f"`{name}`" for name in table.key)
        parts.append(f"\n## {table.name}\n\n{table.grain} Key: {keys}.\n")
        rows = []
        for column in table.columns:
            dtype = str(column.dtype) if len(str(column.dtype)) < 40 else str(column.dtype).partition("(")[0]
            null = ", null" if column.nullable else ""
            cells = (f"`{column.name}`", f"`{dtype}`{null}", column.description)
            rows.append([Markup(cell.replace("|", "\\|").replace("\n", " ")) for cell in cells])
        parts.append(str(markdown_table(rows, ("column", "type", "meaning"))))
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(tables_page())
