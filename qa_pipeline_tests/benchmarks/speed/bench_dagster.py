"""What Dagster itself costs: the same batch without it and with it, each from cold caches.

    python -m qa_pipeline_tests.benchmarks.speed.bench_dagster [--corpus FOLDER --batch NAME] [--repeats 2]

Prints one JSON line: seconds of both, best of the repeats and taken in turns, each in a process of its own,
and Dagster's share of them. Imports are timed apart, because a code location pays for them once. Without a
folder the batch is generated.
"""

import tempfile
from pathlib import Path
from typing import Any

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import Way, load_now, measured
from qa_pipeline_tests.benchmarks.support.synthetic_corpus import write_corpus

WAYS: tuple[Way, ...] = ("plain", "dagster")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, help="needs --batch")
    parser.add_argument("--batch")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    if (arguments.corpus is None) != (arguments.batch is None):
        parser.error("--corpus and --batch go together")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = arguments.corpus or folder / "corpus"
        batch = arguments.batch or write_corpus(corpus, 1)[0]
        result = _compare(corpus, batch, arguments.repeats, folder)
    print_json({"benchmark": "dagster", "batch": batch, "load": load_now(), **result})


def _compare(corpus: Path, batch: str, repeats: int, folder: Path) -> dict[str, Any]:
    runs: dict[Way, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for repeat in range(repeats):
        for way in WAYS:
            runs[way].append(measured(way, corpus, folder / f"{way}-{repeat}", [batch]))
    plain, dagster = (min(run["seconds"] for run in runs[way]) for way in WAYS)
    return {
        "plain_seconds": plain,
        "dagster_seconds": dagster,
        "own_seconds": round(dagster - plain, 2),
        "own_percent": round(100 * (dagster - plain) / plain, 1),
        "import_seconds": {way: min(run["import_seconds"] for run in runs[way]) for way in WAYS},
        "peak_mb": {way: max(run["peak_mb"] for run in runs[way]) for way in WAYS},
        "outcomes": sorted(
            {outcome for way in WAYS for run in runs[way] for outcome in run["outcomes"].values()}
        ),
    }


if __name__ == "__main__":
    main()
