"""How fast the review app is over many pairs: the queue with filters, the next pair, a decision; its memory.

    python -m qa_pipeline_tests.benchmarks.speed.bench_review [--batches 200] [--pairs 500] [--requests 300]
        [--walk 0] [--at FOLDER] [--pages 0]

Tables are made up (kept in FOLDER, and used again from there): a fifth of the pairs wait, two claims each,
ten documents of 20,000 characters a batch. Requests go through the ASGI app in this process, one at a time.
Prints one JSON line: seconds until the first page of the queue, milliseconds of each kind of request (median
and 95th percentile), and the resident memory in MB before and after `--walk` further pairs.
With `--pages` also those of documents: a PDF of so many pages (the first page, for which a process starts,
then pages at random with their pictures) and a text of 22 MB (at its evidence, at a part, at a search).
"""

import argparse
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from starlette.testclient import TestClient

from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.documents.reading import read_documents
from qa_pipeline.review.responses import Access
from qa_pipeline.review.server import build_app
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import (
    ASSESSMENTS,
    CHUNKS,
    CLAIM_VERDICTS,
    CLAIMS,
    DOCUMENTS,
    PAIRS,
    VERDICTS,
)
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.documents.formats.pdf.builders import prose

DOCUMENTS_OF_A_BATCH = 10
CHUNKS_OF_A_DOCUMENT = 20
CHUNK = 1000
CLAIMS_OF_A_PAIR = 2
WORDS = [f"word{number}" for number in range(60)]
QUERIES = (
    "", "page=3", "list=all&page=400", "list=rejected", "list=accepted", "list=all&language=sv",
    "list=all&verdict=rejected&type=procedure", "list=all&reason=number_mismatch", "batch=batch-007",
    "list=all&batch=batch-011&document=batch-011-3", "list=all&search=word7+word{number}",
    "search=word8+{number}",
)  # fmt: skip
"""Pages of the queue; {number} makes each search a new one, which nothing remembered answers."""


def write_batch(layout: Layout, batch: str, pairs: int) -> None:
    """Write the tables of a batch that the pages read."""
    drawn = random.Random(batch)

    def sentence(count: int) -> str:
        return " ".join(drawn.choices(WORDS, k=count)).capitalize() + "."

    documents, chunks, made = [], [], []
    for number in range(DOCUMENTS_OF_A_BATCH):
        document_id = f"{batch}-{number}"
        texts = [sentence(CHUNK)[: CHUNK - 2] + ".\n" for _ in range(CHUNKS_OF_A_DOCUMENT)]
        documents.append(
            rows.document(document_id, batch=batch, path=f"{document_id}.md", text="".join(texts))
        )
        for place, text in enumerate(texts):
            span = {"char_start": place * CHUNK, "char_end": (place + 1) * CHUNK, "position": place}
            chunks.append(
                rows.chunk(f"{document_id}-{place}", text, batch=batch, document_id=document_id, **span)
            )
    claims, claim_verdicts, verdicts, assessments = [], [], [], []
    for number in range(pairs):
        pair_id = f"{batch}-{number}"
        near = drawn.sample(chunks, 5)
        verdict, reason = drawn.choices(
            [
                ("needs_review", "undecided_without_model"),
                ("rejected", "number_mismatch"),
                ("accepted", "passed"),
            ],
            [1, 1, 3],
        )[0]
        said = [sentence(14) for _ in range(CLAIMS_OF_A_PAIR)]
        made.append(
            rows.pair(
                pair_id,
                batch=batch,
                question=sentence(9)[:-1] + "?",
                answer=" ".join(said),
                language=drawn.choice(("en", "sv", "de")),
                question_type=drawn.choice(("fact_single", "procedure", "summary", "table")),
                passage_ids=[chunk["chunk_id"] for chunk in near],
                passage_scores=[0.03] * len(near),
            )
        )
        start = 0
        for place, text in enumerate(said):
            chunk = near[place]
            quote = chunk["text"][:120]
            claims.append(
                rows.claim(
                    pair_id,
                    place,
                    batch=batch,
                    text=text,
                    start=start,
                    end=start + len(text),
                    evidence_document_id=chunk["document_id"],
                    evidence_chunk_id=chunk["chunk_id"],
                    evidence_start=chunk["char_start"],
                    evidence_end=chunk["char_start"] + len(quote),
                    evidence_quote=quote,
                    similarity=0.9,
                    unproved=[] if verdict == "accepted" else ['"word1" left out'],
                )
            )
            start += len(text) + 1
            outcome = "supported" if verdict == "accepted" else "undecided"
            claim_verdicts.append(
                rows.claim_verdict(pair_id, outcome, place, batch=batch, decided_by="alignment")
            )
        verdicts.append(rows.verdict(pair_id, verdict, batch=batch, reason=reason, claims=CLAIMS_OF_A_PAIR))
        assessments.append(rows.assessment(pair_id, batch=batch))
    for table, of_table in (
        (DOCUMENTS, documents),
        (CHUNKS, chunks),
        (PAIRS, made),
        (CLAIMS, claims),
        (CLAIM_VERDICTS, claim_verdicts),
        (VERDICTS, verdicts),
        (ASSESSMENTS, assessments),
    ):
        write_table(layout.table(table.name, batch), table.frame(of_table), table)


LONG_TEXT = 22_000_000
"""Characters, more than twice the most that a run reads by default."""


def write_documents(layout: Layout, files: Path, pages: int) -> dict[str, Any]:
    """Write a batch with a PDF and a long text; the row of the first."""
    pdf = pdf_bytes(*(prose(f"page{number}x", 40) for number in range(1, pages + 1)))
    (files / "long").mkdir(parents=True)
    (files / "long" / "a.pdf").write_bytes(pdf)
    read = read_documents("long", files / "long", DocumentSettings())
    note_origin(layout, "long", files)
    section = f"The valve opens at 3 bar. {' '.join(WORDS)}.\n\n" * 20
    parts = [f"## Part {number}\n\n{section}" for number in range(LONG_TEXT // len(section))]
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    sections = [
        {"heading_path": [f"Part {number}"], "level": 2, "start": start, "end": end}
        for number, (start, end) in enumerate(pairwise(starts))
    ]
    text = rows.document("text", "".join(parts), batch="long", path="long.md", sections=sections)
    write_table(layout.table(DOCUMENTS.name, "long"), pl.concat([read, DOCUMENTS.frame([text])]), DOCUMENTS)
    return read.row(0, named=True)


def measure_documents(layout: Layout, pages: int, requests: int) -> dict[str, object]:
    """Figures of pages of long documents."""
    with tempfile.TemporaryDirectory() as folder, opened(layout) as client:
        pdf = write_documents(layout, Path(folder), pages)
        drawn = random.Random(0)

        def get(address: str) -> None:
            reply = client.get(address)
            assert reply.status_code == 200, (address, reply.status_code)
            assert b"cannot be shown" not in reply.content, address

        def page_of_pdf(_: int) -> None:
            span = drawn.choice(pdf["pages"])
            get(f"/document/long/{pdf['document_id']}?start={span['start']}&end={span['start'] + 100}")

        def picture(_: int) -> None:
            get(f"/page/long/{pdf['document_id']}/{drawn.choice(pdf['pages'])['number']}.png")

        def at_evidence(_: int) -> None:
            start = drawn.randrange(LONG_TEXT - 1_000_000)
            get(f"/document/long/text?start={start}&end={start + 100}")

        figures: dict[str, object] = {
            "first_page_of_pdf": timed(page_of_pdf, 1),
            "page_of_pdf": timed(page_of_pdf, requests),
            "picture_of_page": timed(picture, requests),
            "text_at_evidence": timed(at_evidence, requests),
            "part_of_text": timed(lambda n: get(f"/document/long/text?part={n + 1}"), requests),
            "search_in_text": timed(lambda n: get(f"/document/long/text?find=part+{n}"), requests),
        }
    return figures


@contextmanager
def opened(layout: Layout) -> Iterator[TestClient]:
    """Sign in to a new app over an output folder."""
    access = Access("bench")
    with TestClient(build_app(layout, access), base_url="http://127.0.0.1") as client:
        client.get(f"/enter?token={access.token}", follow_redirects=False)
        yield client


def timed(work: Callable[[int], object], count: int) -> dict[str, float]:
    """Milliseconds of so many runs: the median and the 95th percentile."""
    times = []
    for number in range(count):
        start = time.perf_counter()
        work(number)
        times.append(1000 * (time.perf_counter() - start))
    return {f"p{share}_ms": round(float(np.percentile(times, share)), 1) for share in (50, 95)}


def link(page: str, name: str) -> str:
    """The address of the link with this id."""
    match = re.search(rf'<a id="{name}"[^>]* href="([^"]*)"', page)
    assert match, f"no link {name}"
    return unescape(match[1])


def walked(read: Callable[[str], str], address: str) -> Iterator[str]:
    """The page of a pair, then that of the next, and so on."""
    while True:
        page = read(address)
        yield page
        address = link(page, "next")


def resident_mb() -> int:
    """Memory of this process now, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 // 1_000_000


def measure(layout: Layout, requests: int, walk: int) -> dict[str, object]:
    """All figures over one output folder."""
    with opened(layout) as client:
        start = time.perf_counter()
        first = client.get("/")
        figures: dict[str, object] = {"first_page_s": round(time.perf_counter() - start, 2)}

        def read(address: str) -> str:
            reply = client.get(address)
            assert reply.status_code == 200, (address, reply.status_code)
            return reply.text

        figures["queue"] = timed(lambda n: read("/?" + QUERIES[n % len(QUERIES)].format(number=n)), requests)
        here = _first_pair(first.text)
        of_all = _first_pair(read("/?list=all&verdict=accepted"))
        for name, address in (("next_waiting", here), ("next_of_all", of_all)):
            pages = walked(read, address)
            figures[name] = timed(lambda _, pages=pages: next(pages), requests)  # type: ignore[misc]
        page = [read(here)]

        def decide(_: int) -> None:
            action, fields = _decision_form(page[0])
            reply = client.post(action, data={**fields, "decision": "rejected", "why": "bench"})
            assert reply.status_code == 200, reply.text
            page[0] = reply.text

        figures["decide_and_next"] = timed(decide, requests // 3)
        figures["memory_mb"] = [resident_mb()]
        if walk:
            pages = walked(read, of_all)
            for _ in range(walk):
                next(pages)
            figures["memory_mb"] = [*figures["memory_mb"], resident_mb()]  # type: ignore[misc]
    return figures


def _first_pair(page: str) -> str:
    match = re.search(r'class="question" href="([^"]+)"', page)
    assert match
    return unescape(match[1])


def _decision_form(page: str) -> tuple[str, dict[str, str]]:
    match = re.search(r'<form class="decide"[^>]* action="([^"]+)".*?</form>', page, re.DOTALL)
    assert match
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', match[0])
    return unescape(match[1]), dict(hidden)


def main() -> None:
    """Measure and print."""
    parser: argparse.ArgumentParser = parser_of(__doc__)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=500, help="of a batch")
    parser.add_argument("--requests", type=int, default=300, help="of each kind")
    parser.add_argument("--walk", type=int, default=0, help="pairs looked at between two readings of memory")
    parser.add_argument("--at", type=Path, help="folder of the tables; another one each time without it")
    parser.add_argument("--pages", type=int, default=0, help="of a PDF that is shown")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(arguments.at or Path(folder))
        for number in range(arguments.batches):
            batch = f"batch-{number:03}"
            if not layout.table(ASSESSMENTS.name, batch).is_file():
                write_batch(layout, batch, arguments.pairs)
        figures = measure(layout, arguments.requests, arguments.walk) if arguments.batches else {}
        if arguments.pages:
            figures |= measure_documents(layout, arguments.pages, max(arguments.requests // 10, 1))
    print_json({"batches": arguments.batches, "pairs": arguments.batches * arguments.pairs, **figures})


if __name__ == "__main__":
    main()
