"""Bombs written as zip files with XML inside, and as compressed files."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import polars as pl

from qa_pipeline_tests.benchmarks.robustness.fuzz_seeds import HTML, WORD, built_seeds, unzipped, zipped
from qa_pipeline_tests.benchmarks.robustness.fuzz_text_bombs import Build, entity_laughs

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def containers(suffix: str, member: str) -> dict[str, Build]:
    """What can be wrong with a zip file and the XML in it; `member` is where the text is."""

    def members() -> dict[str, bytes]:
        return unzipped(built_seeds()[suffix][0])

    def with_text(content: bytes) -> bytes:
        return zipped({**members(), member: content})

    def spoilt(before: bytes, after: bytes) -> bytes:
        return with_text(members()[member].replace(before, after, 1))

    return {
        "zeros-1gb": lambda: _zip_bomb(members(), member, 1_000_000_000),
        "spaces-400mb": lambda: _zip_bomb(members(), member, 400_000_000, b" "),
        "other-member-1gb": lambda: _zip_bomb(members(), "media/image.png", 1_000_000_000),
        "members-70000": lambda: zipped({**members(), **{f"x/{n}": b"" for n in range(70_000)}}),
        "slip": lambda: zipped({"../../../outside": b"x", "/absolute": b"x", **members()}),
        "same-member-twice": lambda: _twice(members(), member),
        "laughs": lambda: with_text(entity_laughs() + b"<a>&a11;</a>"),
        "laughs-in-text": lambda: with_text(_with_doctype(members()[member])),
        "external-entity": lambda: with_text(
            b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"
        ),
        "external-dtd": lambda: with_text(b"<!DOCTYPE a SYSTEM 'http://127.0.0.1/a.dtd'><a>x</a>"),
        "deep": lambda: with_text(b"<a>" * 200_000 + b"x" + b"</a>" * 200_000),
        "deep-300": lambda: with_text(b"<a>" * 300 + b"x" + b"</a>" * 300),
        "attribute-20mb": lambda: with_text(b'<a b="' + b"x" * 20_000_000 + b'">x</a>'),
        "attributes-100000": lambda: with_text(
            b"<a " + b" ".join(b'b%d="1"' % n for n in range(100_000)) + b">x</a>"
        ),
        "elements-2000000": lambda: with_text(b"<a>" + b"<b/>" * 2_000_000 + b"</a>"),
        "text-40mb": lambda: with_text(b"<a>" + b"x " * 20_000_000 + b"</a>"),
        "utf-16": lambda: with_text(members()[member].decode().encode("utf-16")),
        "empty-member": lambda: with_text(b""),
        "cut": lambda: with_text(members()[member][:-40]),
        "other-namespace": lambda: spoilt(b"http://", b"urn:"),
        "no-member": lambda: zipped({name: text for name, text in members().items() if name != member}),
        "empty-zip": lambda: zipped({}),
        "encrypted": lambda: _marked_encrypted(zipped(members())),
    }


def _with_doctype(content: bytes) -> bytes:
    """Put entities in front of a member and use one in its first piece of text."""
    declaration, _, rest = content.partition(b"?>")
    start = rest if declaration.lstrip().startswith(b"<?xml") else content
    laughs = entity_laughs().partition(b"?>")[2]
    return laughs + start.replace(b"A pump", b"&a11;", 1).replace(b"Pumps", b"&a11;", 1)


def _zip_bomb(members: dict[str, bytes], member: str, length: int, piece: bytes = b"\0") -> bytes:
    target = io.BytesIO()
    block = piece * 1_000_000
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if name != member:
                archive.writestr(name, content)
        packed = zipfile.ZipInfo(member)
        packed.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(packed, "w", force_zip64=True) as file:
            for _ in range(length // len(block)):
                file.write(block)
    return target.getvalue()


def _twice(members: dict[str, bytes], member: str) -> bytes:
    once = zipped(members)
    start = once.find(member.encode())
    return once.replace(b"[Content_Types].xml", member.encode()[:19].ljust(19, b"x")) if start >= 0 else once


def _marked_encrypted(content: bytes) -> bytes:
    """Set the flag of encryption in every header."""
    damaged = bytearray(content)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = damaged.find(mark)
        while start >= 0:
            damaged[start + place] |= 1
            start = damaged.find(mark, start + 4)
    return bytes(damaged)


def word() -> dict[str, Build]:
    """DOCX: what is deep, wide and many in its text."""

    def document(body: bytes) -> bytes:
        text = b'<w:document xmlns:w="' + WORD.encode() + b'"><w:body>' + body + b"</w:body></w:document>"
        return zipped({**unzipped(built_seeds()[".docx"][0]), "word/document.xml": text})

    table = b"<w:tbl><w:tr><w:tc>"
    row = b"<w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr>"
    span = b'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="99999999"/><w:vMerge/></w:tcPr><w:p/></w:tc></w:tr>'
    return {
        "rows-100000": lambda: document(b"<w:tbl>" + row * 100_000 + b"</w:tbl>"),
        "paragraphs-300000": lambda: document(b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 300_000),
        "tables-deep": lambda: document(table * 60 + b"<w:p/>" + b"</w:tc></w:tr></w:tbl>" * 60),
        "tables-deeper": lambda: document(table * 5_000 + b"<w:p/>" + b"</w:tc></w:tr></w:tbl>" * 5_000),
        "spans": lambda: document(b"<w:tbl>" + span * 3_000 + b"</w:tbl>"),
        "runs": lambda: document(b"<w:p>" + b"<w:r><w:t>a</w:t></w:r>" * 300_000 + b"</w:p>"),
        "tabs": lambda: document(b"<w:p><w:r>" + b"<w:tab/><w:br/>" * 500_000 + b"</w:r></w:p>"),
        "fields": lambda: document(b'<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r></w:p>' * 50_000),
        "boxes-deep": lambda: document(
            b"<w:p><w:r><w:txbxContent>" * 50 + b"</w:txbxContent></w:r></w:p>" * 50
        ),
    }


def parquets() -> dict[str, Build]:
    """Parquet: columns that repeat one value, and what is long, wide and deep."""
    return {
        "rows-20000000": lambda: _parquet({"text": pl.repeat("a", 20_000_000, eager=True)}),
        "one-value-2gb": lambda: _parquet({"text": pl.repeat("x" * 1_000_000, 2_000, eager=True)}),
        "one-text-40mb": lambda: _parquet({"text": ["x " * 20_000_000]}),
        "columns-20000": lambda: _parquet({f"c{number}": ["a"] for number in range(20_000)}),
        "lists-deep": lambda: _parquet({"text": [_deep_list(60)]}),
        "numbers-only": lambda: _parquet({"n": range(1_000_000)}),
        "nothing": lambda: _parquet({"text": []}),
    }


def _parquet(columns: Mapping[str, object]) -> bytes:
    target = io.BytesIO()
    pl.DataFrame(columns).write_parquet(target, compression="zstd")
    return target.getvalue()


def _deep_list(depth: int) -> object:
    return [_deep_list(depth - 1)] if depth else "text"


def compressed() -> Iterator[tuple[str, Build]]:
    """Name with suffix and content of compressed files."""
    for end, pack in PACKERS.items():
        yield f"zeros-300mb.md{end}", partial(_packed, pack, b"\0" * 1_000_000, 300)
        yield f"spaces-45mb.md{end}", partial(_packed, pack, b" " * 1_000_000, 45)
        yield f"twice.txt{end}", partial(_packed, pack, pack(b"text " * 100), 1)
        yield f"cut.txt{end}", partial(_cut, pack)
        yield f"joined.txt{end}", partial(bytes.__mul__, pack(b"text "), 20_000)
        yield f"table.csv{end}", partial(_packed, pack, b"a,b\n1,2\n", 1_000)
        yield f"page.html{end}", partial(_packed, pack, HTML.encode(), 1)
        yield f"print.pdf{end}", partial(_packed, pack, built_seeds()[".pdf"][0], 1)


def _packed(pack: Callable[[bytes], bytes], piece: bytes, times: int) -> bytes:
    return pack(piece * times)


def _cut(pack: Callable[[bytes], bytes]) -> bytes:
    return pack(b"text " * 1_000)[:-5]
