"""`qa-pipeline release`, `verify`, `diff` and `push`: rows for training, checked, compared and sent."""

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
    audit: Annotated[
        list[Path] | None, typer.Option(help="Audit file with people's labels; repeatable: name all.")
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(help="Publish only if these audits rule out a larger share of wrong rows than this."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Secret key of minisign to sign with; its password is read from the environment."),
    ] = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Publish the accepted rows of all batches whose gates hold, split into train, validation and test.

    A release is a folder that is never changed: OUT/releases/N. Batches and rows that are left out are named
    with the reason. Where nothing has changed since the last release, that one stays the latest.
    """
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.publishing.certificate import in_words
    from qa_pipeline.publishing.release import publish_release
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings

    with errors_as_exit_codes():
        named_values = {
            "release.with_sources": False if without_sources else None,
            "release.audits": audit or None,
            "release.max_error": max_error,
            "release.signing_key": sign,
        }
        chosen = {name: value for name, value in named_values.items() if value is not None}
        settings = load_settings(out=out, **read_assignments(change or [], chosen))
        made = publish_release(Resources(settings))
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
        if manifest.batches_left_out:
            show_table("Batches left out", ["what", "reason"], manifest.batches_left_out.items())
        if manifest.rows_left_out:
            show_table("Rows left out", ["what", "reason"], manifest.rows_left_out.items())
        for problem in manifest.unsatisfied:
            print_line(f"Not satisfied: {problem}")
        headline = "Published" if made.made else "Nothing has changed since"
        print_line(f"{headline}: {made.folder}")
        for line in ["Not audited."] if manifest.certificate is None else in_words(manifest.certificate):
            print_line(line)


def verify(
    folder: ReleaseFolder,
    public_key: Annotated[
        str | None,
        typer.Option(help="Public key of minisign, its file or text: only what its owner signed holds."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every promise of a release from its folder alone: hashes, proofs, messages, splits, counts.

    Without --public-key, who changes a release and makes all of its hashes anew is not found by them.
    """
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.publishing.manifest import release_folder
    from qa_pipeline.publishing.verify import verify_release

    with errors_as_exit_codes():
        checked_folder = release_folder(folder)
        checks = verify_release(checked_folder, public_key)
        holds = all(check.holds for check in checks)
        if as_json:
            documents = [asdict(check) for check in checks]
            print_document({"folder": str(checked_folder), "holds": holds, "checks": documents})
        else:
            rows = [
                (check.name, check.checked or "nothing", len(check.problems) or check.why or "holds")
                for check in checks
            ]
            show_table(f"Release {checked_folder}", ["check", "looked at", "problems"], rows)
            for check in checks:
                for problem in check.problems[:MOST_SHOWN]:
                    print_line(f"{check.name}: {problem}")
        if not holds:
            raise typer.Exit(FAILED)


def diff(
    before: ReleaseFolder,
    after: ReleaseFolder,
    table: Annotated[Path | None, typer.Option(help="Parquet file to write the rows to.")] = None,
    page: Annotated[Path | None, typer.Option(help="Markdown file to write them to.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output folder, whose verdicts say why rows are no longer accepted.",
            parser=out_folder,
            metavar="FOLDER",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show which rows a later release added, retired and why, or moved to another split (none should be)."""
    import polars as pl

    from qa_pipeline.cli.console import print_document, print_line, show_frame
    from qa_pipeline.publishing.differences import compare_releases, differences_page, with_verdicts
    from qa_pipeline.publishing.manifest import release_folder
    from qa_pipeline.storage.files import write_bytes
    from qa_pipeline.storage.layout import Layout
    from qa_pipeline.storage.parquet import write_frame

    with errors_as_exit_codes():
        old, new = release_folder(before), release_folder(after)
        rows = compare_releases(old, new)
        if out is not None:
            rows = with_verdicts(rows, Layout(out))
        counts = (
            rows.group_by("change", "batch", "reason").agg(rows=pl.len()).sort("change", "batch", "reason")
        )
        if table is not None:
            write_frame(table, rows)
        if page is not None:
            write_bytes(page, differences_page(rows, old.name, new.name).encode())
        if as_json:
            print_document({"counts": counts.to_dicts(), "rows": rows.to_dicts()})
        elif rows.is_empty():
            print_line("The two releases hold the same rows in the same splits.")
        else:
            show_frame("Differences", counts)


def push(
    folder: ReleaseFolder,
    target: Annotated[
        str, typer.Argument(help="hf://datasets/OWNER/NAME, s3://bucket/folder, or a folder of releases.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List files and bytes; the target is not asked.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Make a public repository on the hub, not a private one.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Send a release to a folder, an object store or the Hugging Face hub, after verifying it.

    What is there is not sent again, and never overwritten. Readers get the old release or the new one.
    """
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.publishing.manifest import release_folder
    from qa_pipeline.publishing.push import push_release

    with errors_as_exit_codes(resumable=True):
        made = push_release(release_folder(folder), target, dry_run=dry_run, public=public)
        if as_json:
            print_document(asdict(made))
            return
        if dry_run:
            show_table("Would be sent where it is not there yet", ["file", "bytes"], made.files.items())
        sent = sum(made.files[name] for name in made.sent)
        summary = f"{len(made.sent)} of {len(made.files)} files sent, {sent} bytes"
        if dry_run:
            summary = f"{sum(made.files.values())} bytes in {len(made.files)} files"
        print_line(f"{made.place}: {summary}{'; it is the latest' if made.latest else ''}")


def yank(
    folder: Annotated[
        Path, typer.Argument(help="The release: OUT/releases/N.", parser=out_folder, metavar="RELEASE")
    ],
    reason: Annotated[str, typer.Option(help="Why, in a line; it stays in the tombstone.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only say what would go.")] = False,
) -> None:
    """Withdraw a release: its data are deleted, and tombstone.json says why.

    Its number is never given again, its keys go on deciding splits, and latest.json names the newest release
    that is not yanked. Who has loaded it keeps what they have.
    """
    from qa_pipeline.cli.console import print_line
    from qa_pipeline.publishing.manifest import manifest_of
    from qa_pipeline.publishing.yank import check_reason, check_release, newest_instead, yank_release

    with errors_as_exit_codes(resumable=True):
        check_reason(reason)
        check_release(folder)
        newest = newest_instead(folder)
        rows = sum(manifest_of(folder).splits.values())
        if yes:
            print_line(f"Yanked: {folder}, {rows} rows ({yank_release(folder, reason)})")
        else:
            print_line(f"{folder} would lose its {rows} rows; add --yes to do it")
        print_line("No release is left" if newest is None else f"The newest that is left: {newest}")
