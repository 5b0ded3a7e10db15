"""One parsing worker as its parent sees it: a process, the pipes to and from it, and its end.

What belongs here: starting it in a bare environment, sending and receiving without ever waiting, ending it.
What does not: what it is given and when (`pool`), and what it does (`worker`).
"""

import os
import resource
import select
import signal
import site
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import qa_pipeline
from qa_pipeline.documents.parsing import ParseOutcome
from qa_pipeline.documents.sandbox.protocol import LONGEST_HEAD, READ_AT_ONCE, Death, Message, MessageReader

# -P keeps the working folder, which may be the corpus, off the import path
COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "qa_pipeline.documents.sandbox.worker")

_PASSED_ON = frozenset(
    {
        "PATH",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "PYTHONPATH",
        "PYTHONHOME",
        "LD_LIBRARY_PATH",
        "TESSDATA_PREFIX",
    }
)
_ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
"""One thread and one heap: workers share the cores, and every thread's stack and heap counts as memory."""
_KEPT_OF_MESSAGES = 4096
_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in which the system counts the most memory a process has had."""


class WorkerProcess:
    """A worker that was started, which may still be on its way to being ready.

    `files` counts what it was given: only in a worker given nothing before is a crash surely the file's own.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            OSError: the system has no room for another process, or no file handles are left.
        """
        pipe = subprocess.PIPE
        watched, self._owned = os.pipe()  # nothing is ever written; it closes when this process ends
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [*command, str(watched)],
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=bare(environ),
                bufsize=0,
                process_group=0,
                pass_fds=(watched,),
            )
        except OSError:
            os.close(self._owned)
            raise
        finally:
            os.close(watched)
        # not before: what this process takes at the fork is what the worker is counted for, see `end`
        self._inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert self._process.stdin and self._process.stdout and self._process.stderr  # noqa: PT018, S101
        self._pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self.requests, self.replies, self._messages = (file.fileno() for file in self._pipes)
        for number in (self.requests, self.replies, self._messages):
            os.set_blocking(number, False)
        self._reader = MessageReader(LONGEST_HEAD, 0)
        self._outgoing: deque[memoryview] = deque()
        self._said = b""
        self._peak_seen = 0
        self._peak_when_ready = 0
        self._death: Death | None = None
        self.ready = False
        self.files = 0

    @property
    def gone(self) -> bool:
        """Whether it has ended, without taking note of its end."""
        asked = select.poll()
        asked.register(self.replies, 0)
        return any(event & select.POLLHUP for _, event in asked.poll(0))

    @property
    def sending(self) -> bool:
        """Whether part of a message is still on its way to it."""
        return bool(self._outgoing)

    def send(self, message: Sequence[bytes], longest_reply: int) -> None:
        """Give it a file; what the pipe does not take now goes by `send_on`."""
        self.files += 1
        self._note_messages()
        self._reader = MessageReader(LONGEST_HEAD, longest_reply)
        self._outgoing.extend(memoryview(piece) for piece in message if piece)
        self.send_on()

    def send_on(self) -> None:
        """Write as much as the pipe takes; that the worker is gone shows when its reply is read."""
        while self._outgoing:
            piece = self._outgoing[0]
            try:
                written = os.write(self.requests, piece)
            except BlockingIOError:
                return
            except BrokenPipeError:
                self._outgoing.clear()
                return
            self._outgoing[0] = piece[written:]
            if written == len(piece):
                self._outgoing.popleft()

    def receive(self) -> Message | None:
        """Read what has come; the message once it is whole.

        Raises:
            EOFError: the worker is gone.
            MessageError: what comes is no message.
        """
        while True:
            try:
                data = os.read(self.replies, READ_AT_ONCE)
            except BlockingIOError:
                return None
            if not data:
                raise EOFError
            message = self._reader.add(data)
            if message is not None:
                return message

    def got_ready(self) -> None:
        """Take note that it is ready, and of what it takes without a file."""
        self.ready = True
        self.note_memory()
        self._peak_when_ready = self._peak_seen

    def note_memory(self) -> None:
        """Look at the most memory it has had so far, where the system tells; see proc(5)."""
        status = Path(f"/proc/{self._process.pid}/status")
        try:
            lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return
        found = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "0")
        self._peak_seen = max(self._peak_seen, int(found) * 1024)

    def end(self) -> Death:
        """Kill it, if it has not ended, and learn how it ended; it holds nothing that could be lost."""
        if self._death is not None:
            return self._death
        # it was not waited for, so its number is still its own; its group is what it may have started
        os.killpg(self._process.pid, signal.SIGKILL)
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._note_messages()
        for pipe in self._pipes:
            pipe.close()
        os.close(self._owned)
        # what its parent took when it was started is counted as its own, see getrusage(2) on fork and exec
        peak = used.ru_maxrss * _UNIT if used.ru_maxrss > self._inherited else 0
        grown = max(peak, self._peak_seen) - self._peak_when_ready
        self._death = Death(self._process.returncode, grown, self._said)
        return self._death

    def _note_messages(self) -> None:
        """Keep the end of what it, or a library in it, has written as an error since it got its file."""
        self._said = b""
        while select.select([self._messages], [], [], 0)[0]:
            data = os.read(self._messages, READ_AT_ONCE)
            if not data:
                return
            self._said = (self._said + data)[-_KEPT_OF_MESSAGES:]


def bare(environ: Mapping[str, str]) -> dict[str, str]:
    """What a worker gets of an environment: where to find programs and modules, and no key of any service."""
    kept = {name: value for name, value in environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    root = str(Path(qa_pipeline.__file__).parents[1])
    if root not in (
        *site.getsitepackages(),
        site.getusersitepackages(),
    ):  # run from a checkout, which a worker has to find as well
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (kept.get("PYTHONPATH"), root)))
    return kept | _ALONE


_MOST = 1000
_MOST_BYTES = 100_000_000


@dataclass(slots=True)
class OutcomeQueue:
    """Outcomes by the number of their file, of which each leaves when all before it have left.

    A slow file lets those after it wait; how many, and of how many bytes, is bounded by whoever asks `full`.
    """

    _waiting: dict[int, tuple[ParseOutcome, int]] = field(default_factory=dict)
    _size: int = 0
    _following: int = 0

    @property
    def full(self) -> bool:
        """Whether so much waits that no further file should be begun."""
        return len(self._waiting) >= _MOST or self._size >= _MOST_BYTES

    def add(self, number: int, outcome: ParseOutcome, size: int) -> None:
        """Take the outcome of a file, counted from 0, and how many bytes it came in."""
        self._waiting[number] = (outcome, size)
        self._size += size

    def in_order(self) -> Iterator[ParseOutcome]:
        """Give out what has its turn."""
        while self._following in self._waiting:
            outcome, size = self._waiting.pop(self._following)
            self._size -= size
            self._following += 1
            yield outcome
