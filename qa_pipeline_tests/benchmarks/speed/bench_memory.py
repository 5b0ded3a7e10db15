"""Peak memory of a process that runs N batches and of one that runs 2 N: it must not grow with them.

    python -m qa_pipeline_tests.benchmarks.speed.bench_memory [--batches 4]

Prints one JSON line: the peaks over generated batches that are drawn alike, and their ratio. No process finds
what another has cached. For the peaks over batches of your own see `bench_stages`.
"""

import tempfile
from pathlib import Path
from typing import Any

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now, measured
from qa_pipeline_tests.benchmarks.support.synthetic_corpus import write_corpus


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--batches", type=int, default=4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = _doubled(arguments.batches, Path(folder))
    print_json({"benchmark": "memory", "load": load_now(), **result})


def _doubled(count: int, folder: Path) -> dict[str, Any]:
    batches = write_corpus(folder / "corpus", 2 * count)
    once, twice = (
        measured("plain", folder / "corpus", folder / str(number), batches[:number])
        for number in (count, 2 * count)
    )
    return {
        "batches": [count, 2 * count],
        "peak_mb": [once["peak_mb"], twice["peak_mb"]],
        "ratio": round(twice["peak_mb"] / once["peak_mb"], 3),
        "seconds": [once["seconds"], twice["seconds"]],
        "peak_mb_after_batch": twice["peak_mb_after_batch"],
        "outcomes": sorted(set(twice["outcomes"].values())),
    }


if __name__ == "__main__":
    main()
