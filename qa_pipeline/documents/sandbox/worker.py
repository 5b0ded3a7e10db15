"""Parse hostile files in turn: `python -m qa_pipeline.documents.sandbox.worker`.

The argument is the number of a socket to the parent. A request is two frames: a head in JSON, and the file. A
reply is `+` and the result, or `-` and the reason of a failure.
"""

import gc
import json
import re
import signal
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_CORE, RLIMIT_FSIZE, getrlimit, setrlimit
from traceback import walk_tb
from typing import Any

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.page_images import draw_page
from qa_pipeline.documents.parsing import ParseRequest, parse_file
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import load_models

_IDLE_SECONDS = 60.0  # then its memory is worth more than the start of another
_NEARLY = 0.9  # of the memory allowed: libraries often call a file damaged when they get no more


def main() -> None:
    """Read files until the parent has ended, or after an idle time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends its workers
    connection = Connection(int(sys.argv[1]))
    load_models()
    gc.freeze()  # loaded modules stay, so that collections can skip them
    gc.set_threshold(100_000, 20, 100)  # rarer than usual: a parser's tree is garbage all at once
    connection.send_bytes(b"")
    while connection.poll(_IDLE_SECONDS):
        try:
            head, content = json.loads(connection.recv_bytes()), connection.recv_bytes()
        except EOFError:
            return
        settings = DocumentSettings.model_validate_json(head["settings"])
        signal.setitimer(signal.ITIMER_REAL, settings.parse_seconds)
        writes = sys.maxsize if settings.ocr else 0  # as Tesseract does
        limits = {RLIMIT_AS: settings.parse_memory, RLIMIT_CORE: 0, RLIMIT_FSIZE: writes}
        for name, value in limits.items():
            hard = getrlimit(name)[1]
            setrlimit(name, (value if hard == RLIM_INFINITY else min(value, hard), hard))
        connection.send_bytes(_reply(head, content, settings))
        signal.setitimer(signal.ITIMER_REAL, 0)


def _reply(head: Mapping[str, Any], content: bytes, settings: DocumentSettings) -> bytes:
    """Return `+` and the result of a request, or `-` and the reason of its failure."""
    try:
        return b"+" + _read(head, content, settings)
    except DocumentFailure as error:
        failure = error
    except BaseException as error:  # noqa: BLE001 - this process is there to hold whatever a parser throws
        failure = _failure_of(error)
    if failure.reason == "out_of_memory" or _peak_memory() > _NEARLY * settings.parse_memory:
        limit = f"documents.parse_memory = {settings.parse_memory} bytes"
        failure = DocumentFailure("out_of_memory", f"parsing takes more than {limit}")
    return b"-" + json.dumps([failure.reason, failure.detail]).encode()


def _peak_memory() -> int:
    """Return the most bytes of address space so far; 0 if the system does not tell."""
    status = Path("/proc/self/status")
    peak = re.search(rb"VmPeak:\s+(\d+)", status.read_bytes()) if status.is_file() else None
    return int(peak[1]) * 1024 if peak else 0


def _failure_of(error: BaseException) -> DocumentFailure:
    """Return the failure that an exception means; its message is left out, as it may quote the document."""
    causes = error, error.__cause__, error.__context__
    if any(isinstance(cause, MemoryError) for cause in causes):
        return DocumentFailure("out_of_memory", "")
    if any(isinstance(cause, RecursionError) for cause in causes):
        return DocumentFailure("nested_too_deep", "the file is nested deeper than its parser can follow")
    frame, line = list(walk_tb(error.__traceback__))[-1]
    location = f"{frame.f_globals.get('__name__')} line {line}"
    detail = f"the parser failed with {type(error).__qualname__} in {location}"
    return DocumentFailure("parser_error", detail)


def _read(head: Mapping[str, Any], content: bytes, settings: DocumentSettings) -> bytes:
    """Return the columns of a file as JSON, or a page of a PDF as PNG."""
    if "format" in head:
        request = ParseRequest(SourceFile(head["path"], content), head["format"])
        return json.dumps(parse_file(request, settings), ensure_ascii=False).encode()
    number, text = head["number"], head["text"]
    return draw_page(content, number, text, (0, len(text)), evidence=head["evidence"])


if __name__ == "__main__":
    main()
