"""SHA-256 of contents, in hex, and numbers drawn from it: the same on every machine."""

import hashlib
import json
from pathlib import Path
from typing import Any


def hash_text(text: str) -> str:
    """Return the hash of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def hash_parts(*parts: object) -> str:
    """Return the hash of parts as texts, which a unit separator keeps apart."""
    return hash_text("\x1f".join(map(str, parts)))


def hash_json(value: Any) -> str:
    """Return the hash of a value as JSON, whatever the order of its keys."""
    return hash_text(json.dumps(value, sort_keys=True))


def hash_file(path: Path) -> str:
    """Return the hash of a file, which is never held in memory whole.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def draw_number(*parts: object) -> int:
    """Return a number of 64 bits that looks random and depends on nothing but the parts."""
    return int(hash_parts(*parts)[:16], 16)
