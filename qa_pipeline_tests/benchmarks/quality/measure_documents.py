"""What becomes of the files of real corpora: rows, chunks, seconds, memory, and an account of all words.

    python -m qa_pipeline_tests.benchmarks.quality.measure_documents FOLDER ...

Each folder is read as a batch, in a process of its own, with contained workers as in a run and personal data
counted (`flag`); then cut with the default settings and the tokenizer of the default embedding model. Prints
one JSON line a folder.

`account` holds the files against readers of their own (see `accounted_text`), in characters of words:
`found` in the files = `kept` in our text + `markup` + `left_out` + `unexplained`. `unexplained_share`
should be next to nothing; `largest` names the files with the largest rest, and words that are in no text of
ours. `files` and `bytes_in` are of all files, what follows is of those parsed. Peaks are of resident
memory, in MB; `worker` is the largest worker. Linux only.
"""

import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import Any

import polars as pl

from qa_pipeline.documents.corpus.corpora import open_folder
from qa_pipeline.documents.corpus.files import documents_among, read_bytes
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.documents.sandbox import ParsingPool
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.documents import ChunkingSettings, DocumentSettings, MaskingSettings
from qa_pipeline_tests.benchmarks.quality.accounted_text import Account, account
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.benchmarks.support.measured_run import load_now
from qa_pipeline_tests.benchmarks.support.process_memory import peak_of
from qa_pipeline_tests.retrieval.documents import Counter as TokenCounter

_SETTINGS = DocumentSettings(masking=MaskingSettings(action="flag"))
_SAMPLED_EVERY = 0.05
_LARGEST = 5


def main() -> None:
    """Measure each folder in a process of its own, so that peaks are its own."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    folders = parser.parse_args().folders
    if len(folders) == 1:
        print_json(_measure(folders[0]))
        return
    for folder in folders:
        subprocess.run([sys.executable, "-m", __spec__.name, folder], check=True)


def _measure(folder: Path) -> dict[str, Any]:
    pool = ParsingPool(os.environ)
    start = perf_counter()
    with _watched_workers() as peaks:
        documents = read_documents(folder.name, folder, _SETTINGS, pool.parse)
    parse_seconds = perf_counter() - start
    pool.close()
    start = perf_counter()
    chunks = chunk_documents(documents, TokenCounter(), ChunkingSettings())
    chunk_seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "benchmark": "documents",
        "folder": folder.name,
        **_counts(documents),
        "chunks": chunks.height,
        "seconds": {"parse": round(parse_seconds, 2), "chunk": round(chunk_seconds, 2)},
        "load": load_now(),
        "peak_mb": {"this_process": round(peak / 1e6), "worker": round(max(peaks, default=0) / 1e6)},
        "account": _account(folder, documents),
    }


def _counts(documents: pl.DataFrame) -> dict[str, Any]:
    parsed = documents.filter(pl.col("status") == "parsed")
    reasons = documents.filter(pl.col("status") != "parsed")["reason"]
    left: dict[str, Counter[str]] = {}
    masked: Counter[str] = Counter()
    for row in parsed.iter_rows(named=True):
        for part in row["left_out"]:
            left.setdefault(part["what"], Counter()).update(
                pieces=part["pieces"], characters=part["characters"]
            )
        masked.update({found["kind"]: found["count"] for found in row["masked"]})
    return {
        "files": documents.height,
        "parsed": parsed.height,
        "not_parsed": dict(sorted(Counter(reasons.to_list()).items())),
        "bytes_in": documents["size"].sum(),
        "characters": parsed["text"].str.len_chars().sum(),
        "sections": parsed["sections"].list.len().sum(),
        "pages": parsed["pages"].list.len().sum(),
        "left_out": dict(sorted(left.items())),
        "masked": dict(sorted(masked.items())),
    }


def _account(folder: Path, documents: pl.DataFrame) -> dict[str, Any]:
    """The sum over all parsed files whose formats have a reader of their own, and the worst of them."""
    accounts = dict(_accounts(folder, documents))
    totals: Counter[str] = Counter()
    for one in accounts.values():
        totals.update({name: value for name, value in asdict(one).items() if name != "words"})
    worst = sorted(accounts, key=lambda path: (-accounts[path].unexplained, path))[:_LARGEST]
    return {
        "files": len(accounts),
        **totals,
        "unexplained_share": round(totals["unexplained"] / max(totals["found"], 1), 6),
        "largest": [_told(path, accounts[path]) for path in worst if accounts[path].unexplained],
    }


def _told(path: str, one: Account) -> dict[str, Any]:
    return {
        "path": path,
        "unexplained": one.unexplained,
        "share": round(one.share, 4),
        "words": " ".join(one.words),
    }


def _accounts(folder: Path, documents: pl.DataFrame) -> Iterator[tuple[str, Account]]:
    files = {file.path: file for file in documents_among(open_folder(folder).list())}
    for row in documents.filter(pl.col("status") == "parsed").iter_rows(named=True):
        content = read_bytes(files[row["path"]], _SETTINGS.max_bytes)
        if one := account(row["format"], content, row):
            yield row["path"], one


@contextmanager
def _watched_workers() -> Iterator[set[int]]:
    """While entered, sample the most memory each child process has had, in bytes."""
    peaks: set[int] = set()
    over = Event()
    tasks = Path("/proc/self/task")

    def sample() -> None:
        while not over.wait(_SAMPLED_EVERY):
            for children in tasks.glob("*/children"):
                peaks.update(peak_of(process) for process in children.read_text(encoding="ascii").split())

    sampling = Thread(target=sample)
    sampling.start()
    try:
        yield peaks
    finally:
        over.set()
        sampling.join()


if __name__ == "__main__":
    main()
