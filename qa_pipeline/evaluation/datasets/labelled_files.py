"""Labelled files, as tables, JSON or CSV: read within limits, each row used or counted with a reason.

Every command that reads labelled data reads it here; a `LabelledRow` is what the rows of a kind of file hold.
"""

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.generation.pair_entries import COLUMNS
from qa_pipeline.storage.row_files import Fault, FileRow, Limits, open_rows

Row = dict[str, Any]
SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv", ".json", ".arrow")
_SAVED = ("state.json", "dataset_info.json", "dataset_dict.json")
"""What `save_to_disk` of `datasets` writes beside the rows."""
LEFT_OUT = pl.Schema(
    {
        "file": pl.String(),
        "reason": pl.String(),
        "rows": pl.Int64(),
        "first_row": pl.Int64(),
        "detail": pl.String(),
    }
)
"""One row for each file and reason: how many rows are left out, and the first of them, from 1."""
LIMITS = Limits()
_BLOCK = 256
"""Rows that are held as objects; a frame of them takes a tenth of the memory."""


class LabelledRow(BaseModel):
    """The rows of a kind of file; nothing is converted and further fields are ignored.

    A required field's description says what it should hold. `columns` are those of the rows that can be used;
    among them are a file, an id and a data set.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")
    columns: ClassVar[pl.Schema]
    other_names: ClassVar[bool] = False
    """True where `from_values` finds fields under other names too, so that a table may lack any column."""

    @classmethod
    def from_values(cls, values: Row) -> Row:
        """Return the fields of a row as it is written; those that are null are absent."""
        return {name: values[name] for name in cls.model_fields if values.get(name) is not None}

    @classmethod
    def needed(cls) -> dict[str, str]:
        """Return the fields without which no row can be used, and what each should hold."""
        return {name: of.description or "" for name, of in cls.model_fields.items() if of.is_required()}

    def row(self) -> Row | Fault:
        """Return a row of the columns without its file, or what is wrong with the values together."""
        return self.model_dump()


@dataclass(frozen=True)
class Labelled:
    """Rows in the order of files, and what is left out of them (`LEFT_OUT`)."""

    items: pl.DataFrame
    left_out: pl.DataFrame


def labelled_files(places: Sequence[Path]) -> list[Path]:
    """Return the named files, those that match a pattern (`runs/*.jsonl`), and those in folders, by name.

    Raises:
        InputError: there is no such place, a pattern matches nothing, or a folder has no labelled files.
    """
    files: list[Path] = []
    for place in (match for pattern in places for match in _matches(pattern)):
        if place.is_dir():
            # the splits of a saved dataset are folders
            splits = place.glob("*/*.arrow") if (place / "dataset_dict.json").is_file() else ()
            inside = sorted(
                path
                for path in (*place.iterdir(), *splits)
                if path.suffix.lower() in SUFFIXES and path.name not in _SAVED
            )
            if not inside:
                raise InputError(
                    f"{place} holds no file of {', '.join(SUFFIXES)}; name a folder of labelled files"
                )
            files += inside
        elif place.is_file():
            files.append(place)
        else:
            raise InputError(f"{place} does not exist; name a file or folder of labelled items")
    return list(dict.fromkeys(files))


def _matches(place: Path) -> list[Path]:
    """Return the places that a pattern matches, by name; a place that is there, or no pattern, is itself."""
    if place.exists() or not has_magic(str(place)):
        return [place]
    matches = sorted(map(Path, glob(str(place), recursive=True)))  # noqa: PTH207 patterns may be absolute
    if not matches:
        raise InputError(f"no file matches {place}; give a pattern such as runs/*.jsonl")
    return matches


Choice = Callable[[Collection[str]], type[LabelledRow]]
"""From the columns of a file to what its rows hold."""


Faults = dict[tuple[str, str], Row]
"""Rows of `LEFT_OUT` by file and reason."""


def read_file(path: Path, kind: Choice, limits: Limits = LIMITS) -> Labelled:
    """Read one file whole.

    Raises:
        InputError: as of `read_blocks`.
    """
    faults: Faults = {}
    blocks = [_compact(block) for block in read_blocks(path, kind, faults, limits)]
    return Labelled(pl.concat(blocks), left_out(faults))


def left_out(faults: Faults) -> pl.DataFrame:
    """Return what is left out (`LEFT_OUT`), in the order of the faults."""
    return pl.DataFrame(list(faults.values()), schema=LEFT_OUT)


def read_blocks(path: Path, kind: Choice, faults: Faults, limits: Limits = LIMITS) -> Iterator[pl.DataFrame]:
    """Yield the rows of one file, a block at a time; of rows with one id the first counts.

    Args:
        path: one of `SUFFIXES`.
        kind: what its rows hold, told by its columns, or by the fields of its first object.
        faults: rows that cannot be used are counted here.
        limits: bytes and rows of the file, bytes of a line.

    Raises:
        InputError: it cannot be read as a whole, lacks a column or holds no row that can be used.
    """
    file = open_rows(path, limits, SUFFIXES, known_columns=COLUMNS)
    shape = kind(file.columns)
    columns = None
    if file.types and not shape.other_names:
        for name, content in shape.needed().items():
            if name not in file.types:
                raise InputError(f"{path} has no column {name}; add it: {content}")
        columns = [name for name in file.types if name in shape.model_fields]
    yield from usable_blocks(file.rows(columns), shape, faults, path)


def usable_blocks(
    reads: Iterable[FileRow], shape: type[LabelledRow], faults: Faults, path: Path
) -> Iterator[pl.DataFrame]:
    """Yield the rows that can be used, a block at a time; of rows with one id the first counts.

    Args:
        reads: rows as they were read.
        shape: what they hold.
        faults: rows that cannot be used are counted here.
        path: of their file; its stem is the data set of rows that name none.

    Raises:
        InputError: no row can be used.
    """
    schema, ids = shape.columns, set[str]()
    block: list[Row] = []
    for place, read in enumerate(reads):
        row = check(read.value, shape)
        # rows of premises have no id
        name = "" if isinstance(row, Fault) else row.setdefault("id", str(place))
        read_row = Fault("duplicate_id", f"id {name!r} is in an earlier row") if name in ids else row
        if isinstance(read_row, Fault):
            fault = {"file": path.name, "reason": read_row.reason, "rows": 0}
            first = {**fault, "first_row": read.number, "detail": read_row.detail}
            faults.setdefault((path.name, read_row.reason), first)["rows"] += 1
            continue
        ids.add(name)
        block.append({"file": path.name, **read_row, "dataset": read_row.get("dataset") or path.stem})
        if len(block) == _BLOCK:
            yield pl.DataFrame(block, schema=schema)
            block.clear()
    if block:
        yield pl.DataFrame(block, schema=schema)
    if not ids:
        unusable = [entry for (file_name, _), entry in faults.items() if file_name == path.name]
        if not unusable:
            raise InputError(f"{path} holds no row; name a file of labelled items")
        problem = f"row {unusable[0]['first_row']}: {unusable[0]['detail']}"
        raise InputError(f"{path} holds no row that can be used; {problem}")


def _compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame without the room that polars leaves in nested columns, several times their size."""
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return pl.read_ipc(buffer.getvalue())


def _not_empty(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise ValueError("is empty")
    return value


Text = Annotated[str, Field(min_length=1), BeforeValidator(_not_empty)]


def check(values: Any, shape: type[LabelledRow]) -> Row | Fault:
    """Return one row of a kind, or its first problem as a reason code and a sentence."""
    if isinstance(values, Fault):
        return values
    if not isinstance(values, dict):
        return Fault("broken_line", f"expected an object, found {type(values).__name__}")
    try:
        fields = shape.from_values(values)
    except ValueError as error:
        return Fault("wrong_type", str(error))
    try:
        return shape.model_validate(fields).row()
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
    field, needed = str(problem["loc"][0]), shape.needed()
    advice = f"; it should hold {needed[field]}" if field in needed else ""
    if problem["type"] == "missing":
        return Fault("missing_field", f"{field} is missing{advice}")
    if problem["type"] == "string_unicode":
        return Fault("broken_text", f"{field} contains half a character (a lone surrogate)")
    if field == "label":
        return Fault("bad_label", f"label should hold {needed['label']}")
    if field in needed and problem["type"] in ("value_error", "string_too_short"):
        return Fault("empty_field", f"{field} is empty{advice}")
    place = ".".join(map(str, problem["loc"]))
    return Fault("wrong_type", f"{place}: {problem['msg']}{advice}")
