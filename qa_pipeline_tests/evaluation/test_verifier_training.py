"""A verifier trained on labelled rows: what is kept apart, what comes out, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.cli.common import BAD_INPUT, OK
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets import ITEMS
from qa_pipeline.evaluation.verifier_training import (
    MADE,
    Training,
    figures,
    held_out,
    left_out_figures,
    made_rows,
    save,
    scores,
    train,
    training_rows,
)
from qa_pipeline.settings.verification import EntailmentSettings
from qa_pipeline.verification.entailment.models import load_cross_encoder
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.fakes import memory_cache
from qa_pipeline_tests.verification.canaries.sentences import chunks_of
from qa_pipeline_tests.verification.entailment.models import write_classifier

PASSAGE = "The valve of the boiler opens at 3 bar and closes by hand."


def item(number: int, dataset: str = "own", **changes: Any) -> dict[str, Any]:
    right = number % 2
    fields = {
        "id": f"{dataset}{number}",
        "dataset": dataset,
        "language": "en",
        "context": [PASSAGE],
        "answer": f"The valve opens at {3 if right else number + 4} bar.",
        "label": right,
        "group_id": f"g{number // 2}",
        "spans": [],
    }
    return fields | changes


def items(*datasets: str, count: int = 8) -> pl.DataFrame:
    rows = [item(number, name) for name in datasets or ("own",) for number in range(count)]
    return pl.DataFrame(rows, schema_overrides=ITEMS).match_to_schema(ITEMS, missing_columns="insert")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_classifier(tmp_path_factory.mktemp("base"))


def silent(message: str) -> None:
    assert message


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.floats(0.05, 0.5), st.integers(0, 5))
def test_no_group_is_on_both_sides(groups: list[int], share: float, seed: int) -> None:
    rows = pl.DataFrame({"group_id": [f"g{one}" for one in groups]})
    left, right = held_out(rows, share, seed)
    assert left.height + right.height == rows.height
    assert not set(left["group_id"]) & set(right["group_id"])


def test_a_long_context_is_cut_to_the_words_beside_the_claim() -> None:
    long = ["word " * 2000, PASSAGE, "other " * 2000]
    rows = training_rows(items().with_columns(context=pl.lit(long)))
    assert all("opens at 3 bar" in text for text in rows["passage"])
    assert all(len(text) < 2000 for text in rows["passage"])


def test_rows_of_one_label_are_refused() -> None:
    with pytest.raises(InputError, match="all of one label"):
        training_rows(items().with_columns(label=pl.lit(1, pl.Int8())))


def test_claims_made_from_documents_are_true_and_false_ones() -> None:
    rows = made_rows(chunks_of(), 2)
    assert set(rows["label"]) == {0, 1}
    assert set(rows["dataset"]) == {MADE}


def test_the_folder_is_a_cross_encoder_that_scores_as_the_trained_model_did(
    base: Path, tmp_path: Path
) -> None:
    rows = training_rows(items(count=12))
    how = Training(base, epochs=1, input_tokens=64)
    model, tokenizer = train(rows, how, silent)
    again, _ = train(rows, how, silent)
    pairs = zip(model.parameters(), again.parameters(), strict=True)
    assert all(np.array_equal(one.detach(), two.detach()) for one, two in pairs)
    save(model, tokenizer, tmp_path / "mine")
    settings = EntailmentSettings(model=str(tmp_path / "mine"), precision="float32")
    loaded = load_cross_encoder(settings, memory_cache())
    found = loaded.probabilities(list(rows.select("passage", "claim").iter_rows()))
    assert found[:, 0] == pytest.approx(scores(model, tokenizer, rows, 64), abs=1e-5)


def test_each_data_set_is_measured_by_a_model_that_never_saw_it(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qa_pipeline.evaluation import verifier_training

    seen = []

    def noted(rows: pl.DataFrame, *others: Any) -> Any:
        seen.append(set(rows["dataset"]))
        return train(rows, *others)

    monkeypatch.setattr(verifier_training, "train", noted)
    how = Training(base, 1, input_tokens=64)
    found = left_out_figures(training_rows(items("one", "two")), how, 20, silent)
    assert seen == [{"two"}, {"one"}]
    assert {name: one["rows"] for name, one in found.items()} == {"one": 8, "two": 8}


def test_figures_hold_the_scores_against_word_overlap() -> None:
    rows = training_rows(items(count=20))
    found = figures(rows, rows["label"].cast(pl.Float64()).to_numpy(), 50, 0)
    assert found["model"]["auroc"]["value"] == 1.0
    assert found["ahead"]["auroc"]["value"] == pytest.approx(1 - found["word_overlap"]["auroc"]["value"])


def test_one_data_set_cannot_be_left_out(base: Path) -> None:
    with pytest.raises(InputError, match="needs two"):
        left_out_figures(training_rows(items()), Training(base), 20, silent)


def test_the_command_writes_model_figures_and_card_and_says_why_there_are_no_thresholds(
    base: Path, tmp_path: Path
) -> None:
    data = tmp_path / "rows.parquet"
    items(count=40).write_parquet(data)
    arguments = (
        "train-verifier",
        "--data",
        data,
        "--base",
        base,
        "--out",
        tmp_path / "mine",
        "--no-leave-out",
    )
    ran = invoke(*arguments, "--epochs", "1", "--input-tokens", "64")
    assert ran.code == OK, ran.stderr
    assert "no thresholds and decides nothing: too few" in ran.stderr
    about = json.loads((tmp_path / "mine" / "figures.json").read_text())
    assert about["sets"] == ["own"]
    assert "A verifier trained on own" in (tmp_path / "mine" / "README.md").read_text()
    assert (tmp_path / "mine" / "model.safetensors").is_file()
    refused = invoke(*arguments)
    assert refused.code == BAD_INPUT
    assert "is there already" in refused.stderr


def test_thresholds_that_decide_nothing_are_not_written(base: Path, tmp_path: Path) -> None:
    data = tmp_path / "rows.parquet"
    alike = [item(number, answer="The valve opens at 3 bar.", group_id=f"g{number}") for number in range(300)]
    rows = pl.DataFrame(alike, schema_overrides=ITEMS).match_to_schema(ITEMS, missing_columns="insert")
    rows.write_parquet(data)
    ran = invoke(
        "train-verifier", "--data", data, "--base", base, "--out", tmp_path / "mine", "--no-leave-out",
        "--epochs", "1", "--input-tokens", "64", "--target-precision", "0.9", "--calibration-share", "0.5",
    )  # fmt: skip
    assert ran.code == OK, ran.stderr
    assert "no thresholds and decides nothing" in ran.stderr
    assert "no threshold meets the target" in ran.stderr
    assert not (tmp_path / "mine" / "thresholds.json").exists()


def test_a_base_that_is_no_encoder_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "rows.parquet"
    items().write_parquet(data)
    (tmp_path / "empty").mkdir()
    ran = invoke(
        "train-verifier",
        "--data",
        data,
        "--base",
        tmp_path / "empty",
        "--out",
        tmp_path / "mine",
        "--no-leave-out",
    )
    assert ran.code == BAD_INPUT
    assert "cannot be loaded" in ran.stderr
    assert not (tmp_path / "mine").exists()
