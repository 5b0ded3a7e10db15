"""Share of quotes whose words are those that the review app marks in a text or boxes on a page.

    python -m qa_pipeline_tests.benchmarks.quality.measure_marks FOLDER ... [--size 500] [--pdf-size 200]

Quotes are sentences of the documents in the folders, a quarter of them with the sentence behind, which may be
in the next block, of at most 20,000 characters. Each is asked for as a browser does. Of a text the words in
`mark` elements are compared. On a page of a PDF the characters in the boxes are, whose middle PDFium is asked
for one by one; it knows nothing of how the boxes came about. Prints one JSON line a format; `--show` names
each quote that differs:

right: the same words; columns: the same, but that the page prints names of columns once and above the rows;
order: the same letters in another order; fewer, more: some are missing, or are too many; other: both;
no_page: the page was not shown. `share_right` is of right and columns. `milliseconds` are of one quote with
the comparison at the 95th percentile.
"""

import random
import re
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import polars as pl
import pypdfium2
from starlette.testclient import TestClient

from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.review.responses import Access
from qa_pipeline.review.server import build_app
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.rows import DocumentRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import DOCUMENTS
from qa_pipeline.text.sentences import split_sentences
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

Rectangle = tuple[float, float, float, float]
_SHORTEST = 4  # words of a quote
_LONGEST = 20_000  # characters of a quote: evidence is in a chunk, and a page shows so much in one piece


class Marked(HTMLParser):
    """Text in the marks of a page, and the boxes on it: left, top, right, bottom."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.boxes: list[Rectangle] = []
        self.has_sheet = self.is_turned = self._inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_evidence = "evidence" in values.get("class", "").split()
        self.has_sheet |= values.get("class") == "sheet"
        self.is_turned |= tag == "g" and "transform" in values
        if tag == "mark" and is_evidence:
            self._inside = True
        if tag == "rect" and is_evidence:
            left, top, width, height = (float(values[name]) for name in ("x", "y", "width", "height"))
            self.boxes.append((left, top, left + width, top + height))
        if self.pieces and tag in ("p", "li", "td", "pre", "h3", "h4", "h5", "h6"):
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "mark"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.pieces.append(data)


def letters(text: str) -> str:
    """The letters and digits of a text, ligatures and accents apart."""
    return "".join(part for part in unicodedata.normalize("NFKD", text) if part.isalnum())


def difference(quote: str, shown: str) -> str:
    """How the letters that are shown differ from those of the quote."""
    if quote == shown:
        return "right"
    missing, more = Counter(quote) - Counter(shown), Counter(shown) - Counter(quote)
    return "other" if missing and more else "fewer" if missing else "more" if more else "order"


def without_repeats(quote: str) -> str:
    """A quote with each name of a column once."""
    names: set[str] = set()
    parts = []
    for part in re.split(r"((?:^|(?<= \| ))[^|:\n]{1,80}: )", quote, flags=re.MULTILINE):
        parts += [] if part in names else [part]
        names.update([part] if part.endswith(": ") else [])
    return "".join(parts)


def quotes_of(document: DocumentRow) -> list[tuple[int, int]]:
    """Sentences of a document with a few words at least, and every fourth with the one behind it."""
    text = document["text"] or ""
    spans = list(split_sentences(text, document["language"] or "en"))
    pairs = [(first[0], second[1]) for first, second in list(pairwise(spans))[::3]]
    return [
        (start, end)
        for start, end in (*spans, *pairs)
        if end - start <= _LONGEST and len(re.findall(r"\w+", text[start:end])) >= _SHORTEST
    ]


def boxed_letters(page: pypdfium2.PdfPage, boxes: list[Rectangle]) -> str:
    """The letters of a page whose middle is in one of the boxes, in the order of the file."""
    left, _, _, top = page.get_bbox()
    shown = []
    with closing(page.get_textpage()) as textpage:
        for index in range(textpage.count_chars()):
            first, bottom, second, upper = textpage.get_charbox(index)
            x, y = (first + second) / 2 - left, top - (bottom + upper) / 2
            if any(box[0] <= x <= box[2] and box[1] <= y <= box[3] for box in boxes):
                shown.append(chr(pypdfium2.raw.FPDFText_GetUnicode(textpage.raw, index)))
    return letters("".join(shown).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def outcome(client: TestClient, file: Path, document: DocumentRow, span: tuple[int, int]) -> tuple[str, str]:
    """How what is marked differs from a quote, and what is marked."""
    address = f"/document/{document['batch']}/{document['document_id']}?start={span[0]}&end={span[1]}"
    quote = (document["text"] or "")[slice(*span)]
    if document["format"] != "pdf":
        shown = " ".join(re.findall(r"\w+", "".join(Marked(client.get(address).text).pieces)))
        return difference(" ".join(re.findall(r"\w+", quote)), shown), shown
    shown = ""
    with closing(pypdfium2.PdfDocument(file)) as opened:
        for page in document["pages"]:
            if page["start"] < span[1] and span[0] < page["end"]:
                marked = Marked(client.get(f"{address}&page={page['number']}").text)
                if not marked.has_sheet or marked.is_turned:
                    return "no_page", ""
                with closing(opened[page["number"] - 1]) as drawn:
                    shown += boxed_letters(drawn, marked.boxes)
    result = difference(letters(quote), shown)
    if result != "right" and " | " in quote:
        result_of_rows = difference(letters(without_repeats(quote)), shown)
        result = "columns" if result_of_rows in ("right", "order") or result == "order" else result
    return result, shown


def drawn_quotes(
    documents: list[DocumentRow], size: int, lots: random.Random
) -> Iterator[tuple[DocumentRow, tuple[int, int]]]:
    """At most `size` quotes of documents in turn."""
    quotes = [
        (document, lots.sample(spans, len(spans))) for document in documents if (spans := quotes_of(document))
    ]
    taken = 0
    while quotes and taken < size:
        for document, spans in quotes:
            if spans and taken < size:
                taken += 1
                yield document, spans.pop()
        quotes = [entry for entry in quotes if entry[1]]


def main() -> None:
    """Print one JSON line for each format."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--size", type=int, default=500, help="quotes of each format but PDF")
    parser.add_argument("--pdf-size", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="name each quote that differs on standard error")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        layout, access, files = Layout(Path(folder)), Access("measured"), {}
        read = []
        for corpus in arguments.folders:
            frame = read_documents(corpus.name, corpus, DocumentSettings()).filter(
                pl.col("status") == "parsed"
            )
            write_table(layout.table(DOCUMENTS.name, corpus.name), frame, DOCUMENTS)
            note_origin(layout, corpus.name, corpus.parent)
            files[corpus.name] = corpus
            read += list(typed_rows(frame, DocumentRow))
        with TestClient(build_app(layout, access), base_url="http://127.0.0.1") as client:
            client.get(f"/enter?token={access.token}")
            for name in sorted({document["format"] or "" for document in read}):
                size = arguments.pdf_size if name == "pdf" else arguments.size
                own = [document for document in read if document["format"] == name]
                counts: Counter[str] = Counter()
                seconds = []
                for document, span in drawn_quotes(own, size, random.Random(arguments.seed)):
                    begin = time.perf_counter()
                    path = files[document["batch"]] / document["path"]
                    result, shown = outcome(client, path, document, span)
                    seconds.append(time.perf_counter() - begin)
                    counts[result] += 1
                    if arguments.show and result != "right":
                        quote = (document["text"] or "")[slice(*span)]
                        print(
                            f"{document['path']} {span} {result}\n  {quote!r}\n  {shown!r}", file=sys.stderr
                        )
                right = counts["right"] + counts["columns"]
                print_json(
                    {
                        "format": name,
                        "documents": len(own),
                        "quotes": counts.total(),
                        "share_right": round(right / max(counts.total(), 1), 4),
                        **counts,
                        "milliseconds": round(1000 * sorted(seconds)[int(0.95 * len(seconds))])
                        if seconds
                        else None,
                    }
                )


if __name__ == "__main__":
    main()
