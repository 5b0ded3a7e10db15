"""What people's audits of a release allow to be said of its wrong rows, and nothing beyond.

Rows are drawn by a seeded hash of their ids, so that anybody can draw the same ones. The bound on wrong rows
is the exact one of Clopper and Pearson (1934), one-sided. It holds for one look at one sample: who looks
again, having seen the first result, needs another seed.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy.stats import beta

from qa_pipeline.errors import InputError
from qa_pipeline.publishing.loading import load_release
from qa_pipeline.publishing.manifest import read_manifest

LABELS = ("right", "wrong", "unsure")
CONFIDENCE = 0.95
FEWEST = 10
"""Audited rows below which nothing is said of a part of the sample."""
_SHOWN = ("pair_id", "batch", "split", "language", "question_type", "question", "answer")


class _Label(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    pair_id: str = Field(min_length=1)
    label: Literal["right", "wrong", "unsure"]


@dataclass(frozen=True, slots=True)
class Bound:
    """What is known of a part of a release; `at_most` is the upper bound of the share of wrong rows."""

    part: str
    audited: int
    wrong: int
    unsure: int
    at_most: float | None


def draw_sample(release: Path, count: int, seed: str) -> pl.DataFrame:
    """Rows to be audited, with their quotes; a larger sample of the same seed holds the smaller one.

    Raises:
        ReleaseError: there is no whole release.
    """
    rows = _rows(release)
    lots = pl.Series("lot", [_lot(seed, one) for one in rows["pair_id"]], pl.String())
    quotes = pl.col("evidence").list.eval(pl.element().struct.field("quote"))
    drawn = rows.with_columns(lots).sort("lot").head(count)
    return drawn.select(*_SHOWN, quotes=quotes, label=pl.lit(None, pl.String()))


def _lot(seed: str, pair_id: str) -> str:
    return hashlib.sha256(f"{seed}\x1f{pair_id}".encode()).hexdigest()


def _rows(release: Path) -> pl.DataFrame:
    splits = read_manifest(release).splits
    return pl.concat(load_release(release, one).with_columns(split=pl.lit(one)).collect() for one in splits)


def read_labels(file: Path, release: Path) -> pl.DataFrame:
    """The labels people gave: pair_id, label, language and question_type, each row once.

    Raises:
        InputError: a line cannot be read, names a row that is not in the release, or contradicts another; or
            nothing is labelled.
        ReleaseError: there is no whole release.
    """
    found: dict[str, str] = {}
    for line, said in _lines(file):
        if found.setdefault(said.pair_id, said.label) != said.label:
            raise InputError(
                f"{file}, line {line}: {said.pair_id} is {said.label} here and {found[said.pair_id]} above; "
                f"agree on one"
            )
    rows = _rows(release)
    unknown = sorted(found.keys() - set(rows["pair_id"]))
    if unknown:
        raise InputError(f"{file}: {len(unknown)} rows are not in {release}, the first is {unknown[0]}")
    if not found:
        raise InputError(f"{file} has no label; write {', '.join(LABELS)} into the field label")
    labels = pl.DataFrame({"pair_id": list(found), "label": list(found.values())})
    return labels.join(
        rows.select("pair_id", "language", "question_type"), on="pair_id", maintain_order="left"
    )


def _lines(file: Path) -> Iterator[tuple[int, _Label]]:
    """The labelled lines with their numbers; one whose label is null is still to be audited."""
    try:
        texts = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as UTF-8") from error
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            continue
        try:
            said: Any = json.loads(text)
            if isinstance(said, dict) and said.get("label") is None:
                continue
            yield number, _Label.model_validate(said)
        except (ValueError, RecursionError, ValidationError) as error:
            raise InputError(
                f"{file}, line {number}: wanted is an object with pair_id and label ({', '.join(LABELS)})"
            ) from error


def bounds(labels: pl.DataFrame) -> list[Bound]:
    """The bound over all audited rows, and for each language and type with `FEWEST` of them.

    A row nobody is sure of counts as wrong.
    """
    parts = [("all", labels)]
    for column in ("language", "question_type"):
        parts += [
            (f"{column} {name}", own)
            for (name,), own in sorted(labels.partition_by(column, as_dict=True).items())
        ]
    return [_bound(name, own) for name, own in parts]


def _bound(name: str, labels: pl.DataFrame) -> Bound:
    wrong, unsure = (int((labels["label"] == one).sum()) for one in ("wrong", "unsure"))
    known = labels.height >= FEWEST or name == "all"
    at_most = upper_bound(wrong + unsure, labels.height) if known else None
    return Bound(name, labels.height, wrong, unsure, at_most)


def upper_bound(wrong: int, audited: int) -> float:
    """The largest share of wrong rows that these are not surprising for, at `CONFIDENCE`."""
    return 1.0 if wrong >= audited else float(beta.ppf(CONFIDENCE, wrong + 1, audited - wrong))


def still_needed(wrong: int, audited: int, most: float) -> int:
    """How many more rows, all of them right, would bring the bound down to `most`."""
    more = 0
    while upper_bound(wrong, audited + more) > most:
        more += 1
    return more
