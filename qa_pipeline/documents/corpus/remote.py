"""Places that fsspec opens, such as object stores: a corpus below an address, and the files of a batch there.

Stores name keys as they like, and none of them leads anywhere but into the store. The message of an error of
a store's library is not passed on: it may hold addresses that were signed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import Any

from qa_pipeline.documents.corpus.files import DocumentFailure, FoundFile, stored_path
from qa_pipeline.documents.corpus.places import (
    BatchFiles,
    Corpus,
    Entry,
    archive_batch,
    is_archive,
    without_suffix,
)
from qa_pipeline.errors import CorpusError

Info = Mapping[str, Any]

_VOUCHERS = (
    "md5Hash", "ContentMD5", "content_md5", "md5", "sha256", "blob_id", "sha", "checksum", "crc32c",
    "ETag", "etag",
)  # fmt: skip
"""The names of stores for a hash of the content in their listings, the closest to the content first."""
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")
_ADVICE = "check the address, and that the credentials in the environment may read it"


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
        """Return a hash of what the listing of each batch shows, from one listing of the whole corpus."""
        hashes: dict[str, Any] = defaultdict(sha256)
        try:
            with _name_faults(self.location):
                listed = self._files.find(self._root, detail=True)
        except CorpusError:
            return dict.fromkeys(names)
        for path, info in sorted(listed.items()):
            inside = path[len(self._root) :].lstrip("/")
            first, _, rest = inside.partition("/")
            written = next((str(info[name]) for name in _TIMES if info.get(name)), "")
            seen = (inside, info.get("size"), _stamp(info) or written)
            name = first if rest else without_suffix(first)
            hashes[name].update(repr(seen).encode("utf-8", "surrogatepass"))
        return {name: hashes[name].hexdigest() if name in hashes else None for name in names}

    def _entries(self) -> Iterator[Entry]:
        for name, info in self._in_root().items():
            yield Entry(name.encode("utf-8", "surrogateescape"), info["type"] == "directory")

    def _batch(self, name: str) -> BatchFiles:
        path, address = f"{self._root}/{name}", self.address(name)
        with _name_faults(address):
            is_folder = self._files.isdir(path)
        if is_folder:
            return BatchFiles(name, partial(_files_below, self._files, path, address))
        for key, info in sorted(self._in_root().items()):
            if info["type"] == "file" and is_archive(key) and without_suffix(key) == name:
                opener = partial(_open_file, self._files, info["name"])
                return archive_batch(key, opener, _stamp(info))
        raise CorpusError(f"batch {address} does not exist; name a folder or ZIP archive of the corpus")

    def _in_root(self) -> dict[str, Info]:
        """Return what is directly at the address, by name; some stores list the address itself too."""
        with _name_faults(self.location):
            entries = self._files.ls(self._root, detail=True)
        listed = {str(info["name"]).rstrip("/")[len(self._root) :].strip("/"): info for info in entries}
        return {name: info for name, info in listed.items() if name}


def _files_below(files: Any, root: str, address: str) -> Iterator[FoundFile]:
    with _name_faults(address):
        listed = files.find(root, detail=True, withdirs=False)
    for path, info in listed.items():
        inside = path[len(root) :].lstrip("/")
        raw = inside.encode("utf-8", "surrogateescape")
        is_folder = not inside or inside.endswith("/")  # a key in place of a folder
        if not is_folder and not any(part.startswith(b".") for part in raw.split(b"/")):
            opener = partial(_open_file, files, path)
            yield FoundFile(stored_path(raw), raw, info.get("size") or 0, opener, None, _stamp(info))


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
def _open_file(files: Any, path: str) -> Iterator[_Reader]:
    try:
        with _as_os_error():
            file = files.open(path, "rb")
        with file:
            yield _Reader(file)
    except OSError as error:
        raise DocumentFailure("unreadable", cause_of(error)) from error


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(type(error).__name__) from error


@contextmanager
def _name_faults(address: str) -> Iterator[None]:
    """Turn what a store's library raises, whatever it is, into an error that names address and trouble."""
    try:
        yield
    except FileNotFoundError as error:
        raise CorpusError(f"{address} does not exist or is not a folder; name a folder of batches") from error
    except Exception as error:
        raise CorpusError(f"{address} cannot be read: {cause_of(error)}; {_ADVICE}") from error


def cause_of(error: Exception) -> str:
    """Return the cause of an error, without the library's own message."""
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, FileNotFoundError):
        return "it is gone"
    cause = type(error.__cause__ or error).__name__
    return error.strerror if isinstance(error, OSError) and error.errno and error.strerror else cause


def _stamp(info: Info) -> str | None:
    settings = info.get("content_settings")
    stamp = {**info, **settings} if isinstance(settings, Mapping) else info
    for name in _VOUCHERS:
        value = stamp.get(name)
        if isinstance(value, bytes | bytearray):
            value = value.hex()
        if isinstance(value, str | int) and value:
            return f"{name}:{str(value).strip(chr(34))}"
    return None
