"""Parse hostile files in processes, as a file may hang, fill or crash its parser.

A file that ends a used worker gets a second try in a new worker. A worker runs this module; its argument is
the number of a socket to the parent. A request is two frames: a head in JSON, and the file. A reply is `+`
and the result, or `-` and the reason of a failure.
"""

import gc
import json
import os
import re
import resource
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from traceback import walk_tb
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf.page_images import draw_page
from qa_pipeline.documents.parsing import ParseOutcome, ParseRequest, parse_file, read_columns
from qa_pipeline.errors import SandboxError
from qa_pipeline.records import SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.language import load_model
from qa_pipeline.text.words import clean

# -P keeps the working folder, which may be the corpus, off the import path
COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "qa_pipeline.documents.sandbox")
ReplyT = TypeVar("ReplyT")
Job = tuple[Mapping[str, object], bytes]  # the head of a request to a worker, and the file
UNUSABLE = DocumentFailure("parser_crashed", "the process that read it sent an unusable reply")
_MOST_WORKERS = 8  # by default: each takes the memory of an interpreter and of the parsers' libraries
_START_SECONDS = 120.0  # a worker loads models of languages, on a slow disk or a busy machine
_GRACE_SECONDS = 5.0  # a worker ends itself when the time of its file is over; if not, it is killed then
_MOST_WAITING = 1000  # outcomes behind a slow file
_LONGEST_REPLY = 500_000_000  # bytes; many times the longest text that is allowed by default
_STARTED = b""  # the first message of a worker, sent once it can read files; the others are replies
_FAILURE = TypeAdapter(tuple[Annotated[str, Field(pattern="^[a-z_]{1,40}$")], str])
# no keys of services; one thread and one heap, as every thread's stack and heap counts as memory
_PASSED_ON = {"PATH", "LANG", "TZ", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH", "TESSDATA_PREFIX"}
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


class Worker:
    """A process that reads files in turn.

    `multiprocessing` would pass on all keys in the environment, and run the caller's main module.
    """

    def __init__(self, environ: Mapping[str, str], command: Sequence[str] = COMMAND) -> None:
        self.file_count = 0
        self.deadline = 0.0  # of the file that it reads
        self._parse_seconds = 0.0  # allowed for that file
        self._is_ready = False  # has sent `_STARTED`
        self.connection, worker_end = Pipe()
        try:
            with worker_end:
                self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [*command, str(worker_end.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={name: value for name, value in environ.items() if name in _PASSED_ON} | _ONE_THREAD,
                    process_group=0,  # of its own, to be killed with the processes that it starts
                    pass_fds=(worker_end.fileno(),),
                )
        except OSError as error:
            raise _not_started(f"the system refused it ({error.strerror})") from error
        self.end = weakref.finalize(self, _end, self.process, self.connection)

    def give(self, job: Job, settings: DocumentSettings) -> None:
        """Send a file with its settings; a secret in them reaches the worker in this way alone."""
        settings_json = json.dumps(settings.model_dump(), default=lambda secret: secret.get_secret_value())
        self._parse_seconds = settings.parse_seconds
        start_seconds = 0 if self._is_ready else _START_SECONDS
        self.deadline = monotonic() + start_seconds + settings.parse_seconds + _GRACE_SECONDS
        self.file_count += 1
        with suppress(OSError):  # it has ended, which shows when its reply is read
            head, content = job
            self.connection.send_bytes(json.dumps({**head, "settings": settings_json}).encode())
            self.connection.send_bytes(content)

    def take(self, read: Callable[[bytes], ReplyT]) -> ReplyT | DocumentFailure | None:
        """Return the reply as `read` reads it, or a failure; None while the worker starts or reads.

        A worker that is late, has ended, or sends too long a reply gives a failure.
        """
        if not self.connection.poll():
            return None if monotonic() < self.deadline else self._end_with_failure()
        try:
            message = self.connection.recv_bytes(_LONGEST_REPLY)
        except (EOFError, OSError):  # the worker has ended, or the message is too long
            return self._end_with_failure()
        if message == _STARTED:
            self._is_ready = True
            return None
        try:
            if message.startswith(b"+"):
                return read(message[1:])
            reason, detail = _FAILURE.validate_json(message[1:])  # behind a `-`
            failure = DocumentFailure(reason, " ".join(clean(detail).split()))
        except ValueError:
            failure = UNUSABLE
        if _may_stem_from_earlier_files(failure):
            self.end()
        return failure

    def _end_with_failure(self) -> DocumentFailure:
        """End the worker, and return the failure of its file; raises a SandboxError if it never started."""
        self.end()  # kills the process if it still runs; one that has ended keeps its status
        is_reply_too_long = not self.connection.readable  # `recv_bytes` has made it unreadable
        if is_reply_too_long:
            return UNUSABLE
        status = self.process.returncode
        how = f"it ended with status {status}" if status >= 0 else signal.strsignal(-status) or "a signal"
        if not self._is_ready:
            raise _not_started(how)
        is_late = monotonic() > self.deadline  # so `end` may have killed it
        if status == -signal.SIGALRM or is_late:  # its own alarm (`main`) comes before the deadline
            limit = f"documents.parse_seconds = {self._parse_seconds:g}"
            return DocumentFailure("timed_out", f"parsing took longer than {limit}")
        if status == -signal.SIGKILL:  # it ended before its deadline, so not by `end`
            detail = "the system ended the process that parsed it, as it does when memory runs out"
            return DocumentFailure("out_of_memory", detail)
        return DocumentFailure("parser_crashed", f"the parser crashed its process: {how}")


class ParsingPool:
    """Workers that start when needed and are kept between calls; idle workers end by themselves."""

    def __init__(self, environ: Mapping[str, str], command: Sequence[str] = COMMAND) -> None:
        self.environ = environ
        self.command = command
        self.idle: list[Worker] = []

    def parse(self, requests: Iterable[ParseRequest], settings: DocumentSettings) -> Iterator[ParseOutcome]:
        """Parse files; see `run`."""
        jobs = (
            ({"path": request.source.path, "format": request.format}, request.source.content)
            for request in requests
        )
        return self.run(jobs, settings, read_columns)

    def run(
        self, jobs: Iterable[Job], settings: DocumentSettings, read: Callable[[bytes], ReplyT]
    ) -> Iterator[ReplyT | DocumentFailure]:
        """Read files in up to `parse_workers` processes; outcomes come in the order of the jobs.

        A job is taken when a worker is free, so few contents are in memory. `read` reads a reply and raises
        ValueError for an unusable one. Raises a SandboxError if a worker cannot be started.
        """
        most = settings.parse_workers or min(os.cpu_count() or 1, _MOST_WORKERS)
        numbered_jobs = enumerate(jobs)
        busy: dict[Worker, tuple[int, Job]] = {}  # the number of each job, and the job
        outcomes: dict[int, ReplyT | DocumentFailure] = {}  # some wait for an earlier file
        next_number = 0
        try:
            while True:
                free = most - len(busy) if len(outcomes) < _MOST_WAITING else 0
                for number, job in islice(numbered_jobs, free):
                    busy[self._start(job, settings)] = number, job
                if not busy:
                    return
                soonest = min(worker.deadline for worker in busy)
                wait([worker.connection for worker in busy], max(0, soonest - monotonic()))
                for worker, (number, job) in list(busy.items()):
                    outcome = worker.take(read)
                    if outcome is None:  # not finished
                        continue
                    del busy[worker]
                    self.idle.append(worker)  # if it has ended, `_start` will drop it
                    # an earlier file may be the cause: try once more in a new worker
                    if worker.file_count > 1 and _may_stem_from_earlier_files(outcome):
                        busy[self._start(job, settings, fresh=True)] = number, job
                    else:
                        outcomes[number] = outcome
                while next_number in outcomes:
                    yield outcomes.pop(next_number)
                    next_number += 1
        finally:
            for worker in busy:
                worker.end()

    def close(self) -> None:
        """End the idle workers."""
        while self.idle:
            self.idle.pop().end()

    def _start(self, job: Job, settings: DocumentSettings, *, fresh: bool = False) -> Worker:
        """Give a job to the last idle worker that can read it, or to a new one."""
        while self.idle and not fresh:
            connection = self.idle[-1].connection
            is_usable = not (connection.closed or connection.poll())  # it may have died, or send unasked
            if is_usable:
                break
            self.idle.pop().end()
        worker = self.idle.pop() if self.idle and not fresh else Worker(self.environ, self.command)
        worker.give(job, settings)
        return worker


def _end(process: "subprocess.Popen[bytes]", connection: "Connection[bytes, bytes]") -> None:
    if process.returncode is None:  # not waited for, so its number is still its own
        with suppress(OSError):  # macOS refuses to signal a process that has just ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    connection.close()


def _may_stem_from_earlier_files(outcome: object) -> bool:
    """Return True for a failure that earlier files of the worker may have caused."""
    return isinstance(outcome, DocumentFailure) and outcome.reason in ("parser_crashed", "out_of_memory")


def _not_started(cause: str) -> SandboxError:
    advice = "if memory is short, end other programs or set documents.parse_workers to 1"
    return SandboxError(f"no process can be started to parse files in: {cause}; {advice}")


_IDLE_SECONDS = 60.0  # then its memory is worth more than the start of another
_NEARLY = 0.9  # of the memory allowed: libraries often call a file damaged when they get no more


def main() -> None:
    """Read files until the parent has ended, or after an idle time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends its workers
    connection = Connection(int(sys.argv[1]))
    load_model()  # now, because writing its temporary file may be forbidden later
    gc.freeze()  # loaded modules stay, so that collections can skip them
    gc.set_threshold(100_000, 20, 100)  # rarer than usual: a parser's tree is garbage all at once
    connection.send_bytes(_STARTED)
    while connection.poll(_IDLE_SECONDS):
        try:
            head, content = json.loads(connection.recv_bytes()), connection.recv_bytes()
        except EOFError:
            return
        settings = DocumentSettings.model_validate_json(head["settings"])
        signal.setitimer(signal.ITIMER_REAL, settings.parse_seconds)
        limits = {resource.RLIMIT_AS: settings.parse_memory, resource.RLIMIT_CORE: 0}
        limits[resource.RLIMIT_FSIZE] = sys.maxsize if settings.ocr else 0  # only Tesseract writes files
        for limit, value in limits.items():
            _, hard = resource.getrlimit(limit)
            soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(limit, (soft, hard))
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
    status = Path("/proc/self/status")  # of Linux; `VmPeak` is the most address space so far, in KiB
    peak = re.search(rb"VmPeak:\s+(\d+)", status.read_bytes()) if status.is_file() else None
    takes_all_memory = peak is not None and int(peak[1]) * 1024 > _NEARLY * settings.parse_memory
    if failure.reason == "out_of_memory" or takes_all_memory:
        limit = f"documents.parse_memory = {settings.parse_memory} bytes"
        failure = DocumentFailure("out_of_memory", f"parsing takes more than {limit}")
    return b"-" + json.dumps([failure.reason, failure.detail]).encode()


def _failure_of(error: BaseException) -> DocumentFailure:
    """Return the failure that an exception means; its message is left out, as it may quote the document."""
    causes = error, error.__cause__, error.__context__
    if any(isinstance(cause, MemoryError) for cause in causes):
        return DocumentFailure("out_of_memory", "")
    if any(isinstance(cause, RecursionError) for cause in causes):
        return DocumentFailure("nested_too_deep", "the file is nested too deep for its parser")
    frame, line = list(walk_tb(error.__traceback__))[-1]  # where it was raised
    location = f"{frame.f_globals.get('__name__')} line {line}"
    return DocumentFailure("parser_error", f"the parser failed with {type(error).__qualname__} in {location}")


def _read(head: Mapping[str, Any], content: bytes, settings: DocumentSettings) -> bytes:
    """Return the columns of a file as JSON, or a page of a PDF as PNG."""
    if "format" in head:
        request = ParseRequest(SourceFile(head["path"], content), head["format"])
        return json.dumps(parse_file(request, settings), ensure_ascii=False).encode()
    return draw_page(content, head["number"], head["text"], head["evidence"])


if __name__ == "__main__":
    main()
