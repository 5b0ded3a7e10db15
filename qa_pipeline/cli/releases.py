"""`qa-pipeline release` and `verify`: rows for training, published, sent, checked and compared."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import (
    RUN_FIRST,
    Change,
    Json,
    Out,
    ReleaseFolder,
    check_exists,
    out_folder,
)
from qa_pipeline.cli.exit_codes import FAILED, errors_as_exit_codes

MOST_SHOWN = 20
"""Problems of a check that are shown, as many as fit a screen; all are counted, and in --json."""


def release(
    out: Out = Path("data"),
    without_sources: Annotated[
        bool, typer.Option("--without-sources", help="Leave the texts of the documents out.")
    ] = False,
    push: Annotated[
        str | None,
        typer.Option(
            help="Send it there too: hf://datasets/OWNER/NAME, s3://bucket/folder, or a folder of releases."
        ),
    ] = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Publish the accepted rows of all batches whose gates hold.

    A release is a folder that is never changed: OUT/releases/N. What is left out is named with the reason.
    """
    with errors_as_exit_codes(resumable=push is not None):
        check_exists(out, advice=RUN_FIRST)
        from qa_pipeline.cli.console import show
        from qa_pipeline.pipeline.resources import Resources
        from qa_pipeline.publishing.push import push_release
        from qa_pipeline.publishing.release import publish_release
        from qa_pipeline.settings.base import read_assignments
        from qa_pipeline.settings.tree import load_settings

        chosen = {"release.with_sources": False} if without_sources else {}
        settings = load_settings(out=out, **read_assignments(change or [], chosen))
        made = publish_release(Resources(settings))
        place, is_sent = (None, False) if push is None else push_release(made.folder, push)
        manifest = made.manifest.model_dump(mode="json")
        sent = {"pushed_to": place, "sent": is_sent}
        parts = ("splits", "batches", "batches_left_out", "rows_left_out")
        screen = {name: manifest[name] for name in parts}
        screen |= {"not satisfied": manifest["unsatisfied"]}
        screen |= {"published" if made.made else "nothing has changed since": str(made.folder)}
        if place is not None:
            screen |= {"sent to" if is_sent else "there already": place}
        document = {"folder": str(made.folder), "made": made.made, **sent, **manifest}
        show(document, as_json=as_json, screen=screen)


def verify(
    folder: ReleaseFolder,
    against: Annotated[
        Path | None,
        typer.Option(
            help="An earlier release: show which rows came, went or moved to another split (none should).",
            parser=out_folder,
            metavar="RELEASE",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the promises of a release from its folder alone.

    Hashes of its files; quotes in the texts of the documents; ids; messages; that no two splits share a
    document, a question or an answer; counts. Wrong answers whose quotes are right are not found.
    """
    with errors_as_exit_codes():
        check_exists(folder, against)
        import polars as pl

        from qa_pipeline.cli.console import show
        from qa_pipeline.publishing.manifest import release_folder
        from qa_pipeline.publishing.verify import compare_releases, verify_release

        checked_folder = release_folder(folder)
        checks = verify_release(checked_folder)
        holds = all(check.is_valid for check in checks)
        document = {
            "folder": str(checked_folder),
            "holds": holds,
            "checks": [asdict(check) for check in checks],
        }
        screen = {
            "checks": [
                {
                    "check": check.name,
                    "looked at": check.checked or "nothing",
                    "result": f"{len(check.problems)} problems" if check.problems else check.why or "holds",
                }
                for check in checks
            ],
            "problem": [
                f"{check.name}: {problem}" for check in checks for problem in check.problems[:MOST_SHOWN]
            ],
            "release": f"{checked_folder} {'holds' if holds else 'does not hold'}",
        }
        if against is not None:
            changes = compare_releases(release_folder(against), checked_folder)
            keys = ("change", "batch", "reason")
            document["changes"] = changes
            screen[f"against {against}"] = changes.group_by(keys).agg(rows=pl.len()).sort(keys)
            screen["rows that differ"] = changes.height
        show(document, as_json=as_json, screen=screen, every=True)
        if not holds:
            raise typer.Exit(FAILED)
