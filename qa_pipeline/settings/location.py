"""Locations of a corpus and of results: local folders, and addresses that fsspec can open.

Addresses never contain credentials, which would reach logs, tables and messages. The library of each store
reads them from the environment.
"""

import re
from pathlib import Path
from typing import cast

from qa_pipeline.storage.object_stores import STORES, store_of, stored_path

_LOCAL = frozenset({"file", "local"})
_NO_USERS = frozenset({"http", "https"})
_ADDRESS = "://"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""The scheme of an address, also after `Path` merged its slashes; a Windows drive has a single letter."""


def location_of(value: object) -> str:
    """Return an address in stored form: a local path, or `scheme://path` without a trailing slash.

    Raises a ValueError for an unknown scheme, a missing package or credentials.
    """
    text = str(value)
    scheme, separator, path = text.partition(_ADDRESS)
    if not separator:
        return text
    scheme = scheme.lower()
    if scheme in _LOCAL:
        return path or "/"
    _check_path(scheme, path)
    _check_scheme(scheme)
    return f"{scheme}{_ADDRESS}{path.rstrip('/')}"


def local_folder(value: object) -> object:
    """Return a local folder unchanged, and refuse an address: its `Path` would be a folder named `s3:`."""
    if isinstance(value, str | Path) and _SCHEME.match(str(value)):
        raise ValueError(f"{value} is an address; name a local folder")
    return value


def output_folder(value: object) -> Path:
    """Return a folder for results, on disk or in an object store; refuse other addresses."""
    if not isinstance(value, str):
        if isinstance(value, Path) or store_of(cast("Path", value)) is not None:
            return cast("Path", local_folder(value))
        raise ValueError("name a folder or an address")
    scheme = value.partition(_ADDRESS)[0].lower()
    if _ADDRESS not in value or scheme in _LOCAL:
        return Path(cast("str", local_folder(value)))
    if scheme not in STORES:
        raise ValueError(
            f"results are written to local folders and to {', '.join(STORES)} only, not to {scheme}://"
        )
    return stored_path(location_of(value))


def is_remote(location: str) -> bool:
    """Return True if a location is an address, not a local path."""
    return _ADDRESS in location


def _check_path(scheme: str, path: str) -> None:
    """Refuse credentials and chained addresses."""
    user, at, _ = path.partition("/")[0].rpartition("@")
    if at and (":" in user or scheme in _NO_USERS):
        raise ValueError("it contains a password or token; set it in the environment instead")
    if "?" in path and scheme in _NO_USERS:
        raise ValueError(
            "it has a query, which may contain a token; name a folder that can be listed without it"
        )
    if "::" in path:
        raise ValueError("chained addresses are not supported; copy the files to a folder")


def _check_scheme(scheme: str) -> None:
    """Refuse a scheme that fsspec does not know, or whose package is missing."""
    from fsspec import get_filesystem_class

    try:
        get_filesystem_class(scheme or "no scheme")
    except ImportError as error:
        raise ValueError(f"{scheme}:// needs a package that is not installed: {error}") from error
    except ValueError as error:
        raise ValueError(f"{scheme}:// is unknown; name a local folder or an s3:// address") from error
