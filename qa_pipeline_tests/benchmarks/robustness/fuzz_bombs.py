"""Files built to do harm: to be deep, long, wide or large beyond what their size shows.

What they hold is in `fuzz_text_bombs`, `fuzz_pdf_bombs` and `fuzz_container_bombs`.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from qa_pipeline.documents.formats.registry import format_of
from qa_pipeline_tests.benchmarks.robustness.fuzz_container_bombs import (
    compressed,
    containers,
    parquets,
    word,
)
from qa_pipeline_tests.benchmarks.robustness.fuzz_pdf_bombs import pdfs
from qa_pipeline_tests.benchmarks.robustness.fuzz_text_bombs import (
    LONG,
    Build,
    html,
    json_lines,
    mails,
    markdown,
    of_any_text,
    rst,
    tables,
)

_TEXT = (".md", ".txt", ".html", ".rst", ".csv", ".jsonl", ".eml")
_MEMBER_WITH_TEXT = {
    ".docx": "word/document.xml",
    ".pptx": "ppt/slides/slide1.xml",
    ".epub": "OEBPS/a.xhtml",
}


def bombs() -> Iterator[tuple[str, Build]]:
    """Name with suffix and content of every bomb of a format that can be read."""
    return ((name, build) for name, build in _all() if format_of(name, compressed=True))


def _all() -> Iterator[tuple[str, Build]]:
    for suffix in _TEXT:
        for name, build in of_any_text().items():
            yield f"{name}{suffix}", partial(_told_apart, build, suffix)
    for suffix, builds in (
        (".md", markdown()),
        (".html", html()),
        (".rst", rst()),
        (".csv", tables()),
        (".jsonl", json_lines()),
        (".eml", mails()),
        (".pdf", pdfs()),
        (".docx", word()),
        (".parquet", parquets()),
    ):
        yield from _named(suffix, builds)
    for suffix, member in _MEMBER_WITH_TEXT.items():
        yield from _named(suffix, containers(suffix, member))
    yield from compressed()


def _told_apart(build: Build, suffix: str) -> bytes:
    """The same text for another format: equal bytes would count as a copy and not be looked at."""
    return build()[: LONG - len(suffix) - 1] + b"\n" + suffix.encode()


def _named(suffix: str, builds: Mapping[str, Build]) -> Iterator[tuple[str, Build]]:
    return ((f"{name}{suffix}", build) for name, build in builds.items())
