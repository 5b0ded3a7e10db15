"""What is printed is what is there: other people's names and words are never markup, nor too much."""

import json
from pathlib import Path

import polars as pl
import pytest
from rich.text import Text

from qa_pipeline.cli.console import MOST_ROWS, NARROWEST, print_line, show, show_table, watching
from qa_pipeline.cli.report import show_outcomes
from qa_pipeline.llm.reply_database import calls_frame
from qa_pipeline.pipeline.outcomes import BatchOutcome
from qa_pipeline.records import CallRecord
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import LLM_CALLS, TABLES
from qa_pipeline_tests.calls import call
from qa_pipeline_tests.curation.rows import document, documents, verdict
from qa_pipeline_tests.end_to_end import invoke, new_workspace
from qa_pipeline_tests.review.tables import write_verdicts


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


def test_names_and_details_that_look_like_markup_are_printed_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failure = BatchOutcome("b", "failed", "[bold]no[/bold]")
    told = printed(layout_with(tmp_path, failed(1, "[red]x[/red].pdf")), capsys, failure)
    assert "[red]x[/red].pdf" in told
    assert "[bold]no[/bold]" in told


def test_what_would_steer_a_terminal_is_shown_as_a_sign(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("t", [{"a": "red \x1b[31m, back \r, caf\u00e9\u200d\ta"}])
    print_line("one\x1b]0;title\x07\ntwo")
    shown = capsys.readouterr().out
    assert not {"\x1b", "\r", "\x07"} & set(shown)
    assert "red \ufffd[31m" in shown
    assert "one\ufffd]0;title\ufffd\ntwo" in shown


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


def with_calls(out: Path, *calls: CallRecord) -> Layout:
    layout = layout_with(out, documents(document("d")))
    frame = calls_frame(calls)
    write_table(layout.table("llm_calls", "b"), frame, LLM_CALLS)
    return layout


def test_json_names_what_models_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_outcomes(with_calls(tmp_path, call(1), call(2)), [BatchOutcome("b", "succeeded")], as_json=True)
    cost = json.loads(capsys.readouterr().out)["cost"]
    assert (cost["calls"], cost["tokens"], cost["cost"], cost["currency"]) == (2, 240, 0.002, "USD")
    assert [stage["stage"] for stage in cost["stages"]] == ["answer", "all"]


def test_without_a_terminal_each_stage_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    with watching(quiet=False) as watch:
        for batch, stage in (("a", "documents"), ("a", "claim_verdicts"), ("b", "documents")):
            notify = watch(batch, stage)
            for done in range(100):
                notify(done, 100)
    assert capsys.readouterr().err == "a: documents\na: claim verdicts\nb: documents\n"


def test_rates_and_averages_as_the_specification_divides_them_are_in_the_tables_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    layout, outcomes = Layout(tmp_path), [BatchOutcome("b", "succeeded")]
    write_verdicts(layout, "b", verdict("p", composite=0.8), verdict("q", "needs_review"))
    show_outcomes(layout, outcomes, as_json=False)
    shown = capsys.readouterr().out
    assert "0.8" in shown
    show_outcomes(layout, outcomes, as_json=True)
    (counts,) = json.loads(capsys.readouterr().out)["batches"]
    assert (counts["pass_rate_of_all"], counts["average_score_of_passed"]) == (0.5, 0.8)


def test_validate_shows_pairs_that_were_not_accepted_and_where_all_verdicts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"b/guide.md": "# Guide\n\nThe red valve opens at 3 bar. The gate opens at 7 bar.\n"})
    lines = [
        {"question": "When does the red valve open?", "answer": "The red valve opens at 3 bar."},
        {"question": "[red]Hostile[/red]?", "answer": "The gate opens at 5 bar."},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    ran = invoke(
        "validate", file, "--corpus", workspace.corpus / "b", "--out", workspace.out, "--accept-unjudged"
    )
    accepted, refused = ran.stdout.split("Not accepted, 1\n")
    assert "red valve opens at 3 bar" in accepted
    assert "[red]Hostile[/red]?" in refused
    written = workspace.out / "exports" / "validated" / "b.jsonl"
    assert str(written) in refused
    assert len(written.read_text("utf-8").splitlines()) == len(lines)
