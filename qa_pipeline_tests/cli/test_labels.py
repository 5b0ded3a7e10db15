"""Pairs that wait are labelled in another tool, and its labels become decisions."""

import json
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace

GUIDE = "# Guide\n\nThe safety valve opens at 3 bar. To drain the boiler, open the lower valve.\n"
VERBATIM = "The safety valve opens at 3 bar."
LOOSE = ("Opening the lower valve drains everything.", "The valve is opened by a pressure of 3 bar or so.")


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(tmp_path_factory.mktemp("labels"), patch)
        rows = [
            {"question": "What happens?", "answer": text, "citations": ["guide.md"]}
            for text in (VERBATIM, *LOOSE)
        ]
        made.write({"b/guide.md": GUIDE, "b/pairs.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows)})
        assert made.run("--provider", "none").code == OK
    return made


@pytest.fixture
def workspace(run_once: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    return new_workspace(tmp_path, monkeypatch).fill_from(run_once)


@pytest.fixture
def template(workspace: Workspace, tmp_path: Path) -> Path:
    """The two pairs that wait."""
    path = tmp_path / "waiting.jsonl"
    assert invoke("decide", "--template", path, "--out", workspace.out).code == OK
    assert len(path.read_text().splitlines()) == 2
    return path


def region(name: str, kind: str, key: str, text: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": "question", "type": kind, "value": {key: [text]}}


def labelled_tasks(folder: Path, *people: int) -> Path:
    """What Label Studio exports after people have rejected the first pair and edited the second."""
    first, second = json.loads((folder / "tasks.json").read_text())
    rejected = [region("decision", "choices", "choices", "rejected"), region("why", "textarea", "text", "no")]
    edited = [
        region("decision", "choices", "choices", "edited"),
        region("edited_answer", "textarea", "text", VERBATIM),
    ]
    path = folder.parent / "export.json"
    tasks = [
        {**task, "annotations": [{"completed_by": person, "result": result} for person in people]}
        for task, result in ((first, rejected), (second, edited))
    ]
    path.write_text(json.dumps(tasks))
    return path


def test_labels_become_decisions(workspace: Workspace, template: Path, tmp_path: Path) -> None:
    folder, back = tmp_path / "tasks", tmp_path / "back.jsonl"
    shown = invoke("labels", "export", template, "--tool", "label-studio", "--to", folder)
    assert (shown.code, shown.stdout) == (OK, f"{folder}: 2 tasks for label-studio\n")
    export = labelled_tasks(folder, 3)
    taken = invoke("labels", "import", template, export, "--to", back, "--person", "3=Ada")
    assert (taken.code, taken.stdout) == (OK, f"{back}: 2 labels of 1 person\n")
    decided = invoke("decide", back, "--out", workspace.out)
    assert decided.code == OK, decided
    rows = read_decisions(Layout(workspace.out).decisions("b")).select("decision", "answer", "who", "why")
    assert rows.rows() == [
        ("rejected", None, "Ada", "no"),
        ("edited", VERBATIM, "Ada", None),
    ]


def test_people_who_decide_one_pair_otherwise_are_named(
    workspace: Workspace, template: Path, tmp_path: Path
) -> None:
    folder, back = tmp_path / "tasks", tmp_path / "back.jsonl"
    invoke("labels", "export", template, "--tool", "label-studio", "--to", folder)
    export = labelled_tasks(folder, 3)
    tasks = json.loads(export.read_text())
    said = region("decision", "choices", "choices", "accepted")
    tasks[0]["annotations"].append({"completed_by": {"email": "ben@example.org"}, "result": [said]})
    export.write_text(json.dumps(tasks))
    assert invoke("labels", "import", template, export, "--to", back).code == OK
    decided = invoke("decide", back, "--out", workspace.out)
    assert decided.code == FAILED
    assert "decides the same pair or claim otherwise" in decided.stderr


def test_nothing_that_may_hold_labels_is_overwritten(template: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    export = ("labels", "export", template, "--tool", "argilla", "--to", folder)
    assert invoke(*export).code == OK
    assert sorted(path.name for path in folder.rglob("*.json")) == [
        "dataset.json", "records.json", "settings.json"
    ]  # fmt: skip
    assert invoke(*export).code == BAD_INPUT
    refused = invoke("labels", "import", template, folder / "records.json", "--to", template)
    assert (refused.code, "may hold labels" in refused.stderr) == (BAD_INPUT, True)
    for person in ("Ada", "=Ada", "3="):
        refused = invoke(
            "labels",
            "import",
            template,
            folder / "records.json",
            "--to",
            tmp_path / "x.jsonl",
            "--person",
            person,
        )
        assert (refused.code, "such as 3=Ada" in refused.stderr) == (BAD_INPUT, True)


def test_records_that_nobody_labelled_are_no_labels(template: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    invoke("labels", "export", template, "--tool", "argilla", "--to", folder)
    taken = invoke("labels", "import", template, folder / "records.json", "--to", tmp_path / "x.jsonl")
    assert (taken.code, "0 labels" in taken.stdout) == (OK, True), taken
