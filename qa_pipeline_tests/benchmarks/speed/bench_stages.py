"""Seconds and peak memory of each stage over all batches of a corpus, from cold caches.

    python -m qa_pipeline_tests.benchmarks.speed.bench_stages --corpus FOLDER [--out DIR]

Prints a Markdown table, then one JSON line. `rest` is what no stage takes: writing tables, gates, exports to
disk. The first stage that needs the embedding model also pays for importing torch and loading the weights.
Without --out the results are deleted; a DIR that holds vectors already would not be cold.
"""

import tempfile
from pathlib import Path
from typing import Any

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now, measured


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    load_before = load_now()
    with tempfile.TemporaryDirectory() as folder:
        run = measured(arguments.corpus, arguments.out or Path(folder))
    stages = run["stages"]
    rest = run["seconds"] - sum(stage["seconds"] for stage in stages.values())
    stages["rest"] = {"seconds": round(rest, 2), "peak_mb": run["peak_mb"]}
    _show(stages, run)
    print_json({"benchmark": "stages", "load": [load_before, load_now()], **run})


def _show(stages: dict[str, dict[str, float]], run: dict[str, Any]) -> None:
    print("| stage | seconds | share | peak MB |\n|---|---:|---:|---:|")
    for name, stage in stages.items():
        share = stage["seconds"] / run["seconds"]
        print(f"| {name} | {stage['seconds']:.1f} | {share:.0%} | {stage['peak_mb']:.0f} |")
    print(f"| all of {len(run['outcomes'])} batches | {run['seconds']:.1f} | | {run['peak_mb']:.0f} |\n")


if __name__ == "__main__":
    main()
