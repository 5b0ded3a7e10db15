"""Golden sets: rows that state the scores which a good answer must reach."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.exports import is_unanswerable
from qa_pipeline.evaluation.labelled_files import LabelledRow, Row, Text, read_file
from qa_pipeline.evaluation.report_folder import StoredReport
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.storage.row_files import Fault

REFUSAL = "refusal_correct"
"""The metric of rightly refused or answered questions."""
Bounds = Mapping[str, float]
"""The bound of each metric: the least score if higher is better, else the greatest."""


class GoldenRow(LabelledRow):
    """The criteria of a row of a golden set; the columns of a data set are ignored."""

    columns = pl.Schema(
        {
            **dict.fromkeys(("file", "id", "dataset", "version"), pl.String()),
            "criteria": pl.List(pl.Struct({"metric": pl.String(), "bound": pl.Float64()})),
        }
    )
    id: Text = Field(description="a text that no other row of the file has")
    dataset: Text | None = None
    version: Annotated[Text | None, Field(max_length=100)] = None
    criteria: dict[str, Annotated[float, Field(allow_inf_nan=False)] | None] = Field(
        default_factory=dict, max_length=100
    )
    must_refuse: bool | None = None

    @classmethod
    def from_values(cls, values: Row) -> Row:
        """Return the fields of a row; the ground truth only decides if the question must be refused."""
        truth, answer = values.get("ground_truth"), values.get("reference")
        if isinstance(truth, Mapping):
            answer = truth.get("answer")
            values = {**values, "must_refuse": truth.get("must_refuse", values.get("must_refuse"))}
        elif truth is not None:
            answer = truth
        if values.get("must_refuse") is None and isinstance(answer, str) and answer.strip():
            values = {**values, "must_refuse": is_unanswerable(answer)}
        return super().from_values(values)

    def row(self) -> Row | Fault:
        """Return the row with its criteria; a row without criteria would pass with any answer."""
        bounds = {name: bound for name, bound in self.criteria.items() if bound is not None}
        if self.must_refuse or (self.must_refuse is False and not bounds):
            bounds[REFUSAL] = 1.0
        if not bounds:
            return Fault("missing_field", "criteria is empty; name what the row must reach, or must_refuse")
        criteria = [{"metric": name, "bound": float(bounds[name])} for name in sorted(bounds)]
        return {"id": self.id, "dataset": self.dataset, "version": self.version, "criteria": criteria}


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A golden set: name, version (None if its rows have none), hash of the file, and criteria by row id."""

    name: str
    version: str | None
    sha256: str
    criteria: Mapping[str, Bounds]

    def document(self) -> dict[str, Any]:
        """Return the facts of the set for reports."""
        about = {"name": self.name, "version": self.version, "sha256": self.sha256}
        return {**about, "rows": len(self.criteria)}


def read_golden(path: Path) -> GoldenSet:
    """Read a golden set: id, criteria, must_refuse or ground_truth, dataset (its name) and version.

    `criteria` maps metrics to bounds (`{"faithfulness": 0.95, "fabricated_citations": 0}`). `must_refuse`
    requires a score of 1 of `refusal_correct`, as does the ground truth UNANSWERABLE. A row with another
    ground truth and no criteria must be answered.

    Raises:
        InputError: the file or a row of it cannot be used, or rows name different sets or versions.
    """
    read = read_file(path, GoldenRow)
    if read.left_out.height:
        first = read.left_out.row(0, named=True)
        raise InputError(
            f"{path}, row {first['first_row']}: {first['detail']}; each row of a golden set counts"
        )
    for column in ("dataset", "version"):
        values = read.items[column].unique(maintain_order=True).to_list()
        if len(values) > 1:
            raise InputError(
                f"{path} has rows of more than one {column}: {values[0]!r} and {values[1]!r}; split it"
            )
    criteria = {
        name: {bound["metric"]: bound["bound"] for bound in bounds}
        for name, bounds in read.items.select("id", "criteria").iter_rows()
    }
    name, version = read.items.select("dataset", "version").row(0)
    return GoldenSet(name, version, hash_file(path), criteria)


def golden_outcomes(report: StoredReport, golden: GoldenSet) -> pl.DataFrame:
    """Check the rows of a golden set in a run. A missing row, metric or score fails as not measured.

    Returns:
        A row for each row of the set: id, `passed`, `measured` (True if every score is known), and `failed`
        (a sentence for each failed criterion).
    """
    scores = {row["id"]: row for row in report.rows.iter_rows(named=True)}
    outcomes = []
    for name, bounds in golden.criteria.items():
        row = scores.get(name)
        failed = ["not in the run"] if row is None else list(_failed(row, bounds, report))
        measured = row is not None and all(row.get(metric) is not None for metric in bounds)
        outcomes.append((name, not failed, measured, failed))
    schema = {"id": pl.String(), "passed": pl.Boolean(), "measured": pl.Boolean()}
    return pl.DataFrame(outcomes, {**schema, "failed": pl.List(pl.String())}, orient="row")


def _failed(row: Row, bounds: Bounds, report: StoredReport) -> Iterator[str]:
    for metric, bound in bounds.items():
        score = row.get(metric) if metric in report.metrics else None
        if score is None:
            yield f"{metric} not measured"
        elif report.metrics[metric].direction == "higher" and score < bound:
            yield f"{metric} is {score:.4g}, should be at least {bound:g}"
        elif report.metrics[metric].direction == "lower" and score > bound:
            yield f"{metric} is {score:.4g}, should be at most {bound:g}"
