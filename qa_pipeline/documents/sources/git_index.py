"""The index of a git checkout: which files it tracks, and how long each was when it was checked out.

What belongs here: the binary format (gitformat-index(5), versions 2 to 4). What does not: what is made of it
(`git_checkouts`).
"""

import struct
from collections.abc import Iterator, Mapping

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
