"""Bytes to characters: which encoding a text file is in."""

import codecs
import re
from contextlib import suppress
from operator import itemgetter
from typing import NoReturn

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.text.lexicon.languages import of_all

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
_DECLARED_WITHIN = 4096  # bytes in which a file declares its encoding
_GUESSED_FROM = 200_000  # bytes or characters from which an encoding is guessed
_SINGLE_BYTE = ("cp1252", "mac_roman", "cp850")
"""The encodings of files in the handled languages that are not Unicode, the likeliest first."""
_FOREIGN = "èêëàáâóòôíîïúûñçæøœ"  # as in names, and in what is read in a wrong code page
_SMALL = "é" + _FOREIGN + "".join(of_all("letters"))
_LARGE = _SMALL.replace("ß", "").upper()
_PROSE = "“”„‘‚«»‹›–—…•·€£§°²³±×½¼¾µ®©™¨¿¡"
_ODD = re.compile(r"[^\t\n\r\f -\x7f]")
_FITTING = re.compile(
    rf"[{_SMALL}](?![A-Z])|(?<![a-z])[{_LARGE}]|(?<![^\W\d_])[{_PROSE}]|[{_PROSE}](?![^\W\d_])|[’´\xa0\xad]"
)
"""A letter of the languages handled here, without a change of case inside a word, or a mark beside one."""
_LEAST_PLAUSIBLE = 0.5  # of the characters beyond ASCII; where fewer fit, no text is better than a wrong one
_MOST_FOREIGN = 0.5  # of the letters: Latin text has fewer beyond ASCII, and text of other alphabets more
# Browsers read these labels as their Windows superset, and pages rely on it (WHATWG Encoding, 4.2).
_SUPERSETS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254"}


def decode(content: bytes, *, declared: bool = False, charset: str | None = None) -> str:
    """Decode a text: byte order mark, then its declaration, then UTF-8, then a guess.

    Encodings of one byte a character fit any bytes, and UTF-16 most; what is UTF-8 is in none of them.

    Args:
        content: the text.
        declared: believe an encoding named in an XML declaration or HTML meta element.
        charset: an encoding that is named beside the text, as in the head of an e-mail.

    Raises:
        DocumentFailure: `binary_content` or `undecodable`.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            if (text := _try_decoding(content[len(mark) :], encoding)) is None:
                detail = f"the byte order mark indicates {encoding}, which does not fit"
                raise DocumentFailure("undecodable", detail)
            return text
    _refuse_binary(content)
    declaration = _DECLARATION.search(content[:_DECLARED_WITHIN]) if declared else None
    stated = (declaration[1] or declaration[2]).decode("ascii", "replace") if declaration else None
    for label in filter(None, (charset, stated, "utf-8")):
        name = label
        with suppress(LookupError, ValueError):  # the latter where it holds a null character
            name = codecs.lookup(label).name
        name = _SUPERSETS.get(name, name)
        if (decoded := _try_decoding(content, name)) is not None:
            is_wide = name.startswith(("utf-16", "utf-32"))
            is_doubtful = is_wide or (len(decoded) == len(content) and not content.isascii())
            return (_try_decoding(content, "utf-8") if is_doubtful else None) or decoded
    return _guess(content)


def _refuse_binary(content: bytes) -> None:
    start = content[:8192]
    if start.startswith(_BINARY_STARTS):
        raise DocumentFailure("binary_content", "the content is of a binary format, despite the file name")
    zeros = start.count(0)
    # UTF-16 without a mark holds a zero in every other byte of Latin text, and only there.
    half = max(start[::2].count(0), start[1::2].count(0))
    if zeros and (half < zeros or half < len(start) // 4):
        raise DocumentFailure("binary_content", "the file holds NUL characters, which text never does")


def _try_decoding(content: bytes, encoding: str) -> str | None:
    try:
        text = content.decode(encoding)
    except (UnicodeError, LookupError, ValueError):  # unknown, or not one of text, such as rot13
        return None
    return text if "\0" not in text else None


def _guess(content: bytes) -> str:
    """Read undeclared bytes that are no UTF-8.

    Encodings of one byte a character fit almost any bytes, so the one counts whose text looks most like
    prose of the languages handled here. General detectors take a short Windows text for another code page
    and turn every umlaut into a sign, unseen; no text is better than that.
    """
    start = content[:_GUESSED_FROM]
    if 0 in start:  # UTF-16, where in Latin text the high bytes are the zeros
        order = "le" if start[1::2].count(0) > start[::2].count(0) else "be"
        return _try_decoding(content, f"utf-16-{order}") or _refuse(content)
    texts = [_try_decoding(content, encoding) for encoding in _SINGLE_BYTE]
    weighed = [(_plausibility(text[:_GUESSED_FROM]), text) for text in texts if text is not None]
    share, best = max(weighed, key=itemgetter(0), default=(0.0, ""))  # of equals the first
    return best if share >= _LEAST_PLAUSIBLE else _refuse(content)


def _plausibility(text: str) -> float:
    """Return the share of the characters beyond ASCII that prose would have in their places.

    Text whose letters are mostly beyond ASCII is of another alphabet, and all of it is implausible.
    """
    letters = [character for character in text if character.isalpha()]
    foreign = sum(not letter.isascii() for letter in letters)
    odd = len(_ODD.findall(text))
    is_foreign = foreign > _MOST_FOREIGN * len(letters)
    fitting = len(_FITTING.findall(text)) - sum(map(text.lower().count, _FOREIGN)) / 2
    return 0.0 if is_foreign or not odd else fitting / odd


def _refuse(content: bytes) -> NoReturn:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        detail = f"no known encoding fits; UTF-8 fails at byte {error.start + 1}; save the file as UTF-8"
    else:
        detail = f"it holds a NUL character at byte {content.find(0) + 1}, which text never does; remove it"
    raise DocumentFailure("undecodable", detail)
