"""`qa-pipeline sample` as a person uses it: look, label by keys, add up."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from qa_pipeline.cli.app import app
from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace

GUIDE = """# Guide

## Safety

The safety valve opens at 3 bar. The boiler holds 80 litres. The pump stops at 90 degrees.
"""
PAIRS = {
    "When does the safety valve open?": "The safety valve opens at 3 bar.",
    "How much does the boiler hold?": "The boiler holds 80 litres.",
    "When does the pump stop?": "The pump stops at 90 degrees.",
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("sample"), patch)
        pairs = ({"question": question, "answer": answer} for question, answer in PAIRS.items())
        lines = (json.dumps({**pair, "citations": ["guide.md"]}) + "\n" for pair in pairs)
        made.write({"b/guide.md": GUIDE, "b/pairs.jsonl": "".join(lines)})
        assert made.run("--provider", "none").code == OK
    return made


def press(keys: str, *arguments: str | Path) -> str:
    """Label with these keys and return the screen."""
    result = CliRunner().invoke(app, ["sample", *map(str, arguments)], input=keys, catch_exceptions=False)
    assert result.exit_code == OK, result.stderr
    return result.stdout


def labels(file: Path) -> list[tuple[str | None, str | None]]:
    return [(row["rating"], row["why"]) for row in map(json.loads, file.read_text("utf-8").splitlines())]


def test_rows_are_shown_with_their_evidence_and_its_place(workspace: Workspace) -> None:
    shown = invoke("sample", "--out", workspace.out)
    assert shown.code == OK
    assert all(text in shown.stdout for pair in PAIRS.items() for text in pair)
    assert shown.stdout.count("b › guide.md › Guide › Safety") == len(PAIRS)


def test_the_same_rows_are_drawn_again_and_others_by_another_seed(workspace: Workspace) -> None:
    def drawn(seed: str) -> list[str]:
        shown = invoke("sample", "--out", workspace.out, "--rows", "2", "--seed", seed, "--json")
        return [row["id"] for row in json.loads(shown.stdout)["rows"]]

    assert drawn("0") == drawn("0")
    assert len({tuple(drawn(str(seed))) for seed in range(8)}) > 1


def test_labels_are_given_by_keys_taken_back_and_added_up(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "sample.jsonl"
    options = ("--out", workspace.out, "--rows", "3", "--label", file)
    press("gug?q", *options)  # good, undone, good; a key without meaning; the end
    assert sorted(labels(file), key=str) == [("good", None), (None, None), (None, None)]
    screen = press("b7t\n", *options)
    assert "3 of 3 rows labelled" in screen
    assert sorted(labels(file), key=str) == [("bad", "wrong"), ("good", None), ("thin", None)]
    report = invoke("sample", "--report", file, "--json")
    assert json.loads(report.stdout)["parts"][0]["good"] == 1
    assert "the source says otherwise" in invoke("sample", "--report", file).stdout


def test_a_skipped_row_stays_without_label(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "sample.jsonl"
    press("sg", "--out", workspace.out, "--rows", "2", "--label", file)
    assert sorted(labels(file), key=str) == [("good", None), (None, None)]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--language", "xx"], "no row of"),
        (["--to", "FILE", "--label", "FILE"], "three tasks"),
        (["--to", "FILE"], "exists, and may hold labels"),
    ],
)
def test_what_cannot_be_done_is_said(
    workspace: Workspace, tmp_path: Path, arguments: list[str], problem: str
) -> None:
    file = tmp_path / "sample.jsonl"
    file.touch()
    given = [str(file) if argument == "FILE" else argument for argument in arguments]
    refused = invoke("sample", "--out", workspace.out, *given)
    assert (refused.code, problem in refused.stderr) == (BAD_INPUT, True)
    assert file.read_bytes() == b""
