"""`qa-pipeline release` and `verify`: rows for training, published, sent, checked and compared."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import Change, Json, Out, ReleaseFolder, out_folder
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
    """Publish the accepted rows of all batches whose gates hold, split into train, validation and test.

    A release is a folder that is never changed: OUT/releases/N. Batches and rows that are left out are named
    with the reason. Where nothing has changed since the last release, that one stays the latest. --push sends
    the whole release, and overwrites none that is there.
    """
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.publishing.push import push_release
    from qa_pipeline.publishing.release import publish_release
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings

    with errors_as_exit_codes(resumable=push is not None):
        chosen = {"release.with_sources": False} if without_sources else {}
        settings = load_settings(out=out, **read_assignments(change or [], chosen))
        made = publish_release(Resources(settings))
        place, is_sent = (None, False) if push is None else push_release(made.folder, push)
        manifest = made.manifest
        if as_json:
            summary = {"folder": str(made.folder), "made": made.made, "pushed_to": place, "sent": is_sent}
            print_document({**summary, **manifest.model_dump(mode="json")})
            return
        rows = sum(manifest.splits.values())
        shares = [
            (name, count, f"{count / rows:.3f}" if rows else "–") for name, count in manifest.splits.items()
        ]
        show_table("Splits", ["split", "rows", "share"], shares)
        show_table("Batches", ["batch", "rows"], manifest.batches.items())
        if manifest.batches_left_out:
            show_table("Batches left out", ["what", "reason"], manifest.batches_left_out.items())
        if manifest.rows_left_out:
            show_table("Rows left out", ["what", "reason"], manifest.rows_left_out.items())
        for problem in manifest.unsatisfied:
            print_line(f"Not satisfied: {problem}")
        headline = "Published" if made.made else "Nothing has changed since"
        print_line(f"{headline}: {made.folder}")
        if place is not None:
            print_line(f"{'Sent to' if is_sent else 'Release of this number is there already:'} {place}")


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
    import polars as pl

    from qa_pipeline.cli.console import print_document, print_line, show_frame, show_table
    from qa_pipeline.publishing.differences import compare_releases
    from qa_pipeline.publishing.manifest import release_folder
    from qa_pipeline.publishing.verify import verify_release

    with errors_as_exit_codes():
        checked_folder = release_folder(folder)
        checks = verify_release(checked_folder)
        holds = all(check.holds for check in checks)
        changes = None if against is None else compare_releases(release_folder(against), checked_folder)
        if as_json:
            documents = [asdict(check) for check in checks]
            summary = {"folder": str(checked_folder), "holds": holds, "checks": documents}
            print_document(summary if changes is None else {**summary, "changes": changes.to_dicts()})
        else:
            rows = [
                (check.name, check.checked or "nothing", len(check.problems) or check.why or "holds")
                for check in checks
            ]
            show_table(f"Release {checked_folder}", ["check", "looked at", "problems"], rows)
            for check in checks:
                for problem in check.problems[:MOST_SHOWN]:
                    print_line(f"{check.name}: {problem}")
            if changes is not None and changes.is_empty():
                print_line(f"The same rows in the same splits as {against}")
            elif changes is not None:
                keys = ("change", "batch", "reason")
                show_frame(f"Against {against}", changes.group_by(keys).agg(rows=pl.len()).sort(keys))
        if not holds:
            raise typer.Exit(FAILED)
