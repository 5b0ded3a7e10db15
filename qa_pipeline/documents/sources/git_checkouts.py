"""A git checkout as a batch: the page of each file on the host it was cloned from.

What belongs here: commit and origin as the files below `.git` tell them, and the addresses of known hosts.
What does not: the index (`git_index`). No program is started, and nothing outside the batch is read: a
checkout whose `.git` is a file that points elsewhere has no known origin.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from urllib.parse import quote

from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.files import FoundFile, read_bytes
from qa_pipeline.documents.sources.git_index import DamagedIndex, tracked_sizes
from qa_pipeline.documents.sources.places import BatchFiles

_SMALL, _LARGE = 1_000_000, 200_000_000
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH = re.compile(r"ref: (refs/[A-Za-z0-9._/+-]{1,200})")
_SECTION = re.compile(r'^\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]', re.IGNORECASE)
_KEY = re.compile(r"^\s*([\w-]+)\s*=\s*(.*?)\s*$")
_WITH_SCHEME = re.compile(r"(?:https?|ssh|git|git\+ssh)://(?:[^/@]*@)?([\w.-]+)(?::\d+)?/(.+)", re.IGNORECASE)
_LIKE_SCP = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!/)(.+)")
_STEP = re.compile(r"[\w.~-]+")
_BLOBS = {
    "github": "blob/{commit}/{path}",
    "huggingface": "blob/{commit}/{path}",
    "gitlab": "-/blob/{commit}/{path}",
    "salsa": "-/blob/{commit}/{path}",
    "bitbucket": "src/{commit}/{path}",
    "codeberg": "src/commit/{commit}/{path}",
    "gitea": "src/commit/{commit}/{path}",
    "forgejo": "src/commit/{commit}/{path}",
}
"""Where a file of a commit is shown, by a part of the host's name, which often tells the program it runs."""


@dataclass(frozen=True)
class Checkout:
    """What is known of the commit that is checked out."""

    commit: str
    repository: str
    blob: str
    tracked: Mapping[bytes, int]
    licence: None = None

    def source_uri_of(self, file: FoundFile) -> str | None:
        """The page of a file; None for one that the commit does not hold, or not in this size."""
        if self.tracked.get(file.raw) != file.size or file.failure is not None:
            return None
        return f"{self.repository}/{self.blob.format(commit=self.commit, path=quote(file.raw, safe='/'))}"

    @cached_property
    def identity(self) -> str:
        """Hash of all that decides what is said of the files."""
        parts = [self.commit, self.repository, repr(sorted(self.tracked.items()))]
        return sha256("\n".join(parts).encode()).hexdigest()


def read_checkout(files: BatchFiles) -> Checkout | None:
    """The checkout a batch is; None when it is none, or cloned from a host whose pages are not known."""
    config = _text(files, ".git/config")
    commit = _commit(files)
    if config is None or commit is None:
        return None
    values = _values(config)
    place = _repository(values.get(("remote", "origin", "url"), ""))
    if place is None:
        return None
    hash_length = 32 if values.get(("extensions", "", "objectformat"), "").lower() == "sha256" else 20
    return Checkout(commit, *place, _tracked(files, hash_length))


def _commit(files: BatchFiles) -> str | None:
    head = (_text(files, ".git/HEAD") or "").strip()
    if _COMMIT.fullmatch(head):
        return head
    branch = _BRANCH.fullmatch(head)
    if branch is None or ".." in branch[1]:
        return None
    loose = (_text(files, f".git/{branch[1]}") or "").strip()
    if _COMMIT.fullmatch(loose):
        return loose
    packed = _text(files, ".git/packed-refs", _LARGE) or ""
    lines = (line.split(" ", 1) for line in packed.splitlines())
    found = (parts[0] for parts in lines if len(parts) == 2 and parts[1].strip() == branch[1])
    return next((commit for commit in found if _COMMIT.fullmatch(commit)), None)


def _values(config: str) -> dict[tuple[str, str, str], str]:
    """The settings of a git config file by section, sub-section and name; of repeated ones the first."""
    values: dict[tuple[str, str, str], str] = {}
    section = ("", "")
    for line in config.splitlines():
        if found := _SECTION.match(line):
            section = (found[1].lower(), found[2] or "")
        elif found := _KEY.match(line):
            values.setdefault((*section, found[1].lower()), found[2].strip('"'))
    return values


def _repository(url: str) -> tuple[str, str] | None:
    """The web address of a repository and how its host names a file's page; user and password left out."""
    found = _WITH_SCHEME.fullmatch(url) or (None if "://" in url else _LIKE_SCP.fullmatch(url))
    if found is None:
        return None
    host, path = found[1].lower(), found[2].strip("/").removesuffix(".git")
    steps = path.split("/")
    if len(steps) < 2 or not all(_STEP.fullmatch(step) and step not in (".", "..") for step in steps):
        return None
    blob = next((_BLOBS[label] for label in host.split(".")[:-1] if label in _BLOBS), None)
    return (f"https://{host}/{path}", blob) if blob else None


def _tracked(files: BatchFiles, hash_length: int) -> Mapping[bytes, int]:
    content = _content(files, ".git/index", _LARGE)
    try:
        return tracked_sizes(content, hash_length) if content else {}
    except DamagedIndex:  # then it is not known which files the commit holds
        return {}


def _text(files: BatchFiles, path: str, limit: int = _SMALL) -> str | None:
    content = _content(files, path, limit)
    return None if content is None else content.decode("utf-8", "replace")


def _content(files: BatchFiles, path: str, limit: int) -> bytes | None:
    """A file below `.git`; None where there is none that can be read."""
    found = files.find(path)
    try:
        return None if found is None else read_bytes(found, limit)
    except DocumentFailure:
        return None
