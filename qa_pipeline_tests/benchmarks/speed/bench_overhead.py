"""Seconds that verification takes beside drafting, offline and with a server of given latencies.

    python -m qa_pipeline_tests.benchmarks.speed.bench_overhead --corpus FOLDER [--latency 0.5 --latency 2]

Drafting is what questions and pairs take, verification what claims, refusals and claim_verdicts take, each
from an empty store; the figure is the second divided by the first. Every run is a process of its own that
loads its models before it drafts, on the loopback server where a latency is named. The judge is apart: it is
no part of verification.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now, measured
from qa_pipeline_tests.benchmarks.support.server_process import serving

DRAFTING, VERIFICATION = ("questions", "pairs"), ("claims", "refusals", "claim_verdicts")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--latency", type=float, action="append", default=[], help="seconds; repeatable")
    arguments = parser.parse_args()
    load_before = load_now()
    runs = [{"latency": None, **_offline(arguments.corpus)}]
    runs += [{"latency": latency, **_served(arguments.corpus, latency)} for latency in arguments.latency]
    print_json({"benchmark": "overhead", "load": [load_before, load_now()], "runs": runs})


def _offline(corpus: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return overhead(measured("plain", corpus, Path(folder))["stages"])


def _served(corpus: Path, latency: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, serving(latency=latency) as server:
        model = {
            "QA_PIPELINE_LLM__PROVIDER": "gemini",
            "QA_PIPELINE_LLM__BASE_URL": server.url,
            "GEMINI_API_KEY": server.key,
        }
        with _environment(model):
            stages = measured("plain", corpus, Path(folder))["stages"]
        return {**overhead(stages), "requests": server.stats()}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def overhead(stages: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Seconds of drafting and verification, and the second divided by the first."""
    drafting, verification = _seconds(stages, DRAFTING), _seconds(stages, VERIFICATION)
    return {
        "drafting_seconds": drafting,
        "verification_seconds": verification,
        "overhead": round(verification / drafting, 2) if drafting else None,
        "stages": {name: stages[name]["seconds"] for name in (*DRAFTING, *VERIFICATION)},
    }


def _seconds(stages: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> float:
    return round(sum(stages[name]["seconds"] for name in names), 2)


if __name__ == "__main__":
    main()
