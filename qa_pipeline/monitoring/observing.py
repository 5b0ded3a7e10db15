"""Answered requests of a RAG service into a log, without making the service wait or fail.

`observe` hands a request to one thread that writes; what it cannot take is dropped and counted, and the log
says how many. Only the standard library is imported here: services import this module.
"""

import atexit
import hashlib
import json
import logging
import math
import os
import threading
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FORMAT = 1
DROPPED = "dropped"
"""Field of the lines that tell how many requests were dropped, by reason."""
CONTEXT_FIELDS = ("text", "document", "rank", "score")
Context = str | Mapping[str, Any]
Redact = Callable[[str], str]

_MOST_WAITING = 2_000
_MOST_CHARACTERS = 64_000_000
_LONGEST_LINE = 1_000_000
"""Bytes; what reads logs leaves longer lines out."""
_CLOSING_SECONDS = 5.0
_LOG = logging.getLogger("qa_pipeline.monitoring")


def is_sampled(request_id: str, share: float) -> bool:
    """Whether a request is kept: the same in every process, and a smaller share keeps a part of a larger.

    The first eight bytes of the SHA-256 of the id, as a fraction of 2**64, lie below the share.
    """
    if share >= 1:
        return True
    digest = hashlib.sha256(request_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


class Observer:
    """Writes a sample of requests below a folder: a sub-folder for each day, a file for each process.

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
        self._changed = threading.Condition()
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque()
        self._characters = 0
        self._busy = False
        self._closed = False
        self._warned = False
        self._dropped: Counter[str] = Counter()
        self._untold: Counter[str] = Counter()
        self._file = f"{os.getpid()}-{uuid.uuid4().hex[:12]}.jsonl"
        self._open: tuple[str, int] | None = None
        self._thread: threading.Thread | None = None

    @property
    def dropped(self) -> dict[str, int]:
        """Requests that this process dropped, by reason.

        Reasons: `queue_full`, `unusable`, `redaction_failed`, `too_long` and `not_written`.
        """
        with self._changed:
            return dict(self._dropped)

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
            given = [one if isinstance(one, str) else dict(one) for one in contexts]
            row = {
                "id": request_id,
                "time": moment.isoformat(),
                "query": query,
                "answer": answer,
                "contexts": given,
                "citations": list(citations),
                "seconds": seconds,
                "error": error,
                "model": model,
            }
            size = len(query) + len(answer or "") + sum(map(_length, given))
            return self._put(moment.date().isoformat(), row, size)
        except Exception:  # noqa: BLE001 - a service must not fail over what watches it
            self._drop("unusable")
            return False

    def _put(self, day: str, row: dict[str, Any], size: int) -> bool:
        with self._changed:
            if len(self._waiting) >= _MOST_WAITING or self._characters + size > _MOST_CHARACTERS:
                self._count("queue_full")
                return False
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._write_all, name="qa_pipeline-observe", daemon=True
                )
                self._thread.start()
            self._waiting.append((day, row))
            self._characters += size
            self._changed.notify_all()
        return True

    def _drop(self, reason: str) -> None:
        with self._changed:
            self._count(reason)

    def _count(self, reason: str) -> None:
        self._dropped[reason] += 1
        self._untold[reason] += 1

    def flush(self, timeout: float = _CLOSING_SECONDS) -> bool:
        """Wait until all that was taken is written or dropped; False where the time was too short."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def close(self) -> None:
        """Write what waits, then end the thread; called when the process ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSING_SECONDS)
        elif self._untold:
            self._tell_dropped(datetime.now(UTC))

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                taken = list(self._waiting)
                self._waiting.clear()
                self._characters = 0
                self._busy = bool(taken)
            for day, row in taken:
                self._write_row(day, row)
            if self._untold:
                self._tell_dropped(datetime.now(UTC))
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                if self._closed and not self._waiting:
                    self._thread = None
                    self._shut()
                    return

    def _write_row(self, day: str, row: dict[str, Any]) -> None:
        try:
            line = _line(_redacted(row, self._redact), self.share)
        except _RedactionError:
            self._drop("redaction_failed")
            return
        except Exception:  # noqa: BLE001 - values of any kind may be in a request
            self._drop("unusable")
            return
        if len(line) > _LONGEST_LINE:
            self._drop("too_long")
        elif not self._append(day, line):
            self._drop("not_written")

    def _tell_dropped(self, now: datetime) -> None:
        with self._changed:
            told, self._untold = self._untold, Counter()
        line = json.dumps({"format": FORMAT, "time": now.isoformat(), DROPPED: dict(told)}).encode() + b"\n"
        if not self._append(now.date().isoformat(), line):
            with self._changed:
                self._untold += told

    def _append(self, day: str, line: bytes) -> bool:
        """Add a line to the file of a day; a failure is told once, and each later line is tried again."""
        try:
            if self._open is None or self._open[0] != day:
                self._shut()
                folder = self.folder / day
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._open = (day, os.open(folder / self._file, flags, 0o600))
            _write(self._open[1], line)
        except OSError as error:
            self._shut()
            if not self._warned:
                self._warned = True
                _LOG.warning("requests cannot be logged to %s: %s; they are counted", self.folder, error)
            return False
        return True

    def _shut(self) -> None:
        if self._open is not None:
            os.close(self._open[1])
            self._open = None


class _RedactionError(Exception):
    """The service's own function raised; the text it should have changed must not be written."""


def _length(context: str | dict[str, Any]) -> int:
    text = context if isinstance(context, str) else context.get("text", "")
    return len(text) if isinstance(text, str) else 0


def _write(handle: int, line: bytes) -> None:
    while line:
        line = line[os.write(handle, line) :]


def _redacted(row: dict[str, Any], redact: Redact | None) -> dict[str, Any]:
    """The row in the fields of the log, its texts as the service's function leaves them."""

    def text(value: object) -> str | None:
        if value is None:
            return None
        try:
            return str(value) if redact is None else redact(str(value))
        except Exception as error:
            raise _RedactionError from error

    contexts = [{"text": one} if isinstance(one, str) else one for one in row["contexts"]]
    return {
        **row,
        "query": text(row["query"]),
        "answer": text(row["answer"]),
        "contexts": [
            {
                "text": text(one.get("text")),
                "document": None if one.get("document") is None else str(one["document"]),
                "rank": one.get("rank") if isinstance(one.get("rank"), int) else place,
                "score": _finite(one.get("score")),
            }
            for place, one in enumerate(contexts, start=1)
        ],
        "citations": [str(one) for one in row["citations"]],
        "seconds": _finite(row["seconds"]),
        "error": text(row["error"]),
    }


def _finite(value: Any) -> float | None:
    """A number that JSON can hold; other libraries' floats are converted."""
    if value is None or isinstance(value, (str, bytes)):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _line(row: dict[str, Any], share: float) -> bytes:
    """One line of UTF-8; half a character is replaced."""
    text = json.dumps({"format": FORMAT, **row, "share": share}, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


_default: Observer | None = None
_starting = threading.Lock()


def start_observing(
    folder: Path | str | None = None, share: float | None = None, redact: Redact | None = None
) -> Observer:
    """Make the observer that `observe` uses; called once when a service starts.

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
    """Hand one answered request to this process's observer; see `Observer.observe`.

    Without `start_observing` before, the first call reads the settings, which takes a moment. Where they name
    no folder nothing is kept; that is said once, and nothing is raised.
    """
    observer = _default or _started()
    return observer is not None and observer.observe(request_id, query, answer, contexts, citations, **more)


_gave_up = False


def _started() -> Observer | None:
    global _gave_up  # noqa: PLW0603 - said once a process
    if _gave_up:
        return None
    try:
        return start_observing()
    except Exception as error:  # noqa: BLE001 - a service must not fail over what watches it
        _gave_up = True
        _LOG.warning("requests are not observed: %s", error)
        return None
