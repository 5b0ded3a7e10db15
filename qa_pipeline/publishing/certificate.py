"""What people's audits of a release allow to be said of its wrong rows, and nothing beyond.

Each row has a lot, the hash of seed and id, so that anybody draws the same rows. Seed and size of a sample
are fixed when it is drawn: it counts only if each of the rows with the first lots of the release has a label,
and is then a simple random sample of exactly these rows. The bound is the one-sided one of Clopper and
Pearson (1934). It is exact for draws with replacement and rather too large than too small for these, without.

Every sample is a look. With k looks each bound is at confidence 1 - 0.05 / k, so that all of them hold at
once with 95 % (union bound), and the best may be chosen.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qa_pipeline.errors import InputError, ReleaseError
from qa_pipeline.publishing.manifest import (
    Bound,
    Certificate,
    Look,
    load_release,
    read_manifest,
    row_groups_of,
)
from qa_pipeline.statistics import CONFIDENCE, further_trials_needed, upper_bound
from qa_pipeline.storage.hashes import hash_json, hash_parts
from qa_pipeline.storage.row_files import Limits, json_lines

LABELS = ("right", "wrong", "unsure")
FEWEST = 10
"""Audited rows below which nothing is said of a part: of 9 right ones still 28 % might be wrong."""
_SAMPLE_COLUMNS = ("pair_id", "batch", "split", "language", "question_type", "question", "answer")
_THRESHOLDS = pl.col("provenance").struct.field("thresholds_id").alias("thresholds")
_DRAWN = pl.Schema(dict.fromkeys(("pair_id", "language", "question_type", "thresholds", "lot"), pl.String()))
AUDITED_COLUMNS = ("pair_id", "language", "question_type", "provenance")
"""The columns of released rows that a certificate is made from."""
LABELLED = pl.Schema(
    {
        **dict.fromkeys(("seed", "pair_id", "label", "thresholds", "language", "question_type"), pl.String()),
        "sample": pl.Int64(),
    }
)


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    pair_id: str = Field(min_length=1)
    label: Literal["right", "wrong", "unsure"] | None
    seed: str
    sample: int = Field(ge=1)
    thresholds: str
    language: str
    question_type: str


def draw_sample(
    release: Path, count: int, seed: str | None = None, labelled: Sequence[Path] = ()
) -> pl.DataFrame:
    """Return rows to audit, with their quotes; a larger sample of the same seed holds the smaller.

    Args:
        release: folder of a release.
        count: rows of the sample, of which a release with fewer has all.
        seed: of the lots; without one the thresholds of the rows are, so that others draw other rows.
        labelled: audit files whose labelled rows need not be drawn once more.

    Raises:
        InputError: an audit file cannot be used.
        ReleaseError: there is no whole release.
    """
    manifest = read_manifest(release)
    names = manifest.splits
    rows = pl.concat(load_release(release, name).with_columns(split=pl.lit(name)) for name in names)
    thresholds_of = rows.select("pair_id", _THRESHOLDS).collect()
    if seed is None:
        seed = hash_json(sorted(set(thresholds_of["thresholds"])))[:12]
    drawn = _with_lots(thresholds_of, seed).sort("lot").head(count)
    audited = read_audits(labelled).drop_nulls("label")
    needed = drawn.join(audited, on=["pair_id", "thresholds"], how="anti").select("pair_id", "lot")
    quotes = pl.col("evidence").list.eval(pl.element().struct.field("quote"))
    sample = rows.join(needed.lazy(), on="pair_id").select(
        *_SAMPLE_COLUMNS, _THRESHOLDS, "lot", quotes=quotes
    )
    return (
        sample.collect()
        .sort("lot")
        .drop("lot")
        .with_columns(
            label=pl.lit(None, pl.String()), seed=pl.lit(seed), sample=count, release=manifest.version
        )
    )


def _with_lots(rows: pl.DataFrame, seed: str) -> pl.DataFrame:
    lots = [hash_parts(seed, pair_id) for pair_id in rows["pair_id"]]
    return rows.with_columns(pl.Series("lot", lots, pl.String()))


def read_audits(files: Sequence[Path]) -> pl.DataFrame:
    """Return lines of audit files: seed, pair_id, label (null: not yet), thresholds, language, type, sample.

    Raises:
        InputError: a line cannot be read or contradicts another, or a file has no label.
    """
    lines_read: list[_Line] = []
    first_lines: dict[str, tuple[str, str]] = {}
    for file in files:
        lines = list(_lines(file))
        for number, line in lines:
            if line.label is None:
                continue
            place = f"{file}, line {number}"
            label, other = first_lines.setdefault(line.pair_id, (line.label, place))
            if label != line.label:
                raise InputError(
                    f"{place}: {line.pair_id} is {line.label} here and {label} in {other}; agree on one"
                )
        if all(line.label is None for _, line in lines):
            raise InputError(f"{file} has no label; write {', '.join(LABELS)} into the field label")
        lines_read += [line for _, line in lines]
    return pl.DataFrame([line.model_dump() for line in lines_read], schema=LABELLED)


def _lines(file: Path) -> Iterator[tuple[int, _Line]]:
    for row in json_lines(file, Limits()):
        try:
            yield row.place, _Line.model_validate(row.value)
        except ValidationError as error:
            wrong = ", ".join(
                sorted({str(problem["loc"][0]) if problem["loc"] else "it" for problem in error.errors()})
            )
            raise InputError(
                f"{file}, line {row.place}: {wrong} cannot be used; wanted is a line of qa-pipeline audit "
                f"sample whose label is {', '.join(LABELS)} or null"
            ) from error


def certificate_of(audits: pl.DataFrame, parts: Iterable[pl.DataFrame]) -> Certificate | None:
    """Return the certificate that audits allow for the rows of a release; None without any.

    Args:
        audits: as `read_audits` gives them.
        parts: the rows, part after part, with `AUDITED_COLUMNS`; only the first lots stay in memory.

    Raises:
        InputError: no labelled row is in the release.
    """
    labels = audits.drop_nulls("label").group_by("pair_id").agg(pl.first("label"), ids=pl.col("thresholds"))
    drawn = {
        sample: _DRAWN.to_frame()
        for sample in audits.select("seed", "sample").unique().sort("seed", "sample").iter_rows()
    }
    if not drawn:
        return None
    total, released = 0, [labels.head(0).select("pair_id")]
    for part in parts:
        rows = part.select("pair_id", "language", "question_type", _THRESHOLDS)
        total += rows.height
        released.append(rows.select("pair_id").join(labels, on="pair_id", how="semi"))
        for (seed, size), first in drawn.items():
            drawn[seed, size] = pl.concat([first, _with_lots(rows, seed)]).sort("lot").head(size)
    labelled_rows = pl.concat(released)
    if labelled_rows.is_empty():
        raise InputError(
            f"none of the {labels.height} labelled rows is in the release; they are of another one"
        )
    confidence = 1 - (1 - CONFIDENCE) / len(drawn)
    samples = []
    for (seed, size), first in drawn.items():
        labelled = audits.filter(pl.col("seed") == seed, pl.col("sample") == size)
        removed = (
            labelled.unique("pair_id", maintain_order=True)
            .drop("label", "thresholds")
            .join(labels, on="pair_id")
            .join(labelled_rows, on="pair_id", how="anti")
        )
        audited = first.join(labels, on="pair_id", how="left")
        samples.append((_look(seed, size, audited, removed, total, confidence), audited, removed))
    looks = tuple(look for look, _, _ in samples)
    counted = [(look.at_most, place) for place, look in enumerate(looks) if look.at_most is not None]
    best = min(counted)[1] if counted else None
    parts_of_best = () if best is None else tuple(_bounds(*samples[best], confidence))
    return Certificate(rows=total, confidence=confidence, looks=looks, best=best, parts=parts_of_best)


def _look(
    seed: str, sample: int, audited: pl.DataFrame, removed: pl.DataFrame, rows: int, confidence: float
) -> Look:
    """Return what a sample shows.

    To remove the wrong rows that an audit has found makes no other row better. So they still count as wrong:
    these and the wrong ones among the rows that took their places are at least as many as were in the sample
    as it was drawn.

    Args:
        seed: of its lots.
        sample: rows asked for.
        audited: its rows, with their labels.
        removed: labelled rows that the release has no longer.
        rows: of the release.
        confidence: of the bound.
    """
    labels = audited["label"]
    missing, wrong, unsure = labels.null_count(), _count(labels, "wrong"), _count(labels, "unsure")
    gone_wrong = removed.filter(pl.col("label") != "right").height
    why = None
    if redecided := audited.filter(~pl.col("thresholds").is_in("ids")).height:
        why = (
            f"{redecided} of its rows were decided by other thresholds since: an audit counts for the "
            f"thresholds it was drawn under; draw another sample, with another --seed"
        )
    elif missing:
        why = (
            f"{missing} of {audited.height} rows of the sample have no label; qa-pipeline audit sample "
            f"{sample} --seed {seed} draws them"
        )
    doubtful = wrong + unsure + gone_wrong
    at_most = None if why else upper_bound(doubtful, audited.height, confidence, population=rows)
    return Look(
        seed=seed, sample=sample, labelled=audited.height - missing, wrong=wrong, unsure=unsure,
        removed=removed.height, gone_wrong=gone_wrong, at_most=at_most, why=why,
    )  # fmt: skip


def _bounds(look: Look, audited: pl.DataFrame, removed: pl.DataFrame, confidence: float) -> Iterator[Bound]:
    """Yield the bounds of a look over all rows, and by language and type where the sample allows."""
    wrong, unsure = look.wrong, look.unsure
    yield Bound(part="all", audited=audited.height, wrong=wrong, unsure=unsure, at_most=look.at_most)
    removed_wrong = removed.filter(pl.col("label") != "right")
    for column in ("language", "question_type"):
        for (name,), rows in sorted(audited.partition_by(column, as_dict=True).items()):
            wrong, unsure = _count(rows["label"], "wrong"), _count(rows["label"], "unsure")
            doubtful = wrong + unsure + removed_wrong.filter(pl.col(column) == name).height
            has_enough = rows.height >= FEWEST
            at_most = upper_bound(doubtful, rows.height, confidence) if has_enough else None
            part = f"{column} {name}"
            yield Bound(part=part, audited=rows.height, wrong=wrong, unsure=unsure, at_most=at_most)


def _count(labels: pl.Series, label: str) -> int:
    return int((labels == label).sum())


def certify(release: Path, files: Sequence[Path]) -> Certificate:
    """Return the certificate that audit files allow for a published release.

    Raises:
        InputError: a file cannot be used, or no labelled row is in the release.
        ReleaseError: there is no whole release.
    """
    certificate = certificate_of(
        read_audits(files), row_groups_of(release, read_manifest(release).splits, AUDITED_COLUMNS)
    )
    if certificate is None:
        raise InputError("name at least one audit file (qa-pipeline audit sample)")
    return certificate


def hold_to(certificate: Certificate | None, max_error: float | None) -> None:
    """Refuse a release whose audits do not rule out more wrong rows than this.

    Raises:
        ReleaseError: saying what they show, and what would settle it.
    """
    if max_error is not None and (missing := unsettled(certificate, max_error)):
        raise ReleaseError(f"release.max_error is {max_error:g}: {missing}")


def unsettled(certificate: Certificate | None, max_error: float) -> str | None:
    """Return what is missing for at most this share of wrong rows; None where nothing is."""
    if certificate is None:
        rows = further_trials_needed(0, 0, max_error)
        return (
            f"nobody has audited the release; {rows} rows, all of them right, would settle it (publish "
            f"without release.max_error, then qa-pipeline audit sample {rows})"
        )
    if certificate.best is None:
        return " ".join(in_words(certificate))
    look, at_most = certificate.looks[certificate.best], certificate.at_most
    if at_most is None or at_most <= max_error:
        return None
    message = f"up to {at_most:.4f} of the rows may be wrong"
    audited, wrong = certificate.parts[0].audited, look.wrong + look.unsure
    remaining = certificate.rows - audited
    # a larger sample is a further look
    stricter = 1 - (1 - CONFIDENCE) / (len(certificate.looks) + 1)
    more = further_trials_needed(wrong + look.gone_wrong, audited, max_error, stricter)
    if more >= remaining and (wrong + look.gone_wrong) / certificate.rows > max_error:
        return (
            f"{message}; of all {certificate.rows} rows {wrong + look.gone_wrong} are known not to be right"
        )
    more = min(more, remaining)
    return (
        f"{message}; {more} more rows, all of them right, would settle it (qa-pipeline audit sample "
        f"{audited + more} --seed {look.seed})"
    )


def in_words(certificate: Certificate) -> list[str]:
    """Return a certificate in sentences."""
    words = []
    if certificate.best is not None:
        look = certificate.looks[certificate.best]
        audited = certificate.parts[0].audited
        words.append(
            f"With 95 % confidence at most {look.at_most:.2%} of the {certificate.rows} rows are wrong: of "
            f"{audited} rows drawn at random people found {look.wrong} wrong and were unsure of "
            f"{look.unsure} (unsure counts as wrong)."
        )
        if look.gone_wrong:
            words.append(
                f"{look.gone_wrong} rows that they found wrong, or are unsure of, are no longer in the "
                "release; they count as wrong all the same, for nothing else got better by that."
            )
    words += [
        f"{look.removed} labelled rows of the sample of {look.sample} with seed {look.seed} are not in the "
        "release."
        for look in certificate.looks
        if look.removed
    ]
    words += [
        f"Not certified by the sample of {look.sample} with seed {look.seed}: {look.why}."
        for look in certificate.looks
        if look.why is not None
    ]
    if len(certificate.looks) > 1:
        words.append(
            f"{len(certificate.looks)} samples were looked at. Each bound has a confidence of "
            f"{certificate.confidence:.2%} by itself, so that all of them hold at once with 95 %."
        )
    return words


def certificate_document(certificate: Certificate, max_error: float | None) -> dict[str, Any]:
    """Return a certificate as JSON values."""
    missing = None if max_error is None else unsettled(certificate, max_error)
    return {
        **certificate.model_dump(mode="json"),
        "at_most": certificate.at_most,
        "reached": missing is None,
        "missing": missing,
        "words": in_words(certificate),
    }
