"""`qa-pipeline calibrate`: thresholds from labelled rows, with what they guarantee and what they cost.

What belongs here: arguments and what is printed. What does not: fitting (`calibrating.py`).
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:  # heavy: imported where the command needs them, so that --help answers at once
    from qa_pipeline.calibration.labelled import LabelledFile
    from qa_pipeline.verification.thresholds.artefact import Figures, Interval, Thresholds


def calibrate(
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Parquet file of labelled rows, or a folder of them; repeat it for several."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(help="Output folder of a run whose people's decisions count as labelled rows too."),
    ] = None,
    target_precision: Annotated[
        float, typer.Option(help="Share of accepted rows that must be right, and of rejected ones.")
    ] = 0.98,
    confidence: Annotated[float, typer.Option(help="Confidence with which they are.")] = 0.95,
    out: Annotated[Path | None, typer.Option(help="File of thresholds to write; none only prints.")] = None,
    name: Annotated[str, typer.Option(help="Name of the artefact, in every verdict it decides.")] = "own",
    licence: Annotated[
        list[str] | None, typer.Option(help="Licence of a set, as SET=TEXT; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the artefact instead of tables.")] = False,
) -> None:
    """Fit the thresholds that accept and reject claims, so that accepted rows meet a target precision.

    Rows have id, language, question, context (list of passages), answer, label (1 is supported) and group_id
    (rows of one source); or premise, hypothesis, label and language. The models are those of the settings.
    A threshold that cannot be shown to meet the target stays empty: the step then decides nothing.
    """
    from qa_pipeline.storage import write_bytes
    from qa_pipeline.verification.thresholds.reading import thresholds_bytes

    with errors_as_exit_codes():
        labelled = _labelled(data or [], decisions)
        thresholds = _calibrated(labelled, target_precision, confidence, name, licence or [])
        content = thresholds_bytes(thresholds)
        if out is not None:
            write_bytes(out, content)
        if as_json:
            sys.stdout.write(content.decode())
        else:
            _show(thresholds, out)


def _labelled(data: list[Path], decisions: Path | None) -> "list[LabelledFile]":
    from qa_pipeline.calibration.decided import decided_rows
    from qa_pipeline.calibration.labelled import read_labelled
    from qa_pipeline.errors import InputError
    from qa_pipeline.layout import Layout
    from qa_pipeline.verification.combined.labelled import labelled_files

    if not data and decisions is None:
        raise InputError("name labelled rows with --data, or a folder with people's decisions (--decisions)")
    files = [read_labelled(path) for path in labelled_files(data)] if data else []
    return files if decisions is None else [*files, decided_rows(Layout(decisions))]


def _calibrated(
    files: "list[LabelledFile]", target: float, confidence: float, name: str, licences: list[str]
) -> "Thresholds":
    from datetime import UTC, datetime

    from qa_pipeline.calibration.bounds import check_levels
    from qa_pipeline.calibration.calibrating import calibrate_files
    from qa_pipeline.calibration.fitting import Levels
    from qa_pipeline.parts import Parts
    from qa_pipeline.settings.tree import load_settings

    check_levels(target, confidence)
    settings = load_settings(verification={"thresholds": None, "other_passages": 0})
    return calibrate_files(
        Parts(settings),
        files,
        Levels(target, confidence),
        name=_checked_name(name),
        created=datetime.now(tz=UTC).date(),
        licences=dict(_named(text) for text in licences),
        watch=lambda told: _tell(f"scoring {told}"),
    )


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _checked_name(name: str) -> str:
    from qa_pipeline.errors import InputError

    if not name or len(name) > 40 or not set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-"):
        raise InputError(f"--name {name!r} must be made of up to 40 small letters, digits, - and _")
    return name


def _named(text: str) -> tuple[str, str]:
    from qa_pipeline.errors import InputError

    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InputError(f"--licence {text!r} must be SET=TEXT, such as expertqa=MIT")
    return name, value


def _show(thresholds: "Thresholds", out: Path | None) -> None:
    from qa_pipeline.console import print_line, show_table

    measured = thresholds.measured
    fits = [
        [
            fit.step,
            fit.side,
            "nothing" if fit.threshold is None else f"{fit.threshold:g}",
            f"{fit.right} of {fit.n}",
            f"{fit.precision_low:.3f}" if fit.precision_low is not None else "–",
            f"{fit.confidence:.3g}",
            fit.why or "",
        ]
        for fit in measured.fits
    ]
    show_table("Thresholds", ["step", "side", "threshold", "right", "at_least", "with", "reason"], fits)
    sets = dict(measured.sets) | ({"all": measured.overall} if measured.overall else {})
    columns = ["set", "rows", "precision", "coverage", "recall", "rejected", "reject_precision", "passed_on"]
    show_table("One row of each source", columns, [_row(name, one) for name, one in sets.items()])
    steps = [[step, str(one.n), _share(one)] for step, one in measured.accepted_by.items()]
    show_table("Accepted by", ["step", "rows", "precision"], steps)
    for line in _told(thresholds):
        print_line(line)
    print_line(f"Written: {out}" if out else "Nothing written; name a file with --out")


def _row(name: str, figures: "Figures") -> list[str]:
    shown = (
        figures.coverage,
        figures.recall,
        figures.rejected,
        figures.reject_precision,
        figures.passed_on,
    )
    return [name, str(figures.coverage.n), _share(figures.precision), *map(_plain, shown)]


def _share(one: "Interval") -> str:
    return "–" if one.value is None else f"{one.value:.3f} [{one.low:.2f} {one.high:.2f}]"


def _plain(one: "Interval") -> str:
    return "–" if one.value is None else f"{one.value:.3f}"


def _told(thresholds: "Thresholds") -> list[str]:
    measured, target = thresholds.measured, thresholds.target_precision
    told = [
        f"{measured.claims_passed_on} of {measured.claims} claims are passed on, to a language model if any"
    ]
    if measured.macro_precision is not None:
        told.append(f"mean precision of the sets that have accepted rows: {measured.macro_precision:.3f}")
    found = {step: one for step, one in measured.accepted_by.items() if one.value is not None}
    if below := [step for step, one in found.items() if one.high < target]:
        told.append(
            f"below the target on these rows: {', '.join(below)}; the steps before `combined` are not fitted"
        )
    if reused := [file.name for file in thresholds.data if file.fitted_combined]:
        told.append(
            "the model of `combined` was fitted on these files too, so its scores look better here than on "
            f"new rows: {', '.join(reused)}"
        )
    return told
