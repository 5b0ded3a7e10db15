"""Files built on the spot for the tests of this folder."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from fpdf import FPDF

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.records import Block, ParsedFile, SourceFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline.text.words import clean

SETTINGS = DocumentSettings()


def source(content: str | bytes, path: str = "file") -> SourceFile:
    return SourceFile(path, content.encode() if isinstance(content, str) else content)


def outline(parsed: ParsedFile) -> list[tuple[str, str]]:
    """Kind and text of each block as its document has it, white space evened out."""
    return [(block.kind, " ".join(clean(block.text).split())) for block in parsed.blocks]


def texts(blocks: Sequence[Block]) -> list[str]:
    return [" ".join(clean(block.text).split()) for block in blocks]


def doubted(parsed: ParsedFile) -> list[tuple[str, str]]:
    """Kind of each doubt, and the sentence or rows it is about."""
    text = assemble(parsed.blocks)
    return [
        (doubt["kind"], " ".join(text.text[start:end].split()))
        for doubt in text.doubts
        for start, end in [_around(text.text, doubt["start"], doubt["end"])]
    ]


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    spans = split_sentences(text, "en")
    touched = [span for span in spans if span[0] < end and span[1] > start]
    return touched[0][0], touched[-1][1]


def new_pdf() -> FPDF:
    document = FPDF()
    document.set_auto_page_break(True, margin=20)
    document.set_font("Helvetica", size=11)
    return document


def pdf_bytes(*pages: str, password: str | None = None) -> bytes:
    """A PDF with one paragraph a page."""
    document = new_pdf()
    if password:
        document.set_encryption(owner_password="owner", user_password=password)
    for text in pages:
        document.add_page()
        if text:
            document.multi_cell(0, 6, text)
    return bytes(document.output())


def write_files(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def refusal(read: Callable[[], object]) -> str | None:
    """The reason why something cannot be read; None when it can."""
    try:
        read()
    except DocumentFailure as failure:
        return failure.reason
    return None


def unaccounted(content: str, parsed: ParsedFile) -> int:
    """How many capital letters neither the blocks hold nor what is counted as left out can explain."""
    capitals = Counter(character for character in content if character.isupper())
    kept = Counter(character for block in parsed.blocks for character in block.text if character.isupper())
    return (capitals - kept).total() - sum(part.characters for part in parsed.left_out)
