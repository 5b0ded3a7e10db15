"""Files of rows that people label: samples of `audit sample` and sheets of `eval sheet`.

A label goes into the file that was drawn, which `audit certify` and `eval annotators` read as they did. An
audit has one label a row; a sheet has one rating a person, so that a further person's is a further row.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.reports.rating_sheet import CATEGORIES
from qa_pipeline.publishing.certificate import LABELS
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.storage.files import locked, write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.row_files import FileRow, Limits, json_lines

AUDIT, RATING = "audit", "rating"
LIMITS = Limits(max_bytes=50_000_000, max_rows=100_000)
"""As many rows as `eval sheet` draws; a page reads its file anew, so that no label of others is missed."""
_NO_LIST: Any = BeforeValidator(lambda value: [] if value is None else value)


class _Statement(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str | None = None
    document: str | None = None
    quote: str | None = None


class SheetRow(BaseModel):
    """A row of an audit or sheet; what is null in it nobody has labelled."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: str = Field(validation_alias=AliasChoices("pair_id", "id"), min_length=1)
    question: str | None = Field(None, validation_alias=AliasChoices("question", "query"))
    answer: str | None = None
    batch: str | None = None
    quotes: Annotated[list[str], _NO_LIST] = []
    statements: Annotated[list[_Statement], _NO_LIST] = []
    criterion: str | None = None
    categories: Annotated[list[str], _NO_LIST] = []
    label: Literal["right", "wrong", "unsure"] | None = None
    rating: str | int | float | None = None
    annotator: str | None = None
    who: str | None = None

    def label_of(self, who: str) -> str | None:
        """Return the label of the row as a person may see it: of ratings only their own."""
        return self.label or (str(self.rating) if self.rating is not None and self.annotator == who else None)


@dataclass(frozen=True)
class Sheet:
    """A file that people label."""

    name: str
    path: Path
    kind: str
    rows: list[SheetRow]

    @cached_property
    def items(self) -> list[SheetRow]:
        """Return the rows to be labelled: each item of the file once."""
        first_rows: dict[str, SheetRow] = {}
        for row in self.rows:
            first_rows.setdefault(row.id, row)
        return list(first_rows.values())

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """Return the labels that there are, in the order of their keys."""
        return LABELS if self.kind == AUDIT else tuple(self.rows[0].categories or CATEGORIES)

    def labels(self, who: str) -> dict[str, str]:
        """Return the labels by item that a person may see."""
        return {row.id: label for row in self.rows if (label := row.label_of(who)) is not None}

    def next_open(self, who: str, number: int = 0) -> int | None:
        """Return the number, from 1, of the next item that a person has not labelled, after one of them."""
        labelled = self.labels(who)
        opened = [place for place, row in enumerate(self.items, start=1) if row.id not in labelled]
        return next((place for place in opened if place > number), opened[0] if opened else None)


class Sheets:
    """The files to label: those in the folders `audits` and `sheets` of an output folder, and others.

    Args:
        layout: the output folder.
        others: files elsewhere.

    Raises:
        InputError: two of the others have the same name.
    """

    def __init__(self, layout: Layout, others: Sequence[Path] = ()) -> None:
        self._folders = layout.label_folders
        self._others = {path.name: path for path in others}
        if len(self._others) < len(others):
            raise InputError("two files of --sheet have the same name; rename one of them")

    def paths(self) -> dict[str, Path]:
        """Return the files by name."""
        return {
            **{path.name: path for folder in self._folders for path in sorted(folder.glob("*.jsonl"))},
            **self._others,
        }

    def read(self, name: str) -> Sheet:
        """Read a file.

        Raises:
            InputError: there is no such file, or it is no audit or sheet.
        """
        path = self.paths().get(name)
        if path is None:
            raise PhrasedError(
                "there is no audit or rating sheet %(name)r; it may have been moved since", name=name
            )
        return _sheet(name, path, list(json_lines(path, LIMITS)))

    def put_label(self, name: str, item: str, label: str | None, who: str, why: str | None = None) -> None:
        """Write a label into its file, which is on the disk when this returns; None takes it back.

        Args:
            name: of the file.
            item: the row.
            label: one of the file's choices.
            who: the person.
            why: the reason, of a file that has a place for it.

        Raises:
            InputError: the file is gone or changed, or the label is none of its labels.
            StorageError: the file cannot be written; it is as it was.
        """
        path = self.read(name).path
        with locked(path.parent, wait=True):
            lines = list(json_lines(path, LIMITS))
            sheet = _sheet(name, path, lines)
            if label is not None and label not in sheet.choices:
                raise InputError(f"{label!r} is no label of {name}; take one of {', '.join(sheet.choices)}")
            written = [line.written.strip() for line in lines]
            place = _place(sheet, item, who)
            if place is None:
                again = next(n for n, row in enumerate(sheet.rows) if row.id == item)
                written.append(_labelled(lines[again].value, sheet.kind, label, who, why))
            else:
                written[place] = _labelled(lines[place].value, sheet.kind, label, who, why)
            write_bytes(path, b"".join(line + b"\n" for line in written))


def _sheet(name: str, path: Path, lines: Sequence[FileRow]) -> Sheet:
    kinds = {
        AUDIT if "label" in line.value else RATING if "rating" in line.value else None
        for line in lines
        if isinstance(line.value, dict)
    }
    if len(kinds) != 1 or None in kinds:
        raise InputError(
            f"{path} is neither a file of qa-pipeline audit sample nor of qa-pipeline eval sheet"
        )
    rows = []
    for line in lines:
        try:
            rows.append(SheetRow.model_validate(line.value))
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(map(str, problem["loc"])) or "it"
            raise InputError(f"{path}, line {line.place}: {place}: {problem['msg']}") from error
    return Sheet(name, path, str(kinds.pop()), rows)


def _place(sheet: Sheet, item: str, who: str) -> int | None:
    """Return the place of the row for a person's label: of ratings their own, else one without a rating."""
    places = [place for place, row in enumerate(sheet.rows) if row.id == item]
    if not places:
        raise PhrasedError(
            "%(name)s has no row %(item)r any more; load its page again", name=sheet.name, item=item
        )
    if sheet.kind == AUDIT:
        return places[0]
    rated = [place for place in places if sheet.rows[place].annotator == who]
    blank = [place for place in places if sheet.rows[place].rating is None]
    return next(iter([*rated, *blank]), None)


def _labelled(row: dict[str, Any], kind: str, label: str | None, who: str, why: str | None) -> bytes:
    name = who if label is not None else None
    new = {"label": label, "who": name} if kind == AUDIT else {"rating": label, "annotator": name}
    reason = {"why": why} if "why" in row else {}
    return json.dumps({**row, **new, **reason}, ensure_ascii=False).encode()
