"""The local steps of the pipeline as the pages use them: an edit verified at once, and decisions applied."""

import logging
import threading
from dataclasses import dataclass

import polars as pl

from qa_pipeline.errors import QAPipelineError
from qa_pipeline.pipeline.applying import VerifiedEdit, apply_decisions, recorded_resources, verify_edit
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import ProgressCallback, no_progress
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.review.stored import StoredTables
from qa_pipeline.storage.files import locked, version_of
from qa_pipeline.storage.rows import DecisionColumns
from qa_pipeline.storage.tables import STORED, VERDICTS

_PATIENCE_SECONDS = 5.0
"""The time that an edit waits for decisions that are being applied, which seldom takes longer."""
_log = logging.getLogger(__name__)


@dataclass
class Applying:
    """Decisions that are put into the tables of a batch: the stage at work, and what came of it."""

    batch: str
    stage: str = "reading tables"
    is_done: bool = False
    problem: str | None = None


class LocalSteps:
    """Models and settings of the batch that was last worked on, and one thread that applies decisions.

    Args:
        tables: of the output folder.
    """

    def __init__(self, tables: StoredTables) -> None:
        self._tables = tables
        self._resources: Resources | None = None
        self._made_for: object = None
        self._models = threading.Lock()
        """Held while models work: they are not made for several threads."""
        self._beginning = threading.Lock()
        self.applying: Applying | None = None
        """The last batch whose decisions were applied, or are being applied."""

    def verify(self, batch: str, decision: DecisionColumns) -> VerifiedEdit:
        """Verify the pair that an edit would become; nothing is written.

        Raises:
            InputError: decisions are being applied, which takes long.
            QAPipelineError: tables or models cannot be used.
        """

        def frame(name: str) -> pl.DataFrame:
            return self._tables.frame(STORED[name], batch)

        if not self._models.acquire(timeout=_PATIENCE_SECONDS):
            raise PhrasedError(
                "decisions are being put into the tables; verify the edit again when that is done"
            )
        try:
            return verify_edit(self._resources_of(batch), frame, {"sequence": 0, **decision})
        finally:
            self._models.release()

    def apply(self, batch: str) -> Applying:
        """Begin to apply the decisions about a batch, unless a batch is at work already."""
        with self._beginning:
            if self.applying is None or self.applying.is_done:
                self.applying = Applying(batch)
                # a daemon: Ctrl-C ends the server, and every table is written whole or not at all
                threading.Thread(target=self._apply, args=(self.applying,), daemon=True).start()
            return self.applying

    def _apply(self, applying: Applying) -> None:
        def watch(_: str, stage: str) -> ProgressCallback:
            applying.stage = stage
            return no_progress

        try:
            with self._models, locked(self._tables.layout.out, shared=True):
                outcome = apply_decisions(self._resources_of(applying.batch), applying.batch, watch)
            if not outcome.passed:
                applying.problem = "; ".join(filter(None, [outcome.error, *outcome.failed_gates]))
        except QAPipelineError as error:
            applying.problem = str(error)
        except Exception:  # noqa: BLE001 - nobody waits for this thread: the page has to say that it ended
            _log.exception("decisions about %s could not be applied", applying.batch)
            applying.problem = str(
                PhrasedError("the program has a fault here; the terminal of the server says more")
            )
        applying.is_done = True

    def _resources_of(self, batch: str) -> Resources:
        """Return settings and models of a batch; the embedding model is loaded once."""
        layout = self._tables.layout
        made_for = batch, version_of(layout.table(VERDICTS.name, batch))
        if self._resources is None or self._made_for != made_for:
            self._resources = recorded_resources(layout, batch, self._resources)
            self._made_for = made_for
        return self._resources
