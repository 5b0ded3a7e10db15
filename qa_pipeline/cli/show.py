"""`qa-pipeline show`: a document as it was read."""

from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import RUN_FIRST, Json, Out, check_exists
from qa_pipeline.cli.exit_codes import errors_as_exit_codes

_STYLES = {
    "page": ("═══", "bold magenta"),
    "section": ("───", "bold cyan"),
    "chunk": ("▼", "bold green"),
}
"""Mark and colour of each kind of border."""


def show(
    document: Annotated[
        str, typer.Argument(help="Its id, the beginning of it, or its path; BATCH/PATH if need be.")
    ],
    out: Out = Path("data"),
    as_json: Json = False,
) -> None:
    """Show a document as it was read: facts, text, and the borders of sections, pages and chunks."""
    with errors_as_exit_codes():
        check_exists(out, advice=RUN_FIRST)
        from rich.console import Console
        from rich.text import Text

        from qa_pipeline.cli.console import show as show_result
        from qa_pipeline.review.document_view import facts, find_document, pieces
        from qa_pipeline.storage.layout import Layout

        row, chunks = find_document(Layout(out), document)
        if as_json:
            show_result({"document": row, "chunks": chunks}, as_json=True)
            return
        console = Console(highlight=False, soft_wrap=True)
        for name, value in facts(row, chunks):
            console.print(Text(f"{name:<18}", style="bold").append(value, style="default"))
        console.print()
        for kind, text in pieces(row, chunks):
            if kind != "text":
                mark, style = _STYLES[kind]
                console.print(Text(f"{mark} {text}", style=style))
            elif text.strip():  # blank lines at borders aside
                console.print(Text(text.strip("\n")))
