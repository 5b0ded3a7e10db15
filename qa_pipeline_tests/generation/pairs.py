"""Existing pairs for tests: entries, and the rows that they become."""

import json
from typing import Any

import polars as pl

from qa_pipeline.generation.pair_entries import parse_pairs
from qa_pipeline.generation.pair_import import import_pairs
from qa_pipeline.storage.row_files import Limits
from qa_pipeline_tests.verification.rows import chunks, documents

DOCUMENTS = documents(
    {"guide.md": "# Guide\n\nAll.\n\n## Install\n\nRun it.", "sub/note.md": "The pump is loud."}
)
CHUNKS = chunks(DOCUMENTS)
GOOD = {"question": "Is it loud?", "answer": "The pump is loud.", "citations": ["[source:sub/note.md]"]}


def lines(*values: Any) -> bytes:
    return b"\n".join(value if isinstance(value, bytes) else json.dumps(value).encode() for value in values)


def imported(*values: Any, name: str = "pairs.jsonl", limits: Limits | None = None) -> pl.DataFrame:
    raw = parse_pairs(lines(*values), name, limits or Limits())
    return import_pairs(raw, DOCUMENTS, CHUNKS, "b")
