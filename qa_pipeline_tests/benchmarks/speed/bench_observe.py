"""What observe() takes of its caller, in microseconds, by the share that is kept and the size of contexts.

    python -m qa_pipeline_tests.benchmarks.speed.bench_observe [--calls 2000] [--pause 0.002]

Each call has five passages of the size and is followed by work of the service (--pause, in seconds, half
of it computing, half of it sleeping), while the writing thread is at work. At last calls without any pause,
four threads at once, every request kept: what a burst costs and how many it drops. Prints JSON.
"""

import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from qa_pipeline.monitoring.observing import Observer
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

SIZES = (500, 20_000)
SHARES = (0.05, 1.0)
PASSAGES = 5
TEXT = "The passage says what the answer rests on, in some detail; über Größe und Länge. "


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--pause", type=float, default=0.002)
    arguments = parser.parse_args()
    figures = [
        {"share": share, "context_bytes": size, **_alone(share, size, arguments.calls, arguments.pause)}
        for share in SHARES
        for size in SIZES
    ]
    print_json({"benchmark": "observe", "calls": arguments.calls, "figures": figures, "burst": _burst()})


def _alone(share: float, size: int, calls: int, pause: float) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        observer = Observer(folder, share)
        taken = _call(observer, size, calls, pause)
        observer.close()
        return {**_figures(taken), **_written(observer, Path(folder))}


def _burst(threads: int = 4, calls: int = 2_000, size: int = 20_000) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        observer = Observer(folder, 1.0)
        taken: list[list[float]] = [[] for _ in range(threads)]

        def work(place: int) -> None:
            taken[place] = _call(observer, size, calls, 0.0)

        running = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
        for one in running:
            one.start()
        for one in running:
            one.join()
        observer.close()
        figures = {**_figures([one for of in taken for one in of]), **_written(observer, Path(folder))}
        return {"threads": threads, "calls": threads * calls, "context_bytes": size, **figures}


def _call(observer: Observer, size: int, calls: int, pause: float) -> list[float]:
    text = (TEXT * (size // len(TEXT) + 1))[:size]
    taken = []
    for place in range(calls):
        # as a service has them: strings of their own, made for each request
        contexts = [{"text": f"{place}{text}", "document": f"d{one}"} for one in range(PASSAGES)]
        started = time.perf_counter()
        observer.observe(f"{size} {place}", "What does it say?", text[:800], contexts, seconds=0.4)
        taken.append(time.perf_counter() - started)
        if pause:
            _serve(pause)
    return taken


def _serve(pause: float) -> None:
    until = time.perf_counter() + pause / 2
    while time.perf_counter() < until:
        sum(range(200))
    time.sleep(pause / 2)


def _figures(taken: list[float]) -> dict[str, float]:
    micros = np.array(taken) * 1e6
    named = {"median": 50, "p95": 95, "p99": 99, "max": 100}
    return {f"{name}_us": round(float(np.percentile(micros, at)), 1) for name, at in named.items()}


def _written(observer: Observer, folder: Path) -> dict[str, Any]:
    files = folder.rglob("*.jsonl")
    kept = sum(line.count(b'"id"') for file in files for line in file.read_bytes().splitlines())
    return {"written": kept, "dropped": dict(observer.dropped)}


if __name__ == "__main__":
    main()
