import json
from pathlib import Path

import pytest

from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace

UNJUDGED = "judging.accept_unjudged=false"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two batches that were accepted without a judge."""
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("what_if"), patch)
        made.write({"one/guide.md": GUIDE, "two/guide.md": GUIDE.replace("10 minutes", "20 minutes")})
        made.run()
    return made


def what_if(workspace: Workspace, *options: str) -> Ran:
    return invoke("calibrate", "--what-if", workspace.out, *options)


def test_nothing_moves_by_the_settings_of_the_run_and_nothing_is_written(workspace: Workspace) -> None:
    before = workspace.contents()
    found = json.loads(what_if(workspace, "--json").stdout)
    assert found["moved"] == []
    assert workspace.contents() == before


def test_other_numbers_move_what_they_decide(workspace: Workspace) -> None:
    found = json.loads(what_if(workspace, "--set", UNJUDGED, "--json").stdout)
    assert {(row["what"], row["old"], row["new"]) for row in found["moved"]} == {
        ("pairs", "accepted", "needs_review")
    }
    of_one = json.loads(what_if(workspace, "--batch", "one", "--set", UNJUDGED, "--json").stdout)
    assert 0 < sum(row["count"] for row in of_one["moved"]) < sum(row["count"] for row in found["moved"])
    assert "needs_review" in what_if(workspace, "--set", UNJUDGED).stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--batch", "three"),
        ("--set", "verification.accept_groundin=1"),
        ("--set", "judging.temperature=1"),
        ("--set", "verification.accept_grounding=x"),
        ("--set", "verification.thresholds=nowhere.json"),
        ("--set", UNJUDGED, "--limit", "5"),
        ("--set", UNJUDGED, "--out", "nowhere.json"),
        ("--set", UNJUDGED, "--data", __file__),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(workspace: Workspace, options: tuple[str, ...]) -> None:
    assert what_if(workspace, *options).code == 2


def test_a_folder_without_verdicts_says_what_to_run(tmp_path: Path) -> None:
    found = invoke("calibrate", "--what-if", tmp_path)
    assert (found.code, "qa-pipeline run" in found.stderr) == (2, True)
