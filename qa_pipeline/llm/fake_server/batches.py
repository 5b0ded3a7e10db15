"""Gemini's batch jobs: submitted whole, looked at, and collected with a reply or an error for each request.

What belongs here: the life of a job and its wire form. What does not: replying to one request (`service.py`
does it for both roads), keys, paths.
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from qa_pipeline.llm.fake_server.gemini_plays import fails
from qa_pipeline.llm.fake_server.plan import BatchEnd
from qa_pipeline.llm.fake_server.play import ServerPlay

Answer = Callable[[str, Any], ServerPlay]
"""(model, body of generateContent) -> the reply it would get on its own."""

_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch"
_CODES = {400: 3, 404: 5, 429: 8, 500: 13, 503: 14}
"""google.rpc.Code of an HTTP status; 2 (UNKNOWN) for any other."""


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


@dataclass
class Job:
    """One batch job; `state` is without the prefix BATCH_STATE_."""

    name: str
    model: str
    display_name: str
    requests: list[dict[str, Any]]
    state: str = "PENDING"
    polls: int = 0
    created: str = field(default_factory=_now)
    updated: str = field(default_factory=_now)
    responses: list[dict[str, Any]] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing changes any more."""
        return self.state in _ENDED

    def moves(self, state: str) -> None:
        """Enter a state."""
        self.state, self.updated = state, _now()

    def as_dict(self) -> dict[str, Any]:
        """The job as an operation of Google's."""
        metadata: dict[str, Any] = {
            "@type": _TYPE,
            "name": self.name,
            "model": f"models/{self.model}",
            "displayName": self.display_name,
            "createTime": self.created,
            "updateTime": self.updated,
            "batchStats": self._counts(),
            "state": f"BATCH_STATE_{self.state}",
        }
        whole: dict[str, Any] = {"name": self.name, "metadata": metadata, "done": self.ended}
        if self.ended:
            metadata["endTime"] = self.updated
        if self.responses is not None:
            metadata["output"] = {"inlinedResponses": {"inlinedResponses": self.responses}}
            whole["response"] = metadata["output"]
        if self.state == "FAILED":
            whole["error"] = {"code": 13, "message": "The batch failed."}
        return whole

    def _counts(self) -> dict[str, str]:
        done = self.responses or []
        failed = sum("error" in one for one in done)
        counts = {"requestCount": len(self.requests), "successfulRequestCount": len(done) - failed}
        return {name: str(n) for name, n in (counts | {"failedRequestCount": failed}).items()}


class BatchJobs:
    """All jobs of a server.

    Args:
        answer: replies to one request of a job.
        polls: how often a job is looked at before it ends.
        ends: how jobs end.
    """

    def __init__(self, answer: Answer, polls: int, ends: BatchEnd) -> None:
        self._answer = answer
        self._polls = polls
        self._ends = ends
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)

    def create(self, model: str, body: dict[str, Any]) -> ServerPlay:
        """Submit a job."""
        batch = body["batch"]
        requests = batch["inputConfig"]["requests"]["requests"]
        name = f"batches/{next(self._numbers):012d}"
        self._jobs[name] = job = Job(name, model, batch.get("displayName", ""), requests)
        return _ok(job.as_dict())

    def act(self, method: str, name: str, action: str | None) -> ServerPlay:
        """Get, cancel or delete a job."""
        job = self._jobs.get(name)
        if job is None:
            return fails(404, "Requested entity was not found.")
        if method == "DELETE":
            del self._jobs[name]
            return _ok({})
        if action == "cancel":
            return self._cancel(job)
        self._look(job)
        return _ok(job.as_dict())

    def listed(self, page_size: int, token: str) -> ServerPlay:
        """A page of jobs, newest first."""
        jobs = [job.as_dict() for job in reversed(self._jobs.values())]
        start = int(token or 0)
        page: dict[str, Any] = {"operations": jobs[start : start + page_size]}
        following = {"nextPageToken": str(start + page_size)} if start + page_size < len(jobs) else {}
        return _ok(page | following)

    def _look(self, job: Job) -> None:
        if job.ended:
            return
        job.polls += 1
        if job.polls <= self._polls:
            job.moves("RUNNING")
            return
        if self._ends == "succeeded":
            job.responses = [self._response(job.model, item) for item in job.requests]
        job.moves(self._ends.upper())

    def _response(self, model: str, item: dict[str, Any]) -> dict[str, Any]:
        kept = {"metadata": item["metadata"]} if "metadata" in item else {}
        play = self._answer(model, item["request"])
        body = json.loads(play.body or b"{}")
        if play.status == 200:
            return {**kept, "response": body}
        error = {"code": _CODES.get(play.status, 2), "message": body["error"]["message"]}
        return {**kept, "error": error}

    def _cancel(self, job: Job) -> ServerPlay:
        if job.ended:
            return fails(400, "The batch has ended.", name="FAILED_PRECONDITION")
        job.moves("CANCELLED")
        return _ok({})


def _ok(body: dict[str, Any]) -> ServerPlay:
    return ServerPlay(200, json.dumps(body).encode())
