"""Output folders on object stores: fsspec's file systems, with clear faults and conditional writes.

The library of each store tries requests again. What it says of a failure is not passed on: it may hold
addresses that were signed.
"""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, cast

from qa_pipeline.errors import StorageError

STORES = ("s3", "gs", "abfss", "memory")
"""Schemes of addresses that results are written to: stores that list at once what was written."""
_CAUSES = {
    "NoSuchBucket": "there is no such bucket",
    "NoCredentialsError": "there are no credentials in the environment",
    "ExpiredToken": "the credentials have expired",
    "ExpiredTokenException": "the credentials have expired",
    "TokenRefreshRequired": "the credentials have expired",
    "InvalidAccessKeyId": "the credentials are not accepted",
    "InvalidToken": "the credentials are not accepted",
    "SignatureDoesNotMatch": "the credentials are not accepted",
    "RequestTimeTooSkewed": "the clock of this machine is wrong, set it",
}
_PUTS = frozenset({"pipe_file", "put_file"})
_VERBS = {
    **dict.fromkeys((*_PUTS, "cp_file"), "write"),
    **dict.fromkeys(("rm", "rm_file"), "delete"),
    **dict.fromkeys(("ls", "listdir", "find", "glob"), "list"),
}
_ADVICE = "check the address and the credentials in the environment, then run again"


class ChangedMeanwhileError(Exception):
    """The error that an object is no longer what a conditional write expects."""


class ObjectStore:
    """A file system of fsspec whose faults name address and trouble.

    It never says that nothing is there because it could not look, and opens files for reading only: leaving
    `open("wb")` by an exception would publish what was written so far.

    Args:
        files: the file system.
        scheme: of its addresses.
    """

    def __init__(self, files: Any, scheme: str) -> None:
        self._files, self.scheme = files, scheme

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):  # copying asks for these
            raise AttributeError(name)
        return lambda *args, **options: self._ask(name, *args, **options)

    def isfile(self, path: str) -> bool:
        """Return True if a file is there."""
        return self._type(path) == "file"

    def isdir(self, path: str) -> bool:
        """Return True if any file is below."""
        return self._type(path) == "directory"

    def exists(self, path: str) -> bool:
        """Return True if a file is there or below."""
        return self._type(path) is not None

    def _type(self, path: str) -> str | None:
        try:
            return str(self._ask("info", path)["type"])
        except FileNotFoundError:
            return None

    def glob(self, pattern: str) -> list[str]:
        """Return the matching paths; an empty list if the folder is missing."""
        try:
            return list(self._ask("glob", pattern))
        except FileNotFoundError:
            return []

    def mkdir(self, path: str, **_: Any) -> None:
        """Do nothing: stores have no folders, and a library might make a bucket."""

    def open(self, path: str, mode: str = "r", **options: Any) -> IO[Any]:
        """Open a file as it is at this moment, for reading."""
        if set(mode) - {"r", "b", "t"}:
            raise io.UnsupportedOperation(f"{path} is written whole, with write_bytes")
        content = io.BytesIO(self._ask("cat_file", path))
        if "b" in mode:
            return content
        return io.TextIOWrapper(
            content, options.get("encoding"), options.get("errors"), options.get("newline")
        )

    def rm(self, path: str, *, recursive: bool = False) -> None:
        """Delete a file, or all that is below a path."""
        self._ask("rm", path, recursive=True) if recursive else self._ask("rm_file", path)

    def read_version(self, path: str) -> tuple[bytes, str | None]:
        """Return a file's bytes and its version for `put_if`: None without the file, empty but on S3."""
        try:
            # in this order: a change in between makes the version too old to write with
            facts = self._ask("info", path)
            return self._ask("cat_file", path), facts["ETag"] if self.scheme == "s3" else ""
        except FileNotFoundError:
            return b"", None

    def put_if(self, path: str, content: bytes, version: str | None) -> None:
        """Write a file in one request if its version is still this one; None where it must not be there.

        Raises:
            ChangedMeanwhileError: it is another one, or there.
            StorageError: it cannot be written.
        """
        condition = {"mode": "create"} if version is None else {"IfMatch": version} if version else {}
        try:
            self._ask("pipe_file", path, content, **condition)
        except FileExistsError as error:
            # else an earlier try, whose answer was lost, has written it
            if self.read_version(path)[0] != content:
                raise ChangedMeanwhileError(path) from error

    def _ask(self, name: str, path: Any, *args: Any, **options: Any) -> Any:
        try:
            return getattr(self._files, name)(path, *args, **options)
        except Exception as error:
            raise self._translated(error, name, path) from error

    def _translated(self, error: Exception, name: str, path: Any) -> Exception:
        code, status = _answer(error)
        is_missing = isinstance(error, FileNotFoundError)
        if code == "PreconditionFailed" or status in (409, 412) or (name in _PUTS and code == "NoSuchKey"):
            return FileExistsError(str(path))
        if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError) or (
            is_missing and code != "NoSuchBucket" and name not in _PUTS
        ):
            return error
        verb = _VERBS.get(name, "read")
        cause = _CAUSES.get("NoSuchBucket" if is_missing else code)
        if cause is None and (isinstance(error, PermissionError) or status in (401, 403)):
            cause = f"the credentials lack the right to {verb} there, or to list the folder"
        if cause is None and (status is None or status in (408, 429) or status >= 500):
            cause = f"the store did not answer ({status or code})"
        address = f"{self.scheme}://{str(path).lstrip('/')}"
        return StorageError(f"cannot {verb} {address}: {cause or f'it answers {code}'}; {_ADVICE}")


def stored_path(address: str) -> Path:
    """Return an address as a path that is joined, listed and read as a `Path` is; `files` writes it.

    Args:
        address: in stored form, as `location_of` gives it.

    Raises:
        ValueError: it has no bucket, or letters that a listing reads as a pattern.
    """
    from upath import UPath

    scheme, _, place = address.partition("://")
    if not place.strip("/") or any(sign in place for sign in "*?[]"):
        raise ValueError("name a bucket, and a folder in it, without * ? [ ]")
    # listings live as long as the process otherwise, and other processes write
    path = UPath(address, use_listings_cache=False)
    path._fs_cached = ObjectStore(path.fs, scheme)  # noqa: SLF001 - no public way
    return cast("Path", path)


def store_of(path: Path) -> tuple[ObjectStore, str] | None:
    """Return the store that a path is in, and its name there; None for any other path."""
    files = None if isinstance(path, Path) else getattr(path, "fs", None)
    if files is None:
        return None
    return files if isinstance(files, ObjectStore) else ObjectStore(files, path.protocol), path.path


def _answer(error: BaseException) -> tuple[str, int | None]:
    """Return the code and the status of HTTP that a store answered; else the name of the error's class."""
    part: BaseException | None = error
    while part is not None:
        response = getattr(part, "response", None)
        if isinstance(response, Mapping):  # of botocore
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return str(response.get("Error", {}).get("Code")), status
        status = getattr(part, "status_code", None) or getattr(part, "code", None)
        if isinstance(status, int | str) and str(status).isdecimal():  # of Azure and Google
            return type(part).__name__, int(status)
        part = part.__cause__
    return type(error).__name__, None
