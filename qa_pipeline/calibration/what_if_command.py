"""`qa-pipeline what-if`: what other thresholds and weights would make of stored batches.

What belongs here: arguments and what is printed. What does not: deciding and counting (`what_if.py`).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:  # heavy: imported where the command needs them, so that --help answers at once
    from qa_pipeline.calibration.comparing import Comparison
    from qa_pipeline.calibration.what_if import WhatIf

SHOWN = 10


def what_if(
    out: Annotated[Path, typer.Option(help="Folder for tables, indexes, exports and caches.")] = Path("data"),
    batch: Annotated[list[str] | None, typer.Option(help="Only this batch; repeat for several.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A setting that decides, such as verification.recall_accept=0.85; repeatable.",
        ),
    ] = None,
    thresholds: Annotated[Path | None, typer.Option(help="A file of qa-pipeline calibrate.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of tables.")
    ] = False,
) -> None:
    """Decide stored batches anew by other thresholds and weights, without asking a model or writing a file.

    Each batch starts from the settings of its own run; --set and --thresholds change them.

    Shows the yield as it is stored beside the yield as it would be, which rows would move, and how many could
    not be decided without a model: claims newly open that no reply exists for, pairs never judged.
    """
    from qa_pipeline.calibration.changes import read_changes
    from qa_pipeline.calibration.what_if import decide_anew, what_if_document
    from qa_pipeline.console import print_document
    from qa_pipeline.layout import Layout

    with errors_as_exit_codes():
        changes = read_changes(change or [])
        if thresholds is not None:
            changes.setdefault("verification", {})["thresholds"] = thresholds
        found = decide_anew(Layout(out), batch, changes)
        if as_json:
            print_document(what_if_document(found, changes))
        else:
            _show(found)


def _show(found: "WhatIf") -> None:
    from qa_pipeline.console import print_line, show_table

    comparison = found.comparison
    show_table("Yield", ["stage", "what", "reason", "old", "new", "difference"], _step_rows(comparison))
    for title, moved in (("Claims that move", comparison.claims), ("Pairs that move", comparison.pairs)):
        if moved.height:
            show_table(
                title,
                ["what", "to", "reason", "count"],
                [[c or "–" for c in map(_text, row)] for row in moved.rows()],
            )
    if comparison.moved.height:
        rows = [list(map(_text, row)) for row in comparison.moved.head(SHOWN).rows()]
        show_table(f"The first {len(rows)} of them", ["batch", "pair", "what", "to", "reason"], rows)
    known = comparison.known
    if known["pairs"][0]:
        told = [[name.replace("_", " "), str(old), str(new)] for name, (old, new) in known.items()]
        show_table("Known-answer pairs", ["what", "old", "new"], told)
    for line in _told(found):
        print_line(line)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _step_rows(comparison: "Comparison") -> list[list[str]]:
    rows, earlier = [], None
    for stage, what, reason, old, new in comparison.steps.iter_rows():
        difference = f"{new - old:+}" if new != old else ""
        rows.append(
            [stage if stage != earlier else "", what or "", reason or "", str(old), str(new), difference]
        )
        earlier = stage
    return rows


def _told(found: "WhatIf") -> list[str]:
    stored, new = found.thresholds
    took = f"decided anew in {found.seconds * 1000:.0f} ms; nothing was written and no model was asked"
    told = [f"{found.claims} claims of {found.pairs} pairs {took}"]
    if stored != new:
        told.append(f"stored verdicts are by thresholds {', '.join(stored)}; these are {', '.join(new)}")
    if found.unrecorded:
        told.append(
            f"{', '.join(found.unrecorded)}: the settings of their runs are not recorded, so those of now "
            "were taken; run the batches again to record them"
        )
    if found.open_pairs or found.open_claims or found.unjudged_pairs:
        told.append(
            f"{found.open_pairs} pairs take a model: {found.open_claims} claims are newly open without a "
            f"stored reply, {found.unjudged_pairs} pairs were never judged"
        )
    for step, count in found.strange.items():
        if count:
            told.append(
                f"{count} scores of {step} are of another model than the thresholds, and decide nothing"
            )
    return told
