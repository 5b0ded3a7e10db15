"""Seconds until the code location is loaded and until the command line answers, beside their floors.

    python -m qa_pipeline_tests.benchmarks.speed.bench_start [--repeats 5]

Prints one JSON line, each figure the best of the repeats, taken in turns. The floors are an interpreter that
does nothing and one that imports Dagster.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now

ROOT = Path(__file__).parents[3]
SCRIPTS = Path(sys.executable).parent
COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "help": [str(SCRIPTS / "qa-pipeline"), "--help"],
    "import_dagster": [sys.executable, "-c", "import dagster"],
    "definitions": [sys.executable, "-c", "from qa_pipeline.definitions import defs; defs()"],
    "validate": [str(SCRIPTS / "dagster"), "definitions", "validate", "-w", "workspace.yaml"],
}


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    rounds = [{name: _seconds(command) for name, command in COMMANDS.items()} for _ in range(repeats)]
    best = {f"{name}_seconds": round(min(one[name] for one in rounds), 2) for name in COMMANDS}
    print_json({"benchmark": "start", "load": load_now(), **best})


def _seconds(command: list[str]) -> float:
    with tempfile.TemporaryDirectory() as home:
        start = perf_counter()
        environment = {"DAGSTER_HOME": home, "PATH": str(SCRIPTS), "DAGSTER_DISABLE_TELEMETRY": "yes"}
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        return perf_counter() - start


if __name__ == "__main__":
    main()
