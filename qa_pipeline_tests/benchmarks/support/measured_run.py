"""Run batches in this process and print, as one JSON line, seconds and peak memory of every stage.

    python -m qa_pipeline_tests.benchmarks.support.measured_run CORPUS OUT [BATCH ...]

A stage's peak is that of the process while the stage ran, so it contains what earlier stages still hold.
Linux only.
"""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json


def measured(corpus: Path, out: Path, batches: Sequence[str] = ()) -> dict[str, Any]:
    """Run batches, all when none is named, in a new process and return what it printed."""
    command = [sys.executable, "-m", __name__, str(corpus), str(out), *batches]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def load_now() -> list[float]:
    """The machine's load averages: what else disturbed the measurement."""
    return [round(value, 1) for value in os.getloadavg()]


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("batches", nargs="*")
    arguments = parser.parse_args()
    print_json(_measure(arguments.corpus, arguments.out, arguments.batches))


def _measure(corpus: Path, out: Path, batches: list[str]) -> dict[str, Any]:
    start = perf_counter()
    from qa_pipeline.documents.corpus.corpora import open_corpus
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.pipeline.running import run_batches
    from qa_pipeline.settings.tree import load_settings

    import_seconds = perf_counter() - start
    settings = load_settings(corpus=corpus, out=out, judging={"accept_unjudged": True})
    resources = Resources(settings)
    meter = Meter()
    peak_by_batch = {}
    outcomes = []
    start = perf_counter()
    with meter.watching_stages():
        for batch in batches or open_corpus(corpus).find_batches().names:
            outcomes += run_batches(resources, [batch])
            meter.note_peak()
            peak_by_batch[batch] = round(meter.peak)
    return {
        "outcomes": {outcome.batch: outcome.outcome for outcome in outcomes},
        "import_seconds": round(import_seconds, 2),
        "seconds": round(perf_counter() - start, 2),
        "peak_mb": round(meter.peak),
        "peak_mb_after_batch": peak_by_batch,
        "stages": {name: stage.told() for name, stage in meter.stages.items()},
    }


@dataclass
class Stage:
    """What one stage has taken so far, over all batches."""

    seconds: float = 0.0
    peak: float = 0.0

    def told(self) -> dict[str, float]:
        """For printing."""
        return {"seconds": round(self.seconds, 2), "peak_mb": round(self.peak)}


@dataclass
class Meter:
    """Seconds and peak memory (MB) of the stages, by name."""

    stages: dict[str, Stage] = field(default_factory=dict)
    peak: float = 0.0

    @contextmanager
    def watching_stages(self) -> Iterator[None]:
        """Measure each call of a stage while entered."""
        from qa_pipeline.pipeline.stages import STAGES

        stages = cast("dict[str, Any]", STAGES)
        originals = dict(stages)
        stages |= {name: replace(stage, run=self._timed(name, stage.run)) for name, stage in stages.items()}
        try:
            yield
        finally:
            stages |= originals

    def note_peak(self) -> float:
        """The highest resident memory since the last call."""
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        highest = int(line.split()[1]) * 1024 / 1e6
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets VmHWM, see proc(5)
        self.peak = max(self.peak, highest)
        return highest

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            stage = self.stages.setdefault(name, Stage())
            self.note_peak()
            start = perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                stage.seconds += perf_counter() - start
                stage.peak = max(stage.peak, self.note_peak())

        return call


if __name__ == "__main__":
    main()
