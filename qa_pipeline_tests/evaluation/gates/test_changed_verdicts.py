from collections.abc import Sequence
from pathlib import Path

import pytest

from qa_pipeline.evaluation.gates.changed_verdicts import (
    Run,
    answer_verdicts,
    changed_verdicts,
    changes_of_runs,
)
from qa_pipeline.evaluation.reports.stored_report import read_report, read_statements
from qa_pipeline_tests.evaluation.stored_reports import write_report


def run_of(folder: Path, *verdicts: str | None) -> Run:
    write_report(folder, {"faithfulness": [0.5] * len(verdicts)}, verdicts=verdicts)
    return Run(folder.name, read_report(folder), read_statements(folder))


def test_the_verdict_of_an_answer_is_that_of_its_worst_statement(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a", "supported", "supported", "undecided", None)
    second = run_of(tmp_path / "b", "supported", "contradicted", "unsupported", None)
    both = Run("both", first.report, first.statements.extend(second.statements))
    assert answer_verdicts(both)["verdict"].to_list() == [
        "supported",
        "contradicted",
        "unsupported",
        "no_statement",
    ]


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        (["supported"], ["contradicted"], [("worse", 3)]),
        (["contradicted"], ["unsupported"], [("better", -1)]),
        (["supported", "undecided"], [None, "undecided"], [("other", None)]),
        (["supported"], ["supported"], []),
        (["supported"], ["a verdict of nobody"], [("worse", 1)]),
    ],
)
def test_a_change_is_better_worse_or_neither(
    tmp_path: Path, before: Sequence[str], now: Sequence[str | None], change: list[tuple[str, int | None]]
) -> None:
    changed = changed_verdicts(run_of(tmp_path / "a", *before), run_of(tmp_path / "b", *now))
    assert changed.select("change", "step").rows() == change


def test_answers_that_got_worse_come_first_and_are_counted(tmp_path: Path) -> None:
    before = run_of(tmp_path / "a", "unsupported", "supported", "supported", "supported")
    now = run_of(tmp_path / "b", "supported", "unsupported", "contradicted", "unsupported")
    assert changed_verdicts(before, now)["id"].to_list() == ["r2", "r1", "r3", "r0"]
    assert changes_of_runs([before, now]) == [
        {"run": "b", "before": "supported", "now": "unsupported", "change": "worse", "rows": 2},
        {"run": "b", "before": "supported", "now": "contradicted", "change": "worse", "rows": 1},
        {"run": "b", "before": "unsupported", "now": "supported", "change": "better", "rows": 1},
    ]


def test_changes_are_unknown_where_a_run_verified_nothing(tmp_path: Path) -> None:
    assert changes_of_runs([run_of(tmp_path / "a", "supported"), run_of(tmp_path / "b", None)]) is None
