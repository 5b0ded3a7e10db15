"""Send requests to a hosted model, with retries, and parse its replies.

An unreadable reply is repaired with the smallest change that works. If that fails, it may be requested again.
"""

import itertools
import logging
import math
import random
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import stamina

from qa_pipeline.errors import (
    ModelError,
    OversizedRequestError,
    PermanentModelError,
    ServerUnavailableError,
    UnreadableReplyError,
)
from qa_pipeline.llm.base import Reply, ReplyT, Request, TransientModelError
from qa_pipeline.llm.budget import CURRENCY, Budget, Reservation, most_request_tokens
from qa_pipeline.llm.provider import Clock, Provider, RawReply, Throttle
from qa_pipeline.llm.replies import read_reply
from qa_pipeline.prompts.loading import ask_again
from qa_pipeline.records import CallRecord, Usage
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.text.rendering import first_names

REASKED = frozenset({"not_json", "schema_breach", "empty", "truncated"})
"""Reason codes of replies worth a second request. A blocked reply would be blocked again."""
REPLIED = "replied"
_CALL_NUMBERS = itertools.count(1)
LONGEST_WAIT = 120.0
"""Maximum seconds to wait for a server. A longer wait means that a daily quota is spent, and ends the run."""
_BACKOFF = {"wait_initial": 0.5, "wait_max": 10.0, "wait_jitter": 1.0}  # seconds
_FAILING_SECONDS = 600.0  # five times LONGEST_WAIT, so a per-minute quota has been renewed
MOST_GIVEN_UP = 10  # number of requests given up in a row at which the run stops
_UNKNOWN_USAGE = Usage()  # the whole reservation then counts as spent
_WARN_AFTER, _WARN_EVERY = 5.0, 60.0  # seconds: log only longer gaps, once a minute
_log = logging.getLogger(__name__)
stamina.instrumentation.set_on_retry_hooks(())  # logging every retry would hide other messages


@dataclass(slots=True)
class _Asking:
    """The state of a request: how often it was sent, how it failed, and the calls it took.

    `own_faults` counts faults of a server that is not away, or that answers other requests in between.
    `started_at` is in Unix seconds, and the other times are monotonic.
    """

    request_key: str
    started_at: float
    calls: list[CallRecord]
    tries: int = 0
    faults: int = 0
    own_faults: int = 0
    failing_since: float | None = None
    last_fault_at: float | None = None


class HostedModel:
    """A model behind a provider.

    `run` is the name of the run in the records of calls. `most_output` is the maximum number of tokens of a
    reply, including thoughts.
    """

    def __init__(
        self,
        provider: Provider,
        settings: LLMSettings,
        throttle: Throttle,
        budget: Budget,
        *,
        run: str,
        most_output: int,
        clock: Clock | None = None,
    ) -> None:
        self.provider = provider
        self.name = provider.name
        self._settings = settings
        self._throttle = throttle
        self._budget = budget
        self._run = run
        self._most_output = most_output
        self._clock = clock or Clock()
        self._warned_at = -math.inf

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        """Ask, and ask again if the reply cannot be read. Errors have the records of all calls."""
        calls: list[CallRecord] = []
        try:
            try:
                return await self._ask(request, request.key, calls)
            except UnreadableReplyError as error:
                if error.reason not in REASKED:
                    raise
                prompt = ask_again(request.prompt, request.language, str(error), error.raw)
            # the second call is recorded with the key of the original request
            return await self._ask(replace(request, prompt=prompt), request.key, calls)
        except ModelError as error:
            error.calls = tuple(calls)
            raise

    async def _ask(
        self, request: Request[ReplyT], request_key: str, calls: list[CallRecord]
    ) -> Reply[ReplyT]:
        """Send until the provider answers, parse the reply, and add the records of the calls to `calls`.

        Raises the ModelError of the last try, or a ServerUnavailableError if the server does not return.
        """
        is_reasked = bool(calls)  # after a reply that could not be read
        asking = _Asking(request_key, self._clock.now(), calls)
        next_wait = partial(self._next_wait, asking)
        async for attempt in stamina.retry_context(on=next_wait, attempts=None, timeout=None, **_BACKOFF):
            with attempt:
                raw = await self._send(request, asking)
        try:
            value, repair = read_reply(raw.text, request.reply_model)
        except UnreadableReplyError as error:
            error.model, error.usage = raw.model, raw.usage
            calls[-1] = replace(calls[-1], outcome=error.reason)  # `_send` has recorded it as replied
            raise
        if is_reasked:
            repair = "reasked"
        calls[-1] = replace(calls[-1], repair=repair)
        return Reply(value, raw.text, raw.model, raw.usage, repair=repair, calls=tuple(calls))

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self.provider.aclose()

    async def _send(self, request: Request[Any], asking: _Asking) -> RawReply:
        """Send once, update throttle and budget, and record the call if it completed and may be charged."""
        most_input = most_request_tokens(request)
        reservation = await self._budget.reserve(request, self.name, most_input, self._most_output)
        charge = partial(self._charge, request, asking, reservation)  # takes outcome, model and usage
        try:
            await self._throttle.wait_turn()
        except BaseException:  # cancelled before sending
            reservation.cancel()
            raise
        asking.tries += 1
        try:
            raw = await self.provider.send(request)
        except OversizedRequestError as error:  # an answer, but free
            self._throttle.note_reply()
            reservation.cancel()
            chunks = first_names([passage.chunk_id for passage in request.passages])
            raise OversizedRequestError(f"{error.detail}; it shows chunk {chunks or 'none'}") from None
        except UnreadableReplyError as error:
            self._throttle.note_reply()
            charge(error.reason, error.model, error.usage)
            raise
        except TransientModelError as error:
            if error.is_rate_limit:
                self._throttle.pause(min(error.wait_seconds, LONGEST_WAIT))
            if error.maybe_charged:
                charge(error.reason, None, _UNKNOWN_USAGE)
            else:
                reservation.cancel()
            raise
        except ModelError:
            reservation.cancel()
            raise
        except BaseException:  # interrupted, so its record would be lost; it may still be charged
            reservation.settle(_UNKNOWN_USAGE)
            raise
        self._throttle.note_reply()
        # record the call before the next await, since it is paid for
        charge(REPLIED, raw.model, raw.usage)
        return raw

    def _charge(
        self,
        request: Request[Any],
        asking: _Asking,
        reservation: Reservation,
        outcome: str,
        model: str | None,
        usage: Usage,
    ) -> None:
        """Settle the reservation, and record the call."""
        cost = reservation.settle(usage)
        asking.calls.append(
            CallRecord(
                call_id=f"{self._run}-{next(_CALL_NUMBERS)}",
                run=self._run,
                batch=request.batch,
                role=request.role,
                asked_model=self.name,
                replied_model=model,
                request_key=asking.request_key,
                started_at=asking.started_at,
                seconds=self._clock.now() - asking.started_at,
                tries=asking.tries,
                outcome=outcome,
                usage=usage,
                cost=None if cost is None else float(cost),
                currency=None if cost is None else CURRENCY,
            )
        )

    def _next_wait(self, asking: _Asking, error: Exception) -> float | bool:
        """Return the seconds to wait for the next try, True for the usual backoff, or False to give up.

        stamina calls it after each failed try. After False, it raises `error`. A PermanentModelError raised
        here ends the run.
        """
        if not isinstance(error, TransientModelError):
            return False
        now, server_failing_since = self._clock.steady(), self._throttle.note_failure()
        if error.wait_seconds > LONGEST_WAIT:
            raise PermanentModelError(
                f"{error}. The server asks to wait {error.wait_seconds:.0f} s: a daily quota seems "
                "to be used up. All replies are stored: run again later to continue"
            )
        if asking.failing_since is None:
            asking.failing_since = now
        if error.is_rate_limit:  # no fault, so it may be tried until the next try would come too late
            is_given_up = now - asking.failing_since + error.wait_seconds > _FAILING_SECONDS
        else:
            is_given_up = self._count_fault(asking, error, now, server_failing_since)
        if is_given_up:
            self._throttle.given_up_requests += 1
            if self._throttle.given_up_requests >= MOST_GIVEN_UP:
                raise self._unavailable(f"{self._throttle.given_up_requests} calls in a row failed", error)
            return False
        jitter = random.uniform(0, _BACKOFF["wait_jitter"])  # noqa: S311 - no secret
        return error.wait_seconds + jitter if error.wait_seconds else True

    def _count_fault(
        self, asking: _Asking, error: TransientModelError, now: float, server_failing_since: float
    ) -> bool:
        """Count a fault, and return True if the request is given up.

        It is given up after a final fault, after `max_tries` own faults (of a server that is not away, or
        that answers other requests in between), or if it seems to crash the server, which is then away.

        Times are monotonic; `server_failing_since` is that of the first failure since the last answer.
        """
        # if the failures began after the last fault of this request, another was answered in between
        answered_others = asking.last_fault_at is not None and server_failing_since > asking.last_fault_at
        asking.last_fault_at = now
        asking.faults += 1
        if answered_others or not error.is_away:
            asking.own_faults += 1
        if error.is_final or asking.own_faults >= self._settings.max_tries:
            return True
        return error.is_away and self._seems_to_crash_server(asking, error, now, server_failing_since)

    def _seems_to_crash_server(
        self, asking: _Asking, error: TransientModelError, now: float, away_since: float
    ) -> bool:
        """Return True if `max_tries` tries failed after sending, and the server is away for `wait_minutes`.

        Raises a ServerUnavailableError if it is away for so long, but fewer tries failed after sending.
        """
        max_tries, wait_minutes = self._settings.max_tries, self._settings.wait_minutes
        seconds_away = now - away_since
        if asking.faults >= max_tries and seconds_away > wait_minutes * 60:
            # only tries that failed after sending are recorded as calls
            failed_after_sending = [c for c in asking.calls if c.outcome == TransientModelError.reason]
            if len(failed_after_sending) < max_tries:
                raise self._unavailable(f"waited for {seconds_away / 60:.0f} min (llm.wait_minutes)", error)
            return True
        if seconds_away >= _WARN_AFTER and now - self._warned_at >= _WARN_EVERY:
            self._warned_at = now
            _log.warning(
                "%s: %s; waiting for %.0f s now, up to %g min (llm.wait_minutes)",
                self.name, error, seconds_away, wait_minutes,
            )  # fmt: skip
        return False

    def _unavailable(self, why: str, error: TransientModelError) -> ServerUnavailableError:
        return ServerUnavailableError(
            f"{self.name}: {why} and none succeeded; the last time {error}. Every reply received is stored: "
            "run again to go on once the server answers"
        )
