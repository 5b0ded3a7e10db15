"""A process that parses hostile files one after another: `python -m qa_pipeline.documents.workers.worker`.

What belongs here: what this process may take and do, and turning whatever a parser does into a reply. What
does not: the parent's side (`pool`) and parsing itself (`parsing`).

It reads requests from its standard input and writes replies to its standard output, as `messages` frames
them; both are moved away before a library could write there. Its argument is the number of a pipe to which
the parent writes nothing: when that closes it ends, whatever it is doing.
"""

import json
import os
import select
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.language import load_models
from qa_pipeline.documents.parsing import ParseRequest, parse_file
from qa_pipeline.documents.workers.limits import MemoryLimit, Rights, ending_on_close, within_time
from qa_pipeline.documents.workers.messages import READ_AT_ONCE, Message, MessageReader, framed
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings

_IDLE_SECONDS = 60.0
_LONGEST_DETAIL = 1000
_ANY_LENGTH = 1 << 40
"""The parent has bounded what it sends."""
_PACKAGE = "qa_pipeline."
_NO_ROOM = ("failed to map segment", "Cannot allocate memory")
"""What the loader of the system says of memory."""


def main() -> None:
    """Serve until the parent closes the pipe, or nothing has come for a while."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and says what is to end
    line = _Line.taken_over()
    try:
        load_models()
    except QAPipelineError as error:
        sys.exit(str(error))
    rights, memory = Rights(), MemoryLimit()
    line.say("ready")
    for message in line.requests():
        with ending_on_close(int(sys.argv[1])):
            reply, last = _answer(message, rights, memory)
        line.send(reply)
        if last:
            return


def _answer(message: Message, rights: Rights, memory: MemoryLimit) -> tuple[list[bytes], bool]:
    """The reply to a request, and whether this process should end with it."""
    head = json.loads(message.head)
    settings = _settings(head["settings"])
    request = ParseRequest(SourceFile(head["path"], message.body), head["format"])
    rights_lent = rights.of(programs=settings.ocr)  # Tesseract is a program
    with within_time(settings.parse_seconds), memory.of(settings.parse_memory), rights_lent:
        outcome = _attempt(request, settings, head["longest_reply"])
        if isinstance(outcome, DocumentFailure) and memory.reached:
            outcome = _out_of_memory(settings)  # many a library calls a file damaged when memory runs out
    last = memory.outgrown
    if isinstance(outcome, DocumentFailure):
        detail = outcome.detail[:_LONGEST_DETAIL]
        last = last or outcome.reason == "out_of_memory"
        return framed({"says": "failed", "reason": outcome.reason, "detail": detail, "last": last}), last
    return framed({"says": "parsed", "last": last}, outcome), last


@lru_cache(maxsize=1)
def _settings(written: str) -> DocumentSettings:
    """Settings come with every request and seldom change."""
    return DocumentSettings.model_validate_json(written)


def _attempt(request: ParseRequest, settings: DocumentSettings, longest: int) -> bytes | DocumentFailure:
    """The columns of a file as JSON, or why there are none, whatever its parser raises."""
    try:
        columns = json.dumps(parse_file(request, settings), ensure_ascii=False).encode()
    except DocumentFailure as failure:
        return failure
    except BaseException as error:  # noqa: BLE001 - this process is there to hold whatever a parser throws
        return _named(error, settings)
    if len(columns) > longest:  # every section repeats the headings above it
        return DocumentFailure(
            "too_long", f"text and headings of all sections take more than {longest} bytes"
        )
    return columns


def _named(error: BaseException, settings: DocumentSettings) -> DocumentFailure:
    """What an exception means for a file; its message is left out, since it may quote the document."""
    causes = list(_causes(error))
    if any(isinstance(cause, MemoryError) or _found_no_room(cause) for cause in causes):
        return _out_of_memory(settings)
    if any(isinstance(cause, RecursionError) for cause in causes):
        return DocumentFailure("nested_too_deep", "the file is nested deeper than its parser can follow")
    if isinstance(error, SystemExit):
        return DocumentFailure("parser_crashed", "the parser asked its process to end")
    kind, place = type(error).__qualname__, _place(error.__traceback__)
    return DocumentFailure("parser_error", f"the parser failed with {kind} in {place}")


def _found_no_room(error: BaseException) -> bool:
    """Whether a library could not be loaded because there was no memory for it."""
    return isinstance(error, ImportError) and any(words in str(error) for words in _NO_ROOM)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and those it came from; a chain may be led in a circle."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _place(trace: TracebackType | None) -> str:
    """Module and line where it was raised, and the last ones of this package on the way there."""
    places: list[str] = []
    while trace is not None:
        places.append(f"{trace.tb_frame.f_globals.get('__name__', 'unknown')} line {trace.tb_lineno}")
        trace = trace.tb_next
    ours = [place for place in places if place.startswith(_PACKAGE)]
    if not places:
        return "an unknown place"
    return places[-1] if not ours or ours[-1] == places[-1] else f"{places[-1]}, called in {ours[-1]}"


def _out_of_memory(settings: DocumentSettings) -> DocumentFailure:
    limit = f"documents.parse_memory = {settings.parse_memory} bytes"
    return DocumentFailure("out_of_memory", f"parsing took more than {limit}")


@dataclass(frozen=True, slots=True)
class _Line:
    """The two pipes to the parent."""

    incoming: int
    outgoing: int

    @classmethod
    def taken_over(cls) -> "_Line":
        """Move the pipes to numbers no library knows; what is printed goes to the pipe for errors.

        That pipe takes what the parent has room for and loses the rest; libraries never wait for it.
        """
        line = cls(os.dup(0), os.dup(1))
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        os.set_blocking(2, False)
        return line

    def requests(self) -> Iterator[Message]:
        """Requests until the parent closes the pipe, or lets this process wait for too long."""
        reader = MessageReader(_ANY_LENGTH, _ANY_LENGTH)
        waiting = select.poll()
        waiting.register(self.incoming, select.POLLIN)
        while True:
            if not waiting.poll(_IDLE_SECONDS * 1000):
                self.say("left")
                return
            data = os.read(self.incoming, READ_AT_ONCE)
            if not data:
                return
            message = reader.add(data)
            if message is not None:
                yield message

    def say(self, what: str) -> None:
        """Send a message without a file."""
        self.send(framed({"says": what}))

    def send(self, pieces: list[bytes]) -> None:
        """Write a message; when nobody reads it any more, there is nothing left to do here."""
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                try:
                    rest = rest[os.write(self.outgoing, rest) :]
                except BrokenPipeError:
                    os._exit(1)


if __name__ == "__main__":
    main()
