"""The library that trainers use reads the files of several batches, whatever some of them lack."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from datasets import Dataset, load_dataset
from datasets.exceptions import DatasetGenerationError
from datasets.utils.logging import disable_progress_bar

from qa_pipeline.curation.exports import (
    CHAT_FILES,
    LEDGER_FILES,
    chat_rows,
    exports_card,
    json_lines,
    ledger_files,
    ledger_rows,
)
from qa_pipeline.curation.training import build_training_examples
from qa_pipeline.pipeline.stages import write_exports
from qa_pipeline.settings.verification import TrainingSettings
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import ROUND_TRIPS, TRAINING_EXAMPLES
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
    """The exports of a batch, and its training examples."""
    made = frames(batch, page, score)
    files = {n: b"".join(json_lines(rows)) for n, rows in ledger_files(ledger_rows(**made)).items()}
    examples = build_training_examples(
        **made,
        round_trips=ROUND_TRIPS.empty(),
        chunks=chunks(chunk("c")),
        count_tokens=characters_of,
        settings=TrainingSettings(),
    )
    chat = {
        name: b"".join(json_lines(chat_rows(examples, name.removeprefix("chat_")))) for name in CHAT_FILES
    }
    write_exports(layout, batch, {})
    for name, content in (files | chat).items():
        write_bytes(layout.export(name, batch), content)
    write_table(layout.table("training_examples", batch), examples, TRAINING_EXAMPLES)


def load(tmp_path: Path, *what: str, **how: Any) -> Dataset:
    return load_dataset(*what, split="train", cache_dir=str(tmp_path / "cache"), **how)


@pytest.fixture(params=[("markdown", "pdf"), ("pdf", "markdown")], ids="-".join)
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> Layout:
    """Two batches, of which one has neither pages nor scores, and one whose files are all empty."""
    made = Layout(tmp_path / "out")
    for name, kind in zip("bc", request.param, strict=True):
        write(made, name, *((3, 0.5) if kind == "pdf" else (None, None)))
    for folder in (made.out / "exports").iterdir():
        if folder.is_dir():
            (folder / "a.jsonl").write_bytes(b"")
    return made


@pytest.mark.parametrize("name", LEDGER_FILES[:4])
def test_the_ledger_of_batches_with_and_without_pages_loads_with_one_schema(
    layout: Layout, tmp_path: Path, name: str
) -> None:
    loaded = load(tmp_path, str(layout.out / "exports"), name)
    assert sorted(loaded["batch"]) == ["b", "c"]
    assert {row["evidence"][0]["page"] for row in loaded} == {None, 3}
    assert set(loaded["composite"]) == {None, 0.5}
    assert loaded.features["evidence"].feature["page"].dtype == "int32"


def test_chat_files_load_without_the_card(layout: Layout, tmp_path: Path) -> None:
    files = str(layout.out / "exports" / "chat_with_context" / "*.jsonl")
    loaded = load(tmp_path, "json", data_files=files)
    assert [message["role"] for message in loaded[0]["messages"]] == ["system", "user", "assistant"]
    assert loaded.num_rows == 2


def test_training_examples_load_as_conversations(layout: Layout, tmp_path: Path) -> None:
    files = str(layout.out / "tables" / "training_examples" / "*.parquet")
    loaded = load(tmp_path, "parquet", data_files=files)
    assert loaded.num_rows == 2
    for name in ("messages", "messages_with_context"):
        assert all({m["role"] for m in row[name]} == {"system", "user", "assistant"} for row in loaded)
        assert set(loaded.features[name].feature) == {"role", "content"}
    assert {row["evidence"][0]["page"] for row in loaded} == {None, 3}


def test_a_json_file_alone_cannot_say_the_type_of_a_field_that_is_null_throughout(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "out")
    write(layout, "first", None, None)
    write(layout, "second", 3, 0.5)
    with pytest.raises(DatasetGenerationError):  # why there is a card
        load(tmp_path, "json", data_files=str(layout.out / "exports" / "passed" / "*.jsonl"))


FIELDS = {
    one["config_name"]: [field["name"] for field in one["features"]]
    for one in yaml.safe_load(exports_card().decode().split("---")[1])["dataset_info"]
}


@pytest.mark.parametrize("has_files", [True, False], ids=["empty files", "no files"])
@pytest.mark.parametrize("name", [*LEDGER_FILES, *CHAT_FILES])
def test_exports_without_a_row_load_as_a_stream_of_no_rows_with_all_columns(
    tmp_path: Path, name: str, has_files: bool
) -> None:
    layout = Layout(tmp_path / "out")
    made = {every: pl.DataFrame() for every in FIELDS if has_files}
    write_exports(layout, "b", made)
    (layout.out / "exports" / "passed").mkdir(exist_ok=True)
    streamed = load(tmp_path, str(layout.out / "exports"), name, streaming=True)
    assert list(streamed) == []
    assert streamed.column_names == FIELDS[name]


@pytest.mark.parametrize("full", ["rejected", "chat_with_context"])
def test_exports_load_whatever_others_lack(tmp_path: Path, full: str) -> None:
    source, layout = Layout(tmp_path / "source"), Layout(tmp_path / "out")
    write(source, "b", 3, 0.5)
    write_exports(layout, "b", {})
    write_bytes(layout.export(full, "b"), source.export(full, "b").read_bytes())
    folder = str(layout.out / "exports")
    for name, fields in FIELDS.items():
        streamed = load(tmp_path, folder, name, streaming=True)
        assert (len(list(streamed)), streamed.column_names) == (int(name == full), fields)
    assert load_dataset(folder, full, cache_dir=str(tmp_path / "cache"))["train"].num_rows == 1


def test_the_library_makes_no_split_without_rows_of_any_file(tmp_path: Path) -> None:
    """Why empty exports are read as a stream; once this fails, the documentation can say less."""
    pl.DataFrame(schema={"text": pl.String()}).write_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="corresponds to no data"):
        load(tmp_path, "parquet", data_files=str(tmp_path / "empty.parquet"))
