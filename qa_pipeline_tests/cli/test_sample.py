"""`qa-pipeline sample` as a person uses it: look, add up."""

import json
from pathlib import Path

import pytest

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


def test_labels_that_are_filled_in_are_added_up(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    assert invoke("sample", "--out", workspace.out, "--to", file).code == OK
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    rows[0]["rating"] = "good"
    rows[1] |= {"rating": "bad", "why": "wrong"}
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    counted = json.loads(invoke("sample", "--report", file, "--json").stdout)
    assert {name: counted["parts"][0][name] for name in ("good", "thin", "bad")} == {
        "good": 1, "thin": 0, "bad": 1,
    }  # fmt: skip
    assert "1 rows" in invoke("sample", "--report", file).stdout


def test_a_language_of_no_row_and_a_file_that_is_there_are_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "sample.jsonl"
    file.touch()
    assert invoke("sample", "--out", workspace.out, "--language", "xx").code == BAD_INPUT
    refused = invoke("sample", "--out", workspace.out, "--to", file)
    assert (refused.code, file.name in refused.stderr) == (BAD_INPUT, True)
    assert file.read_bytes() == b""
