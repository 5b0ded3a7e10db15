"""`qa-pipeline audit`: rows of a release for people to look at, and what their labels allow to be said."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import (
    Commands,
    Json,
    ReleaseFolder,
    check_exists,
)
from qa_pipeline.cli.exit_codes import FAILED, errors_as_exit_codes

audit = typer.Typer(
    cls=Commands,
    name="audit",
    no_args_is_help=True,
    help="Draw rows of a release for people, and bound its share of wrong ones.",
)


@audit.command()
def sample(
    release: ReleaseFolder,
    count: Annotated[int, typer.Argument(min=1, help="Rows of the sample.")],
    to: Annotated[Path, typer.Option(help="JSONL file to write them to.")] = Path("audit.jsonl"),
    seed: Annotated[str, typer.Option(help="Another one draws other rows.")] = "0",
) -> None:
    """Draw rows at random and write them with their quotes; people fill in label: right, wrong or unsure."""
    with errors_as_exit_codes():
        check_exists(release)
        from qa_pipeline.cli.console import print_line
        from qa_pipeline.errors import InputError
        from qa_pipeline.publishing.certificate import draw_sample
        from qa_pipeline.publishing.manifest import release_folder
        from qa_pipeline.settings.tree import load_settings
        from qa_pipeline.storage.files import write_bytes

        load_settings()  # files are private unless a setting says otherwise
        if to.exists():
            raise InputError(f"{to} exists, and may hold labels; name another file with --to")
        rows = draw_sample(release_folder(release), count, seed)
        lines = (json.dumps(row, ensure_ascii=False) for row in rows.iter_rows(named=True))
        write_bytes(to, "".join(f"{line}\n" for line in lines).encode())
        print_line(f"{rows.height} rows of {release_folder(release)}: {to}")


@audit.command("certify")
def certify_release(
    release: ReleaseFolder,
    file: Annotated[Path, typer.Argument(help="The sample, with all labels filled in.")],
    max_error: Annotated[
        float | None, typer.Option(min=0.0001, max=1, help="Fail if the bound over all rows is above this.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Report the share of wrong rows that the labels rule out, with 95 % confidence; unsure is wrong."""
    with errors_as_exit_codes():
        check_exists(release, file)
        from qa_pipeline.cli.console import show
        from qa_pipeline.publishing.certificate import certify
        from qa_pipeline.publishing.manifest import release_folder

        bound = certify(release_folder(release), file)
        told = (
            f"at most {bound.at_most:.2%} of {bound.rows} rows are wrong, with 95 % confidence: of "
            f"{bound.audited} drawn people found {bound.wrong} wrong and {bound.unsure} unsure (wrong, too)"
        )
        document = {"release": str(release_folder(release)), **asdict(bound)}
        show(document, as_json=as_json, screen={"certified": told})
        if max_error is not None and bound.at_most > max_error:
            raise typer.Exit(FAILED)
