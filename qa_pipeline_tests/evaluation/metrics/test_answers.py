import pytest

from qa_pipeline_tests.evaluation.metrics.frames import Row, contexts, statement, statements, value


def relevance(*cosines: float, noncommittal: bool = False) -> Row:
    return {"relevance": {"cosines": list(cosines), "noncommittal": noncommittal}}


def test_relevance_is_the_mean_cosine_and_0_for_an_answer_that_commits_to_nothing() -> None:
    assert value("answer_relevance", relevance(1.0, 0.5, 0.6)) == pytest.approx(0.7)
    assert value("answer_relevance", relevance(1.0, noncommittal=True)) == 0.0
    assert value("answer_relevance", relevance()) is None


def test_correctness_weighs_faithfulness_to_the_reference_and_likeness() -> None:
    row = {"reference_statements": statements("supported", "unsupported"), "reference_similarity": 0.8}
    assert value("answer_correctness", row) == pytest.approx(0.6 * 0.5 + 0.4 * 0.8)


@pytest.mark.parametrize(
    ("answer", "reference", "language", "exact", "f1"),
    [
        ("The Eiffel Tower!", "eiffel tower", "en", 1.0, 1.0),
        ("the tower in Paris", "Paris", "en", 0.0, 0.5),
        ("a a b b", "b b b", "sv", 0.0, 2 * 2 / 7),
        ("En bil", "bil", "sv", 0.0, 2 / 3),
        ("Rome", "Paris", "en", 0.0, 0.0),
        ("the", "a", "en", 1.0, 1.0),
    ],
)
def test_words_are_compared_as_squad_does(
    answer: str, reference: str, language: str, exact: float, f1: float
) -> None:
    row = {"answer": answer, "reference": reference, "language": language}
    assert value("exact_match", row) == exact
    assert value("token_f1", row) == pytest.approx(f1)


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
        "covered": [{"supported": one, "context": 0, "decided_by": "x"} for one in (True, False)],
        "statements": [statement(context=1), statement(context=0), statement("unsupported", context=2)],
        "true_claims": [{"claim": "C.", "source": one} for one in sources],
        "contexts": contexts("a", "b", "c"),
    }


def test_integration_weighs_true_claims_stated_and_their_sources_drawn_on() -> None:
    assert value("information_integration", integrated(["a", "c"])) == pytest.approx(0.6 * 0.5 + 0.4 * 0.5)
    assert value("information_integration", integrated(["a", "b"])) == pytest.approx(0.6 * 0.5 + 0.4 * 1.0)
    assert value("information_integration", integrated(["a", None])) is None


def test_contradictions_are_handled_where_the_answer_deals_with_each() -> None:
    found = [{"handled": True}, {"handled": False}]
    assert value("contradiction_handling", {"conflicts": found}) == 0.5
    assert value("contradiction_handling", {"conflicts": []}) is None
