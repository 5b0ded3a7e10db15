"""`qa-pipeline forget`: a document and everything made from it leave the output folder."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import Change, Json, Out
from qa_pipeline.cli.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:
    from qa_pipeline.curation.forgetting import Occurrences
    from qa_pipeline.llm.store.database import Database
    from qa_pipeline.settings.tree import Settings
    from qa_pipeline.storage.layout import Layout


def forget(
    document: Annotated[
        str,
        typer.Argument(help="Its path, BATCH/PATH if need be; or its id, its hash, or the beginning of one."),
    ],
    out: Out = Path("data"),
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only say what would go.")] = False,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Remove a document and all that was made from it, in every batch, and keep it from coming back.

    Its batches have no rows until their next run. Caches, replies that saw it and decisions about it go too.
    Releases that are out are never changed: those that may hold it are named.
    """
    from qa_pipeline.cli.console import show
    from qa_pipeline.curation.forgetting import erase_documents, find_documents
    from qa_pipeline.publishing.manifest import alone
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.files import locked
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes(resumable=True):
        settings = load_settings(out=out, **read_assignments(change or [], {}))
        layout = Layout(out, cache=settings.cache)
        out_lock = locked(layout.out) if yes and layout.out.is_dir() else nullcontext()
        releases_lock = alone(layout.releases) if yes and layout.releases.is_dir() else nullcontext()
        with out_lock, _opened(settings, layout) as database, releases_lock:
            occurrences = find_documents(layout, document, database)
            releases = _releases_with(layout, occurrences)
            erased = erase_documents(layout, occurrences, database) if yes else None
        replies = None if erased is None else erased.replies
        found = {
            "documents": occurrences.paths,
            "contents": occurrences.contents,
            "batches": occurrences.batches,
            "releases": releases,
            "done": yes,
            "replies": replies,
        }
        screen = {
            "forgotten; delete in the corpus too" if yes else "would go": occurrences.paths,
            "without rows until it is run again": occurrences.batches,
            "may hold it, delete it by hand": releases,
            "done" if yes else "nothing is changed": f"{replies:,} replies deleted" if yes else "add --yes",
        }
        show(found, as_json=as_json, screen=screen)


def _releases_with(layout: "Layout", occurrences: "Occurrences") -> list[str]:
    """Return the releases with rows of the documents' batches, which may show a passage of them."""
    from qa_pipeline.publishing.manifest import read_manifest, release_folders

    folders = release_folders(layout.releases)
    batches = set(occurrences.rows["batch"])
    return [str(folder) for folder in folders if not read_manifest(folder).batches.keys().isdisjoint(batches)]


@contextmanager
def _opened(settings: "Settings", layout: "Layout") -> "Iterator[Database | None]":
    """Yield the store of replies; None without one."""
    from qa_pipeline.llm.store.database import Database

    place = settings.llm.store.url or layout.replies
    if isinstance(place, Path) and not place.is_file():
        yield None
        return
    database = Database(place)
    try:
        yield database
    finally:
        database.close()
