"""What libraries need for a text when nobody does anything with what they return.

One function a kind of work, each calling a library the way its own documentation does. Where a library offers
a cheaper way, that one is taken.
"""

import io
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from qa_pipeline.text.lexicon.languages import LANGUAGES

_PERMUTATIONS = 128


def parse_alone(contents: list[tuple[str, bytes]]) -> None:
    """Have each library read the files, given by format and bytes."""
    for name, content in contents:
        if name in _PARSERS:
            _PARSERS[name](content)


def _pdf(content: bytes) -> None:
    """The text of each page."""
    import pypdfium2

    document = pypdfium2.PdfDocument(content)
    for number in range(len(document)):
        document[number].get_textpage().get_text_range()
    document.close()


def _html(content: bytes) -> None:
    """A tree, each node of which is looked at once: until then the library holds them, and Python none."""
    from selectolax.lexbor import LexborHTMLParser

    root = LexborHTMLParser(content).root
    for node in root.traverse(include_text=True) if root is not None else ():
        _ = node.text_content if node.tag == "-text" else None


def _markdown(content: bytes) -> None:
    """Tokens."""
    _markdown_parser().parse(content.decode("utf-8", "replace"))


@cache
def _markdown_parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def _rst(content: bytes) -> None:
    """A tree before any of its transforms."""
    from docutils import frontend, utils
    from docutils.parsers.rst import Parser

    settings = frontend.get_default_settings(Parser)
    settings.report_level, settings.halt_level, settings.warning_stream = 6, 6, False
    settings.file_insertion_enabled = settings.raw_enabled = False
    document = utils.new_document("document", settings)
    Parser().parse(content.decode("utf-8", "replace"), document)


def _office(content: bytes) -> None:
    """A tree of every XML part."""
    from lxml import etree

    safe = etree.XMLParser(resolve_entities=False, no_network=True)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.endswith((".xml", ".rels")):
                etree.fromstring(archive.read(name), safe)


def _epub(content: bytes) -> None:
    """A tree of every chapter."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.endswith(("html", ".htm")):
                _html(archive.read(name))


_PARSERS: dict[str, Callable[[bytes], None]] = {
    "pdf": _pdf,
    "html": _html,
    "markdown": _markdown,
    "rst": _rst,
    "docx": _office,
    "pptx": _office,
    "epub": _epub,
}


def tell_alone(texts: Sequence[str]) -> None:
    """Have the identifier tell the language of each text, among the fewest languages."""
    identifier = _identifier()
    for text in texts:
        identifier.classify(text)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(LANGUAGES))
    return identifier


def sketch_alone(sets: Sequence[Sequence[int]], threshold: float) -> None:
    """Have MinHash sketch sets of numbers, and find and enter each among those before it."""
    from datasketch import MinHash, MinHashLSH

    blank = MinHash(num_perm=_PERMUTATIONS, hashfunc=int)
    index = MinHashLSH(num_perm=_PERMUTATIONS, params=_bands(threshold))
    for number, one in enumerate(sets):
        sketch = blank.copy()
        sketch.update_batch(one)
        index.query(sketch)
        index.insert(number, sketch)


@cache
def _bands(threshold: float) -> tuple[int, int]:
    from datasketch import MinHashLSH

    best = MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS)
    return best.b, best.r
