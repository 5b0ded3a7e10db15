import json
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, invoke, new_workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"boilers/guide.md": GUIDE, "boilers/pump.md": GUIDE.replace("boiler", "pump")})
    assert made.run().code == OK
    return made


def test_a_person_sees_each_passage_with_its_decision_and_nothing_is_changed(workspace: Workspace) -> None:
    before = workspace.contents()
    ran = invoke("audit-references", "--out", workspace.out, "--json")
    rows = json.loads(ran.stdout)["references"]
    assert {row["decision"] for row in rows} <= {"accept", "unsure", "reject"}
    assert all(row["used"] <= (row["decision"] == "accept") for row in rows)
    assert {row["document"] for row in rows} == {"guide.md", "pump.md"}
    one = json.loads(invoke("audit-references", "--out", workspace.out, "--documents", "1", "--json").stdout)
    assert len({row["document"] for row in one["references"]}) == 1
    shown = invoke("audit-references", "--out", workspace.out)
    assert f"{sum(row['used'] for row in rows)} of {len(rows)} passages would be used" in shown.stdout
    assert workspace.contents() == before


def test_a_model_that_is_not_configured_and_a_folder_without_questions_are_named(
    workspace: Workspace, tmp_path: Path
) -> None:
    asked = invoke("audit-references", "--out", workspace.out, "--strategy", "llm")
    assert (asked.code, "no model is configured" in asked.stderr) == (BAD_INPUT, True)
    empty = invoke("audit-references", "--out", tmp_path / "nothing")
    assert (empty.code, "holds no such questions" in empty.stderr) == (BAD_INPUT, True)
