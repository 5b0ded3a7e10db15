"""What the place of a batch says about its documents: where they came from, and under which licence.

What belongs here: the record, and choosing what is believed of a batch. What does not: reading the marks of
each kind (one module each). What a document or `batch.yaml` says of a document wins over all of it.
"""

import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote

import yaml

from qa_pipeline.corpus.description import BatchDescription
from qa_pipeline.corpus.files import DocumentFailure, FoundFile, read_bytes
from qa_pipeline.corpus.places import BatchFiles
from qa_pipeline.errors import CorpusError
from qa_pipeline.text.characters import clean, lay_out

_HEADER = 12
_FIXED = 40
_SIZE_AT = 36
_EXTENDED = 0x4000
_STAGE = 0x3000


class DamagedIndex(ValueError):  # noqa: N818 - the reader of a checkout goes on without it
    """The bytes are no index of a known version."""


def tracked_sizes(content: bytes, hash_length: int = 20) -> Mapping[bytes, int]:
    """Sizes of the tracked files by path; files with a merge conflict are left out.

    Args:
        content: the index file.
        hash_length: bytes of an object name: 20 for SHA-1, 32 for SHA-256.

    Raises:
        DamagedIndex: it cannot be read.
    """
    try:
        return dict(_entries(content, hash_length))
    except (struct.error, IndexError, ValueError) as error:
        raise DamagedIndex("it is cut off, or no index of a known version") from error


def _entries(content: bytes, hash_length: int) -> Iterator[tuple[bytes, int]]:
    signature, version, count = struct.unpack_from(">4sLL", content)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise DamagedIndex("it is no index of versions 2 to 4")
    place, previous = _HEADER, b""
    for _ in range(count):
        (size,) = struct.unpack_from(">L", content, place + _SIZE_AT)
        flags_at = place + _FIXED + hash_length
        (flags,) = struct.unpack_from(">H", content, flags_at)
        name_at = flags_at + (4 if flags & _EXTENDED else 2)
        if version == 4:
            dropped, name_at = _offset(content, name_at)
            end = content.index(b"\0", name_at)
            path = previous[: max(len(previous) - dropped, 0)] + content[name_at:end]
            following = end + 1
        else:
            end = content.index(b"\0", name_at)
            path = content[name_at:end]
            following = place + (end - place + 8) // 8 * 8
        if not flags & _STAGE:
            yield path, size
        place, previous = following, path


def _offset(content: bytes, place: int) -> tuple[int, int]:
    """A number as version 4 packs it, and the place behind it."""
    byte = content[place]
    value = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = content[place]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, place + 1


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


_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+([a-z]{2,24})")
_NO_DOMAINS = {
    "bz2", "css", "csv", "d", "doc", "docx", "epub", "gz", "htm", "html", "js", "json", "md", "old", "orig",
    "pdf", "py", "rst", "sh", "tar", "tmp", "txt", "xml", "yaml", "yml", "zip",
}  # fmt: skip
"""Last parts of folder names that are rather suffixes; a site there needs `kind: website`."""
_PAGES = (b".html", b".htm", b".xhtml")
_INDEX = re.compile(rb"(?:^|/)index\.x?html?$")
_MADE_UP = re.compile(rb"\.(?:php|asp|aspx|jsp|cgi|pl)\.html?$|\?.*\.html?$|[^/]@[^/]*=", re.IGNORECASE)
"""Names that a mirroring program made of another one, so that the address is not known."""
_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_SAFE = "/%!$&'()*+,;=:@~?"


@dataclass(frozen=True)
class Mirror:
    """The hosts of a mirror; with `whole` the batch itself is the folder of that host."""

    hosts: frozenset[bytes]
    whole: str | None = None
    licence: None = None

    def source_uri_of(self, file: FoundFile) -> str | None:
        """The address of a file; None for one that lies in no host's folder or has a made-up name."""
        host, rest = self.whole, file.raw
        if host is None:
            first, _, rest = file.raw.partition(b"/")
            host = first.decode() if first in self.hosts else None
        if host is None or not rest or _MADE_UP.search(rest):
            return None
        path = _INDEX.sub(lambda found: b"/" if found[0].startswith(b"/") else b"", rest)
        return f"https://{host}/{quote(_ESCAPE.sub(b'%25', path), safe=_SAFE)}"


def read_mirror(name: str, found: Sequence[FoundFile], *, sure: bool = False) -> Mirror | None:
    """The mirror a batch is; None when nothing says that it is one.

    Args:
        name: of the batch.
        found: its files.
        sure: its owner says so, and a folder's name is enough. Otherwise the pages must be in the majority.
    """
    if _is_host(name, sure=sure) and (sure or _mostly_pages([file.raw for file in found])):
        return Mirror(frozenset(), name)
    below: dict[bytes, list[bytes]] = defaultdict(list)
    for file in found:
        first, slash, rest = file.raw.partition(b"/")
        if slash:
            below[first].append(rest)
    hosts = frozenset(
        first
        for first, names in below.items()
        if _is_host(first.decode("utf-8", "replace"), sure=sure) and (sure or _mostly_pages(names))
    )
    return Mirror(hosts) if hosts else None


def _is_host(name: str, *, sure: bool) -> bool:
    found = _HOST.fullmatch(name)
    return found is not None and (sure or found[1] not in _NO_DOMAINS)


def _mostly_pages(names: Sequence[bytes]) -> bool:
    pages = sum(name.partition(b"?")[0].lower().endswith(_PAGES) for name in names)
    return 2 * pages >= len(names) > 0


_CARD = "README.md"
_DATA = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv")
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_LARGEST, _LONGEST = 5_000_000, 200_000
_LONGEST_NAME = 200


@dataclass(frozen=True)
class DataSet:
    """What the card of a dataset says of all rows."""

    licence: str

    def source_uri_of(self, file: FoundFile) -> str | None:
        """Nothing: a card does not name the place it was fetched from."""
        return None


def read_data_set(files: BatchFiles, found: Sequence[FoundFile]) -> DataSet | None:
    """The dataset a batch is; None without data files, or without a card that names one licence."""
    if not any(file.path.lower().endswith(_DATA) for file in found):
        return None
    card = files.find(_CARD)
    fields = _fields(card) if card is not None else {}
    licence = _only(fields, "license")
    if licence == "other":
        licence = _only(fields, "license_name") or licence
    return DataSet(licence) if licence else None


def _fields(card: FoundFile) -> Mapping[object, object]:
    try:
        text = read_bytes(card, _LARGEST).decode("utf-8", "replace")
    except DocumentFailure:  # its row says why
        return {}
    front = _FRONT_MATTER.match(text)
    if front is None or len(front[1]) > _LONGEST:
        return {}
    try:
        loaded = yaml.safe_load(front[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, Mapping) else {}


def _only(fields: Mapping[object, object], name: str) -> str | None:
    """The value of a field, also where it is the only one of a list; of several none holds for all rows."""
    value = fields.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return None
    return lay_out("heading", clean(value))[:_LONGEST_NAME] or None


class Origin(Protocol):
    """One kind of mark that a batch bears."""

    def source_uri_of(self, file: FoundFile) -> str | None:
        """Where a file came from, as far as it is known."""
        ...

    @property
    def licence(self) -> str | None:
        """The licence of all documents of the batch."""
        ...


class Origins:
    """All marks of a batch; the first that says something is believed."""

    def __init__(self, marks: Iterable[Origin] = ()) -> None:
        self._marks = tuple(marks)

    def source_uri_of(self, file: FoundFile) -> str | None:
        """Where a file came from."""
        return next((said for mark in self._marks if (said := mark.source_uri_of(file))), None)

    @property
    def licence(self) -> str | None:
        """The licence of all documents."""
        return next((mark.licence for mark in self._marks if mark.licence), None)


def find_origins(files: BatchFiles, found: Sequence[FoundFile], description: BatchDescription) -> Origins:
    """The marks of a batch: all that it bears, or the one kind its description names.

    Raises:
        CorpusError: the description names a kind of which the batch bears no mark.
    """
    readers: dict[str, Callable[[], Origin | None]] = {
        "git": lambda: read_checkout(files),
        "dataset": lambda: read_data_set(files, found),
        "website": lambda: read_mirror(files.name, found, sure=description.kind == "website"),
    }
    if description.kind is None:
        return Origins(mark for read in readers.values() if (mark := read()) is not None)
    if description.kind == "folder":
        return Origins()
    mark = readers[description.kind]()
    if mark is None:
        raise CorpusError(
            f"{files.name}: batch.yaml says kind: {description.kind}, and {_MISSING[description.kind]}"
        )
    return Origins([mark])


_MISSING = {
    "git": "there is no .git folder with a commit and an origin that can be read",
    "dataset": "there is no README.md whose front matter names one license",
    "website": "no folder is named like a host, such as www.example.org",
}
