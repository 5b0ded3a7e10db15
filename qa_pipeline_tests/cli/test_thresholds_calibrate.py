from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.models import encoder as embedding_model
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.fakes import HashEmbedder

Change = Callable[[pl.DataFrame], pl.DataFrame]


def items(count: int = 4) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [str(row) for row in range(count)],
            "language": ["en"] * count,
            "question": [None] * count,
            "context": [["The pump runs at 3 bar. It is loud."]] * count,
            "answer": ["The pump runs at 3 bar.", "The pump runs at 4 bar."] * (count // 2),
            "label": [1, 0] * (count // 2),
            "group_id": [str(row // 2) for row in range(count)],
        },
        schema_overrides={"question": pl.String},
    )


def written(path: Path, frame: pl.DataFrame) -> Path:
    frame.write_parquet(path)
    return path


@pytest.fixture(autouse=True)
def _light_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_model, "load_embedder", lambda *_: HashEmbedder())
    monkeypatch.setenv("QA_PIPELINE_OUT", str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.drop("answer", "group_id"), "answer"),
        (lambda frame: frame.with_columns(label=pl.lit(2)), "row 1: label"),
        (lambda frame: frame.with_columns(answer=pl.lit(None, pl.String())), "row 1: answer"),
        (lambda frame: frame.clear(), "set.parquet"),
        (lambda frame: frame, "verification.entailment.model"),
    ],
)
def test_files_that_nothing_can_be_fitted_on_are_reported(tmp_path: Path, change: Change, told: str) -> None:
    path = written(tmp_path / "set.parquet", change(items()))
    found = invoke("calibrate", "--data", path)
    assert found.code == 2
    assert told in found.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--target-precision", "1"), "--target-precision"),
        (("--confidence", "0"), "--confidence"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    found = invoke("calibrate", "--data", written(tmp_path / "set.parquet", items()), *options)
    assert (found.code, told in found.stderr) == (2, True)
