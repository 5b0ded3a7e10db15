"""`release --push`: copy a release to a folder, an object store or the Hugging Face hub.

Readers never see an incomplete copy: the manifest is written last, then `latest.json`. The hub takes all
files in a single commit. Messages of libraries are not passed on, since they may contain signed addresses.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Any

from qa_pipeline.documents.corpus.corpora import cause_of
from qa_pipeline.errors import InputError, QAPipelineError, ReleaseError, StorageError
from qa_pipeline.publishing.manifest import MANIFEST, latest_release, point_to, read_manifest
from qa_pipeline.publishing.verify import release_problems
from qa_pipeline.settings.base import location_of, output_folder
from qa_pipeline.storage.files import delete, local_copy, prepare_folder, publish_folder, work_folder

HUB = "hf://datasets/"


def push_release(folder: Path, target: str) -> tuple[str, bool]:
    """Verify a release and copy it; return its address, and False if it was there already.

    `target` is `hf://datasets/OWNER/NAME`, or a folder of releases, also on an object store.

    Raises:
        InputError: the target is invalid, or a token is missing.
        ReleaseError: the release breaks a promise, or the target has another release under this number.
        StorageError: writing to the target fails.
    """
    try:
        location = location_of(target)
        # the hub has no folder of releases: a tag of a single repository is a release
        releases = None if location.startswith("hf://") else output_folder(location)
    except ValueError as error:
        raise InputError(f"the target {target.partition('://')[0]}://… cannot be used: {error}") from None
    if releases is None and not re.fullmatch(rf"{HUB}[\w.-]+/[\w.-]+", location):
        raise InputError(f"name a data set of the hub as {HUB}OWNER/NAME")
    with local_copy(folder) as copy:
        if problems := release_problems(copy):
            raise ReleaseError(f"{folder} fails its own checks, so nothing was sent: {problems[0]}")
        try:
            return _upload_to_hub(copy, location) if releases is None else _copy_to_folder(copy, releases)
        except QAPipelineError:
            raise
        except Exception as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            why = f"it answers {status}" if status else cause_of(error)
            raise StorageError(
                f"{location} cannot be written: {why}; "
                "check the address, and that the credentials in the environment may write there"
            ) from error


def _copy_to_folder(folder: Path, releases: Path) -> tuple[str, bool]:
    """Copy a release into a folder of releases; return its address, and False if it was there already."""
    version = read_manifest(folder).version
    target = releases / str(version)
    prepare_folder(releases)
    is_new = not (target / MANIFEST).exists()
    if is_new:
        if target.exists():
            delete(target)  # an interrupted copy
        with work_folder(releases) as copy:
            shutil.copytree(folder, copy, dirs_exist_ok=True)
            publish_folder(copy, target, MANIFEST)
    elif (target / MANIFEST).read_bytes() != (folder / MANIFEST).read_bytes():
        raise ReleaseError(f"{releases} has another release {version}; push to another folder")
    newest = latest_release(releases)
    if newest is None or int(newest.name) <= version:
        point_to(releases, version)
    return str(target), is_new


def _upload_to_hub(folder: Path, location: str) -> tuple[str, bool]:
    """Upload all files in a single commit with a tag; return the address, and False if the tag existed."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    token = os.environ.get("HF_TOKEN")
    if not token:  # do not fall back to the token of a logged-in person
        raise InputError("set HF_TOKEN to a token of the hub with write access")
    disable_progress_bars()
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token)
    repository: dict[str, Any] = {"repo_id": location.removeprefix(HUB), "repo_type": "dataset"}
    api.create_repo(**repository, private=True, exist_ok=True)
    version = read_manifest(folder).version
    refs = api.list_repo_refs(**repository)
    newest = max((int(tag.name[1:]) for tag in refs.tags if re.fullmatch(r"v\d+", tag.name)), default=0)
    if newest > version:
        raise ReleaseError(f"{location} has release {newest}, which this older one would hide")
    if newest < version:
        files = {*api.list_repo_files(**repository)} - {".gitattributes"}
        if files and MANIFEST not in files:
            raise ReleaseError(
                f"{location} contains files that are not part of a release; push to another name"
            )
        api.upload_folder(
            **repository,
            folder_path=folder,
            delete_patterns="*",
            # the hub refuses the upload if another commit came meanwhile
            parent_commit=next((ref.target_commit for ref in refs.branches if ref.name == "main"), None),
            commit_message=f"Release {version}",
        )
        api.create_tag(**repository, tag=f"v{version}")
    return f"{location}@v{version}", newest < version
