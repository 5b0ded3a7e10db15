"""Answered requests of a RAG service into a log, without making the service wait or fail.

`observe` hands a request to one thread that writes; what it cannot take is dropped and counted, and the log
says how many. Only the standard library is imported here: services import this module.
"""

import atexit
import functools
import hashlib
import json
import logging
import os
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from typing import Any

DROPPED = "dropped"
"""Field of the lines that tell how many requests were dropped, by reason."""
CONTEXT_FIELDS = ("text", "document", "rank", "score")
Context = str | Mapping[str, Any]
Redact = Callable[[str], str]
_Request = tuple[str, dict[str, Any]]
"""The UTC day of a request and its fields."""

_MOST_WAITING = 500
"""Requests that wait for the writing thread; a disk that hangs must not fill the memory of the service."""
_LONGEST_LINE = 1_000_000
"""Bytes; what reads logs leaves longer lines out."""
_CLOSING_SECONDS = 5.0
"""How long the end of a process waits for the writing thread."""
_LOG = logging.getLogger("qa_pipeline.monitoring")


def is_sampled(request_id: str, share: float) -> bool:
    """Return whether a request is sampled, in every process alike; a smaller share is a subset.

    The first eight bytes of the SHA-256 of the id, as a fraction of 2**64, lie below the share.
    """
    digest = hashlib.sha256(request_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


class Observer:
    """A writer of a sample of requests: a sub-folder for each day, a file for each process.

    `dropped` counts the requests that this process dropped, by reason: `queue_full`, `unusable` (a value of
    another kind, or a text that could not be redacted), `too_long` and `not_written`.

    Args:
        folder: of the logs; `<day>/<process>.jsonl` is made when the first request is written.
        share: of the requests, by `is_sampled`.
        redact: applied to the query, the answer, the texts of contexts and the error before they are written;
            a request for which it raises is dropped. It runs in the writing thread.

    Files are readable by their owner only, since texts may be personal.
    """

    def __init__(self, folder: Path | str, share: float = 0.05, redact: Redact | None = None) -> None:
        self.folder = Path(folder)
        self.share = share
        self._redact = redact
        self._begin()
        os.register_at_fork(after_in_child=self._begin)
        atexit.register(self.close)

    def _begin(self) -> None:
        """Start anew: in a forked child the thread is gone, and a lock may be held by nobody."""
        self._lock = threading.RLock()
        self._waiting: Queue[_Request | None] = Queue()
        self._thread: threading.Thread | None = None
        self._file = f"{os.getpid()}-{uuid.uuid4().hex[:12]}.jsonl"
        self._warned = False
        self.dropped: Counter[str] = Counter()
        self._told: Counter[str] = Counter()

    def observe(
        self,
        request_id: str,
        query: str,
        answer: str | None,
        contexts: Iterable[Context] = (),
        citations: Iterable[str] = (),
        *,
        seconds: float | None = None,
        error: str | None = None,
        model: str | None = None,
        time: datetime | None = None,
    ) -> bool:
        """Hand over one answered request; True where it is kept.

        Never raises and never waits for a disk: what cannot be taken is counted in `dropped`.

        Args:
            request_id: decides with the share whether the request is kept.
            query: what was asked.
            answer: what was answered; None where nothing was.
            contexts: passages in their order, as texts or as mappings of text, document, rank and score.
            citations: names of documents or passages that the answer cites.
            seconds: what the answer took.
            error: what went wrong, where something did.
            model: who answered.
            time: of the request, now by default; the log of its UTC day has it.
        """
        try:
            if not is_sampled(request_id, self.share):
                return False
            moment = (time or datetime.now(UTC)).astimezone(UTC)
            row = {
                "id": request_id,
                "time": moment.isoformat(),
                "query": query,
                "answer": answer,
                "contexts": [
                    {"text": context} if isinstance(context, str) else dict(context) for context in contexts
                ],
                "citations": list(citations),
                "seconds": seconds,
                "error": error,
                "model": model,
            }
            return self._put(moment.date().isoformat(), row)
        except Exception:  # noqa: BLE001 - a service must not fail over what watches it
            self._drop("unusable")
            return False

    def _put(self, day: str, row: dict[str, Any]) -> bool:
        with self._lock:
            if self._waiting.qsize() >= _MOST_WAITING:
                self._drop("queue_full")
                return False
            self._waiting.put((day, row))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._write_all, args=(self._waiting,), name="qa_pipeline-observe", daemon=True
                )
                self._thread.start()
        return True

    def _drop(self, reason: str) -> None:
        with self._lock:
            self.dropped[reason] += 1

    def close(self) -> None:
        """Write what waits, then end the thread; called when the process ends."""
        with self._lock:
            thread, waiting = self._thread, self._waiting
            self._thread, self._waiting = None, Queue()
        waiting.put(None)
        if thread is None:
            self._write_all(waiting)
        else:
            thread.join(_CLOSING_SECONDS)

    def _write_all(self, waiting: "Queue[_Request | None]") -> None:
        while (taken := waiting.get()) is not None:
            self._write(*taken)
            if waiting.empty():
                self._tell_dropped()
        self._tell_dropped()

    def _write(self, day: str, row: dict[str, Any]) -> None:
        try:
            line = self._line(row)
        except Exception:  # noqa: BLE001 - values of any kind may be in a request
            self._drop("unusable")
        else:
            if len(line) > _LONGEST_LINE:
                self._drop("too_long")
            elif not self._append(day, line):
                self._drop("not_written")

    def _line(self, row: dict[str, Any]) -> bytes:
        """Return one line of UTF-8, half characters replaced; contexts have no other fields than logs."""
        contexts = [{name: context.get(name) for name in CONTEXT_FIELDS} for context in row["contexts"]]
        texts = [
            (row, "query"),
            (row, "answer"),
            (row, "error"),
            *((context, "text") for context in contexts),
        ]
        for holder, name in texts:
            if self._redact is not None and holder[name] is not None:
                holder[name] = self._redact(holder[name])
        # numbers of other libraries, such as a score of numpy, are floats
        text = json.dumps({**row, "contexts": contexts}, ensure_ascii=False, default=float)
        return text.encode("utf-8", "replace") + b"\n"

    def _tell_dropped(self) -> None:
        with self._lock:
            unreported = self.dropped - self._told
        if unreported:
            now = datetime.now(UTC)
            line = json.dumps({"time": now.isoformat(), DROPPED: unreported}).encode() + b"\n"
            if self._append(now.date().isoformat(), line):
                self._told += unreported

    def _append(self, day: str, line: bytes) -> bool:
        """Add a line to the file of a day; a failure is told once, and each later line is tried again."""
        path = self.folder / day / self._file
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            with path.open("ab") as file:
                file.write(line)
        except OSError as error:
            if not self._warned:
                self._warned = True
                _LOG.warning("requests cannot be logged to %s: %s; they are counted", self.folder, error)
            return False
        return True


_default: Observer | None = None
_starting = threading.Lock()


def start_observing(
    folder: Path | str | None = None, share: float | None = None, redact: Redact | None = None
) -> Observer:
    """Return the observer that `observe` uses; called once when a service starts.

    Args:
        folder: of the logs; the setting `monitoring.logs` by default.
        share: of the requests; the setting `monitoring.share` by default.
        redact: as for `Observer`.

    Raises:
        SettingsError: the settings are needed and cannot be used, or name no folder.
    """
    global _default  # noqa: PLW0603 - one observer a process is the point
    if folder is None or share is None:
        from qa_pipeline.errors import SettingsError
        from qa_pipeline.settings.tree import load_settings

        settings = load_settings().monitoring
        folder = settings.logs if folder is None else folder
        share = settings.share if share is None else share
        if folder is None:
            raise SettingsError("no folder for logs is named; set monitoring.logs or name it here")
    with _starting:
        if _default is not None:
            _default.close()
        _default = Observer(folder, share, redact)
        return _default


def observe(
    request_id: str,
    query: str,
    answer: str | None,
    contexts: Sequence[Context] = (),
    citations: Sequence[str] = (),
    **more: Any,
) -> bool:
    """Log one answered request for evaluation, where it is in the sample; never raises, never waits.

    Arguments are those of `Observer.observe`. Without `start_observing` before, the first call reads the
    settings, which takes a moment. Where they name no folder nothing is kept; that is said once, and nothing
    is raised.
    """
    observer = _default or _started()
    return observer is not None and observer.observe(request_id, query, answer, contexts, citations, **more)


@functools.cache
def _started() -> Observer | None:
    try:
        return start_observing()
    except Exception as error:  # noqa: BLE001 - a service must not fail over what watches it
        _LOG.warning("requests are not observed: %s", error)
        return None
