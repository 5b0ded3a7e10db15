"""Bytes to characters: which encoding a text file is in."""

import codecs
import re
from contextlib import suppress

from qa_pipeline.documents.corpus.files import DocumentFailure

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY_STARTS = (
    b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x7fELF", b"\x1f\x8b",
    b"\xd0\xcf\x11\xe0", b"RIFF", b"{\\rtf",
)  # fmt: skip
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']\s*([\w.:-]{2,40})|"""
    rb"""<meta\b[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w.:-]{2,40})""",
    re.IGNORECASE,
)
_LOOKED_AT = 4096  # bytes in which a file declares its encoding
_GARBLED = re.compile(
    r"[^\W\d_][\x80-\x9f\xa1-\xac\xae-\xb3\xb5\xb6\xb8-\xbf„”†‡ˆ‰‹›•˜](?=[^\W\d_])|[a-z][ŒŠŽŸÀ-Þ]"
)
"""A sign amid a word, or a capital behind a small letter, as in text of another code page."""
# Browsers read these labels as their Windows superset, and pages rely on it (WHATWG Encoding, 4.2).
_SUPERSETS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254"}


def decode(content: bytes, *, declared: bool = False, charset: str | None = None) -> str:
    """Decode a text by its byte order mark, its declaration, as UTF-8, or by a guess.

    `declared` believes an XML declaration or HTML meta element; `charset` is stated elsewhere, as in the
    header of an e-mail. Raises a DocumentFailure (`binary_content` or `undecodable`).
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            text = _try_decoding(content.removeprefix(mark), encoding)
            if text is None:
                detail = f"the byte order mark indicates {encoding}, which does not fit"
                raise DocumentFailure("undecodable", detail)
            return text
    if content.startswith(_BINARY_STARTS):
        raise DocumentFailure("binary_content", "the content is binary, despite the file name")
    if charset is None and 0 in content[:_LOOKED_AT]:
        raise DocumentFailure("binary_content", "the file contains NUL characters, so it is not text")
    declaration = _DECLARATION.search(content[:_LOOKED_AT]) if declared else None
    declared_name = (declaration[1] or declaration[2]).decode("ascii", "replace") if declaration else None
    utf8_text = _try_decoding(content, "utf-8")
    for name in filter(None, (charset, declared_name)):
        encoding = _encoding_of(name)
        text = _try_decoding(content, encoding)
        if text is None:
            continue
        # UTF-8 is read as such, whatever encoding of single bytes is declared
        is_doubtful = len(text) == len(content) or encoding.startswith(("utf-16", "utf-32"))
        return utf8_text if is_doubtful and utf8_text is not None else text
    return utf8_text if utf8_text is not None else _guess(content)


def _encoding_of(name: str) -> str:
    """Return the encoding that browsers read for a name, such as cp1252 for `latin-1`."""
    with suppress(LookupError, ValueError):  # unknown, or with a null character
        name = codecs.lookup(name).name
    return _SUPERSETS.get(name, name)


def _try_decoding(content: bytes, encoding: str) -> str | None:
    try:
        text = content.decode(encoding)
    except (UnicodeError, LookupError, ValueError):  # unknown, or not one of text, such as rot13
        return None
    return text if "\0" not in text else None


def _guess(content: bytes) -> str:
    """Read undeclared text that is not UTF-8 as Windows text, unless its words look garbled."""
    text = _try_decoding(content, "cp1252")
    letters = [character for character in text or "" if character.isalpha()]
    is_foreign = 2 * sum(not letter.isascii() for letter in letters) > len(letters)
    if text is None or is_foreign or _GARBLED.search(text):
        detail = "no known encoding fits; save the file as UTF-8"
        raise DocumentFailure("undecodable", detail)
    return text
