"""Golden sets: rows that say themselves what a good answer to them must reach."""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import Field

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets import LIMITS, Fault, LabelledRow, Row, Text, read_file
from qa_pipeline.evaluation.stored_report import StoredReport
from qa_pipeline.settings.generation import PairsFileSettings

REFUSAL = "refusal_correct"
"""The metric that says whether a question was rightly refused or answered."""
CRITERIA = pl.Schema({"metric": pl.String(), "bound": pl.Float64()})
_ROWS = pl.Schema(
    {
        "file": pl.String(),
        "id": pl.String(),
        "dataset": pl.String(),
        "version": pl.String(),
        "criteria": pl.List(pl.Struct(CRITERIA)),
    }
)
OUTCOMES = pl.Schema(
    {"id": pl.String(), "passed": pl.Boolean(), "measured": pl.Boolean(), "failed": pl.List(pl.String())}
)
_MOST_CRITERIA = 100


class GoldenRow(LabelledRow):
    """What a row of a golden set says beside the columns of a data set, which are not read here."""

    types: ClassVar[Mapping[str, tuple[Callable[[pl.DataType], bool], str]]] = {
        "criteria": (lambda found: isinstance(found, pl.Struct), "bounds of metrics by name"),
        "must_refuse": (pl.Boolean().__eq__, "true or false"),
    }
    id: Text = Field(description="a text that no other row of the file has")
    dataset: Text | None = None
    version: Annotated[Text | None, Field(max_length=100)] = None
    criteria: dict[str, float | None] = Field(default_factory=dict, max_length=_MOST_CRITERIA)
    must_refuse: bool = False

    @classmethod
    def columns(cls) -> pl.Schema:
        """The criteria of a row as a list."""
        return _ROWS

    def row(self) -> Row | Fault:
        """The row with its criteria; one without any would pass whatever is answered."""
        bounds = {name: bound for name, bound in self.criteria.items() if bound is not None}
        if self.must_refuse:
            bounds[REFUSAL] = 1.0
        if not bounds:
            return Fault("missing_field", "criteria is empty; name what the row must reach, or must_refuse")
        if wrong := next((name for name, bound in bounds.items() if not math.isfinite(bound)), None):
            return Fault("wrong_type", f"criteria: {wrong} should have a number")
        listed = [{"metric": name, "bound": float(bounds[name])} for name in sorted(bounds)]
        return {"id": self.id, "dataset": self.dataset, "version": self.version, "criteria": listed}


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A golden set.

    Args:
        name: of the set.
        version: as its rows say it; None where they do not.
        sha256: of the file.
        criteria: id, metric and bound, one row for each criterion, rows in the order of the file.
    """

    name: str
    version: str | None
    sha256: str
    criteria: pl.DataFrame

    def document(self) -> dict[str, Any]:
        """What reports say of the set."""
        rows = self.criteria["id"].n_unique()
        return {"name": self.name, "version": self.version, "sha256": self.sha256, "rows": rows}


def read_golden(path: Path, limits: PairsFileSettings = LIMITS) -> GoldenSet:
    """Read a golden set, JSONL or Parquet: id, criteria, must_refuse, dataset (its name) and version.

    `criteria` maps a metric to the bound its score must reach: the least one where higher is better, the
    greatest one where lower is (`{"faithfulness": 0.95, "fabricated_citations": 0}`). `must_refuse` asks
    for a score of 1 of `refusal_correct`.

    Raises:
        InputError: the file cannot be read, a row cannot (a gate that lost one would hold less than it says),
            or rows name different sets or versions.
    """
    read = read_file(path, lambda _: GoldenRow, limits)
    if read.left_out.height:
        first = read.left_out.row(0, named=True)
        raise InputError(
            f"{path}, row {first['first_row']}: {first['detail']}; each row of a golden set counts"
        )
    for column in ("dataset", "version"):
        found = read.items[column].unique(maintain_order=True).to_list()
        if len(found) > 1:
            raise InputError(
                f"{path} has rows of more than one {column}: {found[0]!r} and {found[1]!r}; split it"
            )
    criteria = read.items.select("id", "criteria").explode("criteria").unnest("criteria")
    first = read.items.row(0, named=True)
    return GoldenSet(
        first["dataset"], first["version"], hashlib.sha256(path.read_bytes()).hexdigest(), criteria
    )


def row_outcomes(rows: pl.DataFrame, criteria: pl.DataFrame, directions: Mapping[str, str]) -> pl.DataFrame:
    """Which rows of a golden set pass.

    A score that is unknown, a metric that the run does not have and a row that it did not evaluate are not
    measured, which fails the row: what was not looked at is not good.

    Args:
        rows: id and a float column of each metric.
        criteria: id, metric, bound; as of a golden set.
        directions: of each metric, `higher` or `lower`: what is better.

    Returns:
        `OUTCOMES`, a row for each id of the criteria in their order: whether all holds, whether all was
        measured, and what does not hold, in words.
    """
    measured = [name for name in criteria["metric"].unique() if name in rows.columns and name in directions]
    scores = rows.select("id", *measured).unpivot(index="id", variable_name="metric", value_name="score")
    lower = [name for name in measured if directions[name] == "lower"]
    joined = criteria.join(scores, on=["id", "metric"], how="left", maintain_order="left").with_columns(
        evaluated=pl.col("id").is_in(rows["id"].implode()), lower=pl.col("metric").is_in(lower)
    )
    reached = (
        pl.when("lower")
        .then(pl.col("score") <= pl.col("bound"))
        .otherwise(pl.col("score") >= pl.col("bound"))
    )
    told = (
        pl.when(~pl.col("evaluated"))
        .then(pl.lit("not in the run"))
        .when(pl.col("score").is_null())
        .then(pl.format("{} not measured", "metric"))
        .when(~reached)
        .then(
            pl.format(
                "{} is {}, should be at {} {}",
                "metric",
                pl.col("score").round(4),
                pl.when("lower").then(pl.lit("most")).otherwise(pl.lit("least")),
                "bound",
            )
        )
    )
    by_row = joined.with_columns(told=told).group_by("id", maintain_order=True)
    found = by_row.agg(
        passed=pl.col("told").is_null().all(),
        measured=pl.col("score").is_not_null().all(),
        failed=pl.col("told").drop_nulls().unique(maintain_order=True),
    )
    return found.match_to_schema(OUTCOMES)


def golden_outcomes(report: StoredReport, golden: GoldenSet) -> pl.DataFrame:
    """The outcomes (`OUTCOMES`) of a golden set in a run."""
    directions = {name: one.direction for name, one in report.metrics.items()}
    return row_outcomes(report.rows, golden.criteria, directions)
