"""How well an undeclared quota is used: two processes against a server that lets in so many calls a minute.

    python -m qa_pipeline_tests.benchmarks.speed.bench_llm_quota --quota 600 --seconds 300

The processes share a store; each learns the pace by itself. After the warm-up the server counts what it let
in and what it answered with 429.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path

from qa_pipeline.llm.concurrency import complete_all
from qa_pipeline.llm.factory import Models
from qa_pipeline_tests.benchmarks.speed.bench_llm_speed import settings_for, verifications
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.server_process import Served, serving

_CALLS_AT_ONCE = 200


def ask_until(server: Served, place: Path, workers: int, start: int, until: float) -> None:
    """Ask one list of requests after the other."""
    settings = settings_for(server, workers)
    models = Models(settings, place=place, environ={"GEMINI_API_KEY": server.key}, run=str(start))
    model = models.of(settings.generator)
    assert model is not None
    while time.time() < until:
        complete_all(model, verifications(_CALLS_AT_ONCE, start=start), workers=workers)
        start += _CALLS_AT_ONCE
    models.close()


def main() -> None:
    """Print one JSON line."""
    parser = parser_of(__doc__)
    parser.add_argument("--quota", type=int, default=600, help="requests a minute")
    parser.add_argument("--burst", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--warm-up", type=float, default=90.0)
    parser.add_argument("--seconds", type=float, default=240.0, help="after the warm-up")
    options = parser.parse_args()
    plan = {"requests_per_minute": options.quota, "burst": options.burst}
    with (
        serving(latency=options.latency, **plan) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        until = time.time() + options.warm_up + options.seconds + 5
        spawn = multiprocessing.get_context("spawn")
        arguments = [(server, Path(folder) / "r.sqlite", options.workers, n * 10**9, until) for n in range(2)]
        processes = [spawn.Process(target=ask_until, args=one) for one in arguments]
        for process in processes:
            process.start()
        time.sleep(options.warm_up)
        before, began = server.stats(), time.monotonic()
        time.sleep(options.seconds)
        after, took = server.stats(), time.monotonic() - began
        for process in processes:
            process.kill()
            process.join()
    granted, refused = (after[name] - before[name] for name in ("granted", "refused"))
    used = granted / (options.quota / 60 * took)
    print_json(
        {
            **vars(options),
            "quota_used": round(used, 4),
            "refused": round(refused / (granted + refused), 4),
            "refused_in_warm_up": before["refused"],
            "granted_in_warm_up": before["granted"],
        }
    )


if __name__ == "__main__":
    main()
