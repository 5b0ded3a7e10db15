from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.running import evaluate
from qa_pipeline_tests.evaluation.metrics.frames import context, means_at, rows_of

TALL = "The Eiffel Tower in Paris is 330 metres tall."
TALLER = "The Eiffel Tower in Paris is 312 metres tall."
CONTEXTS = [context(TALL, "a"), context(TALLER, "b")]


def value(folder: Path, metric: str, **row: Any) -> float | None:
    _, values = evaluate(rows_of(row), chosen_metrics([metric]), means_at(folder))
    found: float | None = values[metric][0]
    return found


def test_the_contexts_that_a_statement_denies_are_contradicted(tmp_path: Path) -> None:
    assert value(tmp_path, "hallucination", answer=TALL, contexts=[CONTEXTS[1], context("Rain.")]) == 0.5


def test_relevance_is_that_of_the_sentences_and_0_for_a_refusal(tmp_path: Path) -> None:
    query = "How tall is the tower?"
    answers = (query, f"{query} Bread needs yeast.", "I do not know.")
    same, half, refused = (value(tmp_path, "answer_relevance", query=query, answer=one) for one in answers)
    assert same == pytest.approx(1.0)
    assert refused == 0.0
    assert 0.0 < (half or 0.0) < 0.9


def test_sentences_near_the_question_or_the_reference_are_relevant(tmp_path: Path) -> None:
    row: dict[str, Any] = {"query": "How tall is the tower?", "reference": "Yeast makes bread rise."}
    shown = [context("How tall is the tower? It rains."), context("Yeast makes bread rise."), context("")]
    assert value(tmp_path, "context_precision", **row, contexts=shown) == pytest.approx(2 / 3)
    assert value(tmp_path, "context_precision", **row, contexts=[*shown, context(None)]) is None


def test_samples_mean_the_same_if_they_are_near_and_deny_nothing(tmp_path: Path) -> None:
    def uncertainty(*samples: str) -> float | None:
        return value(tmp_path, "answer_uncertainty", samples=samples)

    assert uncertainty(TALL, TALL.upper(), f"{TALL} Indeed.") == 0.0
    assert uncertainty(TALL, TALLER) == 1.0
    assert uncertainty(TALL, "Nobody knows.") == 1.0


@pytest.mark.parametrize(
    ("answer", "handled"),
    [
        ("It is 330 metres tall.", 0.0),
        ("One source says 330 metres, another 312 metres.", 1.0),
        ("I do not know.", 1.0),
    ],
)
def test_a_contradiction_is_handled_by_naming_both_sides_or_leaving_it_open(
    tmp_path: Path, answer: str, handled: float
) -> None:
    assert value(tmp_path, "contradiction_handling", answer=answer, contexts=CONTEXTS) == handled


def test_true_claims_are_looked_for_in_the_contexts_and_in_the_answer(tmp_path: Path) -> None:
    claims = [{"claim": TALL, "source": "a"}, {"claim": "Rome is the capital of Italy.", "source": "b"}]
    row = {"true_claims": claims, "contexts": CONTEXTS[:1], "answer": TALL}
    assert value(tmp_path, "context_recall", **row) == 0.5
    assert value(tmp_path, "information_integration", **row) == pytest.approx(0.6 * 0.5 + 0.4 * 0.5)


def test_an_answer_is_compared_with_its_reference(tmp_path: Path) -> None:
    assert value(tmp_path, "answer_correctness", answer=TALL, reference=TALL) == pytest.approx(1.0)
    assert (value(tmp_path, "answer_correctness", answer=TALLER, reference=TALL) or 1) < 0.4 + 1e-9
