"""Run batches in this process and print, as one JSON line, seconds and peak memory of every stage.

    python -m qa_pipeline_tests.benchmarks.support.measured_run CORPUS OUT [BATCH ...]

A stage's peak is that of the process while the stage ran, so it contains what earlier stages still hold.
Linux only.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from qa_pipeline.records import ProgressCallback, no_progress
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
    from qa_pipeline.defs.running import run_batches
    from qa_pipeline.documents.corpus.corpora import open_corpus
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.tree import load_settings

    import_seconds = perf_counter() - start
    settings = load_settings(corpus=corpus, out=out, judging={"accept_unjudged": True})
    meter = Meter()
    resources = Resources(settings, watch=meter.watch)
    peak_by_batch = {}
    outcomes = []
    start = perf_counter()
    for batch in batches or open_corpus(corpus).find_batches().names:
        outcomes += run_batches(resources, [batch])
        meter.end()
        peak_by_batch[batch] = round(meter.peak)
    return {
        "outcomes": {outcome.batch: outcome.outcome for outcome in outcomes},
        "import_seconds": round(import_seconds, 2),
        "seconds": round(perf_counter() - start, 2),
        "peak_mb": round(meter.peak),
        "peak_mb_after_batch": peak_by_batch,
        "stages": {
            name: {"seconds": seconds, "peak_mb": meter.peaks[name]}
            for name, seconds in meter.seconds.items()
        },
    }


class Meter:
    """Seconds and peak memory (MB) of the stages, by name; each lasts until the next one starts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.peaks: dict[str, float] = {}
        self._stage: str | None = None
        self._start = 0.0

    @property
    def peak(self) -> float:
        """The highest memory of any stage."""
        return max(self.peaks.values(), default=0.0)

    def watch(self, batch: str, stage: str) -> ProgressCallback:
        """Note that a stage starts, as `Resources` tells it."""
        self.end()
        self._stage, self._start = stage, perf_counter()
        return no_progress

    def end(self) -> None:
        """Note that the stage at work has ended."""
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets VmHWM, see proc(5)
        if self._stage is not None:
            seconds = self.seconds.get(self._stage, 0.0) + perf_counter() - self._start
            self.seconds[self._stage] = round(seconds, 2)
            self.peaks[self._stage] = round(
                max(self.peaks.get(self._stage, 0), int(line.split()[1]) * 1024 / 1e6)
            )
        self._stage = None


if __name__ == "__main__":
    main()
