"""A worker with one more format, whose parser does the harm that a file asks for by its content.

It loads no models of languages, so that it starts fast: many are ended by the tests.
"""

import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qa_pipeline.documents import parsing
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.page_images import PageMap, map_page
from qa_pipeline.documents.formats.registry import PARSERS
from qa_pipeline.documents.sandbox import worker
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import LanguageShare

COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", __name__)

_held: list[object] = []


def parse(source: SourceFile, settings: DocumentSettings) -> ParsedFile:
    name, _, argument = source.content.decode().partition(" ")
    text = ACTS[name](argument)
    return ParsedFile((Block("paragraph", text or "done"),))


def say(argument: str) -> str:
    return argument


def segfault(argument: str) -> str:
    if _held or not argument:
        ctypes.string_at(0)
    return "unharmed"


def poison(argument: str) -> None:
    """Leave something behind over which the next file stumbles."""
    _held.append("poison")


def leave(argument: str) -> None:
    os._exit(1)


def hang_in_c(argument: str) -> None:
    re.match(r"(a+)+$", "a" * 100 + "b")


def sleep(argument: str) -> str:
    time.sleep(float(argument))
    return f"slept {argument}"


def wait_for(argument: str) -> str:
    while not Path(argument).exists():
        time.sleep(0.01)
    return "waited"


def stop_the_clock(argument: str) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(600)


def take_memory(argument: str) -> None:
    taken: list[bytes] = []
    while True:
        taken.append(b"x" * 1_000_000 + bytes(len(taken)))


def blame_the_file(argument: str) -> None:
    """What libraries in C do when they get no memory."""
    try:
        take_memory(argument)
    except MemoryError:
        raise DocumentFailure("damaged", "the file is damaged") from None


def hold_memory(argument: str) -> str:
    _held.append(b"x" * int(argument))
    return f"{os.getpid()}"


def recurse(argument: str) -> str | None:
    return recurse(argument)


def stumble(argument: str) -> None:
    raise ValueError(f"the text says {argument}")


def chatter(argument: str) -> None:
    for number in (0, 1, 2):
        try:
            os.write(number, b"x" * 10_000_000)
        except OSError:
            continue


def write(argument: str) -> str:
    try:
        Path(argument).write_text("x" * 100_000)
    except OSError:
        return "refused"
    return "written"


def forge(argument: str) -> None:
    """Send a reply of its own to the parent, as a parser could that was taken over."""
    frame = argument.encode()
    os.write(int(sys.argv[1]), len(frame).to_bytes(4, "big") + frame)
    time.sleep(60)


def forge_two(argument: str) -> None:
    frame = b'-["damaged", ""]'
    os.write(int(sys.argv[1]), (len(frame).to_bytes(4, "big") + frame) * 2)
    time.sleep(60)


def look_around(argument: str) -> str:
    return " ".join(sorted(os.environ))


ACTS: dict[str, Callable[[str], str | None]] = {
    function.__name__: function
    for function in (
        say, segfault, poison, leave, hang_in_c, sleep, wait_for, stop_the_clock, take_memory, blame_the_file,
        hold_memory, recurse, stumble, chatter, write, forge, forge_two, look_around,
    )
}  # fmt: skip


def map_hostile_page(content: bytes, number: int, text: str, page: tuple[int, int]) -> PageMap:
    for word, act in (("crash", segfault), ("endless", hang_in_c), ("greedy", take_memory)):
        if word in text:
            act("")
    return map_page(content, number, text, (0, 0) if "false" in text else page)


def english(*_: Any) -> list[LanguageShare]:
    return [LanguageShare("en", 1.0)]


if __name__ == "__main__":
    PARSERS["hostile"] = parse
    vars(worker).update(load_models=list, map_page=map_hostile_page)
    vars(parsing)["languages_of"] = english
    worker.main()
