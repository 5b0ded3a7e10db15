"""The folder of a report: made beside its place, whole or not at all, and replaced only if it is a report."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.evaluation.metrics.base import Metric
from qa_pipeline.evaluation.reports.report import (
    WORST,
    About,
    Document,
    by_badness,
    markdown_report,
    ranked_by,
    report_document,
)
from qa_pipeline.evaluation.reports.report_page import report_page
from qa_pipeline.evaluation.reports.summaries import rounded
from qa_pipeline.evaluation.running import Counts, blocks_of
from qa_pipeline.storage.files import prepare_folder, write_bytes

REPORT, MARKDOWN, PAGE = "report.json", "report.md", "report.html"
_INPUT_COLUMNS = ("id", "query", "reference", "relevant_documents", "true_claims")


def dataset_sha256(rows: pl.LazyFrame) -> str:
    """Hash of what was asked and of what is true of it, in order of the ids; equal for all that answer it.

    Answers, contexts and citations are what is measured and do not count: two systems that answered the
    same questions can be compared.

    Args:
        rows: `RAG_ROWS`.
    """
    refuse = pl.when(pl.col("reference").is_null()).then("must_refuse").alias("must_refuse")
    digests = {
        row["id"]: hashlib.sha256(json.dumps(row, sort_keys=True).encode()).digest()
        for block in blocks_of(rows.select(*_INPUT_COLUMNS, refuse))
        for row in block.iter_rows(named=True)
    }
    return hashlib.sha256(b"".join(digests[digest] for digest in sorted(digests))).hexdigest()


@contextmanager
def new_report(place: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a new folder beside `place` that takes its name where the block ends well, and else is deleted.

    Args:
        place: of the report; there may be nothing, or an empty folder.
        replace: whether a report that is there is replaced.

    Raises:
        InputError: something is there that is no report, or a report that is not to be replaced.
        StorageError: it cannot be written; what was there is as it was.
    """
    prepare_folder(place.parent)
    _check_place(place, replace=replace)
    try:
        with TemporaryDirectory(prefix=".", suffix=".tmp", dir=place.parent) as work:
            new = Path(work) / "new"
            new.mkdir()
            yield new
            _check_place(place, replace=replace)
            if place.is_dir():
                place.rename(Path(work) / "old")
            new.rename(place)
    except OSError as error:
        raise StorageError(
            f"cannot write {place}: {error.strerror or error}; free space or rights, then run again"
        ) from error


def _check_place(place: Path, *, replace: bool) -> None:
    if not place.exists() and not place.is_symlink():
        return
    if not place.is_dir() or place.is_symlink():
        raise InputError(f"{place} is in the way and is no folder; name another one")
    if not any(place.iterdir()):
        return
    names = {REPORT, MARKDOWN, PAGE, "rows.parquet", "statements.parquet"}
    if not {REPORT} <= {file.name for file in place.iterdir()} <= names:
        raise InputError(f"{place} holds other files than a report; name another folder")
    if not replace:
        raise InputError(f"{place} is a report already; name another folder, or add --replace")


def write_report(
    folder: Path,
    metrics: Sequence[Metric],
    counts: Counts,
    about: About,
    worst_by: str | None = None,
) -> Document:
    """Write `report.json`, `report.md` and `report.html` beside the rows and statements of a folder.

    Args:
        folder: that `evaluate_into` wrote to.
        metrics: those it evaluated.
        counts: what it counted.
        about: what is told beside.
        worst_by: metric whose worst rows are shown; None chooses one.

    Returns:
        The content of `report.json`.

    Raises:
        InputError: a value is outside the range of its metric.
        StorageError: a file cannot be written.
    """
    rows, statements = (pl.read_parquet(folder / f"{name}.parquet") for name in ("rows", "statements"))
    document = report_document(rows, statements, metrics, counts, about)
    micro = {f"micro_f1_at_{k}": 2 * counts.hits[k] / total for k, total in counts.listed.items() if total}
    document["of_all_rows"] = rounded(micro)
    name = ranked_by(document, worst_by)
    ranked = rows.clear()
    if name is not None:
        ranked = by_badness(rows, statements, name, document["metrics"][name]["direction"])
    written = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(folder / REPORT, f"{written}\n".encode())
    write_bytes(folder / MARKDOWN, markdown_report(document, ranked.head(WORST), name).encode())
    write_bytes(folder / PAGE, report_page(document, ranked.head(WORST), statements, name).encode())
    return document
