"""Whole runs through the command line on small corpora, with hashed words in place of the heavy model."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from qa_pipeline.cli.app import app
from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.models import encoder as embedding_model
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.fakes import HashEmbedder

Files = dict[str, str | bytes]
GUIDE = """# Kestrel 4 guide

## Filling

The Kestrel 4 is a boiler that holds 36 litres of water.
To drain the boiler, open the lower valve and wait 10 minutes.

## Safety

A residual-current device is a switch that cuts the power when current leaks to earth.
"""

MANUAL = """# Guide

## Filling

To drain the boiler, open the lower valve and wait 10 minutes.

## Safety

The safety valve opens at 3 bar. Do not use softened water.
"""
VERBATIM = "The safety valve opens at 3 bar."
WRONG = "The safety valve opens at 5 bar."
LOOSE = "Opening the lower valve drains everything."
PAIRS: list[dict[str, object]] = [
    {"question": question, "answer": answer, "citations": [cited]}
    for question, answer, cited in (
        ("When does the safety valve open?", VERBATIM, "guide.md"),
        ("How does the safety valve open?", WRONG, "guide.md"),
        ("How is the boiler drained?", LOOSE, "guide.md"),
        ("How long is the boiler drained?", "Wait 10 minutes.", "nowhere.md"),
        ("May softened water be used?", "Do not use softened water.", "guide.md"),
        ("Empty?", "", "guide.md"),
    )
]
PAIRS.append({**PAIRS[0], "question": "Known?", "expected_verdict": "accepted"})


@dataclass(frozen=True)
class Ran:
    """What a person sees of a command."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Workspace:
    """A corpus and an output folder."""

    corpus: Path
    out: Path

    def write(self, files: Files) -> None:
        """Write files by their path below the corpus."""
        for name, content in files.items():
            path = self.corpus / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def fill_from(self, other: "Workspace") -> "Workspace":
        """Copy the corpus and all outputs of another one here, as if they had been made here."""
        shutil.copytree(other.corpus, self.corpus)
        shutil.copytree(other.out, self.out)
        for batch in self.corpus.iterdir():
            note_origin(Layout(self.out), batch.name, self.corpus)
        return self

    def run(self, *options: str) -> Ran:
        """`qa-pipeline run` over the corpus."""
        return invoke("run", self.corpus, "--out", self.out, "--accept-unjudged", *options)

    def verify(self, *options: str) -> Ran:
        """`qa-pipeline run` that generates nothing and verifies the pairs beside the documents."""
        return self.run("--provider", "none", *options)

    def table(self, name: str, batch: str) -> pl.DataFrame:
        """One stored table."""
        return read_table(self.out / "tables" / name / f"{batch}.parquet", STORED[name])

    def reasons(self, name: str, batch: str, by: str) -> dict[str, str | None]:
        """The reason of each row, by another column."""
        return dict(self.table(name, batch).select(by, "reason").iter_rows())

    def contents(self, *batches: str) -> dict[str, str]:
        """Hashes of all files of the given batches, or of every batch; caches and addresses aside."""
        aside = {"cache", "origins"}
        files = [path for path in self.out.rglob("*") if path.is_file() and not aside & {*path.parts}]
        return {
            str(path.relative_to(self.out)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if not batches or path.stem in batches
        }


def invoke(*arguments: str | Path) -> Ran:
    """Run a command; an exception it does not turn into a message is raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    return Ran(result.exit_code, result.stdout, result.stderr)


def json_lines(rows: Iterable[object]) -> str:
    """The text of a file of JSON lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def new_workspace(
    folder: Path, patch: pytest.MonkeyPatch, settings: Sequence[tuple[str, str]] = ()
) -> Workspace:
    """A workspace below `folder` that needs no heavy model, with gates that tiny corpora can pass."""
    patch.setattr(embedding_model, "load_embedder", lambda *_: HashEmbedder())
    for name, value in (("QUALITY__MIN_PASS_RATE", "0"), *settings):
        patch.setenv(f"QA_PIPELINE_{name}", value)
    return Workspace(folder / "corpus", folder / "out")
