"""Run batches in this process and print, as one JSON line, seconds and peak memory of every stage.

    python -m qa_pipeline_tests.benchmarks.support.measured_run {plain,dagster} CORPUS OUT [BATCH ...]

Benchmarks start as many processes as they compare (`measured`). `dagster`
records the run in the instance in OUT/dagster, with the settings of `deploy/dagster.yaml`. A stage's peak is
that of the process while the stage ran, so it contains what earlier stages hold on to. Linux only.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, cast

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

if TYPE_CHECKING:
    from qa_pipeline.pipeline.running import BatchOutcome
    from qa_pipeline.settings.tree import Settings

Way = Literal["plain", "dagster"]
INSTANCE_SETTINGS = Path(__file__).parents[3] / "deploy" / "dagster.yaml"


def measured(way: Way, corpus: Path, out: Path, batches: Sequence[str] = ()) -> dict[str, Any]:
    """Run batches, all when none is named, in a process of their own; what it printed."""
    command = [sys.executable, "-m", __name__, way, str(corpus), str(out), *batches]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def load_now() -> list[float]:
    """The machine's load averages: what else disturbed the measurement."""
    return [round(value, 1) for value in os.getloadavg()]


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("way", choices=["plain", "dagster"])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("batches", nargs="*")
    arguments = parser.parse_args()
    print_json(_measure(arguments.way, arguments.corpus, arguments.out, arguments.batches))


def _measure(way: Way, corpus: Path, out: Path, batches: list[str]) -> dict[str, Any]:
    start = perf_counter()
    run = _run_plain() if way == "plain" else _run_dagster()
    from qa_pipeline.documents.corpus.corpora import open_corpus
    from qa_pipeline.settings.tree import load_settings

    import_seconds = perf_counter() - start
    settings = load_settings(corpus=corpus, out=out, judging={"accept_unjudged": True})
    meter = Meter()
    peak_by_batch = {}
    outcomes = []
    start = perf_counter()
    with meter.watching_stages():
        for batch in batches or open_corpus(corpus).find_batches().names:
            outcomes += run(settings, [batch])
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


Run = Callable[["Settings", Sequence[str]], "list[BatchOutcome]"]


def _run_plain() -> Run:
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.pipeline.running import run_batches

    built: list[Resources] = []

    def run(settings: "Settings", batches: Sequence[str]) -> "list[BatchOutcome]":
        built.extend([] if built else [Resources(settings)])
        return run_batches(built[0], batches)

    return run


def _run_dagster() -> Run:
    import dagster as dg

    from qa_pipeline.defs.launch import materialize_batches
    from qa_pipeline.pipeline.resources import Resources

    built: list[Resources] = []

    def run(settings: "Settings", batches: Sequence[str]) -> "list[BatchOutcome]":
        home = settings.out / "dagster"
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(INSTANCE_SETTINGS, home / "dagster.yaml")
        built.extend([] if built else [Resources(settings)])
        with dg.DagsterInstance.from_config(str(home)) as instance:
            return materialize_batches(settings, batches, instance, resources=built[0])

    return run


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
