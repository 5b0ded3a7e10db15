"""Damage done to files at random, the same for the same seed."""

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random

from qa_pipeline_tests.benchmarks.robustness.fuzz_seeds import zipped

# ruff: noqa: E501 - what is written into a file reads best on one line


LONGEST = 3_000_000
_STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
_NUMBER = re.compile(rb"\d+")
_ENCODINGS = (
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "latin-1",
    "cp1252",
    "utf-8-sig",
    "cp437",
    "utf-7",
)

TOKENS = tuple(
    token.encode("utf-8", "surrogatepass")
    for token in (
        # invisible, direction-changing, composing, beyond the first plane, no characters at all
        "\0", "\x1b[31m", "\x85", "\u2028", "\u202e", "\u2066", "\u200d", "\ufeff", "\ufffe", "\u0301" * 40,
        "\ud800", "\U0010ffff", "\U000e0041", "a\u0308", "\u1100\u1161\u11a8", "\ufb01", "\u00ad", "\r", "\x0b",
        # text formats
        "# ", "###### ", "\n---\n", "```", "~~~~", "> > > ", "- - - ", "1. ", "|---|", "| a | b |\n", "[", "](", "![",
        "*", "**", "_", "`", "\\", "<!--", "-->", "{%", "{{", "[^1]:", "  \n", "\t", "\n\n\n", "===\n", "+--+\n",
        ".. include:: /etc/passwd\n", ".. raw:: html\n", ".. |a| replace:: |a|\n", "|a|_ ", "::\n\n  ", ".. _a: a_\n",
        ":role:`x`", ".. table::\n", ".. csv-table::\n   :file: /etc/passwd\n", ".. math::\n", "`a`__ ", ".. contents::\n",
        # markup
        "<", ">", "</", "<table>", "<tr><td rowspan=99999 colspan=99999>", "<pre>", "<script>", "<div>", "</div>",
        "<![CDATA[", "]]>", "&", "&amp;", "&#0;", "&#xD800;", "&#x110000;", "&nbsp;", "<!DOCTYPE a [", "<!ENTITY x SYSTEM 'file:///etc/passwd'>",
        "&x;", "<?xml version='1.0' encoding='utf-16'?>", "<meta charset=utf-7>", "<svg>", "<template>", "<base href=//x>",
        # tables and lines
        '"', '""', ";", ",", "\t\t", '{"text": ', "[[[[", "]]]]", "1e999", "NaN", "-0", '"\\ud800"', "null", "true",
        # mail
        "\nContent-Type: multipart/mixed; boundary=x\n", "\n--x\n", "--x--", "=?utf-8?b?////?=", "Content-Transfer-Encoding: base64\n",
        "Content-Type: message/rfc822\n\n", "charset=\"no-such\"", "=3D=\n", "begin 644 a\n", "=?utf-7?q?+AGE-?=",
        # PDF and containers
        "obj", "endobj", "stream\n", "endstream", "xref\n", "trailer", "startxref", "%%EOF", "/Kids [1 0 R]", "/Count 99999999",
        "/Length 999999999", "/MediaBox [0 0 1e38 -1e38]", "/Rotate 90", "<<", ">>", "BT", "ET", "Tj", "TJ", "Tf", "Tm", "q Q", "cm",
        "PK\x03\x04", "PK\x01\x02", "PK\x05\x06", "../../", "w:p", "<w:tbl>", "<a:t>", "xml:space", "r:id='rId999'",
    )
)  # fmt: skip


def mutate(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Damage a file one to four times, on its surface or behind its compression."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        content = _damage(content, others, random)[:LONGEST]
    return content


def _damage(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    if content.startswith(b"PK") and random.random() < 0.8:
        return _inside_zip(content, others, random)
    if content.startswith(b"%PDF") and random.random() < 0.4:
        return _inside_pdf(content, random)
    return _on_surface(content, others, random)


def _on_surface(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    if not content:
        return random.choice(TOKENS)
    mutation = random.choice(_MUTATIONS)
    return mutation(content, random.choice(others) if others else content, random)


def _inside_zip(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Damage one member and pack all of them again, so that what reads the member sees it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError):
        return _on_surface(content, others, random)
    if not members:
        return content
    # the larger a member, the likelier it is the one with the text
    chosen = random.choices(list(members), weights=[len(member) + 1 for member in members.values()])[0]
    content = members.pop(chosen)
    what = random.random()
    if what < 0.05:
        return zipped(members)
    if what < 0.1:
        odd = ("../../escape", "/absolute", "a" * 300, f"{chosen}\\..", "[Content_Types].xml")
        return zipped({**members, random.choice(odd): content})
    return zipped({**members, chosen: _on_surface(content, list(members.values()), random)})


def _inside_pdf(content: bytes, random: Random) -> bytes:
    """Damage what a stream holds; the reader repairs a file whose offsets no longer fit."""
    streams = [found for found in _STREAM.finditer(content) if len(found.group(1)) > 8]
    if not streams:
        return content
    found = random.choice(streams)
    try:
        inside, compressed = zlib.decompress(found.group(1)), True
    except zlib.error:
        inside, compressed = found.group(1), False
    damaged = _on_surface(inside, [inside], random)
    packed = zlib.compress(damaged) if compressed else damaged
    return content[: found.start(1)] + packed + content[found.end(1) :]


Mutation = Callable[[bytes, bytes, Random], bytes]


def _flip(content: bytes, other: bytes, random: Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(random.choice((1, 2, 8, 64))):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def _garble(content: bytes, other: bytes, random: Random) -> bytes:
    start, end = _piece(content, random, 2000)
    return content[:start] + random.randbytes(end - start) + content[end:]


def _cut(content: bytes, other: bytes, random: Random) -> bytes:
    start, end = sorted(random.randrange(len(content) + 1) for _ in range(2))
    return random.choice(
        (content[:start], content[start:], content[start:end], content[:start] + content[end:])
    )


def _drop(content: bytes, other: bytes, random: Random) -> bytes:
    start, end = _piece(content, random, 50)
    return content[:start] + content[end:]


def _splice(content: bytes, other: bytes, random: Random) -> bytes:
    start, end = _piece(other, random, 20_000)
    place = random.randrange(len(content) + 1)
    return content[:place] + other[start:end] + content[place:]


def _cross(content: bytes, other: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)] + other[random.randrange(len(other) + 1) :]


def _repeat(content: bytes, other: bytes, random: Random) -> bytes:
    start, end = _piece(content, random, random.choice((3, 30, 3000)))
    times = random.choice((2, 10, 100, 1000, 20_000))
    return content[:end] + content[start:end] * min(times, LONGEST // max(end - start, 1)) + content[end:]


def _swap(content: bytes, other: bytes, random: Random) -> bytes:
    a, b, c, d = sorted(random.randrange(len(content) + 1) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _insert_tokens(content: bytes, other: bytes, random: Random) -> bytes:
    pieces = []
    places = sorted(random.randrange(len(content) + 1) for _ in range(random.choice((1, 3, 10, 50))))
    for start, end in zip([0, *places], [*places, len(content)], strict=True):
        pieces += [content[start:end], random.choice(TOKENS) * random.choice((1, 1, 1, 2, 30))]
    return b"".join(pieces)


def _swap_words(content: bytes, other: bytes, random: Random) -> bytes:
    words = re.split(rb"([^\w]+)", content)
    for _ in range(min(20, len(words))):
        a, b = random.randrange(len(words)), random.randrange(len(words))
        words[a], words[b] = words[b], words[a]
    return b"".join(words)


def _recode(content: bytes, other: bytes, random: Random) -> bytes:
    text = content.decode("utf-8", "surrogateescape")
    return text.encode(random.choice(_ENCODINGS), random.choice(("replace", "ignore", "xmlcharrefreplace")))


def _misread(content: bytes, other: bytes, random: Random) -> bytes:
    """What a program makes of text that it reads in another encoding, once or twice."""
    text = content.decode("latin-1")
    for _ in range(random.choice((1, 2))):
        text = text.encode("utf-8")[:LONGEST].decode("latin-1")
    return text.encode("latin-1")


def _renumber(content: bytes, other: bytes, random: Random) -> bytes:
    numbers = (b"0", b"-1", b"1", b"255", b"65536", b"2147483648", b"99999999999999999999", b"1e308")
    share = random.choice((0.02, 0.2, 1))
    return _NUMBER.sub(lambda m: random.choice(numbers) if random.random() < share else m.group(), content)


def _recase(content: bytes, other: bytes, random: Random) -> bytes:
    start, end = _piece(content, random, 5000)
    return content[:start] + content[start:end].swapcase() + content[end:]


_MUTATIONS: tuple[Mutation, ...] = (
    _flip, _flip, _garble, _cut, _drop, _splice, _cross, _repeat, _swap, _insert_tokens, _insert_tokens,
    _insert_tokens, _swap_words, _recode, _misread, _renumber, _recase,
)  # fmt: skip


def _piece(content: bytes, random: Random, longest: int) -> tuple[int, int]:
    start = random.randrange(len(content) + 1)
    return start, min(len(content), start + random.randrange(1, longest + 1))
