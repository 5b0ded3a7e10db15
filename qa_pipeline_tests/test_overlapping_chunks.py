"""Chunks with overlap and merged sections, end to end: the later stages must not care."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline_tests.end_to_end import GUIDE, walk

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
    chunking = {"MAX_TOKENS": "64", "OVERLAP_TOKENS": "24", "MERGE_BELOW_TOKENS": "48"}
    settings = [(f"CHUNKING__{name}", value) for name, value in chunking.items()]
    road = walk(tmp_path, monkeypatch, settings)
    road.write({"handbooks/guide.md": LONG})
    assert road.run().code == 0

    chunks, document = road.table("chunks", "handbooks"), road.table("documents", "handbooks")
    text = document["text"][0]
    spans = chunks.select("char_start", "char_end").rows()
    assert any(after[0] < before[1] for before, after in pairwise(spans))
    examples = road.table("training_examples", "handbooks")
    assert examples.height > 1
    for proof in examples["evidence"].explode().to_list():
        assert text[proof["start"] : proof["end"]] == proof["quote"]
    assert (
        examples.height == road.table("verdicts", "handbooks").filter(pl.col("verdict") == "accepted").height
    )
