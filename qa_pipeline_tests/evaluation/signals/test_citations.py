from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.running import evaluate
from qa_pipeline_tests.evaluation.metrics.frames import Row, context, means_at, rows_of, signal
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding

TOWER = context("The tower is in Paris. It was completed in 1889.", "guide/tower.md")
ROME = context("Rome is the capital of Italy.", "guide/rome.md")
BOTH = [TOWER, ROME]


def cited(folder: Path, answer: str, **given: Any) -> list[Row]:
    found: list[Row] = signal("cited", means_at(folder), {"answer": answer, "contexts": BOTH, **given})[0]
    return found


def named(found: list[Row]) -> list[tuple[list[int], bool]]:
    return [(one["contexts"], one["exists"]) for one in found]


@pytest.mark.parametrize(
    ("mark", "contexts", "exists"),
    [
        ("[1]", [0], True),
        ("[2]", [1], True),
        ("[3]", [], False),
        ("[source: guide/rome.md]", [1], True),
        ("[source: ROME.md#capital]", [1], True),
        ("[source: ./guide/rome]", [1], True),
        ("[source: rome.pdf]", [], False),
        ("[source: other/rome.md]", [], False),
        ("[source: rome.md; tower.md]", [1], True),
    ],
)
def test_a_mark_names_the_contexts_of_its_number_or_document(
    tmp_path: Path, mark: str, contexts: list[int], exists: bool
) -> None:
    assert named(cited(tmp_path, f"Rome is the capital {mark}."))[0] == (contexts, exists)


def test_an_answer_without_marks_and_entries_may_cite_or_not(tmp_path: Path) -> None:
    frame = rows_of({"answer": "Rome is the capital of Italy.", "contexts": BOTH})
    names = ["fabricated_citations", "citation_completeness", "citation_accuracy"]
    _, values = evaluate(frame, chosen_metrics(names), means_at(tmp_path))
    assert values.row(0) == (None, None, None)


def test_an_entry_and_the_marks_of_its_number_or_document_are_one_citation(tmp_path: Path) -> None:
    entries = [{"raw": "rome.md"}, {"raw": "the guide", "document": "guide/tower.md"}]
    found = cited(tmp_path, "Rome [1]. Paris [source: tower.md], Rome again [1].", citations=entries)
    assert named(found) == [([1], True), ([0], True)]
    assert [len(one["places"]) for one in found] == [2, 1]


@pytest.mark.parametrize(
    ("quote", "there"),
    [("completed in 1889", True), ("Completed  in 1889", True), ("completed in 1989", False), (None, None)],
)
def test_a_quote_must_be_in_what_its_citation_names(
    tmp_path: Path, quote: str | None, there: bool | None
) -> None:
    entries = [{"raw": "x", "document": "tower.md", "quote": quote}]
    assert cited(tmp_path, "It is old.", citations=entries)[0]["quote_found"] is there


def values(folder: Path, answer: str, **means: Any) -> tuple[Any, ...]:
    names = ["citation_accuracy", "citation_precision", "citation_completeness"]
    frame = rows_of({"answer": answer, "contexts": BOTH})
    return evaluate(frame, chosen_metrics(names), means_at(folder, **means))[1].row(0)


def test_a_statement_is_proved_by_its_own_citation_and_by_no_other(tmp_path: Path) -> None:
    right = values(tmp_path, "The tower is in Paris [1]. Rome is the capital of Italy [2].")
    assert right == (1.0, 1.0, 1.0)
    wrong = values(tmp_path, "The tower is in Paris [2]. Rome is the capital of Italy [1].")
    assert wrong[1:] == (0.0, 0.0)


@pytest.mark.parametrize(
    ("means", "accuracy"),
    [({"undecided": "unknown"}, None), ({"verifier": ScriptedModel(deciding("reject"))}, 0.0)],
)
def test_a_citation_supports_no_denied_statement_and_an_undecided_one_perhaps(
    tmp_path: Path, means: Any, accuracy: float | None
) -> None:
    assert values(tmp_path, "Bread is baked at night [1].", **means)[0] == accuracy


def test_a_changed_number_is_no_support(tmp_path: Path) -> None:
    assert values(tmp_path, "It was completed in 1989 [1].") == (0.0, 0.0, 0.0)
