"""Files that people label, for Label Studio and Argilla, and the labels that these tools export.

A file of `decide --template`, `sample`, `eval sheet` or `audit sample` becomes tasks. Labels go into a copy
of the file, which is read as the file was. Tasks hold nobody's label and no score: who sees another's verdict
agrees with it too readily.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.reports.rating_sheet import CATEGORIES
from qa_pipeline.publishing.certificate import LABELS
from qa_pipeline.storage.row_files import Limits, json_lines, open_rows
from qa_pipeline.text.rendering import render_html

Tool = Literal["label-studio", "argilla"]
Row = dict[str, Any]
LIMITS = Limits(max_bytes=500_000_000, max_line_bytes=4_000_000, max_rows=100_000)
"""A row of a template holds an answer and claims with their evidence; Label Studio adds its own fields."""
SHOWN = ("question", "answer", "evidence")
"""Fields of a row that people see; texts, shown as they are written."""
NOTES = ("edited_answer", "why")
"""Columns of texts that people may add to a label, of files that have them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file that people label.

    Args:
        label: column of the label.
        who: column of the person.
        question: what people are asked.
        choices: the labels; a sheet may name others.
    """

    label: str
    who: str
    question: str
    choices: tuple[str, ...]


KINDS = (
    Kind(
        "decision",
        "who",
        "Is every sentence of the answer supported by the evidence?",
        ("accepted", "rejected", "edited"),
    ),
    Kind("rating", "annotator", "How would you rate the answer?", CATEGORIES),
    Kind("label", "who", "Is the row right?", LABELS),
)


@dataclass(frozen=True, slots=True)
class LabelFile:
    """A file that people label: its kind, its rows, and the labels that there may be."""

    path: Path
    kind: Kind
    rows: list[Row]
    choices: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the columns of texts that people may add."""
        return tuple(name for name in NOTES if name in self.rows[0])

    def items(self) -> dict[str, Row]:
        """Return the first row of each item by the item's id."""
        first_rows: dict[str, Row] = {}
        for row in self.rows:
            first_rows.setdefault(item_id(row), row)
        return first_rows


@dataclass(frozen=True, slots=True)
class Label:
    """A label of one person for one item, with the texts they added."""

    item: str
    who: str
    label: str
    notes: Mapping[str, str]


def item_id(row: Row) -> str:
    """Return the id of what a row is about; ids of pairs are those of a batch."""
    return "/".join(str(row[name]) for name in ("batch", "pair_id", "id") if row.get(name) is not None)


def read_label_file(path: Path) -> LabelFile:
    """Read a file that people label.

    Raises:
        InputError: it cannot be read, or is no file of these commands.
    """
    rows = [row.value for row in json_lines(path, LIMITS)]
    kind = next((kind for kind in KINDS if rows and all(_has(row, kind.label) for row in rows)), None)
    if kind is None:
        raise InputError(
            f"{path} is no file to label; name one in JSON lines of qa-pipeline decide --template, "
            "sample, eval sheet or audit sample"
        )
    for place, row in enumerate(rows, start=1):
        if not item_id(row):
            raise InputError(f"{path}, row {place} has neither pair_id nor id; draw the file again")
    return LabelFile(path, kind, rows, tuple(map(str, rows[0].get("categories") or kind.choices)))


def _has(row: object, column: str) -> bool:
    return isinstance(row, dict) and column in row


def tool_files(file: LabelFile, tool: Tool) -> dict[str, bytes]:
    """Return the files of a tool by path: tasks and the page to label them on."""
    return _label_studio_files(file) if tool == "label-studio" else _argilla_files(file)


def _texts(row: Row) -> dict[str, str]:
    """Return what people see of a row."""
    quotes = [f"“{quote}”" for quote in row.get("quotes") or ()]
    for number, statement in enumerate(row.get("statements") or (), start=1):
        source = ": ".join(filter(None, [statement.get("document"), statement.get("quote")]))
        quotes.append(f"{number}. {statement.get('text') or ''}\n   {source or 'no evidence'}")
    claims = [
        f"{name.capitalize()}\n{row[name]}" for name in ("claims", "evidence", "source") if row.get(name)
    ]
    return {
        "question": row.get("question") or row.get("query") or "",
        "answer": row.get("answer") or "",
        "evidence": "\n".join(quotes) or "\n\n".join(claims),
    }


def _label_studio_files(file: LabelFile) -> dict[str, bytes]:
    kind = file.kind
    config = render_html(
        "review/label_studio.xml.j2",
        shown=SHOWN,
        question=kind.question,
        label=kind.label,
        choices=file.choices,
        notes=file.notes,
    )
    tasks = [{"data": {"item": item, **_texts(row)}} for item, row in file.items().items()]
    return {"config.xml": config.encode(), "tasks.json": _json(tasks)}


def _argilla_files(file: LabelFile) -> dict[str, bytes]:
    """Return what `argilla.Dataset.from_disk` reads."""
    kind = file.kind
    text = {"type": "text", "use_markdown": False}
    options = [{"value": choice, "text": choice} for choice in file.choices]
    choice = {"type": "label_selection", "options": options}
    settings = {
        "guidelines": kind.question,
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "fields": [_argilla_part(name, text) for name in SHOWN],
        "questions": [
            {**_argilla_part(kind.label, choice), "title": kind.question},
            *({**_argilla_part(name, text), "required": False} for name in file.notes),
        ],
        "vectors": [],
        "metadata": [],
    }
    # Argilla takes letters of ASCII, digits, blanks, - and _, and none of the last two at the beginning
    name = re.sub(r"[^A-Za-z0-9]+", "-", file.path.stem).strip("-")[:100] or "labels"
    records = [{"id": item, "fields": _texts(row), "responses": {}} for item, row in file.items().items()]
    return {
        ".argilla/dataset.json": _json({"name": name, "guidelines": kind.question}),
        ".argilla/settings.json": _json(settings),
        "records.json": _json(records),
    }


def _argilla_part(name: str, settings: Row) -> Row:
    """Return a field or question of Argilla."""
    return {
        "name": name,
        "title": name.replace("_", " ").capitalize(),
        "required": True,
        "settings": settings,
    }


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def read_labels(path: Path, file: LabelFile, people: Mapping[str, str]) -> list[Label]:
    """Return the labels of a tool's export; what nobody submitted is none.

    Args:
        path: JSON export of Label Studio, or `records.json` of Argilla.
        file: the file that the tasks were made of.
        people: names by the tools' ids of people.

    Raises:
        InputError: it cannot be read, or a label is of another file or none of the choices.
    """
    labels = []
    for place, row in enumerate(open_rows(path, LIMITS, (".json",)).rows(), start=1):
        try:
            labels += list(_labels_of(row.value, file, people))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{path}, entry {place}: is neither a task of Label Studio (export it as JSON) nor a record "
                "of Argilla (dataset.records.to_json)"
            ) from error
    items = file.items()
    for label in labels:
        if label.item not in items:
            raise InputError(f"{path}: {label.item!r} is not in {file.path}; name the file it was made of")
        if label.label not in file.choices:
            raise InputError(
                f"{path}: {label.item!r} has the label {label.label!r}; it can be {', '.join(file.choices)}"
            )
    return labels


def _labels_of(entry: Row, file: LabelFile, people: Mapping[str, str]) -> Iterator[Label]:
    if "annotations" in entry:
        item, answers = entry["data"]["item"], list(_label_studio_answers(entry["annotations"]))
    else:
        item, answers = entry["id"], list(_argilla_answers(entry["responses"]))
    for person, values in answers:
        if file.kind.label in values:
            notes = {name: values[name].strip() for name in file.notes if name in values}
            who, label = people.get(person, person), values[file.kind.label]
            yield Label(item, who, label, {name: note for name, note in notes.items() if note})


def _label_studio_answers(annotations: Sequence[Row]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each person with what they said by question; an annotation that was skipped is none."""
    for annotation in annotations:
        person = annotation["completed_by"]
        values = {}
        for region in annotation["result"]:
            of_type = region["value"].get("choices") or region["value"].get("text") or [""]
            values[region["from_name"]] = "\n".join([of_type] if isinstance(of_type, str) else of_type)
        if not annotation.get("was_cancelled"):
            yield str(person["email"] if isinstance(person, dict) else person), values


def _argilla_answers(responses: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each person with what they said by question."""
    by_person: dict[str, dict[str, str]] = {}
    for name, answers in responses.items():
        for answer in answers:
            by_person.setdefault(str(answer["user_id"]), {})[name] = str(answer["value"])
    yield from by_person.items()


def with_labels(file: LabelFile, labels: Sequence[Label]) -> list[Row]:
    """Return the rows of a file with labels filled in.

    The first label of an item goes into its row, unless somebody filled it in before; a further person's is a
    further row. A label of the same person takes the place of their earlier one.
    """
    kind, rows = file.kind, list(file.rows)
    for label in labels:
        places = [place for place, row in enumerate(rows) if item_id(row) == label.item]
        same = [place for place in places if rows[place].get(kind.who) == label.who]
        blank = [place for place in places if rows[place].get(kind.label) is None]
        new = {**dict.fromkeys(file.notes), **label.notes, kind.label: label.label, kind.who: label.who}
        place = next(iter([*same, *blank]), None)
        if place is None:
            rows.append({**rows[places[0]], **new})
        else:
            rows[place] = {**rows[place], **new}
    return rows
