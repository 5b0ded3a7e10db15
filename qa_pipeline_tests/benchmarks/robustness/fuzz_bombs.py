"""Files built to do harm: deep, long, wide, or larger than their size shows."""

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import polars as pl

from qa_pipeline.documents.corpus.files import format_of
from qa_pipeline_tests.benchmarks.robustness.fuzz_seeds import WORD, built_seeds, unzipped, zipped

Build = Callable[[], bytes]

LONG = 50_000_000
"""As long as a file may be by default."""
_TEXT = (".md", ".txt", ".html", ".rst", ".csv", ".jsonl", ".eml")
_MEMBER_WITH_TEXT = {
    ".docx": "word/document.xml",
    ".pptx": "ppt/slides/slide1.xml",
    ".epub": "OEBPS/a.xhtml",
}


def bombs() -> Iterator[tuple[str, Build]]:
    """Yield the name and the content of every bomb of a readable format."""
    return ((name, build) for name, build in _all() if format_of(name))


def _all() -> Iterator[tuple[str, Build]]:
    for suffix in _TEXT:
        for name, build in _of_any_text().items():
            yield f"{name}{suffix}", partial(_told_apart, build, suffix)
    yield from _named(".md", _markdown())
    yield from _named(".html", _html())
    yield from _named(".pdf", _pdf())
    yield from _named(".docx", _word())
    yield from _named(".parquet", _parquets())
    for suffix, member in _MEMBER_WITH_TEXT.items():
        yield from _named(suffix, _containers(suffix, member))


def _told_apart(build: Build, suffix: str) -> bytes:
    """Build the same text for another format; equal bytes would count as a copy."""
    return build()[: LONG - len(suffix) - 1] + b"\n" + suffix.encode()


def _named(suffix: str, builds: Mapping[str, Build]) -> Iterator[tuple[str, Build]]:
    return ((f"{name}{suffix}", build) for name, build in builds.items())


def _of_any_text() -> dict[str, Build]:
    """Long lines, repetition, and openings without an end."""
    return {
        "one-line-50mb": lambda: b"x" * LONG,
        "words-50mb": lambda: b"pump valve " * (LONG // 11),
        "accents": lambda: "\u0301".encode() * 300_000,
        "quotes": lambda: b"> " * 3_000 + b"x",
        "lists": lambda: b"\n".join(b" " * (2 * depth) + b"- x" for depth in range(3_000)),
        "brackets": lambda: b"[" * 200_000,
        "stars": lambda: b"*a **b " * 30_000,
        "divs": lambda: b"<div>" * 200_000,
        "tables": lambda: b"<table><tr><td>" * 5_000,
        "comments": lambda: b"<!--" * 100_000,
        "entities": lambda: b"&" * 500_000,
    }


def _markdown() -> dict[str, Build]:
    return {
        "table-100000-rows": lambda: b"|a|b|c|\n|-|-|-|\n" + b"|1|2|3|\n" * 100_000,
        "headings": lambda: b"# a\n\n" * 200_000,
        "references": lambda: b"".join(b"[a%d]: /x\n" % n for n in range(50_000)) + b"[a1]" * 50_000,
        "front-matter-deep": lambda: b"---\na: " + b"[" * 50_000 + b"\n---\ntext\n",
    }


def _html() -> dict[str, Build]:
    return {
        "spans": lambda: b"<table><tr><td rowspan=65534 colspan=1000>a" * 200,
        "attributes": lambda: b"<p " + b" ".join(b'b%d="1"' % n for n in range(100_000)) + b">x</p>",
        "lists-deep": lambda: b"<ul><li>" * 50_000 + b"x",
    }


def _pdf() -> dict[str, Build]:
    seed = built_seeds()[".pdf"][0]
    return {
        "cut": lambda: seed[: len(seed) // 2],
        "no-end": lambda: seed.replace(b"%%EOF", b""),
        "many-pages": lambda: seed.replace(b"/Count 2", b"/Count 99999999"),
        "wide-page": lambda: seed.replace(b"/MediaBox [0 0", b"/MediaBox [-1e38 -1e38"),
    }


def _containers(suffix: str, member: str) -> dict[str, Build]:
    """Zip files whose text stands in `member`."""

    def members() -> dict[str, bytes]:
        return unzipped(built_seeds()[suffix][0])

    def with_text(content: bytes) -> bytes:
        return zipped({**members(), member: content})

    return {
        "zeros-1gb": lambda: _zip_bomb(members(), member, 1_000_000_000),
        "members-70000": lambda: zipped({**members(), **{f"x/{n}": b"" for n in range(70_000)}}),
        "slip": lambda: zipped({"../../../outside": b"x", "/absolute": b"x", **members()}),
        "laughs": lambda: with_text(_entity_laughs() + b"<a>&a11;</a>"),
        "external-entity": lambda: with_text(
            b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"
        ),
        "deep": lambda: with_text(b"<a>" * 200_000 + b"x" + b"</a>" * 200_000),
        "attribute-20mb": lambda: with_text(b'<a b="' + b"x" * 20_000_000 + b'">x</a>'),
        "text-40mb": lambda: with_text(b"<a>" + b"x " * 20_000_000 + b"</a>"),
        "cut": lambda: with_text(members()[member][:-40]),
        "no-member": lambda: zipped({name: text for name, text in members().items() if name != member}),
        "empty-zip": lambda: zipped({}),
    }


def _entity_laughs() -> bytes:
    """Twelve entities, each ten times the one before."""
    lines = [b'<!ENTITY a0 "ha">']
    lines += [b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12)]
    return b'<?xml version="1.0"?><!DOCTYPE a [' + b"".join(lines) + b"]>"


def _zip_bomb(members: dict[str, bytes], member: str, length: int) -> bytes:
    target = io.BytesIO()
    block = b"\0" * 1_000_000
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


def _word() -> dict[str, Build]:
    def document(body: bytes) -> bytes:
        text = b'<w:document xmlns:w="' + WORD.encode() + b'"><w:body>' + body + b"</w:body></w:document>"
        return zipped({**unzipped(built_seeds()[".docx"][0]), "word/document.xml": text})

    table = b"<w:tbl><w:tr><w:tc>"
    span = b'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="99999999"/><w:vMerge/></w:tcPr><w:p/></w:tc></w:tr>'
    return {
        "paragraphs-300000": lambda: document(b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 300_000),
        "tables-deeper": lambda: document(table * 5_000 + b"<w:p/>" + b"</w:tc></w:tr></w:tbl>" * 5_000),
        "spans": lambda: document(b"<w:tbl>" + span * 3_000 + b"</w:tbl>"),
    }


def _parquets() -> dict[str, Build]:
    return {
        "rows-20000000": lambda: _parquet({"text": pl.repeat("a", 20_000_000, eager=True)}),
        "one-value-2gb": lambda: _parquet({"text": pl.repeat("x" * 1_000_000, 2_000, eager=True)}),
        "columns-20000": lambda: _parquet({f"c{number}": ["a"] for number in range(20_000)}),
    }


def _parquet(columns: Mapping[str, object]) -> bytes:
    target = io.BytesIO()
    pl.DataFrame(columns).write_parquet(target, compression="zstd")
    return target.getvalue()
