"""`qa-pipeline forget`: a document and everything made from it leave the output folder."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Change, Json, Out
from qa_pipeline.cli.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:
    import polars as pl

    from qa_pipeline.curation.forgetting import Plan
    from qa_pipeline.llm.store.database import Database
    from qa_pipeline.llm.store.maintenance import Erased
    from qa_pipeline.settings.tree import Settings
    from qa_pipeline.storage.layout import Layout


def forget(
    document: Annotated[
        str,
        typer.Argument(help="Its path, BATCH/PATH if need be; or its id, its hash, or the beginning of one."),
    ],
    out: Out = Path("data"),
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only say what would go.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would go, even with --yes.")
    ] = False,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Remove a document and all that was made from it, in every batch, and keep it from coming back.

    Its batches lose their tables, indexes and exports until their next run, which makes them again without it
    and pays for no other document. People's decisions, caches and stored model replies lose it too, earlier
    versions of it as well. No later run reads it and no later release holds it (OUT/forgotten.jsonl).
    Releases that are out are never changed: those that hold it are named; delete their folders. While `run`
    or `validate` works on OUT this is refused; let no run of Dagster work on it meanwhile.
    """
    from qa_pipeline.curation.forgetting import (
        carry_out,
        count_rows,
        near_texts,
        read_plan,
        unlinked_decisions,
    )
    from qa_pipeline.publishing.manifest import alone, releases_with
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.files import locked
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes(resumable=True):
        settings = load_settings(out=out, **read_assignments(change or [], {}))
        layout = Layout(out, cache=settings.cache)
        really = yes and not dry_run
        releases = layout.releases
        out_lock = locked(layout.out) if really and layout.out.is_dir() else nullcontext()
        releases_lock = alone(releases) if really and releases.is_dir() else nullcontext()
        with out_lock, _opened(settings, layout) as database, releases_lock:
            begun = read_plan(layout)
            if begun is not None and really:
                carry_out(layout, begun, database)
            plan, places = _planned(layout, database, document, begun)
            summary = {
                "rows": count_rows(layout, plan),
                "near": near_texts(layout, plan.contents),
                "unlinked_decisions": unlinked_decisions(layout, sorted({*plan.batches, *places["batch"]})),
                "releases": releases_with(releases, list(plan.contents), set(places["batch"])),
                "still_in_corpus": _in_corpus(layout, places, settings),
            }
            erased = carry_out(layout, plan, database) if really else None
        _report(layout, places, plan, summary, erased, as_json=as_json)


def _planned(
    layout: "Layout", database: "Database | None", name: str, begun: "Plan | None"
) -> "tuple[Plan, pl.DataFrame]":
    """Return what goes with the document of this name; if in no table, what the store knows of it.

    Raises:
        InputError: no document is called so, or several are.
    """
    import polars as pl

    from qa_pipeline.curation.forgetting import (
        Plan,
        find_contents,
        known_places,
        plan_erasure,
        unknown_document,
    )
    from qa_pipeline.publishing.manifest import released_places

    known_documents = pl.concat([known_places(layout), released_places(layout.releases)]).unique()
    known_documents = known_documents.sort("batch", "path", "content_sha256")
    places = find_contents(known_documents, name)
    if places.height:
        return plan_erasure(layout, places, database), places
    if begun is not None:  # this very command was killed, and is finished now
        return begun, places
    ids = _stored(database, name)
    if not ids:
        raise unknown_document(known_documents, name)
    return Plan(documents=sorted(ids)), places


def _stored(database: "Database | None", name: str) -> set[str]:
    """Return documents that no table or release has any more: by former path or beginning of an id."""
    from qa_pipeline.curation.forgetting import SHORTEST_NAME
    from qa_pipeline.errors import InputError
    from qa_pipeline.llm.store.maintenance import known_documents, versions_of

    if database is None:
        return set()
    versions = versions_of(database, name)
    places = sorted({f"{batch}/{path}" for _, batch, path in versions})
    if len(places) > 1:
        first_places = ", ".join(places[:5])
        raise InputError(f"{len(places)} documents were called {name!r}: {first_places}; give batch and path")
    by_id = known_documents(database, name) if len(name) >= SHORTEST_NAME else []
    if len(by_id) > 1:
        raise InputError(f"{len(by_id)} documents have an id that begins with {name!r}; give more of it")
    return {document for document, _, _ in versions} | set(by_id)


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


def _report(
    layout: "Layout",
    places: "pl.DataFrame",
    plan: "Plan",
    summary: dict[str, Any],
    erased: "Erased | None",
    *,
    as_json: bool,
) -> None:
    from qa_pipeline.cli.console import print_document, print_line, show_table

    full_paths = places.select("batch", "path").unique().sort("batch", "path").iter_rows()
    documents = [f"{batch}/{path}" for batch, path in full_paths]
    if as_json:
        print_document(
            {
                "documents": documents,
                "contents": plan.contents,
                "done": erased is not None,
                **summary,
                "replies": None if erased is None else erased.replies,
            }
        )
        return
    for place in documents:
        print_line(f"Document: {place}")
    rows = [
        (batch, name, count) for batch, tables in summary["rows"].items() for name, count in tables.items()
    ]
    show_table(f"Rows that {'went' if erased else 'would go'}", ["batch", "table", "rows"], rows)
    if erased:
        print_line(f"{erased.replies:,} replies and {erased.prompts:,} prompts are deleted")
    for place in summary["near"]:
        print_line(f"Stays, and says nearly the same: {place}")
    for batch, count in summary["unlinked_decisions"].items():
        print_line(
            f"{count} decisions about pairs that no table has any more stay in {layout.decisions(batch)}; "
            "they may repeat it"
        )
    for version, count in summary["releases"].items():
        advice = (
            f"holds it, in {count} rows"
            if count
            else "is of its batch: no row rests on it, but one may show a passage of it beside the proof"
        )
        print_line(f"Release {version} {advice}. To withdraw it, delete {layout.releases / str(version)}")
    for place in summary["still_in_corpus"]:
        print_line(
            f"The file is still there: {place}. Delete it; until then runs name it, and do not read it"
        )
    for batch in plan.batches:
        print_line(_next_step(layout, batch))
    print_line("Forgotten" if erased else "Nothing is changed; add --yes to do it")


def _next_step(layout: "Layout", batch: str) -> str:
    """Return what a person does so that a batch has its tables again."""
    from qa_pipeline.curation.withdrawals import tombstone_of

    stone, origin = tombstone_of(layout, batch), layout.origin(batch)
    if stone is not None and stone.reason == "batch_gone":
        return f"All that is left of batch {batch} goes: its corpus no longer holds it"
    again = "validate its pairs again"
    if origin.is_file():
        corpus = origin.read_text(encoding="utf-8")
        again = f"qa-pipeline run {corpus} --batch {batch} --out {layout.out}, with the settings of before"
    return (
        f"Batch {batch} has no training examples then, and is in no release, until it is made again: {again}"
    )


def _in_corpus(layout: "Layout", places: "pl.DataFrame", settings: "Settings") -> list[str]:
    """Return the places of files of these contents in the corpora that their batches were read from."""
    import hashlib

    from qa_pipeline.documents.corpus.corpora import open_corpus
    from qa_pipeline.documents.corpus.files import DocumentFailure, read_bytes
    from qa_pipeline.errors import CorpusError

    remaining = []
    contents = set(places["content_sha256"])
    for batch, path in places.select("batch", "path").unique().sort("batch", "path").iter_rows():
        origin = layout.origin(batch)
        if not origin.is_file():
            continue
        try:
            corpus = open_corpus(origin.read_text(encoding="utf-8"), settings.documents)
            file = corpus.batch(batch).find(path)
            content = b"" if file is None else read_bytes(file, settings.documents.max_bytes)
        except (CorpusError, DocumentFailure):
            continue
        if hashlib.sha256(content).hexdigest() in contents:
            remaining.append(f"{corpus.address(batch)}/{path}")
    return remaining
