"""Places that fsspec opens, such as object stores: a corpus below an address, and the files of a batch there.

What belongs here: listing and reading through fsspec, and what a store vouches for of a content. What does
not: which addresses may be used (`locations`), and local folders (`folders`).

Stores name keys as they like, and none of them leads anywhere but into the store. What a store's library says
of an error is not passed on: it may hold addresses that were signed.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from qa_pipeline.corpus.archives import ZipBatch
from qa_pipeline.corpus.files import DocumentFailure, FoundFile, hash_files, in_order, stored_path
from qa_pipeline.corpus.places import (
    ZIP_SUFFIX,
    BatchFiles,
    Entry,
    FoundBatches,
    is_archive,
    sort_out,
)
from qa_pipeline.errors import CorpusError
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage import check_batch_name

Info = Mapping[str, Any]

_VOUCHERS = (
    "md5Hash", "ContentMD5", "content_md5", "md5", "sha256", "blob_id", "sha", "checksum", "crc32c",
    "ETag", "etag",
)  # fmt: skip
"""What stores call a hash of the content in their listings, the closest to the content first."""
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")
_FAULTS = (
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("aiohttp", "ClientError"),
    ("gcsfs.retry", "HttpError"),
    ("google.auth.exceptions", "GoogleAuthError"),
    ("azure.core.exceptions", "AzureError"),
    ("huggingface_hub.errors", "HfHubHTTPError"),
    ("paramiko", "SSHException"),
)
"""What the libraries of stores raise beside `OSError`."""
_TROUBLE: tuple[type[Exception], ...] = (OSError, ValueError, ImportError)
_ADVICE = "check the address, and that the credentials in the environment may read it"


class RemoteCorpus:
    """An address below which each folder or archive is a batch."""

    def __init__(self, location: str, limits: DocumentSettings) -> None:
        self._location = location
        self._limits = limits
        with _told(location):
            import fsspec

            self._files, root = fsspec.core.url_to_fs(location)
        self._root = root.rstrip("/")
        self._files.invalidate_cache()  # listings are kept for the life of a process otherwise

    def find_batches(self) -> FoundBatches:
        """List the address.

        Raises:
            CorpusError: it cannot be listed, or holds no batch.
        """
        with _told(self._location):
            found = self._files.ls(self._root, detail=True)
        entries = {name: info for info in found if (name := self._name_in_root(info))}
        batches = sort_out(
            Entry(_bytes(name), info["type"] == "directory")
            for name, info in entries.items()
            if not name.startswith(".")
        )
        if not batches.names and not batches.refused:
            raise CorpusError(f"corpus {self._location} holds no batch; put documents into folders inside it")
        return batches

    def batch(self, name: str) -> BatchFiles:
        """The files of a batch.

        Raises:
            CorpusError: there is none of that name.
        """
        check_batch_name(name)
        path = f"{self._root}/{name}"
        with _told(self.address(name)):
            if self._files.isdir(path):
                return RemoteBatch(self._files, path, self.address(name))
            archive = self._archive(name)
            if archive is None:
                raise CorpusError(f"batch {self.address(name)} does not exist")
            opener = partial(_opened, self._files, archive["name"])
            return ZipBatch(str(archive["name"]).rpartition("/")[2], opener, self._limits, _stamp(archive))

    def looks(self, names: Iterable[str]) -> dict[str, str | None]:
        """How each batch looks from outside, from one listing of the whole corpus."""
        looks: dict[str, Any] = defaultdict(sha256)
        try:
            with _told(self._location):
                listed = self._files.find(self._root, detail=True)
        except CorpusError:
            return dict.fromkeys(names)
        for path, info in sorted(listed.items()):
            inside = path[len(self._root) :].lstrip("/")
            first, _, rest = inside.partition("/")
            name = first[: -len(ZIP_SUFFIX)] if not rest and is_archive(first) else first
            seen = (inside, info.get("size"), _stamp(info) or _time(info))
            looks[name].update(repr(seen).encode("utf-8", "surrogatepass"))
        return {name: looks[name].hexdigest() if name in looks else None for name in names}

    def address(self, name: str) -> str:
        """Where a batch lies."""
        return f"{self._location}/{name}"

    def _name_in_root(self, info: Info) -> str:
        """The name of an entry of the corpus; empty for the root itself, which some stores list."""
        path = str(info["name"]).rstrip("/")
        return path[len(self._root) :].strip("/") if path != self._root else ""

    def _archive(self, name: str) -> Info | None:
        found = self._files.ls(self._root, detail=True)
        named = {self._name_in_root(info): info for info in found if info["type"] == "file"}
        return next(
            (
                info
                for key, info in sorted(named.items())
                if is_archive(key) and key[: -len(ZIP_SUFFIX)] == name
            ),
            None,
        )


class RemoteBatch:
    """The files below an address."""

    def __init__(self, files: Any, root: str, address: str) -> None:
        self._files = files
        self._root = root
        self._address = address

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self._root.rpartition("/")[2]

    def list(self) -> list[FoundFile]:
        """Every visible file.

        Raises:
            CorpusError: the address cannot be listed.
        """
        with _told(self._address):
            listed = self._files.find(self._root, detail=True, withdirs=False)
        found = (self._found(path, info) for path, info in listed.items())
        return in_order(file for file in found if file is not None and not _is_hidden(file.raw))

    def find(self, path: str) -> FoundFile | None:
        """One file by its path below the address."""
        try:
            with _told(self._address):
                info = self._files.info(f"{self._root}/{path}")
        except _NotThereError:
            return None
        found = self._found(info["name"], info)
        if found is None or info["type"] == "file":
            return found
        return replace(found, failure=DocumentFailure("not_a_file", "a folder stands there"))

    def fingerprint(self) -> str:
        """Hash of names and contents; a content that the store vouches for is not read.

        Raises:
            CorpusError: the address cannot be listed.
        """
        return hash_files(self.list())

    def _found(self, path: str, info: Info) -> FoundFile | None:
        inside = path[len(self._root) :].lstrip("/")
        if not inside or inside.endswith("/"):  # a key that stands for a folder
            return None
        raw = _bytes(inside)
        opener = partial(_opened, self._files, path)
        return FoundFile(stored_path(raw), raw, info.get("size") or 0, opener, None, _stamp(info))


class _NotThereError(CorpusError):
    """There is nothing at an address."""


class _Reader:
    """A remote file; what its library raises is an `OSError` to all who read."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        with _as_os_error():
            content: bytes = self._file.read(size)
        return content

    def seek(self, place: int, whence: int = 0, /) -> int:
        with _as_os_error():
            return int(self._file.seek(place, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def seekable(self) -> bool:
        return bool(self._file.seekable())


@contextmanager
def _opened(files: Any, path: str) -> Iterator[_Reader]:
    """Open a remote file.

    Raises:
        DocumentFailure: `unreadable`.
    """
    try:
        with _as_os_error():
            file = files.open(path, "rb")
        with file:
            yield _Reader(file)
    except OSError as error:
        raise DocumentFailure("unreadable", _cause(error)) from error


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except _faults() as error:
        raise OSError(type(error).__name__) from error


@contextmanager
def _told(address: str) -> Iterator[None]:
    """Turn what a store's library raises into an error that names the address and the kind of trouble."""
    try:
        yield
    except FileNotFoundError as error:
        raise _NotThereError(f"{address} does not exist or is no folder; name a folder of batches") from error
    except _TROUBLE + _faults() as error:
        raise CorpusError(f"{address} cannot be read: {_cause(error)}; {_ADVICE}") from error


def _faults() -> tuple[type[Exception], ...]:
    """The exceptions of those libraries that are loaded; others cannot have raised any."""
    loaded = ((sys.modules.get(module), name) for module, name in _FAULTS)
    return tuple(getattr(module, name) for module, name in loaded if hasattr(module, name))


def _cause(error: Exception) -> str:
    """What happened, without the library's own words."""
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, FileNotFoundError):
        return "it is gone"
    known = type(error.__cause__ or error).__name__
    return error.strerror if isinstance(error, OSError) and error.errno and error.strerror else known


def _stamp(info: Info) -> str | None:
    settings = info.get("content_settings")
    known = {**info, **settings} if isinstance(settings, Mapping) else info
    for name in _VOUCHERS:
        value = known.get(name)
        if isinstance(value, bytes | bytearray):
            value = value.hex()
        if isinstance(value, str | int) and value:
            return f"{name}:{str(value).strip(chr(34))}"
    return None


def _time(info: Info) -> str:
    return next((str(info[name]) for name in _TIMES if info.get(name)), "")


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _is_hidden(raw: bytes) -> bool:
    return any(part.startswith(b".") for part in raw.split(b"/"))
