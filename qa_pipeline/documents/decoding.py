"""Bytes to characters: which encoding a text file is in.

What belongs here: byte order marks, encodings a file declares, and the order in which they are believed.
What does not: which characters are kept afterwards (`characters`).
"""

import codecs
import re

from qa_pipeline.documents.failure import DocumentFailure

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY_STARTS = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x7fELF",
    b"\x1f\x8b",
    b"\xd0\xcf\x11\xe0",
    b"RIFF",
    b"{\\rtf",
)
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']\s*([\w.:-]{2,40})|"""
    rb"""<meta\b[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w.:-]{2,40})""",
    re.IGNORECASE,
)
_DECLARED_WITHIN = 4096
_GUESSED_FROM = 200_000
# What files in the languages handled here are written in when it is not UTF-8.
_GUESSES = ["cp1252", "utf_16_le", "utf_16_be", "mac_roman", "cp850"]
# Browsers read these labels as their Windows superset, and pages rely on it (WHATWG Encoding, 4.2).
_SUPERSETS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254"}


def decode(content: bytes, *, declared: bool = False) -> str:
    """Decode a text file: byte order mark, then its declaration, then UTF-8, then a guess.

    Args:
        content: the file.
        declared: believe an encoding named in an XML declaration or HTML meta element.

    Raises:
        DocumentFailure: `binary_content` or `undecodable`.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _decode_marked(content[len(mark) :], encoding)
    _refuse_binary(content)
    for candidate in (_declaration(content) if declared else None, "utf-8"):
        text = _attempt(content, candidate)
        if text is not None:
            return text
    return _guess(content)


def _decode_marked(content: bytes, encoding: str) -> str:
    text = _attempt(content, encoding)
    if text is None:
        raise DocumentFailure("undecodable", f"the byte order mark says {encoding}, the content is not")
    return text


def _refuse_binary(content: bytes) -> None:
    start = content[:8192]
    if start.startswith(_BINARY_STARTS):
        raise DocumentFailure("binary_content", "the file is of a binary format, whatever its name says")
    zeros = start.count(0)
    # UTF-16 without a mark holds a zero in every other byte of Latin text, and only there.
    half = max(start[::2].count(0), start[1::2].count(0))
    if zeros and (half < zeros or half < len(start) // 4):
        raise DocumentFailure("binary_content", "the file holds zero bytes, so it is not text")


def _declaration(content: bytes) -> str | None:
    found = _DECLARATION.search(content[:_DECLARED_WITHIN])
    if not found:
        return None
    label = (found.group(1) or found.group(2)).decode("ascii", "replace")
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    return _SUPERSETS.get(name, name)


def _attempt(content: bytes, encoding: str | None) -> str | None:
    if encoding is None:
        return None
    try:
        text = content.decode(encoding)
    except (UnicodeError, LookupError):  # LookupError: a codec that is not a text encoding, such as rot13
        return None
    return text if "\0" not in text else None


def _guess(content: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(content[:_GUESSED_FROM], cp_isolation=_GUESSES).best()
    text = _attempt(content, best.encoding) if best else None
    if text is None:
        raise DocumentFailure("undecodable", "no known encoding fits; save the file as UTF-8")
    return text
