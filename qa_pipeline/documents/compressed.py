"""Compressed files: a file of a known format behind `.gz`, `.bz2`, `.xz` or `.zst`.

What belongs here: unpacking one layer as a stream, under limits. What does not: archives of several files
(`archives`), and the format inside.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import IO

from qa_pipeline.documents.failure import DocumentFailure

_PIECE = 1_000_000
_MOST_EXPANSION = 200
"""Text shrinks to a third or a tenth; what shrinks more than this holds nothing a reader would miss."""
_ALWAYS_ALLOWED = 1_000_000
_XZ_MEMORY = 256_000_000
_STARTS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")


def unpack(content: bytes, suffix: str, limit: int) -> bytes:
    """The content of a compressed file.

    Args:
        content: the file.
        suffix: one of `UNPACKERS`.
        limit: most bytes that may come out.

    Raises:
        DocumentFailure: `too_large`, `archive_bomb`, `damaged`, or `empty_file` when nothing is inside.
    """
    pieces: list[bytes] = []
    length = 0
    try:
        for piece in UNPACKERS[suffix](content):
            pieces.append(piece)
            length += len(piece)
            _check(length, len(content), limit)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise DocumentFailure("damaged", f"the {suffix} file cannot be unpacked to its end") from error
    whole = b"".join(pieces)
    if whole.startswith(_STARTS):
        raise DocumentFailure("archive_bomb", "the file is compressed more than once; unpack it")
    if not whole.strip():
        raise DocumentFailure("empty_file", f"the {suffix} file holds nothing")
    return whole


def _check(length: int, packed: int, limit: int) -> None:
    if length > _ALWAYS_ALLOWED and length > _MOST_EXPANSION * packed:
        raise DocumentFailure("archive_bomb", f"unpacked it grows more than {_MOST_EXPANSION} times")
    if length > limit:
        raise DocumentFailure("too_large", f"unpacked it is larger than documents.max_bytes = {limit}")


def _gzip(content: bytes) -> Iterator[bytes]:
    return _read(gzip.GzipFile(fileobj=io.BytesIO(content)))


def _bzip2(content: bytes) -> Iterator[bytes]:
    return _read(bz2.BZ2File(io.BytesIO(content)))


def _read(file: IO[bytes] | gzip.GzipFile | bz2.BZ2File) -> Iterator[bytes]:
    with closing(file):
        while piece := file.read(_PIECE):
            yield piece


def _xz(content: bytes) -> Iterator[bytes]:
    """As `lzma.LZMAFile` reads it, with a limit on the memory that the file may ask for."""
    rest = content
    while rest:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        piece = unpacker.decompress(rest, _PIECE)
        while piece or not unpacker.eof:
            if not piece and unpacker.needs_input:
                raise EOFError("the file ends before its content does")
            yield piece
            piece = b"" if unpacker.eof else unpacker.decompress(b"", _PIECE)
        rest = unpacker.unused_data.lstrip(b"\0")  # padding between streams


def _zstandard(content: bytes) -> Iterator[bytes]:
    import pyarrow

    with pyarrow.CompressedInputStream(pyarrow.BufferReader(content), "zstd") as file:
        while piece := file.read(_PIECE):
            yield piece


UNPACKERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    ".gz": _gzip,
    ".bz2": _bzip2,
    ".xz": _xz,
    ".zst": _zstandard,
}
