"""What is printed is what is there: other people's names and words are never markup, nor too much."""

import json
from pathlib import Path

import polars as pl
import pytest
from rich.text import Text

from qa_pipeline.cli.console import MOST_ROWS, NARROWEST, show, show_table, watching
from qa_pipeline.cli.report import show_outcomes
from qa_pipeline.pipeline.fingerprint import BatchOutcome
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import TABLES
from qa_pipeline_tests.curation.rows import document, documents


@pytest.mark.parametrize(("terminal", "widest"), [(True, 80), (False, NARROWEST)])
def test_a_table_is_no_wider_than_the_terminal_and_breaks_no_number(
    terminal: bool, widest: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TTY_COMPATIBLE", str(int(terminal)))
    monkeypatch.setenv("NO_COLOR", "1")
    numbers = [f"rejected share {number}" for number in range(7)]
    show_table("t", [{"batch": "team-01", **dict.fromkeys(numbers, 0.123), "detail": "word " * 20}])
    shown = Text.from_ansi(capsys.readouterr().out).plain
    assert max(map(len, shown.splitlines())) == widest
    assert shown.count("0.123") == 7
    assert "team-01" in shown


def layout_with(out: Path, frame: pl.DataFrame, batch: str = "b") -> Layout:
    layout = Layout(out)
    for name, table in TABLES.items():
        write_table(layout.table(name, batch), frame if name == "documents" else table.empty(), table)
    return layout


def failed(count: int, path: str = "{}.pdf") -> pl.DataFrame:
    rows = [
        document(
            f"d{n}", None, path=path.format(n), status="failed", reason="encrypted", detail="[bold]no[/bold]"
        )
        for n in range(count)
    ]
    return documents(*rows)


def printed(layout: Layout, capsys: pytest.CaptureFixture[str], *outcomes: BatchOutcome) -> str:
    show_outcomes(layout, outcomes or [BatchOutcome("b", "succeeded")], as_json=False)
    return capsys.readouterr().out


def test_of_many_files_that_failed_the_first_are_named_and_the_rest_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ending = printed(layout_with(tmp_path, failed(23)), capsys)
    assert "b/0.pdf, b/1.pdf, b/2.pdf, b/3.pdf, b/4.pdf and 18 more" in ending
    assert ending.count(".pdf") == 5


def test_a_long_table_is_cut_and_says_so_and_a_program_gets_all_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = {"files": [{"path": f"{n}.pdf", "score": 0.5} for n in range(MOST_ROWS + 3)], "count": None}
    show(document, as_json=False)
    told = capsys.readouterr().out
    assert (told.count(".pdf"), "3 more" in told) == (MOST_ROWS, True)
    show(document, as_json=True)
    assert json.loads(capsys.readouterr().out) == document


def test_json_holds_every_file_that_failed_and_is_plain_ascii(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = layout_with(tmp_path, failed(23, "å{}.pdf"))
    show_outcomes(layout, [BatchOutcome("b", "succeeded")], as_json=True)
    told = capsys.readouterr().out
    assert told.isascii()
    assert len(json.loads(told)["unread"]) == 23


def test_without_a_terminal_each_stage_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    with watching(quiet=False) as watch:
        for batch, stage in (("a", "documents"), ("a", "claim_verdicts"), ("b", "documents")):
            notify = watch(batch, stage)
            for done in range(100):
                notify(done, 100)
    assert capsys.readouterr().err == "a: documents\na: claim verdicts\nb: documents\n"
