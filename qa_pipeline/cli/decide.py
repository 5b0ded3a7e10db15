"""`qa-pipeline decide`: people's decisions in, and the file to write them in."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import (
    Out,
    check_exists,
)
from qa_pipeline.cli.exit_codes import FAILED, OK, errors_as_exit_codes
from qa_pipeline.errors import InputError

if TYPE_CHECKING:
    from qa_pipeline.storage.layout import Layout


def decide(
    file: Annotated[
        Path | None, typer.Argument(help="CSV or JSONL with a decision a line, as --template makes one.")
    ] = None,
    out: Out = Path("data"),
    template: Annotated[
        Path | None, typer.Option(help="Write the undecided pairs to this new .csv or .jsonl file instead.")
    ] = None,
    batch: Annotated[
        list[str] | None, typer.Option(help="With --template: only this batch; repeat it for several.")
    ] = None,
) -> None:
    """Record what people decided about pairs.

    Start with --template: it writes a row for each pair that waits for a person, with its claims and their
    evidence. Fill in decision and who (and edited_answer, why, decided_at), and give the file back. The next
    run takes the decisions into its verdicts. They apply as long as question, answer and evidence
    of the pair are unchanged; `qa-pipeline status` counts those that no longer apply.
    """
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        load_settings(out=out)  # files are private unless a setting says otherwise
        if (file is None) == (template is None):
            raise InputError("name either a FILE of decisions, or --template FILE to make one")
        if template is not None:
            _write_template(Layout(out), template, batch)
            return
        if batch:
            raise InputError("--batch goes with --template; decisions name their pairs")
        check_exists(file, out)
        if file is not None:
            raise typer.Exit(_take(Layout(out), file))


def _write_template(layout: "Layout", path: Path, batches: list[str] | None) -> None:
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise InputError(f"{path.name}: a template is a .csv or .jsonl file")
    if path.exists():
        raise InputError(f"{path} exists and may hold decisions; choose another name")
    from qa_pipeline.review.decision_files import template_bytes, undecided
    from qa_pipeline.storage.files import write_bytes
    from qa_pipeline.storage.tables import VERDICTS

    rows = list(undecided(layout, batches or [table.stem for table in layout.tables(VERDICTS.name)]))
    write_bytes(path, template_bytes(rows, suffix))
    sys.stdout.write(f"Undecided pairs in {path}: {len(rows)}\n")


def _take(layout: "Layout", path: Path) -> int:
    from qa_pipeline.review.decision_files import read_decision_file
    from qa_pipeline.review.decision_taking import take_decisions

    read = read_decision_file(path)
    taken = take_decisions(layout, read)
    for line, problem in taken.problems.items():
        sys.stderr.write(f"{path.name} {read.unit} {line}: {problem}\n")
    for name, count in taken.recorded.items():
        sys.stdout.write(f"{name}: {count} recorded in {layout.decisions(name)}\n")
    message = [f"{taken.recorded.total()} recorded", f"{len(taken.problems)} refused"]
    message += [f"{taken.already_recorded} recorded before"] if taken.already_recorded else []
    message += [f"{read.blank} without a decision"] if read.blank else []
    sys.stdout.write(", ".join(message) + "\n")
    if taken.recorded:
        sys.stdout.write("Run the batches again to apply them\n")
    return FAILED if taken.problems else OK
