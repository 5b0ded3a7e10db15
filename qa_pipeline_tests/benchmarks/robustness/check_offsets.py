"""Every place of every document and chunk, held against the text: sections, pages, chunks of any size.

    python -m qa_pipeline_tests.benchmarks.robustness.check_offsets FOLDER ... [--generated N] [--seed S]

Reads the files of each folder, adds N generated documents, cuts them at several sizes,
with overlap and with merged sections, and looks for anything that breaks the laws of `chunking/laws.py`:
slices that are not the text, gaps beyond white space (sections that are nothing but their heading stand in
section paths), chunks over the bound or out of their section, cuts inside a sentence, row or line of code
that a chunk can hold. Prints one
JSON line; exits with 1 if anything was found.
"""

import sys
from collections import Counter as Tally
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import polars as pl

from qa_pipeline.documents.reading import read_documents
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.documents import ChunkingSettings, DocumentSettings
from qa_pipeline_tests.benchmarks.robustness.generated_documents import generated_documents
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.retrieval.documents import Counter
from qa_pipeline_tests.retrieval.laws import broken_chunks, broken_document, needless_cuts

VARIANTS = {
    "default": ChunkingSettings(),
    "64 tokens": ChunkingSettings(max_tokens=64),
    "overlap": ChunkingSettings(max_tokens=128, overlap_tokens=40),
    "merged": ChunkingSettings(merge_below_tokens=96),
    "32 tokens, overlap, merged": ChunkingSettings(max_tokens=32, overlap_tokens=12, merge_below_tokens=24),
}
SHOWN = 10


class Findings:
    """Counts of what was looked at and of what was wrong."""

    def __init__(self) -> None:
        self.counter = Counter()
        self.looked_at: Tally[str] = Tally()
        self.chunks: Tally[str] = Tally()
        self.violations: Tally[str] = Tally()
        self.examples: list[str] = []

    def look(self, documents: pl.DataFrame) -> None:
        """Check parsed documents and their chunks by every variant."""
        parsed = documents.filter(pl.col("status") == "parsed")
        rows = parsed.to_dicts()
        self.looked_at["documents"] += len(rows)
        for row in rows:
            for name in ("sections", "pages"):
                self.looked_at[name] += len(row[name])
            self._note("documents", row["document_id"], broken_document(row))
        for name, settings in VARIANTS.items():
            chunks = chunk_documents(parsed, self.counter, settings)
            self.chunks[name] += chunks.height
            by_document = chunks.partition_by("document_id", as_dict=True)
            bound = min(settings.max_tokens, self.counter.window)
            for row in rows:
                frame = by_document.get((row["document_id"],))
                own = frame.to_dicts() if frame is not None else []
                found = broken_chunks(row, own, self.counter, bound)
                cut = needless_cuts(row, own, self.counter, bound)
                self._note(name, row["document_id"], chain(found, cut))

    def _note(self, name: str, document_id: str, found: Iterator[str]) -> None:
        for problem in found:
            self.violations[name] += 1
            if len(self.examples) < SHOWN:
                self.examples.append(f"{name}: {document_id}: {problem}")


def main() -> None:
    """Check and print."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--generated", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    findings = Findings()
    files = 0
    for folder in arguments.folders:
        documents = read_documents("check", folder, DocumentSettings())
        files += documents.height
        findings.look(documents)
    for documents in generated_documents(arguments.generated, arguments.seed):
        findings.look(documents)
    print_json(
        {
            "benchmark": "offsets",
            "folders": [folder.name for folder in arguments.folders],
            "files": files,
            "generated": arguments.generated,
            **findings.looked_at,
            "chunks": findings.chunks,
            "violations": findings.violations.total(),
            "violations_of": findings.violations,
            "examples": findings.examples,
        }
    )
    sys.exit(1 if findings.violations else 0)


if __name__ == "__main__":
    main()
