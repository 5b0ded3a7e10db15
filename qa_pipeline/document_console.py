"""One document on the screen: its facts, then its text with coloured borders.

What belongs here: printing what `showing.py` found. What does not: finding it.
"""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from qa_pipeline.showing import Piece, Row, Shown, facts, in_context, pieces

STYLES = {"page": "bold magenta", "section": "bold cyan", "chunk": "bold green", "chunk_end": "green"}
MARKS = {"page": "═══", "section": "───", "chunk": "▼", "chunk_end": "▲"}


def show_document(shown: Shown, chunk: Row | None = None) -> None:
    """Print a document, or one chunk of it within its section."""
    console = Console(highlight=False, soft_wrap=True)
    for name, value in facts(shown):
        console.print(Text(f"{name:<18}", style="bold").append(value, style="default"))
    console.print()
    if shown.document["text"] is not None:
        _print(console, pieces(shown) if chunk is None else in_context(shown, chunk))


def _print(console: Console, found: Iterable[Piece]) -> None:
    """Borders on lines of their own; text as it is, its blank lines at borders aside."""
    for piece in found:
        if piece.kind == "text":
            if piece.text.strip():
                console.print(Text(piece.text.strip("\n")))
        else:
            console.print(Text(f"{MARKS[piece.kind]} {piece.text}", style=STYLES[piece.kind]))


def document_json(shown: Shown, chunk: Row | None = None) -> dict[str, object]:
    """The document and its chunks as JSON values."""
    return {"document": shown.document, "chunks": shown.chunks if chunk is None else [chunk]}
