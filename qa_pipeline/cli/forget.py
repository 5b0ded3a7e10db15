"""`qa-pipeline forget`: a document and everything made from it leave the output folder."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import (
    RUN_FIRST,
    Change,
    Json,
    Out,
    check_exists,
)
from qa_pipeline.cli.exit_codes import errors_as_exit_codes


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
    """Remove a document and all that was made from it, for good.

    Its batches have no rows until their next run. Caches, replies that saw it and decisions about it go too.
    Releases that are out are never changed: those that may hold it are named.
    """
    with errors_as_exit_codes(resumable=True):
        check_exists(out, advice=RUN_FIRST)
        from qa_pipeline.cli.console import show
        from qa_pipeline.curation.forgetting import erase_documents, find_documents
        from qa_pipeline.llm.reply_database import Database
        from qa_pipeline.publishing.manifest import alone, read_manifest, release_folders
        from qa_pipeline.settings.base import read_assignments
        from qa_pipeline.settings.tree import load_settings
        from qa_pipeline.storage.files import locked
        from qa_pipeline.storage.layout import Layout

        settings = load_settings(out=out, **read_assignments(change or [], {}))
        layout = Layout(out, cache=settings.cache)
        with ExitStack() as opened:
            if yes and layout.out.is_dir():
                opened.enter_context(locked(layout.out))
            replies_at = settings.llm.store.url or layout.replies
            has_replies = not isinstance(replies_at, Path) or replies_at.is_file()
            database = opened.enter_context(closing(Database(replies_at))) if has_replies else None
            if yes and layout.releases.is_dir():
                opened.enter_context(alone(layout.releases))
            occurrences = find_documents(layout, document, database)
            manifests = {str(path): read_manifest(path) for path in release_folders(layout.releases)}
            batches = set(occurrences.rows["batch"])  # rows of these may show a passage of the document
            releases = [path for path, manifest in manifests.items() if batches & manifest.batches.keys()]
            erased = erase_documents(layout, occurrences, database) if yes else None
        replies = erased
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
