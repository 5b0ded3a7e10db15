"""`qa-pipeline release`, `verify` and `diff`: rows for training, checked and compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Change, Json, Out
from qa_pipeline.cli.common import FAILED, errors_as_exit_codes

if TYPE_CHECKING:
    from qa_pipeline.publishing.manifest import Manifest

MOST_SHOWN = 20
"""Problems of a check that are shown; all of them are counted."""


def release(out: Out = Path("data"), change: Change = None, as_json: Json = False) -> None:
    """Publish the accepted rows of all batches whose gates hold, split into train, validation and test.

    A release is a folder that is never changed: OUT/releases/N. Batches and rows that are left out are named
    with the reason. Where nothing has changed since the last release, that one stays the latest.
    """
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.publishing.release import publish_release
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage import Layout

    with errors_as_exit_codes():
        settings = load_settings(out=out, **read_assignments(change or [], {}))
        made = publish_release(Layout(out), settings)
        manifest = made.manifest
        if as_json:
            print_document(
                {"folder": str(made.folder), "made": made.made, **manifest.model_dump(mode="json")}
            )
            return
        rows = sum(manifest.splits.values())
        shares = [
            (name, count, f"{count / rows:.3f}" if rows else "–") for name, count in manifest.splits.items()
        ]
        show_table("Splits", ["split", "rows", "share"], shares)
        show_table("Batches", ["batch", "rows"], manifest.batches.items())
        for title, left_out in _left_out(manifest).items():
            if left_out:
                show_table(title, ["what", "reason"], left_out.items())
        said = "Published" if made.made else "Nothing has changed since"
        print_line(f"{said}: {made.folder}")


def _left_out(manifest: "Manifest") -> dict[str, dict[str, Any]]:
    return {
        "Batches left out": dict(manifest.batches_left_out),
        "Rows left out": dict(manifest.rows_left_out),
    }


def verify(
    folder: Annotated[Path, typer.Argument(help="A release, or the folder of releases: its latest.")],
    as_json: Json = False,
) -> None:
    """Check every promise of a release from its folder alone: hashes, schema, quotes, splits, counts."""
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.publishing.loading import release_folder
    from qa_pipeline.publishing.verify import verify_release

    with errors_as_exit_codes():
        checks = verify_release(release_folder(folder))
        if as_json:
            print_document(
                {
                    "folder": str(release_folder(folder)),
                    "holds": all(check.holds for check in checks),
                    "checks": [
                        {"name": one.name, "checked": one.checked, "problems": list(one.problems)}
                        for one in checks
                    ],
                }
            )
        else:
            rows = [(one.name, one.checked, len(one.problems) or "holds") for one in checks]
            show_table(f"Release {release_folder(folder)}", ["check", "looked at", "problems"], rows)
            for one in checks:
                for problem in one.problems[:MOST_SHOWN]:
                    print_line(f"{one.name}: {problem}")
        if not all(check.holds for check in checks):
            raise typer.Exit(FAILED)


def diff(
    before: Annotated[Path, typer.Argument(help="A release.")],
    after: Annotated[Path, typer.Argument(help="A later one, or the folder of releases: its latest.")],
    table: Annotated[Path | None, typer.Option(help="Parquet file to write the rows to.")] = None,
    as_json: Json = False,
) -> None:
    """Show which rows a later release added, retired and why, or moved to another split (none should be)."""
    import polars as pl

    from qa_pipeline.cli.console import print_document, print_line, show_frame
    from qa_pipeline.publishing.differences import compare_releases
    from qa_pipeline.publishing.loading import release_folder
    from qa_pipeline.storage import write_frame

    with errors_as_exit_codes():
        rows = compare_releases(release_folder(before), release_folder(after))
        counts = (
            rows.group_by("change", "batch", "reason").agg(rows=pl.len()).sort("change", "batch", "reason")
        )
        if table is not None:
            write_frame(table, rows)
        if as_json:
            print_document({"counts": counts.to_dicts(), "rows": rows.to_dicts()})
        elif rows.is_empty():
            print_line("The two releases hold the same rows in the same splits.")
        else:
            show_frame("Differences", counts)
