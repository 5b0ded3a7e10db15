"""Which error or signal ends a command with which code."""

import _thread
import atexit
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import typer

from qa_pipeline.errors import PermanentModelError, QAPipelineError

OK, FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 3
"""Exit codes, for scripts: a run that failed, input that cannot be used, a run that can go on later."""
SIGNALLED = 128
"""Added to the number of a signal, as shells do: 129 SIGHUP, 130 SIGINT (Ctrl-C), 143 SIGTERM."""
_came: list[int] = []
"""The signal that ends this process."""
_ENDS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

GRACE_SECONDS = 5
"""The time a command may take to end after a signal; then the process ends. What is stored is whole."""


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
        with _ending_at_signals(resumable=resumable):
            yield
    except PermanentModelError as error:
        sys.stderr.write(f"Stopped: {error}\n")
        raise typer.Exit(STOPPED) from error
    except QAPipelineError as error:
        sys.stderr.write(f"Error: {error}\n")
        raise typer.Exit(BAD_INPUT) from error


@atexit.register
def _end() -> None:
    """End a process that got a signal: calls in flight would hold up what Python does after this."""
    if _came:
        os._exit(SIGNALLED + _came[0])


def _end_after_grace() -> None:
    """End the process though its main thread may wait outside of Python, where no handler runs."""
    time.sleep(GRACE_SECONDS)
    _end()


@contextmanager
def _ending_at_signals(*, resumable: bool) -> Iterator[None]:
    """Raise KeyboardInterrupt at a signal; end the process at the second one, or after GRACE_SECONDS."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    advice = " What was finished is kept; run the same command again to continue from there."

    def say(number: int) -> None:
        words = f"Stopped by {signal.Signals(number).name}.{advice if resumable else ''}\n"
        with suppress(OSError):  # the terminal may be gone
            os.write(2, words.encode())

    def interrupt(number: int, _: FrameType | None) -> None:
        if _came:
            os._exit(SIGNALLED + _came[0])
        _came.append(number)
        say(number)
        _thread.start_new_thread(_end_after_grace, ())
        raise KeyboardInterrupt

    ends = [number for number in _ENDS if signal.getsignal(number) != signal.SIG_IGN]  # of nohup
    earlier = {number: signal.signal(number, interrupt) for number in ends}
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception | SystemExit | GeneratorExit) and not _came:
            raise
        if not _came:  # Dagster takes signals while a run lasts, and raises an error of its own
            say(signal.SIGINT)
        raise typer.Exit(SIGNALLED + (_came[0] if _came else signal.SIGINT)) from error
    finally:
        if not _came:
            for number, handler in earlier.items():
                signal.signal(number, handler)
