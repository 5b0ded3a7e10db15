"""Models built here, from labelled rows to the verdicts of a batch, by the commands a user gives."""

import json
from itertools import product
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.settings.verification import read_thresholds
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace
from qa_pipeline_tests.evaluation.labelled_files import write_lines
from qa_pipeline_tests.models.cross_encoders import train, write_classifier

THINGS = ("boiler", "ladder", "piano", "statue", "printer", "mirror", "kettle", "tractor")
PLACES = ("cellar", "garage", "kitchen", "garden", "library", "chapel", "office", "stable")
SUPPORTED = ("rests", "is located", "is situated")
UNSUPPORTED = ("is painted", "burns", "is destroyed")
TARGET = "0.9"


def passage(thing: str, place: str) -> str:
    return f"The {thing} stands in the {place}."


def statement(thing: str, predicate: str, place: str) -> str:
    return f"The {thing} {predicate} in the {place}."


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads predicates, trained on things that no labelled row names."""
    folder = tmp_path_factory.mktemp("models") / "trained"
    write_classifier(folder, ("not_entailment", "entailment"), config={"initializer_range": 0.02})
    places = list(product(THINGS[:2], PLACES))
    rows = [
        (passage(*place), statement(place[0], predicate, place[1]), label)
        for place in places
        for label, predicates in enumerate((UNSUPPORTED, SUPPORTED))
        for predicate in predicates
    ]
    train(folder, rows)
    return folder


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """A supported and an unsupported statement about each of 48 things in their places."""
    rows = [
        {
            "id": f"{thing} {place} {label}",
            "language": "en",
            "context": [passage(thing, place)],
            "answer": statement(thing, predicates[number % len(predicates)], place),
            "label": label,
            "group_id": f"{thing} {place}",
        }
        for number, (thing, place) in enumerate(product(THINGS[2:], PLACES))
        for label, predicates in enumerate((UNSUPPORTED, SUPPORTED))
    ]
    return write_lines(tmp_path / "things.jsonl", rows)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    monkeypatch.setenv("QA_PIPELINE_OUT", str(tmp_path / "calibration"))
    made.write(
        {"b/things.md": "# Things\n\nThe piano stands in the cellar. The mirror stands in the chapel.\n"}
    )
    return made


def validated(workspace: Workspace, folder: Path) -> list[tuple[str, str, str | None]]:
    """Validate one true and one false pair; return how their claims were decided."""
    pairs = [
        {"question": "Where is the piano?", "answer": "The piano is located in the cellar."},
        {"question": "What happens to the mirror?", "answer": "The mirror burns in the chapel."},
    ]
    file = write_lines(folder / "pairs.jsonl", [{**pair, "sources": ["things.md"]} for pair in pairs])
    invoke("validate", file, "--corpus", workspace.corpus / "b", "--out", workspace.out)
    claims = workspace.table("claim_verdicts", "b")
    return claims.select("verdict", "decided_by", "reason").rows()


UNDECIDED = ("undecided", "no_step", "undecided_without_model")


def test_a_model_that_reaches_the_precision_decides_claims_of_later_runs(
    workspace: Workspace, trained: Path, labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QA_PIPELINE_VERIFICATION__ENTAILMENT__MODEL", str(trained))
    few = invoke("calibrate", "--data", labelled, "--limit", "20", "--target-precision", TARGET)
    assert few.code == BAD_INPUT
    out = tmp_path / "fitted.json"
    options = ("--data", labelled, "--target-precision", TARGET, "--out", out)
    ran = invoke("calibrate", *options)
    assert ran.code == OK, ran.stderr
    artefact = read_thresholds(out)
    assert artefact.band.model_dump() == {"accept": 0.5, "reject": 0.5, "contradict": None}
    assert json.loads(invoke("calibrate", *options, "--json").stdout)["name"] == artefact.name

    monkeypatch.setenv("QA_PIPELINE_VERIFICATION__THRESHOLDS", str(out))
    decided = [("supported", "entailment", None), ("unsupported", "entailment", "not_entailed")]
    assert validated(workspace, tmp_path) == decided


def test_a_model_that_cannot_tell_is_refused_and_decides_nothing(
    workspace: Workspace, labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untrained = write_classifier(tmp_path / "untrained")
    monkeypatch.setenv("QA_PIPELINE_VERIFICATION__ENTAILMENT__MODEL", str(untrained))
    out = tmp_path / "fitted.json"
    ran = invoke("calibrate", "--data", labelled, "--target-precision", TARGET, "--out", out)
    assert ran.code == FAILED
    assert "untrained@" in ran.stderr
    assert not out.exists()
    assert validated(workspace, tmp_path) == [UNDECIDED, UNDECIDED]
