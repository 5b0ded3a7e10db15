from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.running import evaluate
from qa_pipeline_tests.evaluation.metrics.frames import context, means_at, rows_of
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding

TOWER = context("The tower is in Paris. It was completed in 1889.", "guide/tower.md")
ROME = context("Rome is the capital of Italy.", "guide/rome.md")
SUPPORT = ("citation_accuracy", "citation_precision", "citation_completeness")


def values(
    folder: Path, metrics: tuple[str, ...], answer: str, citations: Any = None, **setup: Any
) -> tuple[Any, ...]:
    frame = rows_of({"answer": answer, "contexts": [TOWER, ROME], "citations": citations})
    return evaluate(frame, chosen_metrics(metrics), means_at(folder, **setup))[1].row(0)


@pytest.mark.parametrize(
    ("mark", "precision", "fabricated"),
    [
        ("[2]", 1.0, 0),
        ("[1]", 0.0, 0),
        ("[3]", 0.0, 1),
        ("[source: ROME.md#capital]", 1.0, 0),
        ("[source: ./guide/rome]", 1.0, 0),
        ("[source: rome.pdf]", 0.0, 1),
        ("[source: other/rome.md]", 0.0, 1),
        ("[source: rome.md; tower.md]", 0.5, 0),
    ],
)
def test_a_mark_names_the_contexts_of_its_number_or_document(
    tmp_path: Path, mark: str, precision: float, fabricated: int
) -> None:
    metrics = ("citation_precision", "fabricated_citations")
    assert values(tmp_path, metrics, f"Rome is the capital of Italy {mark}.") == (precision, fabricated)


def test_an_answer_without_marks_and_entries_may_cite_or_not(tmp_path: Path) -> None:
    answer = "Rome is the capital of Italy."
    assert values(tmp_path, ("fabricated_citations", *SUPPORT), answer) == (None, None, None, None)


def test_an_entry_and_the_marks_of_its_number_or_document_are_one_citation(tmp_path: Path) -> None:
    entries = [{"raw": "rome.md"}, {"raw": "the guide", "document": "guide/tower.md"}]
    answer = "Rome is the capital of Italy [1]. The tower is in Paris [source: tower.md]."
    assert values(tmp_path, SUPPORT, answer, entries) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(("quote", "fabricated"), [("Completed  in 1889", 0), ("completed in 1989", 1)])
def test_a_quote_must_be_in_the_document_that_its_citation_names(
    tmp_path: Path, quote: str, fabricated: int
) -> None:
    entries = [{"raw": "x", "document": "tower.md", "quote": quote}]
    assert values(tmp_path, ("fabricated_citations",), "It is old.", entries) == (fabricated,)


@pytest.mark.parametrize(
    ("answer", "options", "expected"),
    [
        ("The tower is in Paris [1]. Rome is the capital of Italy [2].", {}, (1.0, 1.0, 1.0)),
        ("The tower is in Paris [2]. Rome is the capital of Italy [1].", {}, (0.0, 0.0, 0.0)),
        ("It was completed in 1989 [1].", {}, (0.0, 0.0, 0.0)),
        ("Bread is baked at night [1].", {"undecided": "unknown"}, (None, None, None)),
        ("Bread is baked at night [1].", {"verifier": ScriptedModel(deciding("reject"))}, (0.0, 0.0, 0.0)),
    ],
)
def test_a_statement_is_proved_by_its_own_citation_alone(
    tmp_path: Path, answer: str, options: Any, expected: tuple[float | None, ...]
) -> None:
    assert values(tmp_path, SUPPORT, answer, **options) == expected
