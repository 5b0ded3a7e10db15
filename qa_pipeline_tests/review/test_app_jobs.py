"""Jobs take turns in one thread, and one that fails takes no other down."""

import threading
import time
from collections.abc import Iterator

import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.review.app import Job, Jobs


def wait_for(job: Job) -> Job:
    deadline = time.monotonic() + 10
    while not job.is_done and time.monotonic() < deadline:
        time.sleep(0.005)
    assert job.is_done
    return job


def test_what_stops_a_job_is_said_and_the_next_job_runs(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs()

    def refused() -> Iterator[int]:
        yield 7
        raise InputError("the batch is gone")

    def faulty() -> Iterator[int]:
        yield 1 // 0

    first, second = jobs.start("a", refused()), jobs.start("b", faulty())
    assert (str(wait_for(first).problem), first.value) == ("the batch is gone", 7)
    assert wait_for(second).problem
    assert "ZeroDivisionError" in caplog.text
    assert wait_for(jobs.start("c", iter([3]))).value == 3


def test_too_many_jobs_are_refused() -> None:
    jobs = Jobs()
    end = threading.Event()

    def work() -> Iterator[int]:
        end.wait(10)
        yield 1

    waiting = [jobs.start(str(number), work()) for number in range(20)]
    with pytest.raises(InputError, match="20"):
        jobs.start("more", work())
    end.set()
    for job in waiting:
        wait_for(job)
