"""Thousands of damaged files and bombs through the real parsing workers.

    python -m qa_pipeline_tests.benchmarks.robustness.fuzz_documents --files 10000 --seed 1
        --corpus FOLDER ...

Prints one JSON line. `violations` must be empty: every file has its row, no run ends in an exception, no file
takes longer than the limit and some grace, and what was parsed is clean text whose sections, pages and chunks
lie exactly where their rows say. `reasons` tells what became of the rest: parser_error is a bug of a parser,
although it costs the file only. `--keep FOLDER` keeps the files with the reasons of `--keep-reasons`.

Equal arguments give equal files, as long as the folders and the libraries that build files are the same.
"""

import argparse
import json
import os
import resource
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from time import monotonic
from unittest.mock import patch

import polars as pl

from qa_pipeline.documents import sandbox
from qa_pipeline.documents.corpus.files import DocumentFailure, format_of
from qa_pipeline.documents.parsing import PARSERS
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.documents.sandbox import Job, ParsingPool, ReplyT, Worker
from qa_pipeline.errors import QAPipelineError
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.documents import ChunkingSettings, DocumentSettings
from qa_pipeline.text.words import clean
from qa_pipeline_tests.benchmarks.robustness.fuzz_bombs import bombs
from qa_pipeline_tests.benchmarks.robustness.fuzz_mutations import mutate
from qa_pipeline_tests.benchmarks.robustness.fuzz_seeds import collect_seeds
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.retrieval.documents import Counter as TokenCounter

_IN_A_BATCH = 200
_BYTES_IN_A_BATCH = 400_000_000
_GRACE_SECONDS = 5.0
_SLOWEST = 12

File = tuple[str, bytes]


@dataclass
class Findings:
    """What was seen so far."""

    files: int = 0
    rows: int = 0
    chunks: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    by_format: dict[str, Counter[str]] = field(default_factory=dict)
    details: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    workers_peak: int = 0

    def took(self, seconds: float, path: str, outcome: str) -> None:
        self.slowest = sorted([*self.slowest, (round(seconds, 2), f"{path}: {outcome}")], reverse=True)[
            :_SLOWEST
        ]


class WatchedWorker(Worker):
    """A worker that notes how long each file took and how much memory the process had at most."""

    findings = Findings()

    def give(self, job: Job, settings: DocumentSettings) -> None:
        self.path, self.start, self.longest = str(job[0]["path"]), monotonic(), settings.parse_seconds
        super().give(job, settings)

    def take(self, read: Callable[[bytes], ReplyT]) -> ReplyT | DocumentFailure | None:
        with suppress(OSError):  # it has just ended
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            peak = next(
                (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0
            )
            self.findings.workers_peak = max(self.findings.workers_peak, peak * 1024)
        outcome = super().take(read)
        if outcome is not None:
            seconds = monotonic() - self.start
            reason = outcome.reason if isinstance(outcome, DocumentFailure) else "parsed"
            self.findings.took(seconds, self.path, reason)
            if seconds > self.longest + _GRACE_SECONDS:
                self.findings.violations.append(f"{self.path} took {seconds:.1f} s")
        return outcome


def main() -> None:
    """Fuzz and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=20.0, help="limit on one file")
    parser.add_argument("--memory", type=int, default=2_500_000_000, help="limit on a worker, in bytes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-bombs", action="store_true")
    parser.add_argument("--only", help="files whose name ends so")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--keep-reasons", nargs="*", default=["parser_error", "parser_crashed", "timed_out"])
    arguments = parser.parse_args()
    settings = DocumentSettings(
        parse_workers=arguments.workers,
        parse_seconds=arguments.seconds,
        parse_memory=arguments.memory,
    )
    start = monotonic()
    findings = fuzz(_files(arguments), settings, arguments.keep, arguments.keep_reasons)
    print_json({"benchmark": "fuzz_documents", **_told(findings), "seconds": round(monotonic() - start)})


def _files(arguments: argparse.Namespace) -> Iterator[File]:
    """The bombs first, then damaged files up to the number asked for."""
    built = () if arguments.no_bombs else ((name, build()) for name, build in bombs())
    damaged = damaged_files(arguments.corpus, arguments.seed)
    both = (file for source in (built, damaged) for file in source)
    chosen = (file for file in both if file[0].endswith(arguments.only or ""))
    return islice(chosen, arguments.files)


def damaged_files(folders: list[Path], seed: int) -> Iterator[File]:
    """Damaged files without end, formats in turn, every one decided by its number."""
    seeds = collect_seeds(folders)
    suffixes = sorted({format_of(f"x{suffix}") or "": suffix for suffix in reversed(seeds)}.values())
    number = 0
    while True:
        random = Random(f"{seed}/{number}")
        suffix = suffixes[number % len(suffixes)]
        number += 1
        content = mutate(random.choice(seeds[suffix]), seeds[suffix], random)
        yield f"{number:05}{suffix}", content


def fuzz(
    files: Iterator[File], settings: DocumentSettings, keep: Path | None, reasons: list[str]
) -> Findings:
    """Send files through workers, batch by batch, and look at all that comes back."""
    findings = WatchedWorker.findings = Findings()
    pool = ParsingPool(os.environ)
    with patch.object(sandbox, "Worker", WatchedWorker):
        for batch in _batches(files):
            with tempfile.TemporaryDirectory() as folder:
                for name, content in batch:
                    (Path(folder) / name).write_bytes(content)
                findings.files += len(batch)
                try:
                    documents = read_documents("fuzz", Path(folder), settings, pool.parse)
                except QAPipelineError as error:
                    findings.violations.append(f"a run ended: {error}")
                    continue
                _look(documents, dict(batch), findings)
                if findings.workers_peak > settings.parse_memory:
                    findings.violations.append(f"a worker took {findings.workers_peak} bytes")
                if keep is not None:
                    _keep(documents, dict(batch), keep, reasons)
    pool.close()
    return findings


def _batches(files: Iterator[File]) -> Iterator[list[File]]:
    batch: list[File] = []
    size = 0
    for name, content in files:
        batch.append((name, content))
        size += len(content)
        if len(batch) >= _IN_A_BATCH or size >= _BYTES_IN_A_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _look(documents: pl.DataFrame, files: dict[str, bytes], findings: Findings) -> None:
    """Count what became of the files of a batch and check what was parsed."""
    missing = set(files) - set(documents["path"])
    findings.violations += [f"{name} has no row" for name in sorted(missing)]
    findings.rows += documents.height
    for row in documents.iter_rows(named=True):
        reason = row["reason"] or row["status"]
        findings.reasons[reason] += 1
        findings.by_format.setdefault(row["format"] or "none", Counter())[reason] += 1
        if reason in ("parser_error", "parser_crashed"):
            findings.details[f"{row['format']}: {row['detail']}"] += 1
        if row["status"] == "parsed":
            findings.violations += [f"{row['path']}: {problem}" for problem in problems_of(row)]
    chunks = chunk_documents(documents, TokenCounter(), ChunkingSettings())
    findings.chunks += chunks.height
    texts = dict(documents.select("document_id", "text").iter_rows())
    columns = chunks.select("document_id", "char_start", "char_end", "text")
    for document, start, end, text in columns.iter_rows():
        if texts[document][start:end] != text:
            findings.violations.append(f"a chunk of {document} is not its text")


def problems_of(row: dict[str, object]) -> Iterator[str]:
    """What is wrong with a parsed document's text, sections and pages."""
    text = str(row["text"])
    if clean(text) != text:
        yield "the text holds characters that may not stand in it"
    yield from _problems_of_spans(row["sections"], len(text), "section")  # type: ignore[arg-type]
    yield from _problems_of_spans(row["pages"], len(text), "page")  # type: ignore[arg-type]
    for section in row["sections"]:  # type: ignore[attr-defined]
        if section["level"]:
            line = text[section["start"] : section["end"]].partition("\n")[0]
            if line != f"{'#' * section['level']} {section['heading_path'][-1]}":
                yield f"the section at {section['start']} does not begin with its heading"
    pages = [page["number"] for page in row["pages"]]  # type: ignore[attr-defined]
    if pages != sorted(set(pages)):
        yield "pages are out of order"


def _problems_of_spans(spans: list[dict[str, int]], length: int, name: str) -> Iterator[str]:
    reached = 0
    for span in spans:
        if not reached <= span["start"] <= span["end"] <= length:
            yield f"a {name} from {span['start']} to {span['end']} lies wrong"
        reached = span["end"]


def _keep(documents: pl.DataFrame, files: dict[str, bytes], folder: Path, reasons: list[str]) -> None:
    for path, reason, detail in documents.select("path", "reason", "detail").iter_rows():
        if reason in reasons:
            (folder / reason).mkdir(parents=True, exist_ok=True)
            (folder / reason / path).write_bytes(files[path])
            with (folder / "details.jsonl").open("a") as log:
                log.write(json.dumps([path, reason, detail]) + "\n")


def _told(findings: Findings) -> dict[str, object]:
    parent = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "files": findings.files,
        "rows": findings.rows,
        "chunks": findings.chunks,
        "violations": findings.violations[:50],
        "violations_count": len(findings.violations),
        "reasons": dict(findings.reasons.most_common()),
        "by_format": {
            name: dict(counts.most_common()) for name, counts in sorted(findings.by_format.items())
        },
        "parser_details": dict(findings.details.most_common(40)),
        "slowest": findings.slowest,
        "peak_mb": {
            "this_process": round(parent / 1e6),
            "largest_worker": round(findings.workers_peak / 1e6),
        },
        "formats": len(PARSERS),
    }


if __name__ == "__main__":
    main()
