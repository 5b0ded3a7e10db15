"""Asking a model many requests at once."""

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
    """Ask every request with at most `workers` in flight; replies come back in request order.

    A request that fails alone is returned as its error, to become a row with a reason. After the first
    PermanentModelError nothing more is asked; calls in flight may finish, because they are paid for and
    reach the store of replies, and then the error is raised. Each call of this function has an event loop
    of its own, so a model's connections are closed before that loop ends; where one runs already, as in a
    notebook, it has a thread of its own too.

    Raises:
        PermanentModelError: see above.
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
        """Take one request after the other; all workers take from the same ones."""
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
    except BaseExceptionGroup as several:  # the first error stopped the others
        raise several.exceptions[0] from several.exceptions[0].__cause__
    finally:
        await close_connections(model)
    if refusals:
        raise refusals[0]
    return [outcomes[number] for number in range(len(requests))]
