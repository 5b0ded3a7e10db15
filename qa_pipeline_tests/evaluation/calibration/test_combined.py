import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from qa_pipeline.cli.app import app
from qa_pipeline.cli.calibrate import as_file
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.calibration.combined import fit_model, item_minimum
from qa_pipeline.evaluation.calibration.rows import LabelledSet, labelled_set, read_complete
from qa_pipeline.evaluation.datasets import NEEDED
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.verification.combined import CombinedModel, load_model
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.frames import claims


def labelled(name: str, seed: int, *, size: int = 200, noise: float = 0.1) -> LabelledSet:
    """Items whose similarity and recall follow their labels."""
    drawn = np.random.default_rng(seed)
    labels = drawn.integers(0, 2, size)
    similarity = np.clip(0.3 + 0.4 * labels + drawn.normal(0, noise, size), -1, 1)
    rows = [
        {
            "similarity": float(s),
            "token_recall": float(s > 0.5),
            "wording_recall": 0.9,
            "number_conflicts": [] if y else ["80"],
        }
        for s, y in zip(similarity, labels, strict=True)
    ]
    items = pl.DataFrame({"label": labels, "group_id": [str(i // 2) for i in range(size)]}).with_row_index(
        "item"
    )
    return LabelledSet(name, "0" * 64, items, claims(*rows).with_columns(item=items["item"]))


def fitted(*sets: LabelledSet) -> CombinedModel:
    return fit_model(sets, "hash", "1", fitted_on=date(2026, 1, 2), licence_note="made up")


def test_a_fitted_model_parts_what_it_was_fitted_on_at_one_half() -> None:
    sets = [labelled("a", 1), labelled("b", 2)]

    model = fitted(*sets)

    for one in sets:
        right = (model.probabilities(one.claims) >= 0.5) == (one.items["label"].to_numpy() == 1)
        assert right.mean() > 0.95


def test_fitting_again_gives_the_same_bytes_and_the_file_reads_back(tmp_path: Path) -> None:
    sets = [labelled("a", 1), labelled("b", 2)]
    path = tmp_path / "mine.json"
    path.write_bytes(as_file(fitted(*sets)))

    assert as_file(fitted(*sets)) == path.read_bytes()
    assert load_model(path) == fitted(*sets)


def test_the_size_of_a_set_and_its_share_of_labels_do_not_move_the_threshold() -> None:
    one = labelled("a", 1)
    twice = LabelledSet(
        "a",
        one.sha256,
        pl.concat([one.items, one.items.with_columns(item=one.items["item"] + 200)]),
        pl.concat([one.claims, one.claims.with_columns(item=one.claims["item"] + 200)]),
    )
    other = labelled("b", 2)

    before, after = (fitted(first, other).probabilities(other.claims) for first in (one, twice))

    assert np.allclose(before, after, atol=1e-3)


def test_an_item_falls_with_its_least_supported_claim() -> None:
    one = labelled("a", 1, size=2)
    several = LabelledSet("a", "", one.items, claims({}, {}, {}).with_columns(item=pl.Series([0, 0, 1])))

    assert item_minimum(several, np.array([0.5, -1.0, 2.0])).tolist() == [-1.0, 2.0]


def test_an_item_without_claims_has_no_minimum() -> None:
    one = labelled("a", 1, size=2)
    half = LabelledSet("a", "", one.items, claims({}).with_columns(item=pl.Series([1])))

    assert np.isnan(item_minimum(half, np.array([0.5]))).tolist() == [True, False]


def test_a_set_of_one_label_is_refused_by_name() -> None:
    one = labelled("only.parquet", 1)
    supported = LabelledSet(one.name, one.sha256, one.items.with_columns(label=pl.lit(1)), one.claims)

    with pytest.raises(InputError, match=r"only\.parquet needs items of both labels"):
        fitted(supported, labelled("b", 2))


ITEM: dict[str, Any] = {
    "id": "1",
    "language": "en",
    "question": None,
    "context": ["The heat pump weighs 80 kg."],
    "answer": "The heat pump weighs 80 kg. It is red.",
    "label": 0,
    "group_id": "g",
}


def write_items(path: Path, *rows: dict[str, Any]) -> Path:
    schema = {"question": pl.String(), "label": pl.Int8()}
    pl.DataFrame(list(rows), schema_overrides=schema).write_parquet(path)
    return path


def test_items_of_equal_text_keep_their_own_labels(tmp_path: Path) -> None:
    path = write_items(tmp_path / "a.parquet", ITEM, {**ITEM, "id": "2", "label": 1})

    one = labelled_set(read_complete(path), HashEmbedder(), VerificationSettings())

    assert one.items["label"].to_list() == [0, 1]
    assert one.claims["item"].to_list() == [0, 0, 1, 1]


@pytest.mark.parametrize("column", sorted(NEEDED))
def test_a_missing_column_is_told_with_its_file(tmp_path: Path, column: str) -> None:
    rest = {name: value for name, value in ITEM.items() if name != column}
    path = tmp_path / "bad.parquet"
    pl.DataFrame([rest]).write_parquet(path)

    with pytest.raises(InputError, match=f"{re.escape(str(path))} has no column {column};"):
        read_complete(path)


def test_labels_other_than_0_and_1_are_refused(tmp_path: Path) -> None:
    for label in (2, None):
        path = write_items(tmp_path / "bad.parquet", {**ITEM, "label": label})
        with pytest.raises(InputError, match="row 1: label "):
            read_complete(path)


@pytest.mark.parametrize(
    ("column", "value"),
    [("answer", None), ("group_id", 7), ("context", "one text"), ("context", [None])],
)
def test_one_row_that_cannot_be_used_refuses_the_file(tmp_path: Path, column: str, value: object) -> None:
    path = tmp_path / "bad.jsonl"
    rows = [{**ITEM, "id": "2"}, {**ITEM, column: value}]
    path.write_text("\n".join(map(json.dumps, rows)))

    with pytest.raises(InputError, match=rf"bad\.jsonl, row 2: {column}.*; correct or remove such rows"):
        read_complete(path)


def test_the_command_names_file_and_column_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    pl.DataFrame([{"id": "1"}]).write_parquet(path)
    out = tmp_path / "mine.json"

    result = CliRunner().invoke(app, ["fit-combined", "--data", str(path), "--out", str(out)])

    assert result.exit_code == 2
    assert "bad.parquet has no column language" in result.stderr
    assert not out.exists()


def test_the_shipped_file_is_written_as_the_command_writes() -> None:
    from qa_pipeline.verification.combined import SHIPPED

    assert SHIPPED.read_bytes() == as_file(load_model())
    assert json.loads(SHIPPED.read_bytes())["format"] == 1
