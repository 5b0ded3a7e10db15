"""Corpora that fsspec opens, such as object stores.

Messages of a store's library are not passed on: they may contain signed addresses.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO

from qa_pipeline.documents.corpus.files import DocumentFailure, FoundFile, stored_path
from qa_pipeline.documents.corpus.places import (
    BatchFiles,
    Corpus,
    Entry,
    archive_batch,
    is_archive,
    missing_batch,
    without_suffix,
)
from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.hashes import hash_json

Info = Mapping[str, Any]

_CONTENT_HASHES = ("md5Hash", "sha256", "blob_id", "checksum", "ETag", "etag")
"""Names of content hashes in the listings of stores, the best first."""
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")


class RemoteCorpus(Corpus):
    """An address below which each folder or archive is a batch."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        with _name_faults(location):
            import fsspec

            self._files, root = fsspec.core.url_to_fs(location)
        self._root = root.rstrip("/")
        self._files.invalidate_cache()  # listings are kept for the life of a process otherwise

    def listing_fingerprints(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return a hash of the listing of each batch, from a single listing of the corpus."""
        try:
            with _name_faults(self.location):
                listed = self._files.find(self._root, detail=True)
        except CorpusError:
            return dict.fromkeys(names)
        facts = defaultdict(list)  # of the files of each batch
        for path, info in sorted(listed.items()):
            first, _, rest = path.removeprefix(self._root).lstrip("/").partition("/")
            batch = first if rest else without_suffix(first)
            facts[batch].append((first, rest, info.get("size"), _stamp(info), _seen(info)))
        return {name: hash_json(facts[name]) if name in facts else None for name in names}

    def entries(self) -> Iterator[Entry]:
        """List the entries directly at the address; some stores list the address itself too."""
        with _name_faults(self.location):
            entries = self._files.ls(self._root, detail=True)
        for info in entries:
            name = str(info["name"]).removeprefix(self._root).strip("/")
            if name:
                yield Entry(name.encode("utf-8", "surrogateescape"), info["type"] == "directory")

    def files_of(self, name: str) -> BatchFiles:
        """Return the files of a batch."""
        address = self.address(name)
        folders_first = sorted(self.entries(), key=lambda entry: (not entry.is_folder, entry.raw))
        for entry in folders_first:
            key = entry.raw.decode("utf-8", "surrogateescape")
            path = f"{self._root}/{key}"
            if entry.is_folder and key == name:
                return BatchFiles(name, partial(_files_below, self._files, path, address))
            if is_archive(key) and entry.batch == name:
                return archive_batch(key, partial(_open_file, self._files, path), key)
            if key == name:
                return BatchFiles(name, partial(_files_below, self._files, path, address, self._root))
        raise missing_batch(address)


def is_remote_file(location: str) -> bool:
    """Return True if a single file lies at an address; False if that cannot be told."""
    with suppress(CorpusError), _name_faults(location):
        import fsspec

        files, path = fsspec.core.url_to_fs(location)
        return bool(files.isfile(path))
    return False


def _files_below(files: Any, folder: str, address: str, root: str = "") -> Iterator[FoundFile]:
    """Yield the visible files below a remote folder, with paths relative to `root`, by default the folder."""
    with _name_faults(address):
        listed = files.find(folder, detail=True, withdirs=False)
    for path, info in listed.items():
        relative = path.removeprefix(root or folder).lstrip("/")
        is_folder = relative == "" or relative.endswith("/")  # some keys of object stores are folders
        if is_folder or any(part.startswith(".") for part in relative.split("/")):
            continue
        raw, opener = relative.encode("utf-8", "surrogateescape"), partial(_open_file, files, path)
        size = info.get("size") or 0
        yield FoundFile(stored_path(raw), raw, size, opener, stamp=_stamp(info), seen=_seen(info))


@contextmanager
def _open_file(files: Any, path: str) -> Iterator[BinaryIO]:
    try:
        with files.open(path, "rb") as file:
            yield file
    except DocumentFailure:
        raise
    except Exception as error:
        raise DocumentFailure("unreadable", cause_of(error)) from error


@contextmanager
def _name_faults(address: str) -> Iterator[None]:
    """Turn any exception of a store's library into a CorpusError."""
    try:
        yield
    except Exception as error:
        advice = "check the address, and that the credentials in the environment may read it"
        raise CorpusError(f"{address} cannot be read: {cause_of(error)}; {advice}") from error


def cause_of(error: Exception) -> str:
    """Return the cause of an error, without the library's own message."""
    if isinstance(error, FileNotFoundError):
        return "it is not there"
    cause = type(error.__cause__ or error).__name__
    return error.strerror if isinstance(error, OSError) and error.errno and error.strerror else cause


def _stamp(info: Info) -> str | None:
    return next((f"{name}:{info[name]}" for name in _CONTENT_HASHES if info.get(name)), None)


def _seen(info: Info) -> str:
    return next((str(info[name]) for name in _TIMES if info.get(name)), "")
