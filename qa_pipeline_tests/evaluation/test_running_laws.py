from itertools import count
from pathlib import Path

import pytest

from qa_pipeline.evaluation.metrics.base import Metric, Row, Value
from qa_pipeline.evaluation.metrics.registry import METRICS
from qa_pipeline.evaluation.running import reproducibility_shares
from qa_pipeline_tests.evaluation.metrics.frames import context, means_at, rows_of

ROWS = rows_of(
    *(
        {
            "answer": answer,
            "contexts": [context("Ann lives in the mill. It rains.", "a.md", rank=1)],
            "citations": [{"raw": "a.md"}],
            "relevant_documents": ["a.md"],
        }
        for answer in ("Ann lives in the mill.", "Bo sails [1].", "I do not know.")
    )
)


def broken(of: Value) -> Metric:
    return Metric("broken", of, ("answer",), "")


def test_every_metric_keeps_the_three_laws(tmp_path: Path) -> None:
    found = reproducibility_shares(ROWS, list(METRICS.values()), means_at(tmp_path))
    assert found == {"identity": 1.0, "composition": 1.0, "naturality": 1.0, "score": 1.0}


def test_a_metric_that_remembers_other_rows_breaks_identity_and_composition(tmp_path: Path) -> None:
    calls = count()
    found = reproducibility_shares(ROWS, [broken(lambda _: next(calls))], means_at(tmp_path))
    assert (found["identity"], found["composition"], found["score"]) == (0.0, 0.0, 0.0)


def test_a_metric_that_sees_when_verification_stood_breaks_naturality(tmp_path: Path) -> None:
    def looks(row: Row) -> float:
        return float("statements" in row)

    found = reproducibility_shares(ROWS, [broken(looks)], means_at(tmp_path))
    assert (found["identity"], found["naturality"]) == (1.0, 0.0)
    assert found["score"] == pytest.approx(0.0)
