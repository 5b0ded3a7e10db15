"""Replies that come in batch jobs: fetching what has come, before a run or between runs.

What belongs here: when jobs are looked at. What does not: what is made of their results
(`llm.batches.collecting`), showing jobs (`jobs_command.py`).
"""

import asyncio

from qa_pipeline.llm.batches.collecting import Collected
from qa_pipeline.parts import Parts


def collect_replies(parts: Parts) -> Collected:
    """Store the replies of the batch jobs that have ended; nothing where none is awaited.

    Where replies are asked for at once (llm.delivery), nobody is asked about jobs: nothing waits for them.

    Raises:
        PermanentModelError: the provider refuses the key, or to tell of a job.
        ReplyStoreError: the store cannot be used.
    """
    if parts.settings.llm.delivery != "batch":
        return Collected()
    return asyncio.run(parts.models.collector().collect())


def waiting_batches(parts: Parts) -> set[str]:
    """Batches of which replies are awaited from batch jobs.

    Raises:
        ReplyStoreError: the store cannot be used.
    """
    return parts.models.jobs.waiting() if parts.settings.llm.delivery == "batch" else set()
