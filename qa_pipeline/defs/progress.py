"""What a run is doing: for the run's log, and for a command line in the same process.

What belongs here: turning step events and counts into log lines and calls. What does not: drawing bars
(`console.py`).
"""

import logging

import dagster as dg

from qa_pipeline.batch import Watch
from qa_pipeline.progress import Notify

LOGGER = "progress"


class _Forward(logging.Handler):
    """Tells a `Watch` which step has started; checks are steps too."""

    def __init__(self, batch: str, watch: Watch) -> None:
        super().__init__()
        self._batch = batch
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "dagster_meta", {}).get("dagster_event")
        if event is not None and event.event_type_value == "STEP_START":
            self._watch(self._batch, event.step_key)


def progress_logger(batch: str, watch: Watch) -> dg.LoggerDefinition:
    """A Dagster logger that prints nothing and tells `watch` of every step that starts."""

    def forward(context: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger(LOGGER, logging.DEBUG)
        logger.addHandler(_Forward(batch, watch))
        return logger

    return dg.LoggerDefinition(forward, description="Tells the command line which step has started.")


def logged(log: dg.DagsterLogManager, what: str) -> Notify:
    """A progress callback that writes about ten lines into the run's log, however long the work is."""
    tenths = 0

    def notify(done: int, total: int) -> None:
        nonlocal tenths
        reached = done * 10 // max(total, 1)
        if reached > tenths:
            tenths = reached
            log.info(f"{what}: {done} of {total}")

    return notify
