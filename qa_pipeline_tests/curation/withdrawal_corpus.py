"""A corpus with pairs beside its documents, run without models, and what its consumers read."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.curation.withdrawals import note_origin, withdraw_missing
from qa_pipeline.defs.running import run_batches
from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.pipeline.fingerprint import BatchOutcome, unchanged_outcomes
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import TRAINING_EXAMPLES, VERDICTS
from qa_pipeline_tests.fakes import HashEmbedder

TRUE = ("To drain the boiler, open the lower valve and wait 10 minutes.", "guide.md")
FALSE = [("To drain the boiler, open the lower valve and wait 50 minutes.", "guide.md")] * 16
"""Enough to show that a batch of them lies under the least pass rate."""


class Folder:
    """Batches in a folder, and the output folder."""

    def __init__(self, place: Path, **settings: Any) -> None:
        self.corpus = place / "corpus"
        self.settings = load_settings(
            **{
                "corpus": self.corpus,
                "out": place / "out",
                "llm": {"provider": "none"},
                "judging": {"accept_unjudged": True},
                "quality": {"min_pass_rate": 0.2},
            }
            | settings
        )
        self.layout = Layout(self.settings.out)

    def fill_from(self, other: "Folder") -> "Folder":
        """Copy the corpus and all outputs of another one here, as if they had been made here."""
        shutil.copytree(other.corpus, self.corpus)
        shutil.copytree(other.settings.out, self.settings.out)
        for batch in self.corpus.iterdir():
            note_origin(self.layout, batch.name, self.corpus)
        return self

    def write(self, batch: str, *pairs: tuple[str, str], document: str = "") -> None:
        """A batch of one document and these answers, each with the document it cites."""
        folder = self.corpus / batch
        folder.mkdir(parents=True, exist_ok=True)
        text = document or f"# Kestrel {batch} guide\n\n## Filling\n\n{TRUE[0]}\n"
        (folder / "guide.md").write_text(text, encoding="utf-8")
        lines = [
            json.dumps(
                {"question": "Is the boiler drained" + "?" * (n + 1), "answer": answer, "citations": [cited]}
            )
            for n, (answer, cited) in enumerate(pairs)
        ]
        (folder / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def rename(self, batch: str, other: str) -> None:
        (self.corpus / batch).rename(self.corpus / other)

    def delete(self, batch: str) -> None:
        shutil.rmtree(self.corpus / batch)

    def run(self) -> dict[str, BatchOutcome]:
        """Run the whole corpus as the command line does."""
        found = open_corpus(self.corpus).find_batches()
        withdraw_missing(self.layout, self.settings.corpus, {*found.names, *found.refused})
        resources = Resources(self.settings, embedder=HashEmbedder())
        unchanged = unchanged_outcomes(resources, found.names)
        due = [batch for batch in found.names if batch not in unchanged]
        return unchanged | {outcome.batch: outcome for outcome in run_batches(resources, due)}

    def published(self) -> dict[str, int]:
        return published(self.layout)


def published(layout: Layout) -> dict[str, int]:
    """Examples that consumers read of each batch; every one must be accepted in the ledger of now."""
    counts = {}
    for path in layout.tables(TRAINING_EXAMPLES.name):
        examples, batch = pl.read_parquet(path), path.stem
        ledger = pl.read_parquet(layout.table(VERDICTS.name, batch)).filter(pl.col("verdict") == "accepted")
        assert examples.join(ledger, on="pair_id", how="anti").height == 0, batch
        counts[batch] = examples.height
    return counts
