"""Send many requests to a model concurrently."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from qa_pipeline.errors import ModelError, PermanentModelError
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request, close_connections
from qa_pipeline.records import ProgressCallback, no_progress


def complete_all(
    model: LanguageModel,
    requests: Sequence[Request[ReplyT]],
    *,
    workers: int,
    notify: ProgressCallback = no_progress,
) -> list[Reply[ReplyT] | ModelError]:
    """Send all requests with at most `workers` in flight, and return replies in request order.

    A single failed request is returned as its error and becomes a row with a reason. The first
    PermanentModelError stops further requests. Calls in flight may finish, because they are paid for and
    stored. Then the error is raised.

    Each call of this function has its own event loop, and the model's connections are closed before it ends.
    If a loop is already running, as in a notebook, a thread is used.

    Raises:
        PermanentModelError: later requests cannot succeed.
    """
    asking = _ask_all(model, requests, workers, notify)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asking)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asking).result()


async def _ask_all(
    model: LanguageModel, requests: Sequence[Request[ReplyT]], workers: int, notify: ProgressCallback
) -> list[Reply[ReplyT] | ModelError]:
    outcomes: dict[int, Reply[ReplyT] | ModelError] = {}
    refusals: list[PermanentModelError] = []
    waiting = iter(enumerate(requests))

    async def work() -> None:
        """Process requests from the shared iterator."""
        for number, request in waiting:
            try:
                outcomes[number] = await model.complete(request)
            except PermanentModelError as error:
                refusals.append(error)
            except ModelError as error:
                outcomes[number] = error
            if refusals:
                return
            notify(len(outcomes), len(requests))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(workers, len(requests))):
                group.create_task(work())
    except BaseExceptionGroup as several:  # the first error cancelled the others
        raise several.exceptions[0] from several.exceptions[0].__cause__
    finally:
        await close_connections(model)
    if refusals:
        raise refusals[0]
    return [outcomes[number] for number in range(len(requests))]
