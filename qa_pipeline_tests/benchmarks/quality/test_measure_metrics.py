import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from qa_pipeline.evaluation.datasets.answered_questions import RAG_ROWS
from qa_pipeline.evaluation.datasets.grounding_items import ITEMS
from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.models import encoder
from qa_pipeline_tests.benchmarks.conftest import RunMain
from qa_pipeline_tests.benchmarks.quality.measure_metrics import (
    agreement_with_labels,
    agreement_with_ratings,
    labelled_rows,
    main,
    metric_values,
)
from qa_pipeline_tests.benchmarks.quality.rated_answers import RATINGS, Rated, read_rated
from qa_pipeline_tests.evaluation.labelled_files import item, items, write_lines
from qa_pipeline_tests.evaluation.test_running import means_at
from qa_pipeline_tests.fakes import HashEmbedder

FAITHFULNESS = chosen_metrics(["faithfulness"])
COUNT = 120


def values(scores: list[float | None], answer_lengths: list[int]) -> pl.DataFrame:
    """Items of one set, every other one supported, with a metric and the length of the answer."""
    places = range(len(scores))
    return pl.DataFrame(
        {
            "dataset": ["made"] * len(scores),
            "language": ["sv"] * len(scores),
            "group_id": [f"g{place % 40}" for place in places],
            "label": [place % 2 for place in places],
            "relevance": [float(place % 2) for place in places],
            "faithfulness": pl.Series(scores, dtype=pl.Float64),
            "length": [-float(length) for length in answer_lengths],
            "word_overlap": [0.5] * len(scores),
        }
    )


def of_set(scores: list[float | None], lengths: list[int]) -> dict[str, object]:
    found = agreement_with_labels(values(scores, lengths), FAITHFULNESS, 200)
    return found["faithfulness"]["sv"]  # type: ignore[no-any-return]


def test_labelled_items_are_rows_whose_contexts_have_their_order() -> None:
    rows = labelled_rows(pl.DataFrame([item(0), item(1, question=None)], schema=ITEMS))
    assert rows.schema == RAG_ROWS
    assert [one["rank"] for one in rows["contexts"][0]] == [*range(1, len(rows["contexts"][0]) + 1)]
    assert rows["query"][1] == rows["answer"][1]


def test_a_metric_that_knows_the_labels_beats_length_and_one_by_chance_does_not() -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(1, 100, COUNT).tolist()
    assert of_set([float(place % 2) for place in range(COUNT)], lengths)["beats_length"] is True
    assert of_set(random.random(COUNT).tolist(), lengths)["beats_length"] is False


@pytest.mark.parametrize("sign", [1, -1])
def test_a_metric_that_only_measures_length_is_not_better_than_length_whichever_way_it_points(
    sign: int,
) -> None:
    lengths = [50 + sign * 10 * (place % 2) + place % 7 for place in range(COUNT)]
    assert of_set([float(one) for one in lengths], lengths)["beats_length"] is False


def test_items_without_a_value_are_left_out_and_a_set_of_few_says_nothing() -> None:
    scores: list[float | None] = [float(place % 2) if place < 100 else None for place in range(COUNT)]
    assert of_set(scores, [1] * COUNT)["known"] == pytest.approx(100 / COUNT)
    few = values([float(place % 2) if place < 58 else None for place in range(COUNT)], [1] * COUNT)
    assert agreement_with_labels(few, FAITHFULNESS, 10) == {"faithfulness": {}}


def test_ratings_are_held_against_the_metric_and_against_length() -> None:
    constant = dict.fromkeys([one for one in RATINGS if one != "relevance"], 1.0)
    frame = values([float(place % 2) for place in range(COUNT)], [*range(COUNT)]).with_columns(**constant)
    found = agreement_with_ratings(frame, FAITHFULNESS, 50)
    assert [(one["metric"], one["rating"]) for one in found] == [
        ("faithfulness", "relevance"),
        ("length", "relevance"),
    ]
    assert found[0]["value"] == pytest.approx(1.0)


def test_a_metric_for_which_less_is_better_is_turned(tmp_path: Path) -> None:
    passage = ["The pump weighs 40 kg."]
    items = [item(0, answer="The pump weighs 70 kg.", question=None, context=passage, label=0)]
    metrics = chosen_metrics(["hallucination"])
    found = metric_values(pl.DataFrame(items, schema=ITEMS), metrics, means_at(tmp_path))
    assert found["hallucination"].to_list() == [-1.0]


def test_files_without_ratings_give_no_row_of_ratings(tmp_path: Path) -> None:
    nothing = metric_values(Rated.columns.to_frame(), FAITHFULNESS, means_at(tmp_path))
    assert nothing.height == 0
    assert agreement_with_ratings(nothing, FAITHFULNESS, 10) == []


def test_files_of_labels_and_of_ratings_are_told_apart(tmp_path: Path) -> None:
    rated = {"id": "r", "dataset": "d", "language": "en", "passage": "P.", "question": "Q?", "answer": "A."}
    for name, row in (("labels", item(0)), ("ratings", {**rated, "group_id": "g", "relevance": 2})):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row), encoding="utf-8")
    ratings, items, left_out = read_rated([tmp_path])
    assert (items.height, ratings.height, left_out.height) == (1, 1, 0)
    assert labelled_rows(ratings)["contexts"][0][0]["text"] == "P."


def test_labels_and_ratings_are_measured_in_one_run(
    tmp_path: Path, run_main: RunMain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "load_embedder", lambda *_: HashEmbedder())
    labels = write_lines(tmp_path / "labels.jsonl", items(80))
    options = ("--metric", "faithfulness", "--resamples", "20", "--out", tmp_path / "out")
    figures = run_main(main, labels, *options)
    assert (figures["items"], figures["ratings"], figures["models"]) == (80, [], [])
    assert figures["labels"]["faithfulness"]["en"]["auroc"]["value"] > 0.9
