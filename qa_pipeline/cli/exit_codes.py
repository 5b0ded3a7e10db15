"""Turn errors and signals into exit codes."""

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
"""Exit codes: success, a result that needs attention, unusable input, and a provider that stopped the run."""
SIGNALLED = 128
"""Added to the number of a signal, as shells do: 129 SIGHUP, 130 SIGINT (Ctrl-C), 143 SIGTERM."""
GRACE_SECONDS = 5
"""Time a command has to end after a signal (`_interrupt`). Stored files are complete at any time."""
_REMEDY = "Finished work is kept; run the command again to continue."
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_received: list[int] = []
"""The signal that ends this process, added by `_interrupt`."""


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Print expected errors and signals as messages, and end with their exit codes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter the terminal lacks must not end a run
            stream.reconfigure(errors="backslashreplace")
    try:
        with _ending_at_signals():
            yield
    except PermanentModelError as error:
        sys.stderr.write(f"Stopped: {error}\n")
        raise typer.Exit(STOPPED) from error
    except QAPipelineError as error:
        sys.stderr.write(f"Error: {error}\n")
        raise typer.Exit(BAD_INPUT) from error


@atexit.register
def _end() -> None:
    """End the process after a signal: Python would wait for calls in flight."""
    if _received:
        os._exit(SIGNALLED + _received[0])


def _end_after_grace() -> None:
    """End the process even if its main thread waits outside of Python, where handlers never run."""
    time.sleep(GRACE_SECONDS)
    _end()


def _print_signal(number: int) -> None:
    with suppress(OSError):  # the terminal may be gone
        os.write(2, f"Stopped by {signal.Signals(number).name}. {_REMEDY}\n".encode())


def _interrupt(number: int, _: FrameType | None) -> None:
    """Raise KeyboardInterrupt at a signal, and end the process at the second or after GRACE_SECONDS."""
    if _received:
        os._exit(SIGNALLED + _received[0])
    _received.append(number)
    _print_signal(number)
    _thread.start_new_thread(_end_after_grace, ())
    raise KeyboardInterrupt


@contextmanager
def _ending_at_signals() -> Iterator[None]:
    """Handle signals by `_interrupt`, and end with the exit code of the signal, such as 130 for Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():  # others cannot handle signals
        yield
        return
    # nohup ignores SIGHUP, and it must stay ignored
    handled = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    earlier = {number: signal.signal(number, _interrupt) for number in handled}
    try:
        yield
    except BaseException as error:
        if _received:
            raise typer.Exit(SIGNALLED + _received[0]) from error
        if isinstance(error, Exception | SystemExit | GeneratorExit):
            raise
        # left are KeyboardInterrupt and Dagster's class for Ctrl-C, raised by its handler during a run
        _print_signal(signal.SIGINT)
        raise typer.Exit(SIGNALLED + signal.SIGINT) from error
    finally:
        if not _received:  # after a signal `_interrupt` stays, so that a second signal ends the process
            for number, handler in earlier.items():
                signal.signal(number, handler)
