"""The folder of a report: written whole or not at all, and read back by comparisons and gates."""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.report import (
    About,
    by_badness,
    markdown_report,
    ranked_by,
    report_document,
    report_page,
)
from qa_pipeline.evaluation.running import Counts
from qa_pipeline.evaluation.summaries import Document, check_ranges, known_scores
from qa_pipeline.storage.files import prepare_folder, write_bytes

REPORT, MARKDOWN, PAGE, ROWS = "report.json", "report.md", "report.html", "rows.parquet"
WORST = 20
"""Rows that the pages show of the worst."""
_INPUT_COLUMNS = ("id", "query", "reference", "relevant_documents", "true_claims")
_REMEDY = "write it anew with `qa-pipeline eval run`"


def dataset_sha256(rows: pl.DataFrame) -> str:
    """Return a hash of the questions and their truth (`RAG_ROWS`), in the order of ids.

    Answers, contexts and citations are excluded, so that two systems can be compared on the same questions.
    """
    # a reference already says if the question must be refused
    must_refuse = pl.when(pl.col("reference").is_null()).then("must_refuse").alias("must_refuse")
    digests = {
        row["id"]: hashlib.sha256(json.dumps(row, sort_keys=True).encode()).digest()
        for row in rows.select(*_INPUT_COLUMNS, must_refuse).iter_rows(named=True)
    }
    return hashlib.sha256(b"".join(digests[row_id] for row_id in sorted(digests))).hexdigest()


@contextmanager
def new_report(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a new folder that is renamed to `target` at the end of the block, or deleted if it fails.

    Raises `InputError` for a target with other content, or with a report unless `replace`; and a
    `StorageError`, which leaves an earlier report unchanged.
    """
    prepare_folder(target.parent)
    _check_target(target, replace=replace)
    try:
        with TemporaryDirectory(prefix=".", suffix=".tmp", dir=target.parent) as work:
            new = Path(work) / "new"
            new.mkdir()
            yield new
            # the block takes long, and another run may have written to the target meanwhile
            _check_target(target, replace=replace)
            if target.is_dir():
                target.rename(Path(work) / "old")  # deleted with `work`
            new.rename(target)
    except OSError as error:
        raise StorageError(
            f"cannot write {target}: {error.strerror or error}; free space or rights, then run again"
        ) from error


def _check_target(target: Path, *, replace: bool) -> None:
    """Refuse a path with other content than a report, or with a report that may not be replaced."""
    if not target.exists() and not target.is_symlink():
        return
    if not target.is_dir() or target.is_symlink():
        raise InputError(f"{target} is a file, not a folder; name another folder")
    if not any(target.iterdir()):
        return
    names = {REPORT, MARKDOWN, PAGE, ROWS, "statements.parquet"}
    if not {REPORT} <= {file.name for file in target.iterdir()} <= names:
        raise InputError(f"{target} contains files that are not part of a report; name another folder")
    if not replace:
        raise InputError(f"{target} already contains a report; name another folder, or add --replace")


def write_report(folder: Path, metrics: Sequence[Metric], counts: Counts, about: About) -> Document:
    """Write the report of a folder that `evaluate_into` filled, and return the content of `report.json`.

    Raises `InputError` for a value outside the range of its metric, or a `StorageError`.
    """
    rows, statements = (pl.read_parquet(folder / f"{name}.parquet") for name in ("rows", "statements"))
    document = report_document(rows, statements, metrics, counts, about)
    metric = ranked_by(document)
    worst = rows.clear()
    if metric is not None:
        worst = by_badness(rows, statements, metric, document["metrics"][metric]["direction"]).head(WORST)
    written = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(folder / REPORT, f"{written}\n".encode())
    write_bytes(folder / MARKDOWN, markdown_report(document, worst, metric).encode())
    write_bytes(folder / PAGE, report_page(document, worst, statements, metric).encode())
    return document


class MetricFacts(BaseModel):
    """The facts of a metric in a stored report."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    version: str | int
    direction: Literal["higher", "lower"]
    range: tuple[float, float | None]
    decided_by: dict[str, int] = Field(default_factory=dict)


class _StoredDocument(BaseModel):
    """The fields of `report.json` that comparisons and gates need."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    format: Literal[1]
    dataset: str = Field(max_length=1000)
    dataset_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    metrics: dict[Annotated[str, Field(pattern=r"^[\w@.-]{1,100}$")], MetricFacts] = Field(min_length=1)
    settings: dict[str, JsonValue] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A stored evaluation: its folder, data set, facts of metrics, scores and settings.

    `rows` has id, group and a float column of each metric, in the order of the data set; null is unknown.
    """

    place: Path
    dataset: str
    dataset_sha256: str
    metrics: Mapping[str, MetricFacts]
    rows: pl.DataFrame
    settings: Mapping[str, JsonValue] = field(default_factory=dict)


def read_report(folder: Path) -> StoredReport:
    """Read a report folder; scores that are not finite are unknown.

    Raises `InputError` if a file is missing, damaged or of another format, an id is missing or repeated, a
    metric has no column, or a score is outside its range.
    """
    try:
        document = _StoredDocument.model_validate_json(_content(folder / REPORT))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, problem["loc"])) or "the document"
        raise InputError(f"{folder / REPORT}: {where}: {problem['msg']}; {_REMEDY}") from error
    try:
        rows = _rows(_content(folder / ROWS), document.metrics)
        check_ranges(rows, {name: metric.range for name, metric in document.metrics.items()})
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{folder / ROWS}: not a readable Parquet file; {_REMEDY}") from error
    except InputError as error:
        raise InputError(f"{folder / ROWS}: {error}") from error
    return StoredReport(
        folder, document.dataset, document.dataset_sha256, document.metrics, rows, document.settings
    )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}; name a folder of eval run"
        ) from error


def _rows(content: bytes, metrics: Mapping[str, MetricFacts]) -> pl.DataFrame:
    """Read id, group and scores of the stored rows, and refuse repeated ids."""
    rows = pl.read_parquet(io.BytesIO(content))
    for name in ("id", "group"):
        if rows.schema.get(name) != pl.String() or rows[name].null_count():
            raise InputError(f"the column {name} must have a text in each row; {_REMEDY}")
    if not rows.height:
        raise InputError("has no rows: nothing was evaluated")
    repeated = rows.filter(pl.col("id").is_duplicated())
    if repeated.height:
        raise InputError(
            f"the id {repeated['id'][0]!r} occurs twice; give each row of the data set its own id"
        )
    return rows.select("id", "group", *known_scores(rows, metrics))
