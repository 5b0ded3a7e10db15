"""Access output folders on object stores through fsspec, with clear errors and conditional writes.

The library of each store retries requests. Its error messages are not passed on, because they may contain
signed addresses.
"""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, cast

from qa_pipeline.errors import StorageError

STORES = ("s3", "gs", "abfss", "memory")
"""Address schemes for results. These stores list a written file immediately."""
_PUTS = frozenset({"pipe_file", "put_file"})
_VERBS = {
    **dict.fromkeys((*_PUTS, "cp_file"), "write"),
    **dict.fromkeys(("rm", "rm_file"), "delete"),
    **dict.fromkeys(("ls", "listdir", "find", "glob"), "list"),
}
_ADVICE = "check the bucket, the credentials, their rights and this machine's clock, then run again"


class ChangedMeanwhileError(Exception):
    """The error that an object has changed since the version that a conditional write expects."""


class ObjectStore:
    """Wrap a file system of fsspec. Its errors state the address and the cause.

    A failed request is never reported as a missing file. Files are opened only for reading, because an
    exception inside `open("wb")` would publish a partial file.
    """

    def __init__(self, files: Any, scheme: str) -> None:
        self._files, self.scheme = files, scheme

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):  # requested when the object is copied
            raise AttributeError(name)
        return lambda *args, **options: self._call(name, *args, **options)

    def isfile(self, path: str) -> bool:
        """Return True if the path is a file."""
        return self._type(path) == "file"

    def isdir(self, path: str) -> bool:
        """Return True if files exist below the path."""
        return self._type(path) == "directory"

    def exists(self, path: str) -> bool:
        """Return True if the path is a file or files exist below it."""
        return self._type(path) is not None

    def _type(self, path: str) -> str | None:
        try:
            return str(self._call("info", path)["type"])  # file or directory
        except FileNotFoundError:
            return None

    def glob(self, pattern: str) -> list[str]:
        """Return the matching paths; an empty list if the folder is missing."""
        try:
            return list(self._call("glob", pattern))
        except FileNotFoundError:
            return []

    def mkdir(self, path: str, **_: Any) -> None:
        """Do nothing. Object stores lack folders, and some libraries would create a bucket."""

    def open(self, path: str, mode: str = "r", **options: Any) -> IO[Any]:
        """Open a snapshot of a file for reading; raises io.UnsupportedOperation for other modes."""
        if set(mode) - {"r", "b", "t"}:
            raise io.UnsupportedOperation(f"{path} is written whole, with write_bytes")
        content = io.BytesIO(self._call("cat_file", path))
        return content if "b" in mode else io.TextIOWrapper(content, **options)

    def read_version(self, path: str) -> tuple[bytes, str | None]:
        """Return a file's bytes and its version for `put_if`.

        The version is None if the file is missing. Except on S3, it is an empty string.
        """
        try:
            # version first: if the file changes in between, a write with the old version fails
            info = self._call("info", path)
            version = info["ETag"] if self.scheme == "s3" else ""
            return self._call("cat_file", path), version
        except FileNotFoundError:
            return b"", None

    def put_if(self, path: str, content: bytes, version: str | None) -> None:
        """Write a file in a single request if its version is still `version`.

        If `version` is None, the file must not exist. If it is empty, the file is always written. Raises a
        ChangedMeanwhileError for another version, or a StorageError.
        """
        options = {"IfMatch": version} if version else {}
        if version is None:
            options = {"mode": "create"}  # refused if the file exists
        try:
            self._call("pipe_file", path, content, **options)
        except FileExistsError as error:  # the condition failed; see `_translated`
            # equal content: an earlier try has written it, and its response was lost
            if self.read_version(path)[0] != content:
                raise ChangedMeanwhileError(path) from error

    def _call(self, operation: str, path: Any, *args: Any, **options: Any) -> Any:
        try:
            return getattr(self._files, operation)(path, *args, **options)
        except Exception as error:
            raise self._translated(error, operation, path) from error

    def _translated(self, error: Exception, operation: str, path: Any) -> Exception:
        """Return FileExistsError for a failed condition, `error` if it is about a file, or a StorageError."""
        code, status = _code_and_status(error)
        is_write = operation in _PUTS
        # S3 answers a conditional write with NoSuchKey if another process has deleted the file
        was_deleted = is_write and code == "NoSuchKey"
        if was_deleted or code == "PreconditionFailed" or status in (409, 412):  # conflict, precondition
            return FileExistsError(str(path))
        if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
            return error
        # a write cannot miss a file, and a missing bucket is a failure of the store
        if isinstance(error, FileNotFoundError) and not is_write and code != "NoSuchBucket":
            return error
        address = f"{self.scheme}://{str(path).lstrip('/')}"
        verb = _VERBS.get(operation, "read")
        return StorageError(f"cannot {verb} {address}: the store answers {code}; {_ADVICE}")


def stored_path(address: str) -> Path:
    """Convert an address to a path that can be joined, listed and read like a `Path`.

    Write to it with the functions of `files`. `address` has the form that `location_of` returns. Raises a
    ValueError for an address without a bucket or with wildcards.
    """
    from upath import UPath

    scheme, _, location = address.partition("://")
    if not location.strip("/") or any(sign in location for sign in "*?[]"):
        raise ValueError("name a bucket, and a folder in it, without * ? [ ]")
    # otherwise listings are cached for the whole process, although other processes write
    path = UPath(address, use_listings_cache=False)
    path._fs_cached = ObjectStore(path.fs, scheme)  # noqa: SLF001 - no public way
    return cast("Path", path)


def store_of(path: Path) -> tuple[ObjectStore, str] | None:
    """Return the object store of a path and its name there; None for a local path."""
    files = None if isinstance(path, Path) else getattr(path, "fs", None)
    if files is None:
        return None
    return files if isinstance(files, ObjectStore) else ObjectStore(files, path.protocol), path.path


def _code_and_status(error: BaseException) -> tuple[str, int | None]:
    """Return the error code of a response, or else the class of the error, and the HTTP status."""
    cause: BaseException | None = error
    while cause is not None:
        response = getattr(cause, "response", None)
        if isinstance(response, Mapping):  # of S3, such as ("NoSuchKey", 404)
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return str(response.get("Error", {}).get("Code")), status
        # Azure has `status_code` and Google `code`, both without an error code: ("HttpError", 404)
        status = getattr(cause, "status_code", None) or getattr(cause, "code", None)
        if isinstance(status, int | str) and str(status).isdecimal():
            return type(cause).__name__, int(status)
        cause = cause.__cause__
    return type(error).__name__, None
