import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import SettingsError
from qa_pipeline.models.embedding_files import EMBEDDED_SHA256
from qa_pipeline.settings.generation import EMBEDDED_EMBEDDING_MODEL
from qa_pipeline.verification.combined import DIFFERENCES, SHIPPED, load_model
from qa_pipeline_tests.verification.frames import claims

shares = st.one_of(st.none(), st.floats(0, 1))
conflicts = st.lists(st.just("x"), max_size=4)
rows = st.fixed_dictionaries(
    {
        "similarity": st.floats(-1, 1),
        "token_recall": shares,
        "cited_recall": shares,
        **dict.fromkeys(DIFFERENCES, conflicts),
    }
)


def scores(frame: pl.DataFrame) -> list[float]:
    return [float(score) for score in load_model().probabilities(frame)]


@given(
    rows, st.sampled_from(["similarity", "token_recall", "cited_recall"]), st.floats(0, 1), st.floats(0, 1)
)
def test_more_of_the_claim_in_its_passages_never_lowers_the_score(
    row: dict[str, Any], column: str, one: float, other: float
) -> None:
    less, more = sorted([one, other])

    low, high = scores(claims({**row, column: less}, {**row, column: more}))

    assert low <= high


@given(rows, st.sampled_from(DIFFERENCES))
def test_another_conflict_never_raises_the_score(row: dict[str, Any], column: str) -> None:
    before, after = scores(claims(row, {**row, column: [*row[column], "y"]}))

    assert after <= before


@given(st.lists(rows, min_size=1, max_size=5), st.randoms())
def test_a_score_follows_from_the_claims_own_row_alone(some: list[dict[str, Any]], random: Any) -> None:
    frame = claims(*some)
    order = list(range(len(some)))
    random.shuffle(order)

    assert [scores(frame)[place] for place in order] == scores(frame[order])
    assert scores(frame) == [scores(frame[place])[0] for place in range(len(some))]


@given(st.lists(rows, min_size=1, max_size=5))
def test_every_score_is_a_probability(some: list[dict[str, Any]]) -> None:
    assert all(0 <= score <= 1 for score in scores(claims(*some)))


def test_the_shipped_model_is_that_of_the_packaged_encoder() -> None:
    model = load_model()

    assert model.fits(EMBEDDED_EMBEDDING_MODEL, f"sha256:{EMBEDDED_SHA256['model.safetensors']}")
    assert not model.fits(EMBEDDED_EMBEDDING_MODEL, "another revision")


def test_the_shipped_model_says_what_it_was_fitted_on() -> None:
    model = load_model()

    assert [one.file for one in model.data] == [
        "expertqa.parquet",
        "factcheck_gpt_stance.parquet",
        "fever_symmetric.parquet",
        "summedits.parquet",
    ]
    assert all(len(one.sha256) == 64 and one.items for one in model.data)
    assert "MIT" in model.licence_note


def test_a_version_names_what_moves_a_score_and_nothing_else(tmp_path: Path) -> None:
    content = json.loads(SHIPPED.read_bytes())
    renoted = write(tmp_path / "a.json", {**content, "licence_note": "another"})
    moved = write(tmp_path / "b.json", {**content, "intercept": content["intercept"] + 0.1})

    assert load_model(renoted).version == load_model().version
    assert load_model(moved).version != load_model().version


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def broken(**changes: Any) -> dict[str, Any]:
    return {**json.loads(SHIPPED.read_bytes()), **changes}


def term(**changes: Any) -> dict[str, Any]:
    return {"feature": "similarity", "at": [0.0, 1.0], "adds": [0.0, 1.0], "missing": 0.0, **changes}


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (broken(intercept=float("nan")), "intercept"),
        (broken(terms=[term(adds=[0.0, float("inf")])]), "terms"),
        (broken(terms=[term(feature="moon_phase")]), "unknown feature 'moon_phase'"),
        (broken(terms=[term(adds=[1.0, 0.0])]), "similarity may only be rising"),
        (broken(terms=[term(at=[1.0, 0.0])]), "at must rise"),
        (broken(terms=[term(adds=[0.0, 0.5, 1.0])]), "adds needs a value for each"),
        (broken(terms=[term(), term()]), "a feature has two terms"),
        (broken(terms=[]), "terms"),
        (broken(format=2), "format"),
        (broken(calibration={"slope": -1.0, "offset": 0.0}), "calibration.slope"),
        (broken(code="import os"), "code"),
        ({"intercept": 0.0}, "Field required"),
        ([], "combined model"),
    ],
)
def test_a_broken_file_is_refused_by_name_and_place(tmp_path: Path, content: object, named: str) -> None:
    path = write(tmp_path / "mine.json", content)

    with pytest.raises(SettingsError, match="fit-combined") as refused:
        load_model(path)

    assert str(path) in str(refused.value)
    assert named in str(refused.value)


def test_a_file_that_is_no_json_or_not_there_or_huge_is_refused(tmp_path: Path) -> None:
    text, huge = tmp_path / "text.json", tmp_path / "huge.json"
    text.write_bytes(b"\x80\x03pickled")
    huge.write_bytes(b" " * 1_000_001)

    for path in (text, huge, tmp_path / "no.json", tmp_path):
        with pytest.raises(SettingsError, match="combined model"):
            load_model(path)
