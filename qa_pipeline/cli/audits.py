"""`qa-pipeline audit`: rows of a release for people to look at, and what their labels allow to be said."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import Json
from qa_pipeline.cli.common import FAILED, errors_as_exit_codes

audit = typer.Typer(
    name="audit",
    no_args_is_help=True,
    help="Draw rows of a release for people to audit, and bound its share of wrong rows by their labels.",
)
Release = Annotated[Path, typer.Argument(help="A release, or the folder of releases: its latest.")]


@audit.command()
def sample(
    release: Release,
    count: Annotated[int, typer.Argument(min=1, help="Rows to draw.")],
    to: Annotated[Path, typer.Option(help="JSONL file to write them to.")] = Path("audit.jsonl"),
    seed: Annotated[str, typer.Option(help="Another one draws other rows; a second look needs one.")] = "0",
) -> None:
    """Draw rows at random and write them with their quotes; people fill in label: right, wrong or unsure."""
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.errors import InputError
    from qa_pipeline.publishing.audits import draw_sample
    from qa_pipeline.publishing.loading import release_folder
    from qa_pipeline.storage import write_bytes

    with errors_as_exit_codes():
        if to.exists():
            raise InputError(f"{to} exists, and may hold labels; name another file with --to")
        rows = draw_sample(release_folder(release), count, seed)
        lines = (json.dumps(row, ensure_ascii=False) for row in rows.iter_rows(named=True))
        write_bytes(to, "".join(f"{line}\n" for line in lines).encode())
        print_line(f"{rows.height} rows of {release_folder(release)}: {to}")


@audit.command()
def certify(
    release: Release,
    labels: Annotated[Path, typer.Argument(help="The JSONL file with its labels filled in.")],
    max_error: Annotated[
        float | None, typer.Option(min=0.0001, max=1, help="Fail if the bound over all rows is above this.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what share of wrong rows the labels rule out, with 95 % confidence; unsure counts as wrong."""
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.publishing.audits import bounds, read_labels, still_needed, upper_bound
    from qa_pipeline.publishing.loading import release_folder

    with errors_as_exit_codes():
        found = bounds(read_labels(labels, release_folder(release)))
        whole = found[0]
        doubtful = whole.wrong + whole.unsure
        reached = max_error is None or upper_bound(doubtful, whole.audited) <= max_error
        needed = 0 if reached or max_error is None else still_needed(doubtful, whole.audited, max_error)
        if as_json:
            print_document(
                {"release": str(release_folder(release)), "reached": reached, "still_needed": needed,
                    "bounds": [asdict(one) for one in found]}
            )  # fmt: skip
        else:
            rows = [
                (
                    one.part,
                    one.audited,
                    one.wrong,
                    one.unsure,
                    "–" if one.at_most is None else f"{one.at_most:.4f}",
                )
                for one in found
            ]
            show_table("Share of wrong rows", ["part", "audited", "wrong", "unsure", "at most"], rows)
            if not reached:
                print_line(f"Above {max_error}: {needed} more rows, all of them right, would settle it.")
        if not reached:
            raise typer.Exit(FAILED)
