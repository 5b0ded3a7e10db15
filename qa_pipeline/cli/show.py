"""`qa-pipeline show`: a document as it was read."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import (
    RUN_FIRST,
    Json,
    Out,
    check_exists,
)
from qa_pipeline.cli.exit_codes import errors_as_exit_codes
from qa_pipeline.errors import InputError

if TYPE_CHECKING:
    from qa_pipeline.review.document_view import DocumentView
    from qa_pipeline.storage.rows import ChunkRow


def show(
    document: Annotated[
        str, typer.Argument(help="Its id, the beginning of it, or its path; BATCH/PATH if need be.")
    ],
    out: Out = Path("data"),
    chunk: Annotated[
        str | None, typer.Option(help="Only this chunk, in its section: an id or its beginning.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Write a PNG of a PDF page here, the passage highlighted.")
    ] = None,
    page: Annotated[
        int | None,
        typer.Option(min=1, help="With --picture: the page. Default: that of the span or chunk, or 1."),
    ] = None,
    span: Annotated[
        str | None, typer.Option(help="With --picture: the span of the text to highlight, START:END.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="With --picture: the corpus the document was read from.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a document as it was read, with its sections and chunks."""
    with errors_as_exit_codes():
        check_exists(out, advice=RUN_FIRST)
        from qa_pipeline.cli.console import show as show_result
        from qa_pipeline.review.document_view import find_chunk, find_document
        from qa_pipeline.storage.layout import Layout

        for name, value in {"--page": page, "--span": span, "--corpus": corpus}.items():
            if picture is None and value is not None:
                raise InputError(f"{name} takes a picture of a page: add --picture FILE.png")
        layout = Layout(out)
        viewed = find_document(layout, document, [path.stem for path in layout.tables("documents")])
        chosen = find_chunk(viewed, chunk) if chunk else None
        if picture is not None:
            _draw(viewed, chosen, picture, page, span, corpus)
        elif as_json:
            chunks = [chosen] if chosen else viewed.chunks
            show_result({"document": viewed.document, "chunks": chunks}, as_json=True)
        else:
            _print(viewed, chosen)


STYLES = {
    "page": ("═══", "bold magenta"),
    "section": ("───", "bold cyan"),
    "chunk": ("▼", "bold green"),
    "chunk_end": ("▲", "green"),
}
"""Mark and colour of each kind of border."""


def _print(viewed: "DocumentView", chunk: "ChunkRow | None") -> None:
    """Print a document, or one chunk of it within its section; borders stand on lines of their own."""
    from rich.console import Console
    from rich.text import Text

    from qa_pipeline.review.document_view import facts, in_context, pieces

    console = Console(highlight=False, soft_wrap=True)
    for name, value in facts(viewed):
        console.print(Text(f"{name:<18}", style="bold").append(value, style="default"))
    console.print()
    if viewed.document["text"] is None:
        return
    for piece in pieces(viewed) if chunk is None else in_context(viewed, chunk):
        if piece.kind != "text":
            mark, style = STYLES[piece.kind]
            console.print(Text(f"{mark} {piece.text}", style=style))
        elif piece.text.strip():  # blank lines at borders aside
            console.print(Text(piece.text.strip("\n")))


def _draw(
    viewed: "DocumentView",
    chunk: "ChunkRow | None",
    picture: Path,
    page: int | None,
    span: str | None,
    corpus: str | None,
) -> None:
    """Write the picture of a page; without a span the chosen chunk is highlighted."""
    from qa_pipeline.documents.corpus.corpora import open_corpus
    from qa_pipeline.review.document_view import page_of, page_picture, span_of
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.files import write_bytes

    settings = load_settings(**({"corpus": corpus} if corpus else {}))
    evidence = span_of(span) if span else (chunk["char_start"], chunk["char_end"]) if chunk else None
    number = page_of(viewed, evidence, page)
    files = open_corpus(settings.corpus).batch(viewed.document["batch"])
    drawn = page_picture(viewed, files, number, evidence, settings.documents.max_bytes)
    write_bytes(picture, drawn.png)
    highlighted = f"; {drawn.evidence} of {drawn.evidence_length} letters highlighted" if evidence else ""
    sys.stdout.write(f"{picture}: page {number} of {viewed.document['path']}{highlighted}\n")
