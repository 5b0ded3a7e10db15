"""The command `calibrate`: thresholds from labelled rows, and the effect of other numbers."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.console import show
from qa_pipeline.cli.exit_codes import FAILED
from qa_pipeline.cli.options import Change, Json, OnlyBatch, check_exists, folder_option
from qa_pipeline.errors import InputError
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.settings.verification import thresholds_bytes
from qa_pipeline.storage.files import write_bytes
from qa_pipeline.storage.layout import Layout


def calibrate(
    data: Annotated[
        list[Path] | None, typer.Option(help="File or folder of labelled rows; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Rows of each file, spread over sources.")] = None,
    target_precision: Annotated[
        float, typer.Option(min=0.001, max=0.9999, help="Share of decisions that must be right.")
    ] = 0.98,
    confidence: Annotated[
        float, typer.Option(min=0.001, max=0.9999, help="Confidence level of that share.")
    ] = 0.95,
    out: Annotated[Path | None, typer.Option(help="File of thresholds to write.")] = None,
    what_if: Annotated[Path | None, folder_option("Output folder to decide again with --set.")] = None,
    change: Change = None,
    batch: OnlyBatch = None,
    as_json: Json = False,
) -> None:
    """Fit thresholds to labelled rows, or try other settings.

    Rows have id, language, question, context, answer, label (1 is supported) and group_id. A threshold that
    may miss the target is refused; if all are refused, the exit code is 1. --what-if compares the verdicts of
    a folder with those under --set, such as judging.threshold=0.8.
    """
    check_exists(*(data or []), what_if)
    if not data and what_if is None:
        raise InputError("name labelled rows with --data")
    import polars as pl

    from qa_pipeline.calibration.fitting import calibrate as fit
    from qa_pipeline.calibration.fitting import read_all_rows
    from qa_pipeline.calibration.what_if import read_changes
    from qa_pipeline.calibration.what_if import what_if as decide_again
    from qa_pipeline.evaluation.labelled_files import draw, labelled_files
    from qa_pipeline.pipeline.resources import Resources

    if what_if is not None:
        counts = decide_again(Layout(what_if), batch, read_changes(change or []))
        moved = counts.filter(pl.col("old").ne_missing(pl.col("new")))
        show({"set": change, "moved": moved}, as_json=as_json)
        return
    labelled = [read_all_rows(path) for path in labelled_files(data or [])]
    files = [replace(file, items=draw(file.items, limit)) for file in labelled]
    rows = sum(file.items.height for file in files)
    sys.stderr.write(f"scoring {rows} rows of {', '.join(file.path.name for file in files)}\n")
    thresholds = fit(
        Resources(load_settings(verification={"thresholds": None})),
        files,
        target=target_precision,
        confidence=confidence,
        name="own",
    )
    content = thresholds_bytes(thresholds)
    columns = {"side", "threshold", "precision_low", "confidence", "why"}
    fits = [
        {"right": f"{side.right} of {side.n}", **side.model_dump(include=columns)} for side in thresholds.fits
    ]
    show(json.loads(content), as_json=as_json, screen={"thresholds": fits})
    if not thresholds.band.decides:
        sys.stderr.write(
            f"Refused: {thresholds.model} is not shown to be right in {target_precision:g} of its "
            "decisions. Ask for less (--target-precision), label more rows, or name another model.\n"
        )
        raise typer.Exit(FAILED)
    if out is not None:
        write_bytes(out, content)
        sys.stderr.write(f"Written: {out}; use it as verification.thresholds\n")
