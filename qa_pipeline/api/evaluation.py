"""Answered questions of any system evaluated, from files or from a frame, with a report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import polars as pl

from qa_pipeline.api.frames import check_columns, rows_of
from qa_pipeline.api.models import AnyModel, language_model
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.answered_questions import RagRow, rag_blocks, store_rag_rows
from qa_pipeline.evaluation.datasets.labelled_files import Faults, left_out, usable_blocks
from qa_pipeline.evaluation.metrics.registry import METRICS, SUMMARY, chosen_metrics
from qa_pipeline.evaluation.reports.report import About, Document, dataset_name
from qa_pipeline.evaluation.reports.report_folder import PAGE, dataset_sha256, write_report
from qa_pipeline.evaluation.running import count_unsplit, cut_by, evaluate_into
from qa_pipeline.evaluation.signals.base import Means, Undecided
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.row_files import FileRow

FRAME = Path("data")
"""Stands for the file of rows that are of none."""


@dataclass(frozen=True)
class Report:
    """An evaluation: `document` is what `eval run` writes as report.json.

    Attributes:
        document: of all figures, as values of JSON.
        scores: a row for each answered question with a column for each metric; null is unknown.
        statements: a row for each statement of each answer, with its verdict, who decided, and the quote.
        left_out: file, reason, rows, first_row and detail of rows that could not be read.
    """

    document: Document
    scores: pl.DataFrame
    statements: pl.DataFrame
    left_out: pl.DataFrame
    page: str

    @property
    def summary(self) -> pl.DataFrame:
        """Return metric, mean, low and high (95 % interval), known, unknown and what is better."""
        names = ("mean", "low", "high", "known", "unknown", "direction")
        return pl.DataFrame(
            [
                {"metric": name, **{column: metric[column] for column in names}}
                for name, metric in self.document["metrics"].items()
            ],
            schema_overrides=dict.fromkeys(("mean", "low", "high"), pl.Float64()),
        )

    def to_html(self) -> str:
        """Return the report as one page that needs nothing else."""
        return self.page

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def evaluate(
    data: object,
    *,
    metrics: Sequence[str] | Literal["all"] | None = None,
    model: AnyModel | None = None,
    undecided: Undecided = "similarity",
    statements: Literal["rules", "model"] = "rules",
    name: str | None = None,
    worst_by: str | None = None,
    workers: int = 1,
) -> Report:
    """Evaluate answered questions.

    Args:
        data: the path of a file, a folder or a release, a pattern such as "runs/*.jsonl", a list of these, or
            rows: a frame of Polars or pandas, a table of Arrow, a data set of `datasets`, Ragas or DeepEval,
            or a list of mappings. Fields have the names of docs/evaluation.md.
        metrics: names of metrics; None measures the eight of the summary.
        model: decides and judges what no local step does; see `verify`.
        undecided: verdict on a statement that nothing decides: by its likeness to the contexts, or unknown.
        statements: who cuts answers into statements, rules or the model; an answer whose reply cannot be read
            has none, and no value of the metrics that need them.
        name: of the data set in the report; None names the files, or "data".
        worst_by: the metric whose worst rows the page shows.
        workers: processes that evaluate rows; one where there is a model.

    Raises:
        InputError: the data holds no row that can be used, there is no such metric, or no model that cuts.
        ModelError: the model can answer no further request.
    """
    chosen = chosen_metrics([*METRICS] if metrics == "all" else [*(metrics or SUMMARY)])
    decider = language_model(model)
    if statements == "model" and decider is None:
        raise InputError("statements='model' needs the model that is to cut answers; give it as model=…")
    faults: Faults = {}
    with TemporaryDirectory() as work:
        folder = Path(work)
        resources = Resources(cut_by(load_settings(out=folder), statements))
        splitter = None if statements == "rules" else decider
        means = Means(resources, decider, decider, undecided, splitter)
        rows = store_rag_rows(folder / "data.parquet", _blocks(data, faults))
        counts = evaluate_into(folder, rows, chosen, means, workers=workers)
        settings = {
            "model": None if decider is None else decider.name,
            "undecided": undecided,
            "split_claims": statements,
            "unsplit": count_unsplit(rows, means) or None,
        }
        lost = left_out(faults)
        about = About(dataset_name(rows, name), dataset_sha256(rows), lost, settings)
        document = write_report(folder, rows, chosen, counts, about, worst_by)
        scores, verified = (pl.read_parquet(folder / f"{table}.parquet") for table in ("rows", "statements"))
        page = (folder / PAGE).read_text("utf-8")
    return Report(document, scores, verified, lost, page)


def _blocks(data: object, faults: Faults) -> Iterator[pl.DataFrame]:
    """Yield the rows of files or of a frame.

    Raises:
        InputError: there is no such file, or no row that can be used.
    """
    paths = _paths(data)
    if paths is not None:
        return rag_blocks(paths, faults)
    rows = list(rows_of(data))
    check_columns(rows, ("query",), wanted=("answer", "contexts"))
    reads = (FileRow(place, row) for place, row in enumerate(rows, start=1))
    return usable_blocks(reads, RagRow, faults, FRAME)


def _paths(data: object) -> list[Path] | None:
    """Return the places that data names; None where it is rows itself."""
    entries = [data] if isinstance(data, str | Path) else data
    if not isinstance(entries, list | tuple) or not entries:
        return None
    places = [Path(place) for place in entries if isinstance(place, str | Path)]
    return places if len(places) == len(entries) else None
