from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import OK
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, new_workspace
from qa_pipeline_tests.support.sensible import Sensible

PUMPS = """# Pumps

## Care

The filter of the pump is changed every 6 months.

## Pressure

The pressure of the circuit is 2 bar.
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosted_model: Sensible) -> Workspace:
    made = new_workspace(tmp_path, monkeypatch)
    made.write({"boilers/guide.md": GUIDE, "boilers/pumps.md": PUMPS})
    return made


def run(workspace: Workspace, *options: str) -> Ran:
    return workspace.run("--provider", "gemini", "--max-calls", "100", *options)


def test_nothing_that_a_trial_asked_is_asked_again_by_the_run_that_follows(
    workspace: Workspace, hosted_model: Sensible
) -> None:
    tried = run(workspace, "--try", "2")
    assert tried.code == OK, tried.stderr
    asked = hosted_model.calls.total()
    assert run(workspace).code == OK
    questions = workspace.table("questions", "boilers")["target_chunk_ids"].n_unique()
    calls = workspace.table("llm_calls", "boilers")
    assert hosted_model.calls["questions"] == calls.filter(role="questions").height == questions
    assert calls["request_key"].n_unique() == calls.height == hosted_model.calls.total() > asked


def test_a_trial_shows_its_pairs_and_its_cost(workspace: Workspace) -> None:
    ran = run(workspace, "--try", "2")
    tried = Workspace(workspace.corpus, workspace.out / "try")
    assert tried.table("questions", "boilers")["target_chunk_ids"].n_unique() > 1
    assert all(ran.stdout.count(question) == 1 for question in tried.table("pairs", "boilers")["question"])
    assert "Model calls: " in ran.stdout


def test_a_trial_leaves_the_tables_of_a_run_alone(workspace: Workspace) -> None:
    assert run(workspace).code == OK
    before = workspace.contents("boilers")
    run(workspace, "--try", "1")
    after = {
        path: text for path, text in workspace.contents("boilers").items() if not path.startswith("try/")
    }
    assert after == before


def test_a_trial_of_a_corpus_without_text_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"empty/nothing.md": ""})
    assert "0 rows: " in workspace.run("--try", "3").stdout
