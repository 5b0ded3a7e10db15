"""What a small batch costs in Dagster: processor time, steps, events and bytes of a run.

    python -m qa_pipeline_tests.benchmarks.speed.bench_batches [--corpus FOLDER] [--batches 5]

Prints a JSON line for each of three processes over the same instance on files: all batches from cold caches,
all run again though nothing has changed (as a backfill does), and all brought up to date with nothing to do.
`cpu` are the seconds of the process and those it starts, `import` those before the first batch, `by_batch`
those of each batch in the process itself, which for unchanged batches is one figure for all. Steps, events
and bytes of storage are the mean of a run. Without a folder batches of three short documents are generated.
"""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import process_time
from typing import Any

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import INSTANCE_SETTINGS, load_now
from qa_pipeline_tests.benchmarks.support.synthetic_corpus import write_corpus

WAYS = ("cold", "forced", "unchanged")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--batches", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        corpus, out = arguments.corpus or Path(name, "corpus"), Path(name, "out")
        if arguments.corpus is None:
            write_corpus(corpus, arguments.batches, documents=3, sections=3, pairs=6)
        batches = sorted(path.name for path in corpus.iterdir() if path.is_dir())[: arguments.batches]
        for way in WAYS:
            print_json({"benchmark": "batches", "way": way, **_measured(way, corpus, out, batches)})


def _measured(way: str, corpus: Path, out: Path, batches: list[str]) -> dict[str, Any]:
    """Return what a process of its own printed, and the processor time of all processes below it."""
    before = _below()
    command = [sys.executable, "-m", __spec__.name, way, str(corpus), str(out), *batches]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return {
        "cpu": round(_below() - before, 2),
        **json.loads(done.stdout.splitlines()[-1]),
        "load": load_now(),
    }


def _below() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _measure(way: str, corpus: Path, out: Path, batches: list[str]) -> dict[str, Any]:
    import dagster as dg

    from qa_pipeline.defs.launch import materialize_batches
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.tree import load_settings

    home = out / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(INSTANCE_SETTINGS, home / "dagster.yaml")
    resources = Resources(load_settings(corpus=corpus, out=out, judging={"accept_unjudged": True}))
    size, result = _size(home), {"import": round(process_time(), 2)}
    seconds, outcomes = [], Counter[str]()
    with dg.DagsterInstance.from_config(str(home)) as instance:
        runs_before = instance.get_runs_count()
        for part in [batches] if way == "unchanged" else [[batch] for batch in batches]:
            start = process_time()
            done = materialize_batches(
                resources.settings, part, instance, resources=resources, force=way == "forced"
            )
            seconds.append(round(process_time() - start, 2))
            outcomes.update(outcome.outcome for outcome in done)
        runs = instance.get_runs()[: instance.get_runs_count() - runs_before]
        events = [event for run in runs for event in instance.all_logs(run.run_id)]
    steps = [event for event in events if event.dagster_event and event.dagster_event.is_step_start]
    each = max(len(runs), 1)
    return {
        **result,
        "by_batch": seconds,
        "steps": len(steps) / each,
        "events": len(events) / each,
        "bytes": round((_size(home) - size) / each),
        "outcomes": outcomes,
    }


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WAYS:
        print_json(_measure(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
    else:
        main()
