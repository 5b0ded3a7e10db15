"""`push`: a copy of a release where training jobs read it: a folder, an object store, the Hugging Face hub.

What is there is never overwritten, and nobody reads a part: the manifest comes last, then `latest.json` in
one step; the hub takes all files in one commit. What libraries say of a failure is not passed on, since it
may hold addresses that were signed; the token comes from the environment and goes nowhere else.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qa_pipeline.documents.corpus.remote import cause_of
from qa_pipeline.errors import InputError, QAPipelineError, ReleaseError, StorageError
from qa_pipeline.publishing.manifest import LATEST, MANIFEST, SIGNATURE, Manifest, point_to, read_manifest
from qa_pipeline.publishing.verify import release_problems
from qa_pipeline.settings.location import is_remote, location_of
from qa_pipeline.storage.files import local_copy, move_file, new_draft, prepare_folder
from qa_pipeline.storage.hashes import hash_file

if TYPE_CHECKING:
    from huggingface_hub import HfApi

HUB = "hf://"
_HUB_TARGET = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)")
_TAG = re.compile(r"v([1-9]\d*)")
_OF_THE_HUB = ".gitattributes"
"""The file that the hub itself puts into an empty repository."""
_REFUSALS = {
    401: "the token is not accepted (401)",
    403: "the token may not write there (403)",
    404: "there is no such repository, or the token may not see it (404)",
    412: "somebody else has changed it meanwhile (412)",
}


@dataclass(slots=True)
class Pushed:
    """The content of a push, done or planned.

    Args:
        place: where the release lies then.
        files: bytes of each file of the release, in the order they are sent.
        sent: the files that were sent; others were there.
        latest: whether readers of the target now get this release.
    """

    place: str
    files: dict[str, int]
    sent: list[str] = field(default_factory=list)
    latest: bool = False


def push_release(folder: Path, target: str, *, dry_run: bool = False, public: bool = False) -> Pushed:
    """Send a release to a target, after it was verified; what is there already is not sent again.

    Args:
        folder: the release.
        target: `hf://datasets/OWNER/NAME`, or a folder of releases anywhere fsspec can write.
        dry_run: only say what a release consists of; the target is not asked.
        public: whether a repository that is made on the hub is public.

    Raises:
        InputError: the target is none that can be written, its package is missing, or there is no token.
        ReleaseError: the release does not hold, or another one is in its place.
        StorageError: the target refuses; running again goes on.
    """
    location = _location(target)
    manifest = read_manifest(folder)
    with local_copy(folder) as copy:
        return _pushed(copy, manifest, target, location, dry_run=dry_run, public=public)


def _pushed(
    folder: Path, manifest: Manifest, target: str, location: str, *, dry_run: bool, public: bool
) -> Pushed:
    if problems := release_problems(folder):
        raise ReleaseError(
            f"{folder} does not hold what it promises, nothing was sent: {problems[0]} "
            f"({len(problems)} problems; qa-pipeline verify lists them)"
        )
    version = manifest.version
    place = f"{location}@v{version}" if target.startswith(HUB) else f"{location.rstrip('/')}/{version}"
    names = [*sorted(manifest.files), *([SIGNATURE] if (folder / SIGNATURE).is_file() else []), MANIFEST]
    push = Pushed(place, {name: (folder / name).stat().st_size for name in names})
    if dry_run:
        return push
    with _faults_named(push):
        if target.startswith(HUB):
            _to_hub(folder, location, version, push, public=public)
        else:
            _to_store(folder, location, manifest, push)
    return push


def _location(target: str) -> str:
    try:
        location = location_of(target)
    except ValueError as error:
        raise InputError(f"the target {target.partition('://')[0]}://… cannot be used: {error}") from None
    if location.startswith(HUB) and not _HUB_TARGET.fullmatch(location):
        raise InputError("a data set of the hub is named hf://datasets/OWNER/NAME")
    return location


@contextmanager
def _faults_named(push: Pushed) -> Iterator[None]:
    """Turn what a target's library raises, whatever it is, into an error that names place and trouble."""
    try:
        yield
    except QAPipelineError:
        raise
    except Exception as error:
        status = _status_of(error) or _status_of(error.__cause__)
        cause = _REFUSALS.get(status, f"it answers {status}") if status else cause_of(error)
        if isinstance(error, FileNotFoundError):
            cause = "there is no such bucket or folder"
        raise StorageError(
            f"{push.place} cannot be written: {cause}; check the address, and that the credentials in the "
            f"environment may write there. {len(push.sent)} of {len(push.files)} files were sent; run again "
            f"to go on"
        ) from error


def _status_of(error: BaseException | None) -> int | None:
    """Return the status of HTTP that an error of the hub's library carries."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _to_store(folder: Path, location: str, manifest: Manifest, push: Pushed) -> None:
    """Send the files that are not there, the manifest last, then make the release the latest."""
    import fsspec

    if not is_remote(location):
        prepare_folder(Path(location))
    store, root = fsspec.core.url_to_fs(location)
    store.invalidate_cache()  # listings are kept for the life of a process otherwise
    root = root.rstrip("/")
    base = f"{root}/{manifest.version}"
    listed = store.find(base, detail=True) if store.exists(base) else {}
    sizes = {path[len(base) + 1 :]: info["size"] for path, info in listed.items()}
    released = (folder / MANIFEST).read_bytes()
    is_complete = MANIFEST in sizes and store.cat_file(f"{base}/{MANIFEST}") == released
    for name, size in sizes.items():
        equal = push.files.get(name) == size
        if equal and (not is_complete or name == SIGNATURE):
            with store.open(f"{base}/{name}", "rb") as file:
                equal = hashlib.file_digest(file, "sha256").hexdigest() == hash_file(folder / name)
        if not equal:
            raise ReleaseError(
                f"{push.place} holds another {name[:80]!r}, and nothing is overwritten; push to another "
                f"place, or remove that folder if no release of yours lies in it"
            )
    for name in push.files:
        if name not in sizes:
            _send(store, folder / name, root, f"{base}/{name}")
            push.sent.append(name)
    push.latest = _point(store, root, manifest.version)


def _is_local(store: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(store, LocalFileSystem)


def _send(store: Any, source: Path, root: str, path: str) -> None:
    """Put a file in its place in one step: a rename in a folder, one PUT or the end of it elsewhere."""
    if not _is_local(store):
        store.put_file(str(source), path)
        return
    # not in the release: a killed push leaves no part there
    with new_draft(Path(root), path) as (draft, file):
        with source.open("rb") as content:
            shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())
        move_file(draft, Path(path))


def _point(store: Any, root: str, version: int) -> bool:
    """Mark the release as the latest, unless a newer one is; return whether it is."""
    path = f"{root}/{LATEST}"
    try:
        latest = int(json.loads(store.cat_file(path))["version"]) if store.exists(path) else 0
    except (ValueError, KeyError, TypeError) as error:
        raise ReleaseError(f'{LATEST} of the target is damaged; write {{"version": N}} into it') from error
    if latest < version and _is_local(store):
        point_to(Path(root), version)
    elif latest < version:
        store.pipe_file(path, f"{json.dumps({'version': version})}\n".encode())
    return latest <= version


def _to_hub(folder: Path, location: str, version: int, push: Pushed, *, public: bool) -> None:
    """Upload the files as the whole content of a repository, in one commit with a tag."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    token = os.environ.get("HF_TOKEN")
    if not token:  # no other one, such as that of a person who is logged in
        raise InputError("set HF_TOKEN to a token of the hub that may write")
    disable_progress_bars()
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token)
    repository, tag = location.removeprefix(f"{HUB}datasets/"), f"v{version}"
    api.create_repo(repository, repo_type="dataset", private=not public, exist_ok=True)
    refs = api.list_repo_refs(repository, repo_type="dataset")
    main = next((branch.target_commit for branch in refs.branches if branch.name == "main"), None)
    versions = [int(match[1]) for ref in refs.tags if (match := _TAG.fullmatch(ref.name))]
    if version in versions:
        if not _same_manifest(api, repository, tag, folder):
            raise ReleaseError(f"{push.place} is another release, and none is overwritten; use another name")
        push.latest = version == max(versions)
        return
    if max(versions, default=0) > version:
        raise ReleaseError(f"{location} holds release {max(versions)}, which this older one would hide")
    if not _same_manifest(api, repository, "main", folder):
        names = api.list_repo_files(repository, repo_type="dataset")
        if not versions and set(names) - {_OF_THE_HUB}:
            raise ReleaseError(f"{location} holds files that are no release of ours; use another name")
        commit = api.upload_folder(
            repo_id=repository,
            repo_type="dataset",
            folder_path=folder,
            delete_patterns="*",
            parent_commit=main,
            commit_message=f"Release {version}",
        )
        main = commit.oid
        push.sent += push.files
    api.create_tag(repository, tag=tag, revision=main, repo_type="dataset")
    push.latest = True


def _same_manifest(api: "HfApi", repository: str, revision: str, folder: Path) -> bool:
    """Return whether a revision has the manifest of this release, by the hash the hub lists."""
    from huggingface_hub.hf_api import RepoFile
    from huggingface_hub.utils.sha import git_hash

    manifest = (folder / MANIFEST).read_bytes()
    listed = api.get_paths_info(repository, MANIFEST, revision=revision, repo_type="dataset")
    listed_file = next(iter(listed), None)
    if not isinstance(listed_file, RepoFile):
        return False
    if listed_file.lfs is not None:
        return listed_file.lfs.sha256 == hashlib.sha256(manifest).hexdigest()
    return listed_file.blob_id == git_hash(manifest)
