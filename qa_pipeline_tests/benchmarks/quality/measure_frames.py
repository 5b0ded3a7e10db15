"""Whether labelled answers have equal figures from whatever frame or framework they come.

    python -m qa_pipeline_tests.benchmarks.quality.measure_frames DATA [--rows 100]

DATA is a Parquet file of labelled items (question, answer, context, label), as `grounding/` of the shared
benchmark data has. Rows are drawn from a seed and evaluated as a list, as frames of Polars and pandas, a
table of Arrow, a data set of `datasets`, and where they are installed as data sets of Ragas and DeepEval.
Ragas, DeepEval and Inspect also score them by our adapters, which are held against `verify_many`. For these
three take an environment of its own: what they pin cannot be installed beside this project. Prints one JSON
line.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.api.adapters import deepeval_metric, inspect_scorer, ragas_metric
from qa_pipeline.api.evaluation import evaluate
from qa_pipeline.api.verification import verify_many

Row = dict[str, Any]
SEED = 20261126


def main() -> None:
    """Draw rows, evaluate them in every form, and print the figures and what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=100)
    options = parser.parse_args()
    items = pl.read_parquet(options.data).filter(pl.col("question").is_not_null())
    drawn = items.sample(options.rows, seed=SEED).select("question", "answer", contexts="context")
    print(json.dumps(measure(drawn.to_dicts())))


def measure(rows: Sequence[Row]) -> Row:
    """Return the means of the plain rows, the forms that differ, and those whose package is missing."""
    expected = evaluate(rows)
    figures = dict(expected.summary.select("metric", "mean").rows())
    equal, different, missing = ["list"], list[str](), list[str]()
    for name, form in FORMS.items():
        try:
            data = form(rows)
        except ImportError as error:
            missing.append(f"{name}: {error}")
            continue
        (equal if evaluate(data).scores.equals(expected.scores) else different).append(name)
    return {
        "rows": len(rows),
        "means": figures,
        "equal": equal,
        "different": different,
        "adapters": _adapter_scores(rows, missing),
        "missing": missing,
    }


def _adapter_scores(rows: Sequence[Row], missing: list[str]) -> Row:
    """Return the mean by `verify_many`, and of each adapter the mean and the greatest difference in a row."""
    verified = verify_many(rows)
    refusals = pl.col("verdict").replace_strict({"accepted": 1.0, "rejected": 0.0}, default=None)
    known = pl.when(pl.col("verdict") != "failed").then(pl.coalesce("grounding", refusals))
    plain = verified.select(known).to_series()
    found: Row = {"verify_many": {"mean": plain.mean(), "known": plain.count()}}
    for name, scores_of in ADAPTERS.items():
        try:
            scores = pl.Series(scores_of(rows), dtype=pl.Float64).fill_nan(None)
        except ImportError as error:
            missing.append(f"{name}: {error}")
            continue
        found[name] = {
            "mean": scores.mean(),
            "known": scores.count(),
            "unlike": int((scores.ne_missing(plain)).sum()),
        }
    return found


def _pandas(rows: Sequence[Row]) -> Any:
    import pandas as pd

    return pd.DataFrame(rows)


def _datasets(rows: Sequence[Row]) -> Any:
    from datasets import Dataset

    return Dataset.from_list(list(rows))


def _ragas(rows: Sequence[Row]) -> Any:
    from ragas import EvaluationDataset

    names = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts"}
    return EvaluationDataset.from_list([{names[name]: value for name, value in row.items()} for row in rows])


def _test_cases(rows: Sequence[Row]) -> list[Any]:
    from deepeval.test_case import LLMTestCase

    names = {"question": "input", "answer": "actual_output", "contexts": "retrieval_context"}
    return [LLMTestCase(**{names[name]: value for name, value in row.items()}) for row in rows]


def _deepeval(rows: Sequence[Row]) -> Any:
    from deepeval.dataset import EvaluationDataset

    cases, data = _test_cases(rows), EvaluationDataset()
    for case in cases:
        data.add_test_case(case)
    return data


def _by_ragas(rows: Sequence[Row]) -> list[float | None]:
    from ragas import evaluate as ragas_evaluate

    result = ragas_evaluate(
        _ragas(rows), metrics=[ragas_metric()], raise_exceptions=True, show_progress=False
    )
    return [score["supported"] for score in result.scores]


def _by_deepeval(rows: Sequence[Row]) -> list[float | None]:
    metric = deepeval_metric()
    return [asyncio.run(metric.a_measure(case)) for case in _test_cases(rows)]


def _by_inspect(rows: Sequence[Row]) -> list[float | None]:
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver  # type: ignore[untyped-decorator, unused-ignore]
    def recorded() -> Any:  # a mocked model would fetch a tokenizer to count by
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("recorded", state.metadata["answer"])
            return state

        return solve

    samples = [
        Sample(
            id=place, input=row["question"], metadata={"contexts": row["contexts"], "answer": row["answer"]}
        )
        for place, row in enumerate(rows)
    ]
    task = Task(samples, solver=recorded(), scorer=inspect_scorer())
    with tempfile.TemporaryDirectory() as folder:
        (log,) = inspect_eval(task, "mockllm/model", log_dir=folder, display="none")
        scores = {sample.id: sample.scores["supported"].value for sample in log.samples}
    return [scores[place] for place in range(len(rows))]


FORMS: Mapping[str, Callable[[Sequence[Row]], Any]] = {
    "Polars": pl.DataFrame,
    "pandas": _pandas,
    "Arrow": lambda rows: pl.DataFrame(rows).to_arrow(),
    "datasets": _datasets,
    "Ragas": _ragas,
    "DeepEval": _deepeval,
}
ADAPTERS: Mapping[str, Callable[[Sequence[Row]], list[float | None]]] = {
    "Ragas": _by_ragas,
    "DeepEval": _by_deepeval,
    "Inspect": _by_inspect,
}


if __name__ == "__main__":
    main()
