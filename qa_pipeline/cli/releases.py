"""Commands about releases and their documents: release, verify, audit and forget."""

import json
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from qa_pipeline.cli.console import print_line, show
from qa_pipeline.cli.exit_codes import FAILED
from qa_pipeline.cli.options import RUN_FIRST, Change, Json, Out, Release, check_exists, settings_at
from qa_pipeline.errors import InputError
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.files import locked, write_bytes
from qa_pipeline.storage.layout import Layout

_FORGOTTEN = (
    "run the batches again; delete the document in the corpus, and by hand the releases that may contain it"
)
MOST_SHOWN = 20
"""Problems of each check on the screen; --json has all."""


def release(
    out: Out = Path("data"),
    push: Annotated[
        str | None, typer.Option(help="Copy it to hf://datasets/OWNER/NAME, s3://bucket/folder or a folder.")
    ] = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Publish the accepted rows of all batches that pass their gates.

    A release is a new folder, OUT/releases/N, that never changes. It lists everything left out, with reasons.
    """
    check_exists(out, advice=RUN_FIRST)
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.publishing.push import push_release
    from qa_pipeline.publishing.release import publish_release

    published = publish_release(Resources(settings_at(out, change)))
    target, is_sent = push_release(published.folder, push) if push is not None else (None, False)
    manifest = published.manifest.model_dump(mode="json")
    screen = {name: manifest[name] for name in ("splits", "batches", "batches_left_out", "rows_left_out")}
    screen["note"] = manifest["unsatisfied"]
    screen["published" if published.made else "unchanged since"] = str(published.folder)
    if target is not None:
        screen["sent to" if is_sent else "already there"] = target
    document = {"folder": str(published.folder), "made": published.made, "pushed_to": target, "sent": is_sent}
    show(document | manifest, as_json=as_json, screen=screen)


def verify(folder: Release, as_json: Json = False) -> None:
    """Check a release using only its own files.

    Checks hashes, quotes, ids, messages and counts, and that splits share no document, question or answer.
    It cannot find a wrong answer whose quotes are right.
    """
    check_exists(folder)
    from qa_pipeline.publishing.manifest import release_folder
    from qa_pipeline.publishing.verify import verify_release

    checked_folder = release_folder(folder)
    checks = verify_release(checked_folder)
    is_valid = all(check.is_valid for check in checks)
    results = [  # `why` is the reason of a check that could not be made
        {
            "check": check.name,
            "checked": check.checked or "nothing",
            "result": f"{len(check.problems)} problems" if check.problems else check.why or "holds",
        }
        for check in checks
    ]
    problems = [f"{check.name}: {problem}" for check in checks for problem in check.problems[:MOST_SHOWN]]
    outcome = f"{checked_folder} {'holds' if is_valid else 'does not hold'}"
    screen: dict[str, Any] = {"checks": results, "problem": problems, "release": outcome}
    document: dict[str, Any] = {"folder": str(checked_folder), "holds": is_valid}
    document["checks"] = [asdict(check) for check in checks]
    show(document, as_json=as_json, screen=screen, all_rows=True)
    if not is_valid:
        raise typer.Exit(FAILED)


def audit(
    folder: Release,
    file: Annotated[Path, typer.Argument(help="JSONL file of the sample.")],
    count: Annotated[int | None, typer.Option("--rows", min=1, help="Draw a sample of N rows.")] = None,
    seed: Annotated[str, typer.Option(help="Change it to draw other rows.")] = "0",
    max_error: Annotated[
        float | None, typer.Option(min=0.0001, max=1, help="Fail if the bound exceeds this share.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bound the share of wrong rows of a release with 95 % confidence, from a labelled sample.

    With --rows it writes a random sample with quotes to the new FILE. People fill in label: right, wrong or
    unsure, which counts as wrong. Without --rows it reads the labels.
    """
    check_exists(folder)
    from qa_pipeline.publishing.certificate import certify, draw_sample
    from qa_pipeline.publishing.manifest import release_folder

    load_settings()  # also makes new files private
    release = release_folder(folder)
    if count is not None:
        if max_error is not None or as_json:
            raise InputError("--rows only draws the sample; use --max-error and --json to read its labels")
        if file.exists():
            raise InputError(f"{file} exists, and may hold labels; name another file")
        rows = draw_sample(release, count, seed)
        lines = (json.dumps(row, ensure_ascii=False) for row in rows.iter_rows(named=True))
        write_bytes(file, "".join(f"{line}\n" for line in lines).encode())
        print_line(f"{rows.height} rows of {release}: {file}")
        return
    check_exists(file)
    bound = certify(release, file)
    message = (
        f"at most {bound.at_most:.2%} of {bound.rows} rows are wrong, with 95 % confidence: of "
        f"{bound.audited} rows people found {bound.wrong} wrong and {bound.unsure} unsure"
    )
    document = {"release": str(release), **asdict(bound)}
    show(document, as_json=as_json, screen={"certified": message})
    if max_error is not None and bound.at_most > max_error:
        raise typer.Exit(FAILED)


def forget(
    document: Annotated[str, typer.Argument(help="Its path, BATCH/PATH, id or content hash.")],
    out: Out = Path("data"),
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only list.")] = False,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Delete a document and everything made from it.

    This includes caches, model replies that saw it, and decisions. Its batches are without rows until their
    next run. Releases never change; those that may contain it are listed.
    """
    check_exists(out, advice=RUN_FIRST)
    from qa_pipeline.curation.withdrawals import erase_documents, find_documents
    from qa_pipeline.llm.reply_database import Database
    from qa_pipeline.publishing.manifest import publisher_lock, read_manifest, release_folders

    settings = settings_at(out, change)
    layout = Layout(out, cache=settings.cache)
    with ExitStack() as stack:  # deleting excludes runs and releases
        if yes and layout.out.is_dir():
            stack.enter_context(locked(layout.out))
        store = settings.llm.store.url or layout.replies
        has_replies = not isinstance(store, Path) or store.is_file()  # a URL names a server
        database = stack.enter_context(closing(Database(store))) if has_replies else None
        if yes and layout.releases.is_dir():
            stack.enter_context(publisher_lock(layout.releases))
        occurrences = find_documents(layout, document, database)
        manifests = {str(path): read_manifest(path) for path in release_folders(layout.releases)}
        # a release with rows of these batches may contain a passage of the document
        batches = set(occurrences.batches)
        releases = [path for path, manifest in manifests.items() if batches & manifest.batches.keys()]
        replies = erase_documents(layout, occurrences, database) if yes else None
    result = {
        "documents": occurrences.paths,
        "contents": occurrences.contents,
        "batches": occurrences.batches,
        "releases": releases,
        "done": yes,
        "replies": replies,
        "next": _FORGOTTEN if yes else "add --yes to delete these; nothing has changed",
    }
    show(result, as_json=as_json)
