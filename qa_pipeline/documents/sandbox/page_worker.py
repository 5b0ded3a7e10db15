"""A process that draws pages of hostile PDF files: `python -m qa_pipeline.documents.sandbox.page_worker`.

It is a worker like that which parses files, with the same limits and without their parsers' models, so that
it is ready in half the time. A file that takes PDFium down costs its own page and no server.
"""

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from qa_pipeline.documents.formats.pdf.page_images import draw_page, map_page
from qa_pipeline.documents.sandbox.worker import serve
from qa_pipeline.settings.documents import DocumentSettings

_LIBRARIES = ("pypdfium2", "PIL.Image", "PIL.ImageChops", "PIL.ImageDraw", "PIL.PngImagePlugin")


def page_bytes(head: Mapping[str, Any], content: bytes, settings: DocumentSettings) -> bytes:
    """Return a page as a PNG, or where its characters are as JSON.

    Args:
        head: `number` of the page, its `text`, whether a `picture` is wanted, the `evidence` in the text.
        content: the PDF file.
        settings: not used.
    """
    del settings
    number, text = head["number"], head["text"]
    page = 0, len(text)
    if head["picture"]:
        return draw_page(content, number, text, page, evidence=head["evidence"]).png
    places = map_page(content, number, text, page)
    fields = {name: getattr(places, name) for name in ("paper", "turn", "boxes", "repeated")}
    return json.dumps(fields).encode()


def load() -> None:
    """Load the libraries, which may take their time before there is a limit to it."""
    for name in _LIBRARIES:
        import_module(name)


if __name__ == "__main__":
    serve(page_bytes, load)
