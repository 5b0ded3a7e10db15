import json
from pathlib import Path

import pytest

from qa_pipeline.settings.thresholds import thresholds_bytes
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace
from qa_pipeline_tests.settings.artefacts import thresholds

DECIDED = ("claim_verdicts", "refusals", "verdicts")
UNJUDGED = "judging.accept_unjudged=true"


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    with pytest.MonkeyPatch.context() as patch:
        workspace = new_workspace(tmp_path_factory.mktemp("what_if"), patch)
        workspace.write({"one/guide.md": GUIDE, "two/guide.md": GUIDE.replace("10 minutes", "20 minutes")})
        assert workspace.run().code == 0
    return workspace


@pytest.fixture
def workspace(run_once: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Two batches that were run, to be changed at will."""
    return new_workspace(tmp_path, monkeypatch).fill_from(run_once)


def what_if(workspace: Workspace, *options: str) -> Ran:
    return invoke("what-if", "--out", workspace.out, "--set", UNJUDGED, *options)


def test_nothing_moves_where_nothing_is_changed_and_nothing_is_written(workspace: Workspace) -> None:
    before = workspace.contents()
    found = json.loads(what_if(workspace, "--json").stdout)
    assert (found["moved_claims"], found["moved_pairs"]) == ([], [])
    assert all(row["old"] == row["new"] for row in found["yield"])
    assert found["thresholds"]["stored"] == found["thresholds"]["new"]
    assert found["deciding_ms"] > 0
    assert workspace.contents() == before


def test_other_thresholds_move_what_a_run_with_them_moves(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = json.loads(what_if(workspace, "--set", "verification.policy=similarity_only", "--json").stdout)
    monkeypatch.setenv("QA_PIPELINE_VERIFICATION__POLICY", "similarity_only")
    workspace.run()
    again = json.loads(what_if(workspace, "--json").stdout)
    new = {(row["stage"], row["what"], row["reason"]): row["new"] for row in found["yield"] if row["new"]}
    old = {(row["stage"], row["what"], row["reason"]): row["old"] for row in again["yield"] if row["old"]}
    assert new == old
    assert found["needs_a_model"] == {"claims_without_a_reply": 0, "pairs_never_judged": 0, "pairs": 0}


def test_one_batch_may_be_asked_for_and_people_get_tables(workspace: Workspace) -> None:
    shown = what_if(workspace, "--batch", "two", "--set", "verification.refusal_recall_none=0.9")
    assert shown.code == 0
    for part in ("Yield", "old", "new", "decided again in", "no model was asked"):
        assert part in shown.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--batch", "three"), "has no batch 'three'; it has one, two"),
        (("--set", "verification.accept_groundin=1"), "did you mean verification.accept_grounding"),
        (("--set", "verification.accept_grounding=x"), "setting verification.accept_grounding"),
        (("--thresholds", "nowhere.json"), "nowhere.json cannot be read"),
    ],
)
def test_arguments_that_cannot_be_used_are_reported(
    workspace: Workspace, options: tuple[str, ...], told: str
) -> None:
    found = what_if(workspace, *options)
    assert found.code == 2
    assert told in found.stderr


def test_a_folder_without_verdicts_says_what_to_run(tmp_path: Path) -> None:
    found = invoke("what-if", "--out", tmp_path)
    assert (found.code, "qa-pipeline run" in found.stderr) == (2, True)


def test_a_file_of_thresholds_names_its_verdicts(workspace: Workspace, tmp_path: Path) -> None:
    artefact = thresholds(entailment={"accept": 0.9})
    path = tmp_path / "own.json"
    path.write_bytes(thresholds_bytes(artefact))
    found = json.loads(what_if(workspace, "--thresholds", str(path), "--json").stdout)
    assert found["thresholds"]["new"][0].startswith(f"test-{artefact.id}-")


@pytest.mark.parametrize("option", ["--accept-unjudged", "--require-judge"])
def test_a_what_if_without_changes_moves_nothing_whatever_options_the_run_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"one/guide.md": GUIDE})
    options = (option, "--set", "verification.accept_grounding=0.95", "--set", "judging.threshold=0.6")
    invoke("run", workspace.corpus, "--out", workspace.out, *options)
    found = json.loads(invoke("what-if", "--out", workspace.out, "--json").stdout)
    assert (found["moved_claims"], found["moved_pairs"]) == ([], [])
    assert found["thresholds"]["stored"] == found["thresholds"]["new"]


def test_each_batch_is_decided_anew_by_the_settings_of_its_own_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"one/guide.md": GUIDE, "two/guide.md": GUIDE.replace("10 minutes", "20 minutes")})
    invoke("run", workspace.corpus, "--out", workspace.out, "--batch", "one")
    invoke("run", workspace.corpus, "--out", workspace.out, "--batch", "two", "--require-judge")
    found = json.loads(invoke("what-if", "--out", workspace.out, "--json").stdout)
    assert found["moved_pairs"] == []
    changed = json.loads(invoke("what-if", "--out", workspace.out, "--set", UNJUDGED, "--json").stdout)
    assert {(row["old"], row["new"]) for row in changed["moved_pairs"]} == {("needs_review", "accepted")}


def test_a_run_that_did_not_record_its_settings_is_decided_by_those_of_now_and_that_is_said(
    workspace: Workspace,
) -> None:
    for path in (workspace.out / "settings").iterdir():
        path.unlink()
    shown = invoke("what-if", "--out", workspace.out)
    assert shown.code == 0
    assert "one, two: the settings of their runs are not recorded" in shown.stdout
