"""The library that trainers use reads the files of several batches, whatever some of them lack."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from datasets import Dataset, load_dataset
from datasets.utils.logging import disable_progress_bar

from qa_pipeline.curation.training import build_training_examples
from qa_pipeline.settings.verification import TrainingSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import TRAINING_EXAMPLES
from qa_pipeline_tests.curation.rows import (
    assessment,
    assessments,
    chunk,
    chunks,
    claim,
    claim_verdict,
    claim_verdicts,
    claims,
    document,
    documents,
    pair,
    pairs,
    verdict,
    verdicts,
)

disable_progress_bar()


def characters_of(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def frames(batch: str, page: int | None, score: float | None) -> dict[str, pl.DataFrame]:
    """A batch with one pair of each verdict; without a page or score all of their kind are null."""
    words = ("accepted", "rejected", "needs_review", "failed")
    ids = [f"{batch}-{word}" for word in words]
    known = {"citations": [{"raw": "d.md", "document_id": "d", "resolution": "document"}]} if page else {}
    return {
        "pairs": pairs(*(pair(i, batch=batch, **known) for i in ids)),
        "verdicts": verdicts(
            *(verdict(i, word, batch=batch, composite=score) for i, word in zip(ids, words, strict=True))
        ),
        "claims": claims(*(claim(i, evidence_page=page, similarity=score) for i in ids)),
        "claim_verdicts": claim_verdicts(*(claim_verdict(i, "supported") for i in ids)),
        "assessments": assessments(*(assessment(i, score) for i in ids)),
        "documents": documents(document("d")),
    }


def write(layout: Layout, batch: str, page: int | None, score: float | None) -> None:
    """The training examples of a batch."""
    made = frames(batch, page, score)
    examples = build_training_examples(
        **made,
        chunks=chunks(chunk("c")),
        count_tokens=characters_of,
        settings=TrainingSettings(),
    )
    write_table(layout.table("training_examples", batch), examples, TRAINING_EXAMPLES)


def load(tmp_path: Path, *what: str, **how: Any) -> Dataset:
    return load_dataset(*what, split="train", cache_dir=str(tmp_path / "cache"), **how)


@pytest.fixture(params=[("markdown", "pdf"), ("pdf", "markdown")], ids="-".join)
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> Layout:
    """Two batches, of which one has neither pages nor scores."""
    made = Layout(tmp_path / "out")
    for name, kind in zip("bc", request.param, strict=True):
        write(made, name, *((3, 0.5) if kind == "pdf" else (None, None)))
    return made


def test_training_examples_load_as_conversations(layout: Layout, tmp_path: Path) -> None:
    files = str(layout.out / "tables" / "training_examples" / "*.parquet")
    loaded = load(tmp_path, "parquet", data_files=files)
    assert loaded.num_rows == 2
    assert all({m["role"] for m in row["messages"]} == {"system", "user", "assistant"} for row in loaded)
    assert set(loaded.features["messages"].feature) == {"role", "content"}
    assert {row["evidence"][0]["page"] for row in loaded} == {None, 3}
