"""Gemini's Batch API over google-genai: jobs with their requests inside them.

A request carries its key as metadata, so the order of replies does not matter; only for a reply
that came back without it does its place tell.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from qa_pipeline.errors import (
    OversizedRequestError,
    PermanentModelError,
    TransientModelError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.batch_jobs.book import ItemResult, JobStatus
from qa_pipeline.llm.gemini.provider import GeminiProvider
from qa_pipeline.llm.gemini.wire import is_too_long, read_response, request_config

if TYPE_CHECKING:
    from google.genai.types import BatchJob, InlinedRequest, InlinedResponse, JobError

_KEY = "key"
_ENDED = {
    "JOB_STATE_SUCCEEDED": None,
    "JOB_STATE_PARTIALLY_SUCCEEDED": "it succeeded in part",
    "JOB_STATE_FAILED": "it failed",
    "JOB_STATE_CANCELLED": "it was cancelled",
    "JOB_STATE_EXPIRED": "it expired",
}
_PASSING = frozenset({1, 2, 4, 8, 10, 13, 14})
"""google.rpc codes worth another try, from CANCELLED to UNAVAILABLE."""
_JOBS_A_PAGE = 100  # jobs a request of the listing, in place of a smaller default: fewer round trips
_AROUND = 200
"""Bytes around a request in the body of a job."""


class GeminiBatches(GeminiProvider):
    """Batch jobs of a Gemini model; a reply from a job is that model's reply."""

    _most_bytes = 512 * 1024**2  # a job is fetched with the replies to all of its requests

    def size(self, request: Request[Any]) -> int:
        """Return the bytes of the request as JSON, at most."""
        written = self._inlined("", request).model_dump_json(by_alias=True, exclude_none=True)
        # once more: letters beyond ASCII are escaped on the way
        return len(json.dumps(written)) + _AROUND

    async def create(self, display_name: str, requests: Mapping[str, Request[Any]]) -> str:
        """Submit a job; the name the provider gives it.

        Raises:
            ModelError: as `Provider.send`; `maybe_charged` where the job may have been created all the same.
        """
        from google.genai.types import CreateBatchJobConfig

        inlined = [self._inlined(key, request) for key, request in requests.items()]
        config = CreateBatchJobConfig(display_name=display_name)
        batches = self.client().aio.batches
        try:
            job = await self.call(batches.create(model=self._settings.model, src=inlined, config=config))
        except TransientModelError as error:
            # whatever is not a refusal for lack of quota may have come after the job was created
            error.maybe_charged = not error.limited
            raise
        return str(job.name)

    async def find(self, display_name: str) -> str | None:
        """Return the name of the job of a display name, among all that the provider still lists."""
        return await self.call(self._find(display_name))

    async def look(self, provider_name: str) -> JobStatus:
        """Return the status of a job; one that the provider no longer has is ended."""
        batches = self.client().aio.batches
        try:
            job = await self.call(batches.get(name=provider_name))
        except PermanentModelError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return JobStatus(ended=True, problem="the provider no longer has it")
        state = job.state.name if job.state is not None else ""
        if state not in _ENDED:
            return JobStatus(ended=False)
        return self._ended(job, _ENDED[state])

    async def cancel(self, provider_name: str) -> None:
        """Stop a job."""
        batches = self.client().aio.batches
        await self.call(batches.cancel(name=provider_name))

    async def _find(self, display_name: str) -> str | None:
        from google.genai.types import ListBatchJobsConfig

        batches = self.client().aio.batches
        async for job in await batches.list(config=ListBatchJobsConfig(page_size=_JOBS_A_PAGE)):
            if job.display_name == display_name:
                return job.name
        return None

    def _inlined(self, key: str, request: Request[Any]) -> "InlinedRequest":
        from google.genai.types import InlinedRequest

        return InlinedRequest(
            contents=request.prompt,
            config=request_config(request, self._settings, in_job=True),
            metadata={_KEY: key},
        )

    def _ended(self, job: "BatchJob", problem: str | None) -> JobStatus:
        results: dict[str | int, ItemResult] = {}
        for place, response in enumerate((job.dest.inlined_responses if job.dest else None) or []):
            result = self._result(response)
            if result is not None:
                results[(response.metadata or {}).get(_KEY, place)] = result
        if problem is not None and job.error is not None and job.error.message:
            problem = f"{problem}: {self.without_key(job.error.message)}"
        return JobStatus(True, problem, results)

    def _result(self, response: "InlinedResponse") -> ItemResult | None:
        if response.error is not None:
            return self._error(response.error)
        if response.response is None:
            return None
        try:
            return read_response(response.response, self._settings.model, self.secret)
        except UnreadableReplyError as error:
            return error

    def _error(self, error: "JobError") -> ItemResult:
        """Return what the error of one request means, as if it had been sent alone."""
        message = self.without_key(error.message or "no message")
        if is_too_long(message):
            return OversizedRequestError(f"Gemini: {message}")
        if error.code is None or error.code in _PASSING:
            return TransientModelError(f"Gemini is not available (code {error.code}: {message})")
        return PermanentModelError(
            f"Gemini refuses the request to {self._settings.model} (code {error.code}: {message})"
        )
