import pytest

from qa_pipeline_tests.evaluation.metrics.frames import Row, contexts, statement, value


def held(*supported: bool) -> list[Row]:
    return [{"supported": one, "decided_by": "x"} for one in supported]


def test_correctness_weighs_faithfulness_to_the_reference_and_likeness() -> None:
    row = {"reference_statements": held(True, False), "reference_similarity": 0.8}
    assert value("answer_correctness", row) == pytest.approx(0.6 * 0.5 + 0.4 * 0.8)


def test_uncertainty_is_the_entropy_over_groups_of_one_meaning() -> None:
    assert value("answer_uncertainty", {"meanings": [0, 0, 1, 1]}) == pytest.approx(1.0)
    assert value("answer_uncertainty", {"meanings": [0, 0, 0]}) == 0.0
    assert value("answer_uncertainty", {"meanings": []}) is None


@pytest.mark.parametrize(("refused", "must", "right"), [(True, True, 1), (False, True, 0), (True, False, 0)])
def test_a_refusal_is_right_where_it_was_due(refused: bool, must: bool, right: float) -> None:
    assert value("refusal_correct", {"refused": refused, "must_refuse": must}) == right
    assert value("refusal_correct", {"refused": refused, "must_refuse": None}) is None


def integrated(sources: list[str | None]) -> Row:
    return {
        "covered": held(True, False),
        "statements": [statement(context=1), statement(context=0), statement("unsupported", context=2)],
        "true_claims": [{"claim": "C.", "source": one} for one in sources],
        "contexts": contexts("a", "b", "c"),
    }


def test_integration_weighs_true_claims_stated_and_their_sources_drawn_on() -> None:
    assert value("information_integration", integrated(["a", "c"])) == pytest.approx(0.6 * 0.5 + 0.4 * 0.5)
    assert value("information_integration", integrated(["a", "b"])) == pytest.approx(0.6 * 0.5 + 0.4 * 1.0)
    assert value("information_integration", integrated(["a", None])) is None


def test_contradictions_are_handled_where_the_answer_deals_with_each() -> None:
    assert value("contradiction_handling", {"conflicts": [True, False]}) == 0.5
    assert value("contradiction_handling", {"conflicts": []}) is None
