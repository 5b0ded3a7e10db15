import json
from pathlib import Path

import pytest

from qa_pipeline.settings.thresholds import thresholds_bytes
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Road, invoke, walk
from qa_pipeline_tests.settings.artefacts import thresholds

DECIDED = ("claim_verdicts", "refusals", "verdicts")
UNJUDGED = "judging.accept_unjudged=true"


@pytest.fixture
def road(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Road:
    road = walk(tmp_path, monkeypatch)
    road.write({"one/guide.md": GUIDE, "two/guide.md": GUIDE.replace("10 minutes", "20 minutes")})
    assert road.run().code == 0
    return road


def what_if(road: Road, *options: str) -> Ran:
    return invoke("what-if", "--out", road.out, "--set", UNJUDGED, *options)


def test_nothing_moves_where_nothing_is_changed_and_nothing_is_written(road: Road) -> None:
    before = road.contents()
    found = json.loads(what_if(road, "--json").stdout)
    assert (found["moved_claims"], found["moved_pairs"]) == ([], [])
    assert all(row["old"] == row["new"] for row in found["yield"])
    assert found["thresholds"]["stored"] == found["thresholds"]["new"]
    assert found["deciding_ms"] > 0
    assert road.contents() == before


def test_other_thresholds_move_what_a_run_with_them_moves(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = json.loads(what_if(road, "--set", "verification.policy=similarity_only", "--json").stdout)
    monkeypatch.setenv("QA_PIPELINE_VERIFICATION__POLICY", "similarity_only")
    road.run()
    again = json.loads(what_if(road, "--json").stdout)
    new = {(row["stage"], row["what"], row["reason"]): row["new"] for row in found["yield"] if row["new"]}
    old = {(row["stage"], row["what"], row["reason"]): row["old"] for row in again["yield"] if row["old"]}
    assert new == old
    assert found["needs_a_model"] == {"claims_without_a_reply": 0, "pairs_never_judged": 0, "pairs": 0}


def test_one_batch_may_be_asked_for_and_people_get_tables(road: Road) -> None:
    shown = what_if(road, "--batch", "two", "--set", "verification.refusal_recall_none=0.9")
    assert shown.code == 0
    for part in ("Yield", "old", "new", "decided again in", "no model was asked"):
        assert part in shown.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--batch", "three"), "has no batch 'three'; it has one, two"),
        (("--set", "verification.recal_accept=1"), "did you mean verification.recall_accept"),
        (("--set", "verification.recall_accept=x"), "setting verification.recall_accept"),
        (("--thresholds", "nowhere.json"), "nowhere.json cannot be read"),
    ],
)
def test_arguments_that_cannot_be_used_are_told(road: Road, options: tuple[str, ...], told: str) -> None:
    found = what_if(road, *options)
    assert found.code == 2
    assert told in found.stderr


def test_a_folder_without_verdicts_says_what_to_run(tmp_path: Path) -> None:
    found = invoke("what-if", "--out", tmp_path)
    assert (found.code, "qa-pipeline run" in found.stderr) == (2, True)


def test_a_file_of_thresholds_names_its_verdicts(road: Road, tmp_path: Path) -> None:
    artefact = thresholds(combined={"accept": 0.9})
    path = tmp_path / "own.json"
    path.write_bytes(thresholds_bytes(artefact))
    found = json.loads(what_if(road, "--thresholds", str(path), "--json").stdout)
    assert found["thresholds"]["new"][0].startswith(f"test-{artefact.id}-")


@pytest.mark.parametrize("option", ["--accept-unjudged", "--require-judge"])
def test_a_what_if_without_changes_moves_nothing_whatever_options_the_run_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    road = walk(tmp_path, monkeypatch)
    road.write({"one/guide.md": GUIDE})
    options = (option, "--set", "verification.recall_accept=0.95", "--set", "judging.threshold=0.6")
    invoke("run", road.corpus, "--out", road.out, *options)
    found = json.loads(invoke("what-if", "--out", road.out, "--json").stdout)
    assert (found["moved_claims"], found["moved_pairs"]) == ([], [])
    assert found["thresholds"]["stored"] == found["thresholds"]["new"]


def test_each_batch_is_decided_anew_by_the_settings_of_its_own_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    road = walk(tmp_path, monkeypatch)
    road.write({"one/guide.md": GUIDE, "two/guide.md": GUIDE.replace("10 minutes", "20 minutes")})
    invoke("run", road.corpus, "--out", road.out, "--batch", "one")
    invoke("run", road.corpus, "--out", road.out, "--batch", "two", "--require-judge")
    found = json.loads(invoke("what-if", "--out", road.out, "--json").stdout)
    assert found["moved_pairs"] == []
    changed = json.loads(invoke("what-if", "--out", road.out, "--set", UNJUDGED, "--json").stdout)
    assert {(row["old"], row["new"]) for row in changed["moved_pairs"]} == {("needs_review", "accepted")}


def test_a_run_that_did_not_record_its_settings_is_decided_by_those_of_now_and_that_is_said(
    road: Road,
) -> None:
    for path in (road.out / "settings").iterdir():
        path.unlink()
    shown = invoke("what-if", "--out", road.out)
    assert shown.code == 0
    assert "one, two: the settings of their runs are not recorded" in shown.stdout
