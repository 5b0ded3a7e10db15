"""Which error or signal ends a command with which code."""

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import typer

from qa_pipeline.errors import PermanentModelError, QAPipelineError

OK, FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 3
"""Exit codes, for scripts: a run that failed, input that cannot be used, a run that can go on later."""
SIGNALLED = 128
"""Added to the number of a signal, as shells do: 129 SIGHUP, 130 SIGINT (Ctrl-C), 143 SIGTERM."""

GRACE_SECONDS = 5.0
"""The time a command may take to end after a signal; then the process ends whatever it is doing."""
_SIGNALS = {
    signal.SIGHUP: "because its terminal was closed (SIGHUP)",
    signal.SIGINT: "by Ctrl-C (SIGINT)",
    signal.SIGTERM: "by SIGTERM",
}
_RESUMABLE = " What was finished is kept; run the same command again to continue from there."
_SHOW_CURSOR = b"\x1b[?25h"


@contextmanager
def errors_as_exit_codes(*, resumable: bool = False) -> Iterator[None]:
    """Turn the errors raised on purpose, and signals, into a message and a code; anything else is a fault.

    Args:
        resumable: whether the command, run again, continues where a signal stopped it.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter the terminal lacks must not end a run
            stream.reconfigure(errors="backslashreplace")
    try:
        with _ending_at_signals(_RESUMABLE if resumable else ""):
            yield
    except PermanentModelError as error:
        sys.stderr.write(f"Stopped: {error}\n")
        raise typer.Exit(STOPPED) from error
    except QAPipelineError as error:
        sys.stderr.write(f"Error: {error}\n")
        raise typer.Exit(BAD_INPUT) from error


@contextmanager
def _ending_at_signals(advice: str) -> Iterator[None]:
    """Raise KeyboardInterrupt at a signal, and end the process if that does not end the command soon.

    The interrupt cannot reach code of C libraries, waits for calls in flight, and other handlers (Dagster
    sets its own while a run lasts) may lose it. A thread therefore reads the signals as well, and ends the
    process after `GRACE_SECONDS` or at the second signal. That loses nothing: whatever is stored is stored
    whole, as it is for a process that is killed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = _Ending(advice)
    earlier = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in ending.heeded:
        signal.signal(number, ending.interrupt)
    earlier_wakeup = signal.set_wakeup_fd(ending.written, warn_on_full_buffer=False)
    threading.Thread(target=ending.watch, name="signals", daemon=True).start()
    try:
        yield
    except BaseException as error:
        if not (ending.came or isinstance(error, KeyboardInterrupt)):
            raise
        raise typer.Exit(ending.end()) from error
    finally:
        signal.set_wakeup_fd(earlier_wakeup)
        for number, handler in earlier.items():
            signal.signal(number, handler)
        ending.close()


class _Ending:
    """The signals that came, as handlers and a thread see them."""

    def __init__(self, advice: str) -> None:
        self.heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # nohup
        self._advice = advice
        self._number: int | None = None
        self._lock = threading.Lock()
        self._said = False
        self._read, self.written = os.pipe()
        for end in (self._read, self.written):
            os.set_blocking(end, False)

    def interrupt(self, number: int, _: FrameType | None) -> None:
        """Raise the interrupt where the main thread is."""
        if number in self.heeded:  # Dagster gives SIGTERM the handler of SIGINT when a run is over
            self._number = self._number or number
            raise KeyboardInterrupt

    def watch(self) -> None:
        """Wait for signals; end the process at the second one, or when the first had its time."""
        while True:
            waits = None if self._number is None else GRACE_SECONDS
            ready, _, _ = select.select([self._read], [], [], waits)
            number = os.read(self._read, 1)[0] if ready else None
            if number == 0:
                os.close(self._read)
                os.close(self.written)
                return
            if number is None or (number in self.heeded and self._number is not None and waits is not None):
                os._exit(self.say())
            if number in self.heeded:
                self._number = number

    def say(self) -> int:
        """Report once what happened; return the exit code."""
        number = self._number or signal.SIGINT
        with self._lock:
            message, self._said = self._said, True
        if not message:
            words = f"Stopped {_SIGNALS[signal.Signals(number)]}.{self._advice}\n".encode()
            with suppress(OSError):  # the terminal may be gone
                os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + words)
        return SIGNALLED + number

    @property
    def came(self) -> bool:
        """Return whether there was a signal; an error raised after one is its consequence."""
        return self._number is not None

    def end(self) -> int:
        """Report what happened; return the exit code. Without a terminal the process ends here."""
        code = self.say()
        if self._number == signal.SIGHUP:
            os._exit(code)
        return code

    def close(self) -> None:
        """Let the thread end, unless a signal came: then it sees to it that the process ends."""
        if self._number is None:
            os.write(self.written, b"\0")
