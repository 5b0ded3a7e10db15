"""Chunks with overlap, end to end: the later stages must not care."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline_tests.end_to_end import GUIDE, new_workspace

LONG = (
    GUIDE
    + "\n## Parts\n\n"
    + " ".join(
        f"A part of series {name} is a valve that limits the pressure to {n} bar."
        for n, name in enumerate(
            ("Alva", "Berit", "Cilla", "Dagny", "Elsa", "Frida", "Greta", "Hanna"), start=3
        )
    )
)


def test_pairs_are_accepted_and_proved_whatever_cuts_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunking = {"MAX_TOKENS": "64", "OVERLAP_TOKENS": "24"}
    settings = [(f"CHUNKING__{name}", value) for name, value in chunking.items()]
    workspace = new_workspace(tmp_path, monkeypatch, settings)
    workspace.write({"handbooks/guide.md": LONG})
    assert workspace.run().code == 0

    chunks, document = workspace.table("chunks", "handbooks"), workspace.table("documents", "handbooks")
    text = document["text"][0]
    spans = chunks.select("char_start", "char_end").rows()
    assert any(after[0] < before[1] for before, after in pairwise(spans))
    examples = workspace.table("training_examples", "handbooks")
    assert examples.height > 1
    for proof in examples["evidence"].explode().to_list():
        assert text[proof["start"] : proof["end"]] == proof["quote"]
    assert (
        examples.height
        == workspace.table("verdicts", "handbooks").filter(pl.col("verdict") == "accepted").height
    )
