"""Passing on what a run in this process is doing, in place of Dagster's console log.

What belongs here: turning Dagster's step events into calls. What does not: drawing bars (`cli.py`).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import dagster as dg

from qa_pipeline.llm.base import Notify

StepState = Literal["started", "succeeded", "failed", "skipped"]

LOGGER = "progress"
_STATES: dict[str, StepState] = {
    "STEP_START": "started",
    "STEP_SUCCESS": "succeeded",
    "STEP_FAILURE": "failed",
    "STEP_SKIPPED": "skipped",
}


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step of a batch changed its state; a step is an asset, or a check named `<asset>_<check>`."""

    batch: str
    step: str
    state: StepState


OnStep = Callable[[StepEvent], None]


def ignore(event: StepEvent) -> None:
    """Take no notice."""


class _Forward(logging.Handler):
    def __init__(self, batch: str, on_step: OnStep) -> None:
        super().__init__()
        self._batch = batch
        self._on_step = on_step

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "dagster_meta", {}).get("dagster_event")
        if event is not None and event.step_key and event.event_type_value in _STATES:
            self._on_step(StepEvent(self._batch, event.step_key, _STATES[event.event_type_value]))


def progress_logger(batch: str, on_step: OnStep) -> dg.LoggerDefinition:
    """A Dagster logger that prints nothing and calls `on_step`."""

    def forward(context: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger(LOGGER, logging.DEBUG)
        logger.addHandler(_Forward(batch, on_step))
        return logger

    return dg.LoggerDefinition(forward, description="Passes step events on.")


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
