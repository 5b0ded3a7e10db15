"""A report folder read back: what `report.json` says of its metrics, and the scores of `rows.parquet`."""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, JsonValue, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.reports.summaries import check_ranges, known_scores

REPORT, ROWS = "report.json", "rows.parquet"
_REMEDY = "write it anew with `qa-pipeline eval run`"


class MetricFacts(BaseModel):
    """The facts of a metric: its version, what is better, its deciders, and its mean with an interval."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: str | int
    direction: Literal["higher", "lower"]
    range: tuple[float, float | None]
    decided_by: dict[str, int] = Field(default_factory=dict, max_length=1000)
    mean: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    known: int = 0


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal[1]
    dataset: str = Field(max_length=1000)
    dataset_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    metrics: dict[Annotated[str, Field(pattern=r"^[\w@.-]{1,100}$")], MetricFacts] = Field(
        min_length=1, max_length=1000
    )
    settings: dict[str, JsonValue] = Field(default_factory=dict, max_length=1000)


@dataclass(frozen=True, slots=True)
class StoredReport:
    """An evaluation that was stored.

    Args:
        place: its folder.
        dataset: name of the data set.
        dataset_sha256: of its content.
        metrics: what is known of each metric, by name.
        rows: id, group and a float column of each metric, in the order of the data set; null is unknown.
        settings: what it was measured with, by name.
    """

    place: Path
    dataset: str
    dataset_sha256: str
    metrics: Mapping[str, MetricFacts]
    rows: pl.DataFrame
    settings: Mapping[str, JsonValue] = field(default_factory=dict)


def read_report(folder: Path) -> StoredReport:
    """Read a report folder; scores that are NaN or infinite are unknown.

    Args:
        folder: that `eval run` wrote.

    Raises:
        InputError: a file is missing, damaged or of another format, an id is missing or there twice, a metric
            has no column, or a score is outside its range.
    """
    try:
        document = _Document.model_validate_json(_content(folder / REPORT))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, problem["loc"])) or "the document"
        raise InputError(f"{folder / REPORT}: {where}: {problem['msg']}; {_REMEDY}") from error
    try:
        rows = _rows(_content(folder / ROWS), document.metrics)
        check_ranges(rows, {name: metric.range for name, metric in document.metrics.items()})
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{folder / ROWS}: not a Parquet file that can be read; {_REMEDY}") from error
    except InputError as error:
        raise InputError(f"{folder / ROWS}: {error}") from error
    return StoredReport(
        folder, document.dataset, document.dataset_sha256, document.metrics, rows, document.settings
    )


def dataset_labels(datasets: Sequence[tuple[str, str]]) -> list[str]:
    """Return the name of each data set, with the start of its hash where another one has the same name.

    Args:
        datasets: name and SHA-256 of each.
    """
    distinct = {*datasets}
    shared = Counter(name for name, _ in distinct)
    return [f"{name} ({digest[:8]})" if shared[name] > 1 else name for name, digest in datasets]


def _rows(content: bytes, metrics: Mapping[str, MetricFacts]) -> pl.DataFrame:
    rows = pl.read_parquet(io.BytesIO(content))
    for name in ("id", "group"):
        if rows.schema.get(name) != pl.String() or rows[name].null_count():
            raise InputError(f"the column {name} should hold a text in each row; {_REMEDY}")
    if not rows.height:
        raise InputError("holds no rows: nothing was evaluated")
    twice = rows.filter(pl.col("id").is_duplicated())
    if twice.height:
        raise InputError(f"the id {twice['id'][0]!r} is there twice; give each row of the data set its own")
    return rows.select("id", "group", *known_scores(rows, metrics))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}; name a folder of eval run"
        ) from error
