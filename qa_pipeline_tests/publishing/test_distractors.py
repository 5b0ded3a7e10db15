import random
from pathlib import Path

from qa_pipeline_tests.benchmarks.robustness.release_leaks import measured


def test_of_a_random_corpus_that_grows_nothing_stands_in_two_splits_and_nothing_moves(
    tmp_path: Path,
) -> None:
    counted = measured(tmp_path, random.Random(0))
    planted = ("near_duplicates", "shared_documents", "paraphrased_questions", "planted_questions_released")
    assert all(counted[name] for name in planted)
    leaks = {
        name: count for name, count in counted.items() if name.endswith("in_two_splits") or name == "moved"
    }
    assert len(leaks) == 5
    assert not any(leaks.values())
