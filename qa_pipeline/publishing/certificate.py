"""Audits: draw rows of a release for people to label, and bound the share of wrong rows.

A sample is the first rows by the hash of seed and id, so that everybody draws the same rows for a seed.
"""

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError
from qa_pipeline.publishing.manifest import load_release, read_manifest
from qa_pipeline.statistics import CONFIDENCE
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.row_files import Limits, json_lines

LABELS = ("right", "wrong", "unsure")
_COLUMNS = ("pair_id", "batch", "split", "language", "question_type", "question", "answer")


class _Line(BaseModel):
    """A row of a sample with its label."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    pair_id: str = Field(min_length=1)
    label: Literal["right", "wrong", "unsure"] | None
    seed: str
    sample: int = Field(ge=1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Counts of an audit's labels, and the upper bound on the share of wrong rows in the release."""

    rows: int
    audited: int
    wrong: int
    unsure: int
    at_most: float


def draw_sample(release: Path, count: int, seed: str) -> pl.DataFrame:
    """Return a sample's rows with their quotes, an empty label, the seed and the sample size.

    Raises:
        ReleaseError: the release is incomplete.
    """
    splits = read_manifest(release).splits
    rows = pl.concat(load_release(release, name).with_columns(split=pl.lit(name)) for name in splits)
    ids = rows.select("pair_id").collect()["pair_id"]
    drawn = heapq.nsmallest(count, ids, key=lambda pair_id: hash_parts(seed, pair_id))
    quotes = pl.col("evidence").list.eval(pl.element().struct.field("quote"))
    return (
        pl.LazyFrame({"pair_id": drawn}, {"pair_id": pl.String()})
        .join(rows, on="pair_id", maintain_order="left")
        .select(*_COLUMNS, quotes=quotes, label=pl.lit(None, pl.String()), seed=pl.lit(seed), sample=count)
        .collect()
    )


def certify(release: Path, file: Path) -> Certificate:
    """Return the upper bound on the share of wrong rows, from a labelled sample; "unsure" counts as wrong.

    It is the one-sided exact bound of Clopper and Pearson (1934). Every row of the sample needs a label, and
    the sample must match the rows that its seed draws from this release.

    Raises:
        InputError: the file is invalid.
        ReleaseError: the release is incomplete.
    """
    from scipy.stats import binomtest

    lines = _lines(file)
    samples = {(line.seed, line.sample) for line in lines}
    if len(samples) != 1:
        raise InputError(f"{file} has {len(samples)} samples; give one file of qa-pipeline audit --rows")
    seed, sample = samples.pop()
    labels = _labels(lines, file)
    drawn = draw_sample(release, sample, seed)["pair_id"].to_list()
    missing = [pair_id for pair_id in drawn if labels.get(pair_id) is None]
    others = labels.keys() - {*drawn}
    if missing or others or not drawn:
        raise InputError(
            f"{file}: {len(missing)} of the {len(drawn)} rows that its seed draws from {release} have no "
            f"label, and {len(others)} others have; label a sample of this release"
        )
    counts = Counter(labels[pair_id] for pair_id in drawn)  # rows by label
    wrong, unsure = counts["wrong"], counts["unsure"]
    bounds = binomtest(wrong + unsure, len(drawn), alternative="less").proportion_ci(CONFIDENCE, "exact")
    rows = sum(read_manifest(release).splits.values())
    return Certificate(rows, len(drawn), wrong, unsure, float(bounds.high))


def _labels(lines: Iterable[_Line], file: Path) -> dict[str, str | None]:
    """Return the label of each row, or None; repeated rows must agree."""
    labels: dict[str, str | None] = {}
    for line in lines:
        earlier = labels.get(line.pair_id)
        if earlier and line.label and earlier != line.label:
            raise InputError(
                f"{file} has two labels of row {line.pair_id}: {earlier} and {line.label}; agree on a label "
                "and keep it once"
            )
        labels[line.pair_id] = line.label or earlier
    return labels


def _lines(file: Path) -> list[_Line]:
    """Read the labelled lines of a sample, and refuse a line that lacks a field."""
    lines = []
    for row in json_lines(file, Limits()):
        try:
            lines.append(_Line.model_validate(row.value))
        except ValidationError as error:
            fields = ", ".join(str(problem["loc"][0]) for problem in error.errors() if problem["loc"])
            raise InputError(
                f"{file}, line {row.number}: {fields or 'it'} cannot be used; wanted is a line of "
                f"qa-pipeline audit --rows whose label is {', '.join(LABELS)} or null"
            ) from error
    return lines
