"""Fidelity of the text of PDFs against another extractor, pdfminer.six, and against the files themselves.

Run as `python -m qa_pipeline_tests.benchmarks.quality.measure_pdf FOLDER`; prints one JSON line.

`recall` is the share of the words the other extractor finds that our text or what we left out of it holds,
`recall_text` the same for our text alone: heads, feet and page numbers are left out on purpose. `precision`
is the share of our words that the other finds; the names of columns, which we repeat in every row of a table,
count once. Words are runs of letters and digits without their case; one that the other breaks at a line end
counts as joined where we have it so.

`order` is how far both put words in the same order: of the words that occur once in either text, the share
that make up the longest common subsequence (the anchors of a patience diff; Cohen 2003). Notes beside and
below the text, which the two place differently, lower it.

`characters` are what PDFium gives, blanks aside; `unexplained` are those that neither a block nor a text that
was left out holds, and `left_out` those that were, by kind. `headings_recall` and `headings_precision` are of
headings compared with the file's own outline, numbers before them aside.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pypdfium2
from pdfminer.high_level import extract_text

from qa_pipeline.documents.assembly import Omissions, assemble
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.pdf import parser as pdf
from qa_pipeline.documents.formats.pdf.glyphs import Glyphs
from qa_pipeline.records import ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.words import clean
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

_WORD = re.compile(r"[^\W_]+")
_BROKEN = re.compile(r"([^\W\d_]+)[-\u00ad\u2010]\s*\n\s*([^\W\d_]+)")
_NAME = re.compile(r"(?:^| \| )[^|:]+: ")
_SETTINGS = DocumentSettings()


def words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def join_broken(text: str, ours: Counter[str]) -> str:
    """Join the words that another extractor breaks at a line end where ours are joined."""

    def join(match: re.Match[str]) -> str:
        joined = match[1] + match[2]
        return joined if ours[joined.casefold()] else f"{match[1]} {match[2]}"

    return _BROKEN.sub(join, text)


def order(one: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[int, int]:
    """Longest common subsequence of the words that occur once in either, and how many those are."""
    counts, others = Counter(one), Counter(other)
    place = {word: number for number, word in enumerate(other) if others[word] == 1 and counts[word] == 1}
    ends: list[int] = []
    for word in one:
        if word in place:
            at = bisect_left(ends, place[word])
            ends[at : at + 1] = [place[word]]
    return len(ends), len(place)


def letters_of(content: bytes) -> Counter[str]:
    """All characters of a file, blanks aside, as PDFium gives them."""
    found: Counter[str] = Counter()
    document = pypdfium2.PdfDocument(content)
    for page in document:
        text = Glyphs(page, page.get_textpage()).text.replace("\ufffe", "-")
        found.update("".join(clean(text).split()))
    document.close()
    return found


def written(parsed: ParsedFile) -> Iterator[str]:
    """Text of the blocks and numbers of items; names of columns, which rows repeat, once a table and page."""
    seen: set[str] = set()
    page = None
    for block in parsed.blocks:
        if block.kind != "table_row" or block.page != page:
            seen, page = set(), block.page
        if block.kind != "table_row":
            yield f"{block.marker or ''} {block.text}"
            continue
        names = [name for name in _NAME.findall(block.text) if name not in seen]
        seen.update(names)
        yield " ".join([*names, _NAME.sub(" ", block.text)])


@contextmanager
def record_omissions() -> Iterator[list[str]]:
    """While entered, add the texts that parsers leave out to the list."""
    texts: list[str] = []
    count = Omissions.add

    def record(omissions: Omissions, what: str, text: str = "", pieces: int = 1) -> None:
        count(omissions, what, text, pieces)
        texts.append(text)

    with patch.object(Omissions, "add", record):
        yield texts


def title(text: str) -> str:
    """Words of a heading; many outlines leave out the number that is printed before it."""
    parts = words(text)
    return " ".join(dropwhile(str.isdigit, parts)) or " ".join(parts)


def headings(content: bytes) -> tuple[int, int, int]:
    """Headings of the outline and of the text: how many each has, and how many are in both."""
    document = pypdfium2.PdfDocument(content)
    named = Counter(title(entry.get_title()) for entry in document.get_toc())
    document.close()
    blocks = pdf.parse(SourceFile("file.pdf", content), _SETTINGS).blocks
    # level 1 is the title, which outlines do not name
    texts = (block.text for block in blocks if block.kind == "heading" and block.level > 1)
    found = Counter(map(title, texts))
    return named.total(), found.total() if named else 0, (named & found).total()


def measure(path: Path) -> Counter[str]:
    """Counts of one document; all figures are shares of them."""
    content = path.read_bytes()
    with record_omissions() as left_out:
        parsed = pdf.parse(SourceFile(path.name, content), _SETTINGS)
    text = assemble(parsed.blocks).text
    aside = "\n".join(left_out)
    ours, all_of_ours = words("\n".join(written(parsed))), words(text)
    theirs = words(join_broken(extract_text(path), Counter(words(text))))
    common, unique = order(ours, theirs)
    named, found, both = headings(content)
    given = letters_of(content)
    unexplained = given - Counter("".join(clean(f"{text}\n{aside}").split()))
    counts = Counter(
        words=len(theirs), ours=len(ours), found=(Counter(theirs) & Counter(ours)).total(),
        found_anywhere=(Counter(theirs) & Counter(all_of_ours + words(aside))).total(), ordered=common,
        unique=unique, named=named, headings=found, headed=both, characters=given.total(),
        unexplained=unexplained.total(), pages=len({block.page for block in parsed.blocks}),
    )  # fmt: skip
    counts.update({f"left_out.{part.what}": part.characters for part in parsed.left_out})
    return counts


def figures(counts: Counter[str]) -> dict[str, Any]:
    def share(part: str, whole: str) -> float | None:
        return round(counts[part] / counts[whole], 4) if counts[whole] else None

    return {
        "words": counts["words"],
        "recall_text": share("found", "words"),
        "recall": share("found_anywhere", "words"),
        "precision": share("found", "ours"),
        "order": share("ordered", "unique"),
        "headings_recall": share("headed", "named"),
        "headings_precision": share("headed", "headings"),
        "characters": counts["characters"],
        "left_out": {key[9:]: value for key, value in sorted(counts.items()) if key.startswith("left_out.")},
        "unexplained": counts["unexplained"],
    }


def measure_folder(folder: Path) -> dict[str, Any]:
    total: Counter[str] = Counter()
    documents: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for path in sorted(folder.rglob("*.pdf")):
        try:
            counts = measure(path)
        except DocumentFailure as failure:
            failed[path.name] = failure.reason
            continue
        total.update(counts)
        documents[path.name] = {"pages": counts["pages"], **figures(counts)}
    overall = {"bench": "pdf", "folder": folder.name, "documents": len(documents), "pages": total["pages"]}
    return {**overall, **figures(total), "failed": failed, "by_document": documents}


def main() -> None:
    """Measure a folder of PDFs."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path)
    print_json(measure_folder(parser.parse_args().folder))


if __name__ == "__main__":
    main()
