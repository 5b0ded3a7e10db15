"""Compute SHA-256 hashes in hex, and pseudo-random numbers from them. They are equal on every machine."""

import hashlib
import json
from pathlib import Path
from typing import Any


def hash_text(text: str) -> str:
    """Return the hash of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def hash_parts(*parts: object) -> str:
    """Return the hash of parts as texts, joined by the unit separator."""
    return hash_text("\x1f".join(map(str, parts)))


def hash_json(value: Any) -> str:
    """Return the hash of a value as JSON, regardless of the order of its keys."""
    return hash_text(json.dumps(value, sort_keys=True))


def hash_file(path: Path) -> str:
    """Return the hash of a file without reading it into memory at once; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def draw_number(*parts: object) -> int:
    """Return a pseudo-random number of 64 bits that depends only on the parts."""
    return int(hash_parts(*parts)[:16], 16)
