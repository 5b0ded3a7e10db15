"""`qa-pipeline replies`: managing the store of model replies."""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import out_folder
from qa_pipeline.cli.exit_codes import errors_as_exit_codes
from qa_pipeline.errors import InputError

if TYPE_CHECKING:  # heavy: imported where a command needs them, so that --help answers at once
    from qa_pipeline.llm.store.database import Database
    from qa_pipeline.llm.store.maintenance import Share

replies = typer.Typer(
    name="replies",
    no_args_is_help=True,
    help="Manage the stored model replies: size and pruning.",
)

Out = Annotated[
    Path,
    typer.Option(
        help="Folder of the run; a store at llm.store.url goes before it.",
        parser=out_folder,
        metavar="FOLDER",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it; without, only say what would go.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_SECONDS = {"h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


@replies.command()
def size(out: Out = Path("data"), as_json: Json = False) -> None:
    """Count stored replies and their bytes, by model, role and age; failures apart."""
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.llm.store.maintenance import size as measured

    with _opened(out) as database:
        sizes = measured(database)
        if as_json:
            shares = [asdict(share) for share in sizes.shares]
            print_document({"replies": shares, "calls": sizes.calls, "disk_bytes": sizes.disk_bytes})
            return
        _show(sizes.shares)
        total = sum(share.rows for share in sizes.shares)
        taken = _bytes(sizes.disk_bytes)
        _say(f"{total:,} replies and {sizes.calls:,} calls in {database.place}: {taken} on disk")


@replies.command()
def prune(
    out: Out = Path("data"),
    older_than: Annotated[str | None, typer.Option(help="Stored longer ago, as 90d, 12h or 4w.")] = None,
    model: Annotated[str | None, typer.Option(help="Asked of this model, named as `size` shows it.")] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Only replies that could not be used: they are asked again.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete stored replies; a run that needs one of them asks and pays again. The journal of calls stays."""
    from qa_pipeline.llm.store.maintenance import Choice, prunable
    from qa_pipeline.llm.store.maintenance import prune as pruned_replies
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.files import delete
    from qa_pipeline.storage.layout import Layout

    with _opened(out) as database:
        choice = Choice(_seconds(older_than), model, failures)
        pruned = prunable(database, choice)
        _show(pruned)
        if yes:
            _say(f"{pruned_replies(database, choice):,} replies are deleted")
            if failures:  # unchanged batches have failed rows, which the next run asks for again
                delete(Layout(out, cache=load_settings(out=out).cache).finished_folder)
        else:
            _say(f"{sum(share.rows for share in pruned):,} replies would be deleted; add --yes to do it")


@replies.command()
def retry_failures(out: Out = Path("data"), yes: Yes = False) -> None:
    """Have the requests asked again whose replies could not be used: prune --failures."""
    prune(out, None, None, failures=True, yes=yes)


@contextmanager
def _opened(out: Path) -> "Iterator[Database]":
    from qa_pipeline.llm.store.database import Database
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        settings = load_settings(out=out)
        place = settings.llm.store.url or Layout(out, cache=settings.cache).replies
        if isinstance(place, Path) and not place.is_file():
            raise InputError(
                f"{place} is not there; name the folder of a run with --out, or set llm.store.url"
            )
        database = Database(place)
        try:
            yield database
        finally:
            database.close()


def _seconds(age: str | None) -> float | None:
    if age is None:
        return None
    message = re.fullmatch(r"(\d{1,6})([hdw])", age.strip())
    if message is None:
        raise InputError(f"--older-than {age!r} is no age: write hours, days or weeks as 12h, 90d or 4w")
    return int(message[1]) * _SECONDS[message[2]]


def _show(shares: "Iterable[Share]") -> None:
    from qa_pipeline.cli.console import show_table

    rows = []
    for share in shares:
        share_key = (share.asked_model, share.role, share.age, "failures" if share.failed else "replies")
        rows.append([*share_key, f"{share.rows:,}", _bytes(share.text_bytes)])
    if rows:
        show_table("Replies", ("model", "role", "age", "what", "replies", "bytes"), rows)


def _bytes(number: int) -> str:
    amount, units = float(number), iter(("bytes", "KiB", "MiB", "GiB"))
    unit = next(units)
    while amount >= 1024 and (larger := next(units, None)):
        amount, unit = amount / 1024, larger
    return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
