"""A worker whose parser runs the file, and whose pages do what their text says."""

import ctypes
import os
import re
import sys
import time
from typing import Any

from qa_pipeline.documents import parsing, sandbox
from qa_pipeline.documents.formats.pdf.page_images import Span, draw_page
from qa_pipeline.documents.parsing import PARSERS
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import LanguageShare

COMMAND = (sys.executable, "-P", "-W", "ignore", __file__)


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    """Run the file, whose text is what it leaves under that name."""
    names: dict[str, Any] = {"text": "done"} | globals()
    exec(source.content.decode(), names)
    return ParsedFile((Block("paragraph", names["text"]),))


held: list[object] = []


def crash() -> None:
    ctypes.string_at(0)


def hang() -> None:
    re.match(r"(a+)+$", "a" * 100 + "b")


def take_memory() -> None:
    while True:
        held.append(b"x" * 1_000_000 + bytes(len(held)))


def forge(reply: str, times: int = 1) -> None:
    """Send a reply of its own to the parent, as a parser could that was taken over."""
    frame = reply.encode()
    os.write(int(sys.argv[1]), (len(frame).to_bytes(4, "big") + frame) * times)
    time.sleep(60)


def draw_hostile_page(content: bytes, number: int, text: str, evidence: Span | None) -> bytes:
    for word, act in (("crash", crash), ("endless", hang), ("greedy", take_memory)):
        if word in text:
            act()
    drawn = draw_page(content, number, text, evidence)
    return b"no picture" if "false" in text else drawn


def english(*_: Any) -> list[LanguageShare]:
    return [LanguageShare("en", 1.0)]


if __name__ == "__main__":
    PARSERS["hostile"] = parse
    vars(sandbox).update(load_model=list, draw_page=draw_hostile_page)
    vars(parsing)["languages_of"] = english
    sandbox.main()
