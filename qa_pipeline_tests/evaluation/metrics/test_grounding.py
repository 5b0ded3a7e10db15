import pytest

from qa_pipeline_tests.evaluation.metrics.frames import Row, statement, statements, value

TWO_OF_THREE = {"statements": statements("supported", "supported", "unsupported")}


def test_two_of_three_statements_are_a_faithfulness_of_two_thirds() -> None:
    assert value("faithfulness", TWO_OF_THREE) == pytest.approx(2 / 3)
    assert value("weighted_faithfulness_uniform", TWO_OF_THREE) == pytest.approx(2 / 3)


def test_the_first_statements_weigh_most_by_position() -> None:
    expected = (1 + 1 / 2) / (1 + 1 / 2 + 1 / 3)
    assert value("weighted_faithfulness_position", TWO_OF_THREE) == pytest.approx(expected)


def test_statements_near_the_question_weigh_most_by_meaning() -> None:
    row = {
        "statements": [
            statement(relevance=0.9),
            statement("unsupported", relevance=0.3),
            statement("unsupported", relevance=-0.5),
        ]
    }
    assert value("weighted_faithfulness_semantic", row) == pytest.approx(0.75)
    aside = {"statements": [statement(relevance=-0.1)]}
    assert value("weighted_faithfulness_semantic", aside) is None


@pytest.mark.parametrize("row", [{"statements": []}, {"statements": statements("supported", "undecided")}])
def test_without_statements_or_with_an_undecided_one_faithfulness_is_unknown(row: Row) -> None:
    assert value("faithfulness", row) is None
    assert value("weighted_faithfulness_position", row) is None


def test_grounding_is_the_mean_score_of_the_best_context_or_pair() -> None:
    row = {"statements": [statement(score=0.4, pair_score=0.6), statement(score=0.8, pair_score=0.8)]}
    assert value("grounding", row) == pytest.approx(0.6)
    assert value("multi_document_grounding", row) == pytest.approx(0.7)


def test_hallucination_is_the_share_of_contradicted_contexts() -> None:
    assert value("hallucination", {"contradictions": [True, False, False, True]}) == 0.5
    assert value("hallucination", {"contradictions": [None]}) is None
