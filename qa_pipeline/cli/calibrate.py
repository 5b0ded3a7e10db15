"""`qa-pipeline calibrate` and `what-if`: thresholds from labelled rows, and what others would move."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Json, OnlyBatch, Out, out_folder
from qa_pipeline.cli.exit_codes import FAILED, errors_as_exit_codes
from qa_pipeline.errors import InputError

if TYPE_CHECKING:
    from qa_pipeline.calibration.rows import LabelledFile
    from qa_pipeline.settings.thresholds import Interval, Thresholds


def calibrate(
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Parquet, JSONL, JSON or CSV file of labelled rows, or a folder of them; repeatable."
        ),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            help="Output folder of a run; the decisions people made in it are used as labelled rows too.",
            parser=out_folder,
            metavar="FOLDER",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Most rows of a labelled set, spread over its sources; all by default."),
    ] = None,
    target_precision: Annotated[
        float, typer.Option(help="Share of accepted rows that must be right, and of rejected ones.")
    ] = 0.98,
    confidence: Annotated[float, typer.Option(help="Confidence level of that share.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option(help="File of thresholds to write; without it they are only printed.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the thresholds, stored with every verdict.")] = "own",
    licence: Annotated[
        list[str] | None, typer.Option(help="Licence of a set, as SET=TEXT; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the artefact instead of tables.")] = False,
) -> None:
    """Fit the thresholds that accept and reject claims, so that accepted rows meet a target precision.

    Rows have id, language, question, context (list of passages), answer, label (1 is supported) and group_id
    (rows of one source); or premise, hypothesis, label and language. The models are those of the settings.
    A threshold that cannot be shown to meet the target is refused: that side then decides nothing. Where all
    are refused, no file is written and the command ends with 1.
    """
    from qa_pipeline.settings.thresholds import has_thresholds, thresholds_bytes
    from qa_pipeline.storage.files import write_bytes

    with errors_as_exit_codes():
        labelled = _labelled(data or [], decisions, limit)
        thresholds = _calibrated(labelled, target_precision, confidence, name, licence or [])
        content = thresholds_bytes(thresholds)
        is_refused = not has_thresholds(thresholds, "entailment")
        if out is not None and not is_refused:
            write_bytes(out, content)
        if as_json:
            sys.stdout.write(content.decode())
        else:
            _show(thresholds)
        if is_refused:
            sys.stderr.write(
                f"Refused: {thresholds.models.entailment} is not shown to be right in {target_precision:g} "
                "of what it accepts, rejects or finds contradicted, so nothing is written and it decides "
                "nothing. Ask for less (--target-precision), label rows of more sources where a reason says "
                "how many would do, or name another model.\n"
            )
            raise typer.Exit(FAILED)
        if out is not None:
            sys.stderr.write(f"Written: {out}; use it as verification.thresholds\n")


def _labelled(data: list[Path], decisions: Path | None, limit: int | None) -> "list[LabelledFile]":
    from qa_pipeline.calibration.rows import decided_rows, read_complete
    from qa_pipeline.evaluation.datasets.grounding_items import draw
    from qa_pipeline.evaluation.datasets.labelled_files import labelled_files
    from qa_pipeline.storage.layout import Layout

    if not data and decisions is None:
        raise InputError("name labelled rows with --data, or a folder with people's decisions (--decisions)")
    labelled = [read_complete(path) for path in labelled_files(data)]
    files = [replace(file, items=draw(file.items, limit)) for file in labelled]
    return files if decisions is None else [*files, decided_rows(Layout(decisions))]


def _calibrated(
    files: "list[LabelledFile]", target: float, confidence: float, name: str, licences: list[str]
) -> "Thresholds":
    from datetime import UTC, datetime

    from qa_pipeline.calibration.calibrating import calibrate_files
    from qa_pipeline.calibration.fitting import check_levels
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.tree import load_settings

    check_levels(target, confidence)
    if not re.fullmatch("[a-z0-9_-]{1,40}", name):
        raise InputError(f"--name {name!r} must be made of up to 40 small letters, digits, - and _")
    return calibrate_files(
        Resources(load_settings(verification={"thresholds": None})),
        files,
        target=target,
        confidence=confidence,
        name=name,
        created=datetime.now(tz=UTC).date(),
        licences=dict(_licence(text) for text in licences),
        watch=lambda message: sys.stderr.write(f"scoring {message}\n"),
    )


def _licence(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not (name and value):
        raise InputError(f"--licence {text!r} must be SET=TEXT, such as expertqa=MIT")
    return name, value


def _show(thresholds: "Thresholds") -> None:
    from qa_pipeline.cli.console import print_line, show_table

    measured = thresholds.measured
    fits = [
        [
            fit.step,
            fit.side,
            "refused" if fit.threshold is None else f"{fit.threshold:g}",
            f"{fit.right} of {fit.n}",
            fit.precision_low,
            f"{fit.confidence:.3g}",
            fit.why or "",
        ]
        for fit in measured.fits
    ]
    show_table("Thresholds", ["step", "side", "threshold", "right", "at_least", "with", "reason"], fits)
    sets = dict(measured.sets) | ({"all": measured.overall} if measured.overall else {})
    plain = ("coverage", "recall", "rejected", "reject_precision", "passed_on")
    rows = [
        [
            name,
            measured_set.coverage.n,
            _share(measured_set.precision),
            *(getattr(measured_set, of).value for of in plain),
        ]
        for name, measured_set in sets.items()
    ]
    show_table("One row of each source", ["set", "rows", "precision", *plain], rows)
    steps = [[step, estimate.n, _share(estimate)] for step, estimate in measured.accepted_by.items()]
    show_table("Accepted by", ["step", "rows", "precision"], steps)
    for line in _notes(thresholds):
        print_line(line)


def _share(estimate: "Interval") -> str | None:
    return (
        None if estimate.value is None else f"{estimate.value:.3f} [{estimate.low:.2f} {estimate.high:.2f}]"
    )


def _notes(thresholds: "Thresholds") -> list[str]:
    measured, target = thresholds.measured, thresholds.target_precision
    notes = [
        f"{measured.claims_passed_on} of {measured.claims} claims are passed on, to a language model if any"
    ]
    if measured.macro_precision is not None:
        notes.append(f"mean precision of the sets that have accepted rows: {measured.macro_precision:.3f}")
    shares = {step: estimate for step, estimate in measured.accepted_by.items() if estimate.value is not None}
    if below := [step for step, estimate in shares.items() if estimate.high < target]:
        notes.append(f"below the target on these rows: {', '.join(below)}; `alignment` is not fitted")
    return notes


MOST_MOVED = 10
"""Pairs that are shown of those whose verdict changes, as many as fit a screen; all are counted."""


def what_if(
    out: Out = Path("data"),
    batch: OnlyBatch = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A setting that affects decisions, such as verification.accept_grounding=0.9; repeatable.",
        ),
    ] = None,
    thresholds: Annotated[Path | None, typer.Option(help="A file written by qa-pipeline calibrate.")] = None,
    as_json: Json = False,
) -> None:
    """Decide stored batches again with other thresholds and weights; no model is asked, no file written.

    Each batch starts from the settings of its own run; --set and --thresholds change them.

    Shows the stored yield beside the new one, which rows would change, and how many could not be decided
    without a model: claims newly open that no reply exists for, pairs never judged.
    """
    from qa_pipeline.calibration.what_if import decide_anew, read_changes
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        changes = read_changes(change or [])
        if thresholds is not None:
            changes.setdefault("verification", {})["thresholds"] = thresholds
        changed = decide_anew(Layout(out), batch, changes)
        if as_json:
            known_answers = {row.pop("what"): row for row in changed["known_answers"].to_dicts()}
            print_document({"set": _changed(changes), **changed, "known_answers": known_answers})
        else:
            _show_what_if(changed)


def _changed(changes: dict[str, dict[str, Any]]) -> dict[str, str | None]:
    return {
        f"{group}.{name}": value if value is None else str(value)
        for group, values in changes.items()
        for name, value in values.items()
    }


def _show_what_if(change: dict[str, Any]) -> None:
    from qa_pipeline.cli.console import print_line, show_frame, show_table, stage_rows

    columns = ["stage", "what", "reason", "old", "new", "difference"]
    changed = [
        [*row, f"{row[4] - row[3]:+}" if row[4] != row[3] else ""] for row in stage_rows(change["yield"])
    ]
    show_table("Yield", columns, changed)
    titles = {"old": "what", "new": "to"}
    show_frame("Claims whose verdict changes", change["moved_claims"].rename(titles))
    show_frame("Pairs whose verdict changes", change["moved_pairs"].rename(titles))
    first = change["moved"].head(MOST_MOVED).rename({"pair_id": "pair", **titles})
    show_frame(f"The first {first.height} of them", first)
    if change["known_answers"]["old"][0]:
        show_frame("Known-answer pairs", change["known_answers"])
    for line in _what_if_notes(change):
        print_line(line)


def _what_if_notes(change: dict[str, Any]) -> list[str]:
    stored, new = change["thresholds"]["stored"], change["thresholds"]["new"]
    took = f"decided again in {change['deciding_ms']:.0f} ms; nothing was written and no model was asked"
    notes = [f"{change['claims']} claims of {change['pairs']} pairs {took}"]
    if stored != new:
        notes.append(f"stored verdicts used thresholds {', '.join(stored)}; this run used {', '.join(new)}")
    if change["unrecorded"]:
        notes.append(
            f"{', '.join(change['unrecorded'])}: the settings of their runs are not recorded, so the current "
            "ones were used; run the batches again to record them"
        )
    needs = change["needs_a_model"]
    if any(needs.values()):
        notes.append(
            f"{needs['pairs']} pairs need a model: {needs['claims_without_a_reply']} claims are newly open "
            f"without a stored reply, {needs['pairs_never_judged']} pairs were never judged"
        )
    return notes + [
        f"{count} scores of {step} are ignored: they come from another model than the thresholds"
        for step, count in change["scores_of_other_models"].items()
        if count
    ]
