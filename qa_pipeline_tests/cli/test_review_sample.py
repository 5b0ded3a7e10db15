"""`qa-pipeline sample` as a person uses it: look, add up."""

import json
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline_tests.end_to_end import Workspace, invoke


@pytest.fixture
def workspace(finished_workspace: Workspace) -> Workspace:
    return finished_workspace


def test_rows_are_shown_with_their_evidence_and_its_place(workspace: Workspace) -> None:
    shown = invoke("sample", "--out", workspace.out)
    assert shown.code == OK
    pairs = workspace.table("training_examples", "b").select("question", "answer").rows()
    told = " ".join(shown.stdout.split())
    assert all(text in told for pair in pairs for text in pair)
    assert told.count("b/guide.md › Kestrel 4 guide › ") == len(pairs)


def test_the_same_rows_are_drawn_again_and_others_by_another_seed(workspace: Workspace) -> None:
    def drawn(seed: str) -> list[str]:
        shown = invoke("sample", "--out", workspace.out, "--rows", "1", "--seed", seed, "--json")
        return [row["id"] for row in json.loads(shown.stdout)["rows"]]

    assert drawn("0") == drawn("0")
    assert len({tuple(drawn(str(seed))) for seed in range(8)}) > 1


def test_labels_that_are_filled_in_are_added_up_as_ratings(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    assert invoke("sample", "--out", workspace.out, "--to", file).code == OK
    rows = [
        json.loads(line) | {"rating": "good", "annotator": "Ada"} for line in file.read_text().splitlines()
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert f"ratings of {len(rows)} items" in invoke("eval", "raters", file).stdout


def test_a_language_of_no_row_and_a_file_that_is_there_are_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "sample.jsonl"
    file.touch()
    assert invoke("sample", "--out", workspace.out, "--language", "xx").code == BAD_INPUT
    refused = invoke("sample", "--out", workspace.out, "--to", file)
    assert (refused.code, file.name in refused.stderr) == (BAD_INPUT, True)
    assert file.read_bytes() == b""
