"""A worker with one more format, whose parser does the harm that a file asks for by its content.

It loads no models of languages, so that it starts fast: many are ended by the tests.
"""

import ctypes
import mmap
import os
import re
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from qa_pipeline.documents import parsing
from qa_pipeline.documents.corpus.files import DocumentFailure
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
    os._exit(3)


def leave_politely(argument: str) -> None:
    sys.exit("text of the document")


def hang_in_c(argument: str) -> None:
    re.match(r"(a+)+$", "a" * 100 + "b")


def sleep(argument: str) -> str:
    time.sleep(float(argument))
    return f"slept {argument}"


def wait_for(argument: str) -> str:
    while not Path(argument).exists():
        time.sleep(0.01)
    return "waited"


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


def take_memory_and_abort(argument: str) -> None:
    held = []
    try:
        while True:
            held.append(bytearray(1_000_000))
    except MemoryError:
        time.sleep(1)
        os.abort()


def hold_memory(argument: str) -> str:
    _held.append(b"x" * int(argument))
    return f"{os.getpid()}"


def reserve_memory(argument: str) -> str:
    """What threads and libraries do: take addresses, and no memory yet."""
    _held.append(mmap.mmap(-1, int(argument)))
    return f"{os.getpid()}"


def find_no_room(argument: str) -> None:
    raise ImportError("library.so: failed to map segment from shared object")


def recurse(argument: str) -> str | None:
    return recurse(argument)


def stumble(argument: str) -> None:
    raise ValueError(f"the text says {argument}")


def chatter(argument: str) -> None:
    sys.stdout.write("text on the output" * 100_000)
    sys.stderr.write("text on the errors" * 100_000)
    warnings.warn("a warning", stacklevel=1)
    for number in (0, 1, 2):
        try:
            os.write(number, b"x" * 10_000_000)
        except OSError:
            continue


def forge(argument: str) -> None:
    """Send a document of its own to the parent, as a parser could that was taken over."""
    send(framed(b'{"reason": null, "detail": ""}') + framed(argument.encode()))


def forge_head(argument: str) -> None:
    send(framed(argument.encode()))


def forge_two(argument: str) -> None:
    send(framed(b'{"reason": "damaged", "detail": ""}') * 2)


def babble(argument: str) -> None:
    send(b"\xff" * 100)


def send_half(argument: str) -> None:
    """Begin a reply, and never end it, the clock stopped."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    send(framed(b"x" * 100)[:50])


def send(data: bytes) -> None:
    os.write(int(sys.argv[1]), data)
    time.sleep(60)


def framed(frame: bytes) -> bytes:
    """As `multiprocessing.connection` does it."""
    return len(frame).to_bytes(4, "big") + frame


def look_around(argument: str) -> str:
    return " ".join(sorted(os.environ))


def try_to_get_out(argument: str) -> str:
    tries = (
        lambda: socket.create_connection(("127.0.0.1", 9)),
        lambda: subprocess.run(["true"], check=False),
        lambda: os.system("true"),
        lambda: Path(argument).write_text("x"),
        lambda: Path(argument).unlink(),
        fork,
    )
    return " ".join(refusal(attempt) for attempt in tries)


def fork() -> None:
    if not os.fork():
        os._exit(0)


def refusal(attempt: object) -> str:
    try:
        attempt()  # type: ignore[operator]
    except PermissionError:
        return "refused"
    return "done"


ACTS: dict[str, Callable[[str], str | None]] = {
    function.__name__: function
    for function in (
        say, segfault, poison, leave, leave_politely, hang_in_c, sleep, wait_for, take_memory, blame_the_file,
        take_memory_and_abort, hold_memory, reserve_memory, find_no_room, recurse, stumble, chatter, forge,
        forge_head, forge_two, babble, send_half, look_around, try_to_get_out,
    )
}  # fmt: skip


def nothing() -> None:
    """Load no models."""


def english(text: str, declared: str | None = None, title: str | None = None) -> list[LanguageShare]:
    return [LanguageShare("en", 1.0)]


if __name__ == "__main__":
    PARSERS["hostile"] = parse
    vars(worker)["load_models"] = nothing
    vars(parsing)["languages_of"] = english
    worker.main()
