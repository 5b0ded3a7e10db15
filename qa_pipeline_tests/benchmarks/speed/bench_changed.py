"""What one changed document of many costs: calls, seconds and files, against the run of all.

    python -m qa_pipeline_tests.benchmarks.speed.bench_changed [--batches 20] [--documents 50] [--nights 0]
        [--latency 0.5] [--workers 5]

Prints one JSON line. Generated batches run with the loopback server as the hosted model, each run a process
of its own: all of them, then after one sentence of one document was changed, then unchanged. Before the
change people accept a pair in each batch where one waits; in the batches that were not changed these must
still be accepted after it. `--profile FILE` writes what the changed run computed, for pstats. With `--nights`
one document more is changed before each of so many runs: `stored` has the files and bytes after each.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.llm.reply_database import Database
from qa_pipeline.llm.reply_store import read_calls
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import VERDICTS
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now
from qa_pipeline_tests.benchmarks.support.server_process import Served, serving
from qa_pipeline_tests.benchmarks.support.synthetic_corpus import write_corpus

COMMAND = "from qa_pipeline.cli import start; start()"
CHANGED = "The overhaul of this part was put off by {days} days."


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--documents", type=int, default=50, help="of each batch")
    parser.add_argument("--sections", type=int, default=1, help="of each document")
    parser.add_argument("--nights", type=int, default=0, help="further runs, each after one change")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds until the server answers")
    parser.add_argument("--workers", type=int, default=5, help="calls in flight")
    parser.add_argument("--profile", type=Path)
    arguments = parser.parse_args()
    latency = arguments.latency
    with tempfile.TemporaryDirectory() as name, serving(latency=latency) as server:
        folder = Path(name)
        names = write_corpus(
            folder / "corpus",
            arguments.batches,
            documents=arguments.documents,
            sections=arguments.sections,
            pairs=0,
        )
        run = _Runs(folder, server, arguments.workers)
        full = run.measured()
        decisions = _decide(folder, server, arguments.workers)
        run.measured()  # which takes the decisions into the verdicts
        other = names.pop(len(names) // 2)
        accepted = _accepted_by_people(folder / "out", names)
        _change(folder / "corpus" / other / "part-00.md")
        changed = run.measured(arguments.profile)
        still_accepted = _accepted_by_people(folder / "out", names)
        unchanged = run.measured()
        stored = [_stored(folder / "out")]
        for night in range(arguments.nights):
            _change(folder / "corpus" / other / f"part-{night % arguments.documents:02}.md", night)
            run.measured()
            stored.append(_stored(folder / "out"))
    print_json(
        {
            "benchmark": "changed",
            "documents": arguments.batches * arguments.documents,
            "latency": latency,
            "workers": arguments.workers,
            "load": load_now(),
            "full": full,
            "changed": changed,
            "unchanged": unchanged,
            "percent": {
                name: round(100 * changed[name] / full[name], 2)
                for name in ("calls", "seconds", "cpu_seconds")
            },
            "decisions": decisions,
            "accepted_by_people": accepted,
            "still_accepted": still_accepted,
            "stored": stored,
        }
    )


class _Runs:
    """Runs of one corpus into one output folder."""

    def __init__(self, folder: Path, server: Served, workers: int) -> None:
        self._folder, self._server, self._workers = folder, server, workers
        self._calls = 0
        self._roles: Counter[str] = Counter()
        self._files: dict[str, str] = {}

    def measured(self, profile: Path | None = None) -> dict[str, Any]:
        """Run all batches; return calls, seconds, the outcomes and the files that were written."""
        start, cpu = time.perf_counter(), os.times()
        _command(
            self._folder,
            self._server,
            self._workers,
            ["run", str(self._folder / "corpus"), "--provider", "gemini", "--json"],
            profile,
        )
        seconds, cpu_after = time.perf_counter() - start, os.times()
        calls = self._server.stats()["answered"]
        roles = Counter[str](call.role for call in read_calls(Database(Layout(self._folder / "out").replies)))
        files = _files(self._folder / "out")
        result = {
            "seconds": round(seconds, 1),
            "cpu_seconds": round(sum(cpu_after[2:4]) - sum(cpu[2:4]), 1),  # of child processes
            "calls": calls - self._calls,
            "calls_by_role": dict(sorted((roles - self._roles).items())),
            "files": len(files),
            "files_written": sum(self._files.get(name) != digest for name, digest in files.items()),
        }
        self._calls, self._roles, self._files = calls, roles, files
        return result


def _command(
    folder: Path, server: Served, workers: int, words: Sequence[str], profile: Path | None = None
) -> None:
    program: tuple[str, ...] = ("-c", COMMAND)
    if profile:
        file = folder / "start.py"
        file.write_text(COMMAND, encoding="utf-8")
        program = ("-m", "cProfile", "-o", str(profile), str(file))
    subprocess.run(
        [sys.executable, *program, *words, "--out", str(folder / "out")],
        env={
            **os.environ,
            "GEMINI_API_KEY": server.key,
            "QA_PIPELINE_LLM__BASE_URL": server.url,
            "QA_PIPELINE_LLM__WORKERS": str(workers),
            "QA_PIPELINE_QUALITY__MIN_PASS_RATE": "0",  # a batch that a gate blocks is run every time
        },
        stdout=subprocess.PIPE,
        check=False,  # how many batches pass is no matter here
    )


def _decide(folder: Path, server: Served, workers: int) -> int:
    """Accept a pair that waits for a person in each batch; return how many there are."""
    template, file = folder / "waiting.jsonl", folder / "decided.jsonl"
    _command(folder, server, workers, ["decide", "--template", str(template)])
    rows = [json.loads(line) for line in template.read_text(encoding="utf-8").splitlines()]
    chosen = {row["batch"]: row for row in reversed(rows)}.values()
    lines = [json.dumps({**row, "decision": "accepted", "who": "bench"}) for row in chosen]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    _command(folder, server, workers, ["decide", str(file)])
    return len(lines)


def _change(file: Path, number: int = 4711) -> None:
    """Add a sentence to the last paragraph of a document."""
    text = file.read_text(encoding="utf-8").rstrip("\n")
    file.write_text(f"{text} {CHANGED.format(days=number)}\n", encoding="utf-8")


def _accepted_by_people(out: Path, batches: Sequence[str]) -> int:
    paths = (Layout(out).table(VERDICTS.name, batch) for batch in batches)
    tables = [pl.read_parquet(path, columns=["decided_by"]) for path in paths]
    return sum(table.filter(pl.col("decided_by") == "person").height for table in tables)


def _stored(out: Path) -> dict[str, list[int]]:
    """Return the number of files and their bytes, by their place below the output folder."""
    places: dict[str, list[int]] = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        parts = path.relative_to(out).parts
        place = "/".join(parts[:2] if parts[0] in ("cache", "tables") else parts[:1])
        count = places.setdefault(place, [0, 0])
        count[0], count[1] = count[0] + 1, count[1] + path.stat().st_size
    return places


def _files(out: Path) -> dict[str, str]:
    """Return the hash of each file but those of the caches."""
    files = [path for path in sorted(out.rglob("*")) if path.is_file() and "cache" not in path.parts]
    return {path.relative_to(out).as_posix(): hash_file(path) for path in files}


if __name__ == "__main__":
    main()
