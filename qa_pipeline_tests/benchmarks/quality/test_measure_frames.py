from qa_pipeline_tests.benchmarks.quality.measure_frames import ADAPTERS, FORMS, measure

ROWS = [
    {
        "question": "When was the Eiffel Tower completed?",
        "answer": f"The Eiffel Tower was completed in {year}.",
        "contexts": ["The Eiffel Tower was completed in 1889.", "Paris is in France."],
    }
    for year in (1889, 1899)
]


def test_answers_have_equal_figures_from_every_frame() -> None:
    found = measure(ROWS)
    assert found["means"]["faithfulness"] == 0.5
    assert found["different"] == []
    missing = {entry.partition(":")[0] for entry in found["missing"]}
    assert missing <= set(ADAPTERS)
    assert set(found["equal"]) == {"list", *FORMS} - missing
    assert found["adapters"]["verify_many"] == {"mean": 0.5, "known": 2}
