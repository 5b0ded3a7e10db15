"""Tasks are what Label Studio and Argilla take, and what they export comes back as labels."""

import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID
from xml.etree import ElementTree

import pytest

from qa_pipeline.errors import InputError
from qa_pipeline.publishing.certificate import read_audits
from qa_pipeline.review.annotations import read_ratings
from qa_pipeline.review.labelling_tools import (
    LabelFile,
    Row,
    read_label_file,
    read_labels,
    tool_files,
    with_labels,
)

HOSTILE = "Is \"a\" < b & c > 'd'? $question {{ x }} <script>alert(1)</script> \u202e ]]> \u0000"
WAITING: Row = {
    "batch": "b", "pair_id": "p1", "claim_id": None, "content_sha256": "0" * 64, "question": HOSTILE,
    "answer": HOSTILE, "claims": "1. A.", "evidence": "1. A.", "source": "1. guide.md", "decision": None,
    "edited_answer": None, "who": None, "why": None,
}  # fmt: skip
SHEET: Row = {
    "id": "q1", "query": "How hot?", "answer": HOSTILE, "criterion": "faithfulness", "annotator": None,
    "statements": [{"text": "Hot", "document": "a.md", "quote": "At 60 °C."}, {"text": "Wet", "quote": None}],
    "categories": ["low", "<&\"high'"], "rating": None,
}  # fmt: skip
AUDIT: Row = {
    "pair_id": "p1", "batch": "b", "question": "How hot?", "answer": None, "quotes": ["At 60 °C."],
    "label": None, "seed": "s", "sample": 2, "thresholds": "t", "language": "en", "question_type": "summary",
}  # fmt: skip
SAMPLE = {**SHEET, "batch": "b", "categories": ["good", "thin", "bad"], "why": None}
KINDS: list[list[Row]] = [
    [WAITING, {**WAITING, "pair_id": "p2"}],
    [SHEET, {**SHEET, "id": "q2", "statements": None}],
    [AUDIT, {**AUDIT, "pair_id": "p2", "quotes": []}],
    [SAMPLE, {**SAMPLE, "id": "q2"}],
]
ADA, BEN = UUID(int=1), UUID(int=2)
VALUES = {"Choices": ("choices", "choices"), "TextArea": ("textarea", "text")}
"""Type of a region by the tag of its control, and the key of its value."""


@pytest.fixture(params=KINDS, ids=["decisions", "sheet", "audit", "sample"])
def label_file(request: pytest.FixtureRequest, tmp_path: Path) -> LabelFile:
    return read_label_file(written(tmp_path / "drawn rows.jsonl", request.param))


@pytest.fixture
def argilla(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Argilla's client library. Its settings ask for a client, and use it only to talk to a server."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it configures models as pydantic 1 did
        module = import_module("argilla")
    monkeypatch.setattr(module.Argilla, "_default_client", MagicMock())
    return module


def written(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def exported(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def controls(config: bytes) -> dict[str | None, ElementTree.Element]:
    """The controls of a labelling interface by name, by the rules of `LabelInterface.validate` (SDK 2.1.2).

    Names are unique, and each control is of an object that shows a variable of the task.
    """
    tree = ElementTree.fromstring(config)
    assert tree.tag == "View"
    names = [tag.get("name") for tag in tree.iter() if tag.get("name")]
    assert len(names) == len({*names})
    objects = {tag.get("name"): tag.get("value", "") for tag in tree.iter("Text")}
    assert all(value.startswith("$") for value in objects.values())
    tags = {tag.get("name"): tag for tag in tree.iter() if tag.tag in VALUES}
    assert all(tag.get("toName") in objects for tag in tags.values())
    return tags


def annotation(config: bytes, person: object, **said: str) -> dict[str, Any]:
    """An annotation as Label Studio exports it, by the rules of `LabelInterface.validate_annotation`.

    A region names a control, its object and its type; labels are those of the configuration.
    """
    result: list[dict[str, Any]] = []
    for name, text in said.items():
        control = controls(config)[name]
        kind, key = VALUES[control.tag]
        choices = [tag.get("value") for tag in control.iter("Choice")]
        assert not choices or text in choices
        region = {"from_name": name, "to_name": control.get("toName"), "type": kind, "value": {key: [text]}}
        result.append({"id": f"r{len(result)}", "origin": "manual", **region})
    return {"id": 7, "completed_by": person, "was_cancelled": False, "ground_truth": False, "result": result}


def test_label_studio_takes_each_task_by_its_rules(label_file: LabelFile) -> None:
    files = tool_files(label_file, "label-studio")
    tree = ElementTree.fromstring(files["config.xml"])
    tasks = json.loads(files["tasks.json"])
    assert [task["data"]["item"] for task in tasks] == list(label_file.items())
    assert len(tasks) == 2
    for task in tasks:
        assert set(task) == {"data"}
        # validate_task: what the page shows of a task is there, and is no null
        assert {tag.get("value", "")[1:] for tag in tree.iter("Text")} <= {*task["data"]}
        assert all(isinstance(text, str) for text in task["data"].values())
    choices = controls(files["config.xml"])[label_file.kind.label].iter("Choice")
    assert tuple(tag.get("value") for tag in choices) == label_file.choices


def test_argilla_reads_settings_and_records(label_file: LabelFile, argilla: Any, tmp_path: Path) -> None:
    folder = tmp_path / "argilla"
    for name, content in tool_files(label_file, "argilla").items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    model = argilla.Dataset._load_dataset_model(folder / ".argilla" / "dataset.json")
    assert model.name == "drawn-rows"
    settings = argilla.Settings.from_json(folder / ".argilla" / "settings.json")
    settings.validate()
    label, *notes = settings.questions
    assert (label.name, tuple(label.labels)) == (label_file.kind.label, label_file.choices)
    assert [note.name for note in notes] == list(label_file.notes)
    dataset = argilla.Dataset(name=model.name, settings=settings)
    records = argilla.records._io.JsonIO._records_from_json(folder / "records.json")
    models = dataset.records._ingest_records(records)
    assert [model.external_id for model in models] == list(label_file.items())
    assert [model.fields for model in models] == [
        {field.name: model.fields[field.name] for field in settings.fields} for model in models
    ]


def test_what_is_shown_has_no_label_of_others(label_file: LabelFile) -> None:
    label = dict.fromkeys((label_file.kind.label, label_file.kind.who), "told-by-another")
    labelled = LabelFile(
        label_file.path, label_file.kind, [{**row, **label} for row in label_file.rows], label_file.choices
    )
    for tool in ("label-studio", "argilla"):
        assert not any(b"told-by-another" in content for content in tool_files(labelled, tool).values())
        assert tool_files(labelled, tool) == tool_files(label_file, tool)


def test_labels_of_label_studio_come_back_as_rows(label_file: LabelFile, tmp_path: Path) -> None:
    files = tool_files(label_file, "label-studio")
    first, second = json.loads(files["tasks.json"])
    name, (good, bad, *_) = label_file.kind.label, label_file.choices
    config = files["config.xml"]
    skipped = {**annotation(config, 3, **{name: bad}), "was_cancelled": True}
    tasks = [
        {"id": 11, **first, "annotations": [annotation(config, 3, **{name: good}), skipped], "drafts": []},
        {
            "id": 12,
            **second,
            "annotations": [
                annotation(config, {"id": 4, "email": "ben@example.org"}, **{name: bad}),
                annotation(config, 3, **{name: good}),
                annotation(config, 5),
            ],
        },
    ]
    labels = read_labels(exported(tmp_path / "export.json", tasks), label_file, {"3": "Ada"})
    rows = with_labels(label_file, labels)
    who = label_file.kind.who
    assert [(row[who], row[name]) for row in rows] == [
        ("Ada", good), ("ben@example.org", bad), ("Ada", good)
    ]  # fmt: skip
    assert [{**row, name: None, who: None} for row in rows[:2]] == [
        {**row, who: None} for row in label_file.rows
    ]
    assert {**rows[2], who: rows[1][who], name: bad} == rows[1]


def test_labels_of_argilla_come_back_as_rows(label_file: LabelFile, argilla: Any, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(tool_files(label_file, "argilla")["records.json"])
    records = argilla.records._io.JsonIO._records_from_json(tmp_path / "in.json")
    name, (good, bad, *_) = label_file.kind.label, label_file.choices
    records[0].responses.add(argilla.Response(name, good, user_id=ADA))
    records[0].responses.add(argilla.Response(name, bad, user_id=BEN))
    if label_file.notes:
        records[0].responses.add(argilla.Response("why", " 5 bar, not 3 ", user_id=BEN))
    argilla.records._io.JsonIO.to_json(records, tmp_path / "records.json")
    labels = read_labels(tmp_path / "records.json", label_file, {str(ADA): "Ada"})
    rows = with_labels(label_file, labels)
    who = label_file.kind.who
    assert [(row.get(who), row[name]) for row in rows] == [("Ada", good), (None, None), (str(BEN), bad)]
    assert [row.get("why") for row in rows] == [None, None, "5 bar, not 3" if label_file.notes else None]


def test_labels_that_are_taken_twice_are_rows_once(label_file: LabelFile, tmp_path: Path) -> None:
    config, first = (tool_files(label_file, "label-studio")[name] for name in ("config.xml", "tasks.json"))
    said = [annotation(config, who, **{label_file.kind.label: label_file.choices[0]}) for who in (1, 2)]
    export = exported(tmp_path / "export.json", [{**json.loads(first)[0], "annotations": said}])
    rows = with_labels(label_file, read_labels(export, label_file, {}))
    again = read_label_file(written(tmp_path / "labelled.jsonl", rows))
    assert len(rows) == 3
    assert with_labels(again, read_labels(export, again, {})) == rows


def test_ratings_and_audits_that_come_back_are_read_by_their_commands(tmp_path: Path) -> None:
    for kind, label in ((KINDS[1], "low"), (KINDS[2], "right")):
        file = read_label_file(written(tmp_path / "rows.jsonl", kind))
        config, tasks = (tool_files(file, "label-studio")[name] for name in ("config.xml", "tasks.json"))
        said = [annotation(config, who, **{file.kind.label: label}) for who in (1, 2)]
        export = exported(
            tmp_path / "export.json", [{**task, "annotations": said} for task in json.loads(tasks)]
        )
        back = written(tmp_path / "back.jsonl", with_labels(file, read_labels(export, file, {})))
        if file.kind.label == "rating":
            ratings = read_ratings([back]).items.select("item", "annotator", "criterion", "rating").rows()
            assert sorted(ratings) == [(f"q{n}", who, "faithfulness", "low") for n in (1, 2) for who in "12"]
        else:
            audits = read_audits([back])
            assert set(audits.select("pair_id", "label").rows()) == {("p1", "right"), ("p2", "right")}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([{"data": {"item": "b/p9"}, "annotations": []}], None),
        ([{"id": "b/p9", "responses": {"label": [{"value": "right", "user_id": "u"}]}}], "'b/p9' is not in"),
        (
            [{"id": "b/p1", "responses": {"label": [{"value": "true", "user_id": "u"}]}}],
            "can be right",
        ),
        ([{"item": "b/p1", "label": "right"}], "entry 1: is neither a task of Label Studio"),
        ([{"data": {}, "annotations": [{"completed_by": 1, "result": []}]}], "entry 1: is neither"),
        ([{"data": {"item": "b/p1"}, "annotations": [{"result": []}]}], "entry 1: is neither"),
        ([{"id": "b/p1", "responses": None}], "entry 1: is neither"),
        ([[]], "entry 1: is neither"),
        (["text"], "entry 1: is neither"),
        ([None], "entry 1: is neither"),
    ],
)
def test_an_export_of_something_else_is_refused_in_a_sentence(
    tmp_path: Path, content: object, problem: str | None
) -> None:
    file = read_label_file(written(tmp_path / "audit.jsonl", KINDS[2]))
    export = exported(tmp_path / "export.json", content)
    if problem is None:
        assert read_labels(export, file, {}) == []
        return
    with pytest.raises(InputError, match=problem):
        read_labels(export, file, {})


@pytest.mark.parametrize("rows", [[], [{"id": "q1"}], [{"rating": None}, {}], [{"label": None}]])
def test_a_file_that_nobody_labels_is_refused(tmp_path: Path, rows: list[Row]) -> None:
    with pytest.raises(InputError, match=r"no file to label|neither pair_id nor id"):
        read_label_file(written(tmp_path / "rows.jsonl", rows))
