"""Output folders on object stores: paths by fsspec, with faults, retries and conditions in one place.

What a store's library says of a failure is not passed on: it may hold addresses that were signed.
"""

import io
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from qa_pipeline.errors import StorageError

STORES = ("s3", "gs", "abfss", "memory")
"""Schemes of addresses that results are written to: stores that list at once what was written."""
TRIES = 7
"""Of a request that a store did not answer: with the waits between them 8 to 16 s."""
FIRST_WAIT = 0.25
"""Seconds before the second try, doubled before each further one."""
PATIENCE = 120.0
"""Seconds after which no further try begins, however slow each was."""
LONGEST = 300.0
"""Seconds of a request, after which it counts as unanswered: 100 MB at the 3 MB/s of a poor line take 33. The
timeouts of the libraries leave gaps, such as the wait for leave to send a body."""
# listings live as long as the process otherwise, and other processes write
_UNCACHED: dict[str, Any] = {"use_listings_cache": False}
_OPTIONS: Mapping[str, dict[str, Any]] = {
    "gs": _UNCACHED,
    "abfss": _UNCACHED,
    "s3": {
        **_UNCACHED,
        # tries are counted here, not by two libraries as well
        "config_kwargs": {"connect_timeout": 10, "read_timeout": 60, "retries": {"total_max_attempts": 1}},
    },
}
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_UNANSWERED = frozenset(
    {"ConnectionError", "HTTPClientError", "TimeoutError", "ClientConnectionError", "ClientPayloadError"}
)
"""Base classes of what libraries raise without an answer."""
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
_OF_ANY_LENGTH = frozenset({"put_file", "get_file"})
_PUTS = frozenset({"pipe_file", "put_file"})
_VERBS = {
    **dict.fromkeys((*_PUTS, "cp_file"), "write"),
    **dict.fromkeys(("rm", "rm_file"), "delete"),
    **dict.fromkeys(("ls", "find", "glob"), "list"),
}
_ADVICE = "check the address and the credentials in the environment, then run again"


class ChangedMeanwhileError(Exception):
    """The error that an object is no longer what a conditional write expects."""


class ObjectStore:
    """A file system of fsspec whose requests are tried again, and whose faults name address and trouble.

    It never says that nothing is there because it could not look, and opens files for reading only: leaving
    `open("wb")` by an exception would publish what was written so far.

    Args:
        files: the file system.
        scheme: of its addresses.
    """

    def __init__(self, files: Any, scheme: str) -> None:
        self._files, self.scheme = files, scheme
        self.has_conditional_writes = scheme == "s3"
        if hasattr(files, "retries"):
            files.retries = 1

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):  # copying asks for these
            raise AttributeError(name)
        return lambda *args, **options: self._ask(name, *args, **options)

    def isfile(self, path: str) -> bool:
        """Return whether a file is there."""
        return self._type(path) == "file"

    def isdir(self, path: str) -> bool:
        """Return whether any file is below."""
        return self._type(path) == "directory"

    def exists(self, path: str) -> bool:
        """Return whether a file is there or below."""
        return self._type(path) is not None

    def listdir(self, path: str) -> list[Any]:
        """Return what is directly below."""
        return list(self._ask("ls", path, detail=True))

    def glob(self, pattern: str) -> list[str]:
        """Return the paths of files and folders that match, in order; none where there is no such folder."""
        try:
            return sorted(self._ask("glob", pattern))
        except FileNotFoundError:
            return []

    def mkdir(self, path: str, **_: Any) -> None:
        """Do nothing: stores have no folders, and a library might make a bucket."""

    def open(self, path: str, mode: str = "r", **options: Any) -> IO[Any]:
        """Return a file as it is at this moment, to be read.

        Raises:
            FileNotFoundError: it is not there.
            StorageError: it cannot be read.
        """
        if set(mode) - {"r", "b", "t"}:
            raise io.UnsupportedOperation(f"{path} is written whole, with write_bytes")
        content = io.BytesIO(self._ask("cat_file", path))
        if "b" in mode:
            return content
        return io.TextIOWrapper(
            content, options.get("encoding"), options.get("errors"), options.get("newline")
        )

    def rm(self, path: str, *, recursive: bool = False) -> None:
        """Delete a file, or all that is below a path.

        Raises:
            FileNotFoundError: it is not there, where the store says so.
            StorageError: it cannot be deleted.
        """
        self._ask("rm", path, recursive=True) if recursive else self._ask("rm_file", path)

    def discard(self, path: str) -> None:
        """Delete a file that may be gone.

        Raises:
            StorageError: it cannot be deleted.
        """
        with suppress(FileNotFoundError):
            self.rm(path)

    def read_version(self, path: str) -> tuple[bytes, str | None]:
        """Return the bytes of a file and its version, for `put_if`; none and None where it is not there."""
        try:
            # in this order: a change in between makes the version too old to write with
            version = self._ask("info", path).get("ETag", "")
            return self._ask("cat_file", path), version
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

    def _type(self, path: str) -> str | None:
        try:
            return str(self._ask("info", path)["type"])
        except FileNotFoundError:
            return None

    def _ask(self, name: str, path: Any, *args: Any, **options: Any) -> Any:
        method = self._method(name)
        start = time.monotonic()
        for attempt in range(1, TRIES + 1):
            try:
                return method(path, *args, **options)
            except Exception as error:
                is_last = attempt == TRIES or time.monotonic() - start > PATIENCE
                if is_last or not _is_transient(error):
                    raise self._translated(error, name, path, attempt) from error
                time.sleep(FIRST_WAIT * 2 ** (attempt - 1) * random.uniform(0.5, 1))  # noqa: S311 - no secret
        raise AssertionError("the last try returns or raises")

    def _method(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._files, name)
        if name in _OF_ANY_LENGTH or not getattr(self._files, "async_impl", False):
            return method
        from fsspec.asyn import sync

        request = getattr(self._files, f"_{name}", None)
        return method if request is None else partial(sync, self._files.loop, request, timeout=LONGEST)

    def _translated(self, error: Exception, name: str, path: Any, tries: int) -> Exception:
        code, status = _answer(error)
        verb = _VERBS.get(name, "read")
        is_gone = name in _PUTS and code == "NoSuchKey"  # what a condition names
        if code == "PreconditionFailed" or status in (409, 412) or is_gone:
            return FileExistsError(str(path))
        is_missing = isinstance(error, FileNotFoundError)
        if is_missing and code != "NoSuchBucket" and name not in _PUTS:
            return error
        if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
            return error
        cause = _CAUSES.get(code)
        if cause is None and _is_transient(error):
            cause = f"the store did not answer in {tries} tries ({status or code})"
        if cause is None and (isinstance(error, PermissionError) or status in (401, 403)):
            cause = f"the credentials lack the right to {verb} there, or to list the folder"
        if cause is None:
            cause = _CAUSES["NoSuchBucket"] if is_missing else f"it answers {code}"
        return StorageError(f"cannot {verb} {self._address(path)}: {cause}; {_ADVICE}")

    def _address(self, path: Any) -> str:
        return f"{self.scheme}://{str(path).lstrip('/')}"


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
    path = UPath(address, **_OPTIONS.get(scheme, {}))
    path._fs_cached = ObjectStore(path.fs, scheme)  # noqa: SLF001 - no public way
    return cast("Path", path)


def store_of(path: Path) -> tuple[ObjectStore, str] | None:
    """Return the store that a path is in, and its name there; None for any other path."""
    files = None if isinstance(path, Path) else getattr(path, "fs", None)
    if files is None:
        return None
    return files if isinstance(files, ObjectStore) else ObjectStore(files, path.protocol), path.path


def _is_transient(error: BaseException) -> bool:
    _, status = _answer(error)
    names = {cls.__name__ for part in _chain(error) for cls in type(part).__mro__}
    return status in _TRANSIENT or not _UNANSWERED.isdisjoint(names)


def _answer(error: BaseException) -> tuple[str, int | None]:
    """Return the code and the status of HTTP that a store answered; else the name of the error's class."""
    for part in _chain(error):
        response = getattr(part, "response", None)
        if isinstance(response, Mapping):  # of botocore
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return str(response.get("Error", {}).get("Code")), status
        status = getattr(part, "status_code", None) or getattr(part, "code", None)
        if isinstance(status, int | str) and str(status).isdecimal():  # of Azure and Google
            return type(part).__name__, int(status)
    return type(error).__name__, None


def _chain(error: BaseException) -> Iterator[BaseException]:
    part: BaseException | None = error
    while part is not None:
        yield part
        part = part.__cause__
