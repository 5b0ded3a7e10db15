"""What a run pays that is killed again and again: kill -9 at random moments, resumed each time.

    python -m qa_pipeline_tests.benchmarks.robustness.measure_kills FOLDER … --kills 20 [--edit]

One run is left alone, the other is killed when the server has been asked so many times, drawn at random over
the whole run. Afterwards every table but the account of calls must be the same, no temporary file may be
there, no request whose reply was stored may have been asked again, and no more requests repeated than were in
flight at the kills.

With `--edit` a document of the killed run changes at each kill; its tables are then compared with those of a
run from cold caches over what the corpus has become.
"""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.server_process import Served, serving

_COMMAND = (sys.executable, "-c", "from qa_pipeline.cli.app import app; app()", "run")
_ACCOUNT = "llm_calls"
_APART = 40
"""Calls between two moments at least: no run dies before it has asked anything."""
_OK = (0, 1)
"""Gates that do not hold are no failure here: the server's replies are no good answers."""


def start(corpus: Path, out: Path, server: Served, workers: int) -> subprocess.Popen[bytes]:
    """Start a run of the command line."""
    environ = os.environ | {
        "GEMINI_API_KEY": server.key,
        "HF_HUB_OFFLINE": "1",
        "QA_PIPELINE_LLM__BASE_URL": server.url,
        "QA_PIPELINE_LLM__WORKERS": str(workers),
        "QA_PIPELINE_QUALITY__MIN_PASS_RATE": "0",
    }
    options = ("--provider", "gemini", "--max-calls", "1000000", "--json")
    command = (*_COMMAND, str(corpus), "--out", str(out), *options)
    return subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tables(out: Path) -> dict[str, str]:
    """Hashes of all tables but the account of calls, which holds times."""
    files = sorted((out / "tables").glob("*/*.parquet"))
    return {
        str(file.relative_to(out)): sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.parent.name != _ACCOUNT
    }


def edit_document(corpus: Path, number: int) -> None:
    """Add a paragraph to one of the text documents of a corpus, another one for each number."""
    documents = sorted(file for file in corpus.glob("*/*") if file.suffix in {".md", ".rst", ".html", ".txt"})
    with documents[number * 7 % len(documents)].open("a", encoding="utf-8") as document:
        document.write(f"\n\nRevision {number} of this page was checked by the editors in Bergen.\n")


def run_with_kills(
    corpus: Path, out: Path, server: Served, workers: int, moments: list[int], *, edit: bool
) -> dict[str, Any]:
    """Run to the end, killing when the server has been asked so many times, with an edit after each kill."""
    in_flight, done, waiting = [], [], sorted(moments)
    process = start(corpus, out, server, workers)
    while process.poll() is None:
        time.sleep(0.01)
        stats = server.stats() if waiting else {}
        if waiting and stats["asked"] >= waiting[0]:
            process.kill()
            process.wait()
            waiting = [moment for moment in waiting if moment > stats["asked"]] or []
            in_flight.append(stats["in_flight"])
            done.append(stats["asked"])
            if edit:
                edit_document(corpus, len(done))
            process = start(corpus, out, server, workers)
    assert process.returncode in _OK, process.returncode
    return {"kills": len(done), "killed_at": done, "in_flight_at_kills": sum(in_flight)}


def asked_again(out: Path) -> int:
    """Requests with more than one answered call; a call is stored together with its reply."""
    with sqlite3.connect(out / "cache" / "replies.sqlite") as connection:
        query = "SELECT count(*) FROM calls WHERE outcome = 'replied' GROUP BY request_key"
        return sum(count > 1 for (count,) in connection.execute(query))


def main() -> None:
    """Print one JSON line."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="batches to copy into a corpus")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--edit", action="store_true", help="change a document at each kill")
    parser.add_argument("--keep", type=Path, help="a new folder in which everything is left")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        for batch in options.folders:
            shutil.copytree(batch, folder / "corpus" / batch.name)
        with serving(latency=options.latency) as server:
            calm = start(folder / "corpus", folder / "calm", server, options.workers)
            assert calm.wait() in _OK
            calls = server.stats()["asked"]
        moments = sorted(random.Random(options.seed).sample(range(1, calls, _APART), options.kills))
        # at the same address, which is part of a model's name
        with serving(server.port, latency=options.latency) as server:
            ran = run_with_kills(
                folder / "corpus", folder / "killed", server, options.workers, moments, edit=options.edit
            )
            stats = server.stats()
        if options.edit:
            shutil.rmtree(folder / "calm")
            with serving(server.port, latency=options.latency) as server:
                assert start(folder / "corpus", folder / "calm", server, options.workers).wait() in _OK
        calm_tables, killed_tables = tables(folder / "calm"), tables(folder / "killed")
        pairs = sqlite3.connect(folder / "calm/cache/replies.sqlite").execute(
            "SELECT count(*) FROM replies WHERE role = 'answer'"
        )
        print_json(
            {
                "calls_undisturbed": calls,
                "pairs": pairs.fetchone()[0],
                **ran,
                "server_repeats": stats["repeats"],
                "answered_again": stats["answered_again"],
                "most_repeats_allowed": ran["kills"] * options.workers,
                "stored_and_asked_again": asked_again(folder / "killed"),
                "temporary_files": len([*(folder / "killed").rglob(".*.tmp")]),
                "tables": len(calm_tables),
                "tables_that_differ": sorted(dict(calm_tables.items() ^ killed_tables.items())),
            }
        )


if __name__ == "__main__":
    main()
