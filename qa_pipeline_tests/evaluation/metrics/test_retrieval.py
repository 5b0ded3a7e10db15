import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from qa_pipeline.evaluation.metrics.registry import METRICS, chosen_metrics
from qa_pipeline.evaluation.metrics.retrieval import micro_f1_parts
from qa_pipeline_tests.evaluation.metrics.frames import NOBODY, Row, contexts, value, with_signals


def ranking(relevant_at: Sequence[int], length: int) -> Row:
    """A ranking with relevant documents at these ranks, from 1."""
    names = [f"d{rank}" for rank in range(1, length + 1)]
    return {"contexts": contexts(*names), "relevant_documents": [f"d{rank}" for rank in relevant_at]}


def test_first_hits_at_ranks_1_2_and_5_give_an_mrr_of_0567() -> None:
    values = [value("reciprocal_rank", ranking([rank], 5)) for rank in (1, 2, 5)]
    assert values == pytest.approx([1.0, 0.5, 0.2])
    assert np.mean(values) == pytest.approx(0.567, abs=0.0005)  # type: ignore[arg-type]


def test_relevant_documents_at_ranks_1_5_6_and_8_give_an_ndcg_of_0804() -> None:
    assert value("ndcg_at_10", ranking([1, 5, 6, 8], 10)) == pytest.approx(0.804, abs=0.0005)


def test_grades_are_the_gains_of_ndcg_and_change_no_other_figure() -> None:
    """The example of Wikipedia's article on discounted cumulative gain: 6.861 / 8.740 = 0.785."""
    grades = {"d1": 3, "d2": 2, "d3": 3, "d5": 1, "d6": 2, "d7": 3, "d8": 2}
    row = {
        "contexts": contexts("d1", "d2", "d3", "d4", "d5", "d6"),
        "relevant_documents": list(grades),
        "relevance_grades": list(grades.values()),
    }
    binary = {**row, "relevance_grades": None}
    assert value("ndcg_at_6", row) == pytest.approx(0.785, abs=0.0005)
    assert value("precision_at_5", row) == value("precision_at_5", binary)
    assert value("recall_at_5", row) == value("recall_at_5", binary)


def precision(hits: list[int], relevant: int, k: int) -> float:
    del relevant
    return sum(hits[:k]) / k


def recall(hits: list[int], relevant: int, k: int) -> float:
    return sum(hits[:k]) / relevant


def f1(hits: list[int], relevant: int, k: int) -> float:
    p, r = precision(hits, relevant, k), recall(hits, relevant, k)
    return 2 * p * r / (p + r) if p + r else 0.0


def ndcg(hits: list[int], relevant: int, k: int) -> float:
    gain = sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits[:k]))
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(relevant, k)))


@pytest.mark.parametrize("k", [1, 3, 5, 10])
@pytest.mark.parametrize("reference", [precision, recall, f1, ndcg])
def test_rankings_are_measured_as_their_definitions_say(
    reference: Callable[[list[int], int, int], float], k: int
) -> None:
    draw = random.Random(k)
    rows, expected = [], []
    for _ in range(100):
        ranked = draw.sample([f"doc/{n}.md" for n in range(30)], draw.randint(0, 15))
        relevant = draw.sample([f"doc/{n}.md" for n in range(30)], draw.randint(1, 8))
        rows.append({"contexts": contexts(*ranked), "relevant_documents": relevant})
        expected.append(reference([one in relevant for one in ranked], len(relevant), k))
    metric = chosen_metrics([f"{reference.__name__}_at_{k}"])[0]
    assert metric.scores(with_signals(*rows), NOBODY) == pytest.approx(expected, abs=1e-9)


def test_micro_f1_counts_every_document_alike_and_macro_f1_every_row() -> None:
    rows = with_signals(ranking([1], 1), ranking([6, 7, 8, 9], 5))
    assert [micro_f1_parts(row, 5) for row in rows] == [(1, 6), (0, 9)]
    assert METRICS["f1_at_5"].scores(rows, NOBODY) == pytest.approx([2 * 0.2 / 1.2, 0.0])
    assert micro_f1_parts(with_signals({"contexts": None})[0], 5) == (0, 0)


def test_a_document_at_several_ranks_counts_at_its_first_one() -> None:
    row = {"contexts": contexts("a", "a", "b"), "relevant_documents": ["b"]}
    assert value("reciprocal_rank", row) == 0.5


def test_context_precision_is_the_share_of_relevant_sentences() -> None:
    assert value("context_precision", {"relevant_sentences": [[True, False], [], [False, True]]}) == 0.5
    assert value("context_precision", {"relevant_sentences": [[], []]}) is None
    assert value("context_precision", {"relevant_sentences": [[True, None]]}) is None


def test_ranked_context_precision_is_average_precision_over_the_contexts() -> None:
    assert value("context_precision_ranked", {"relevant_sentences": [[True], [False], [True]]}) == (
        pytest.approx((1 + 2 / 3) / 2)
    )
    assert value("context_precision_ranked", {"relevant_sentences": [[False], []]}) == 0.0
    assert value("context_precision_ranked", {"relevant_sentences": [[True], [None]]}) is None


def held(*flags: bool | None) -> Row:
    return {"attributed": [{"supported": one, "context": 0, "decided_by": "quotation"} for one in flags]}


def test_three_of_four_true_statements_in_the_contexts_are_a_context_recall_of_075() -> None:
    assert value("context_recall", held(True, True, False, True)) == 0.75
    assert value("context_recall", held(True, None)) is None


def test_context_diversity_is_the_entropy_of_documents_in_bits() -> None:
    assert value("context_diversity", {"contexts": contexts("a", "b", "c", "d")}) == pytest.approx(2.0)
    assert value("context_diversity", {"contexts": contexts("a", "a")}) == 0.0
    shares = np.array([2, 1]) / 3
    assert value("context_diversity", {"contexts": contexts("a", "b", "a")}) == (
        pytest.approx(float(-(shares * np.log2(shares)).sum()))
    )
    assert value("context_diversity", {"contexts": []}) is None
