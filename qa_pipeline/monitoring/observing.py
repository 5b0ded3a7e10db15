"""A sample of the answered requests of a RAG service, appended to a log without ever raising.

Services import this module, so it imports only the standard library.
"""

import hashlib
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CONTEXT_FIELDS = ("text", "document", "rank", "score")
Context = str | Mapping[str, Any]
"""A passage: its text, or a mapping of `CONTEXT_FIELDS`."""
Redact = Callable[[str], str]
"""Removes personal data from a text."""
_LONGEST_LINE = 1_000_000
"""Bytes of a line; longer lines would be omitted when logs are read."""
_LOG = logging.getLogger("qa_pipeline.monitoring")


def is_sampled(request_id: str, share: float) -> bool:
    """Sample a request by the hash of its id: equal in every process, and a smaller share is a subset."""
    digest = hashlib.sha256(request_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64  # 8 bytes are a number below 2**64


class Observer:
    """A writer of a sample of requests, with a sub-folder for each UTC day and a file for each process.

    Only the owner can read the files, since texts may be personal. `share` is the sampled share of requests,
    and `redact` is applied to query, answer, texts of contexts and error.
    """

    def __init__(self, folder: Path | str, share: float = 0.05, redact: Redact | None = None) -> None:
        self.folder, self.share = Path(folder), share
        self._redact = redact
        self._token = uuid.uuid4().hex[:12]

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
        """Append an answered request and return True, or False if it is not sampled.

        A request that cannot be written is a warning of the logger `qa_pipeline.monitoring`. Contexts are
        passages in order, as texts or as mappings of text, document, rank and score. Citations are names of
        documents or passages. A failed request has an `error`. The default `time` is now.
        """
        try:
            if not is_sampled(request_id, self.share):
                return False
            moment = (time or datetime.now(UTC)).astimezone(UTC)
            row = {
                "id": request_id,
                "time": moment.isoformat(),
                "query": self._text(query),
                "answer": self._text(answer),
                "contexts": [self._context(context) for context in contexts],
                "citations": list(citations),
                "seconds": seconds,
                "error": self._text(error),
                "model": model,
            }
            # numbers of other libraries, such as a score of numpy, are floats
            line = json.dumps(row, ensure_ascii=False, default=float).encode("utf-8", "replace") + b"\n"
            if len(line) > _LONGEST_LINE:
                raise ValueError(f"{len(line):,} bytes, at most {_LONGEST_LINE:,} are read")  # noqa: TRY301
            self._append(moment.date().isoformat(), line)
        except Exception as problem:  # noqa: BLE001 - a service must not fail over its observer
            # an error of a redaction may quote the text
            why = problem if isinstance(problem, OSError) else type(problem).__name__
            _LOG.warning("a request is not logged: %s", why)
            return False
        return True

    def _text(self, text: str | None) -> str | None:
        return text if text is None or self._redact is None else self._redact(text)

    def _context(self, context: Context) -> dict[str, Any]:
        fields = {"text": context} if isinstance(context, str) else context
        row = {name: fields.get(name) for name in CONTEXT_FIELDS}
        return {**row, "text": self._text(row["text"])}

    def _append(self, day: str, line: bytes) -> None:
        """Append in one write, so that threads and forked processes never mix two lines."""
        folder = self.folder / day
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{os.getpid()}-{self._token}.jsonl"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
