"""How many contradictions between documents are found, and how many are reported where nobody planted one.

Takes the output folder of a run; each of its batches is searched as it is, then once more with planted
documents of one sentence each: a sentence of the batch with its number, its year or its negation changed.

    python -m qa_pipeline_tests.benchmarks.quality.measure_contradictions OUT [--batch NAME ...]
        [--each 50] [--show]

Prints one JSON line a batch: sentences, pairs compared, contradictions in the batch as it is (to be read by
a person: --show prints them), and of the planted ones how many were found, by kind, and seconds.
"""

import random
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from qa_pipeline.models.base import Encoder
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.retrieval.shard import Shard, nearest_chunks
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.rows import ChunkRow
from qa_pipeline.storage.table_schema import typed_rows
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, EMBEDDINGS
from qa_pipeline.verification.contradictions import (
    NEIGHBOURS,
    Contradictions,
    Sentence,
    find_contradictions,
    find_sentences,
)
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json

Row = dict[str, Any]
_NUMBER = re.compile(r"(?<![\w.,-])([2-9]|[1-9]\d{1,2})(?![\w.,%-])")
_YEAR = re.compile(r"\b(19|20)(\d\d)\b")
_NOT = {"en": r" not\b", "sv": r" inte\b", "de": r" nicht\b"}


def changed_number(sentence: Sentence) -> str:
    """The sentence with its first plain number doubled and one added."""
    return _NUMBER.sub(lambda match: str(2 * int(match[1]) + 1), sentence.text, count=1)


def changed_year(sentence: Sentence) -> str:
    """The sentence with its first year three years later."""
    return _YEAR.sub(lambda match: str(int(match[0]) + 3), sentence.text, count=1)


def dropped_negation(sentence: Sentence) -> str:
    """The sentence without its only negation."""
    pattern = re.compile(_NOT.get(sentence.language, _NOT["en"]))
    return pattern.sub("", sentence.text) if len(pattern.findall(sentence.text)) == 1 else sentence.text


CHANGES: Mapping[str, Callable[[Sentence], str]] = {
    "number": changed_number,
    "date": changed_year,
    "negation": dropped_negation,
}


def planted(sentences: Sequence[Sentence], each: int, seed: int) -> list[tuple[str, Sentence, str]]:
    """Kind, sentence and its changed text, up to `each` of a kind; none that leans on others."""
    found = []
    for kind, change in CHANGES.items():
        able = [one for one in sentences if not one.leans and change(one) != one.text]
        drawn = random.Random(f"{seed}{kind}").sample(able, min(each, len(able)))
        found += [(kind, one, change(one)) for one in drawn]
    return found


def planted_rows(plants: Sequence[tuple[str, Sentence, str]], batch: str) -> tuple[list[Row], list[Row]]:
    """A document and a chunk for each planted sentence."""
    documents, chunks = [], []
    for place, (_, sentence, text) in enumerate(plants):
        name = f"planted-{'abcdefghij'[place % 10]}{place}"
        documents.append(
            {
                "document_id": name,
                "batch": batch,
                "path": f"note {name}.txt",
                "content_sha256": name,
                "size": len(text),
                "language": sentence.language,
                "title": "",
                "text": text,
                "sections": [],
                "pages": [],
                "languages": [],
                "left_out": [],
                "masked": [],
                "status": "parsed",
            }
        )
        chunks.append(
            {
                "chunk_id": name,
                "batch": batch,
                "document_id": name,
                "position": 0,
                "char_start": 0,
                "char_end": len(text),
                "title": "",
                "section_path": [],
                "section_start": 0,
                "section_end": len(text),
                "tokens": len(text.split()),
                "language": sentence.language,
                "text": text,
            }
        )
    return documents, chunks


def search(
    documents: pl.DataFrame, chunks: pl.DataFrame, vectors: Any, embedder: Encoder, settings: Settings
) -> Contradictions:
    """The search of a batch over given chunk vectors."""
    shard = Shard(tuple(chunks["chunk_id"]), vectors, "m", "r", "float32")
    owners = dict(chunks.select("chunk_id", "document_id").iter_rows())
    near = nearest_chunks(shard, owners, NEIGHBOURS)
    return find_contradictions(documents, chunks, near, embedder, settings.verification)


def measure(layout: Layout, batch: str, each: int, seed: int, *, show: bool) -> Row:
    """Figures of one batch."""
    settings = Settings()
    embedder = load_embedder(settings.embedding)
    documents = read_table(layout.table("documents", batch), DOCUMENTS)
    chunks = read_table(layout.table("chunks", batch), CHUNKS)
    stored = read_table(layout.table("embeddings", batch), EMBEDDINGS)
    vectors = np.array(stored["vector"].to_list(), dtype=np.float32)
    started = time.perf_counter()
    alone = search(documents, chunks, vectors, embedder, settings)
    seconds = time.perf_counter() - started
    if show:
        for row in alone.table.iter_rows(named=True):
            shown = f"{row['kind']} {row['detail']}\n  A {row['first_quote']}\n  B {row['second_quote']}\n"
            sys.stderr.write(shown)
    plants = planted(find_sentences(typed_rows(chunks, ChunkRow)), each, seed)
    more_documents, more_chunks = planted_rows(plants, batch)
    with_them = search(
        pl.concat([documents, DOCUMENTS.frame(more_documents)]),
        pl.concat([chunks, CHUNKS.frame(more_chunks)]),
        np.concatenate([vectors, embedder.encode([text for _, _, text in plants])]),
        embedder,
        settings,
    )
    hit = {
        row[f"{side}_document_id"]
        for row in with_them.table.iter_rows(named=True)
        for side in ("first", "second")
    }
    by_kind: dict[str, list[bool]] = {kind: [] for kind in CHANGES}
    for (kind, _, _), document in zip(plants, more_documents, strict=True):
        by_kind[kind].append(document["document_id"] in hit)
    return {
        "batch": batch,
        **alone.counts,
        "seconds": round(seconds, 2),
        "found as it is": alone.table.height,
        "found of planted": {kind: f"{sum(hits)} of {len(hits)}" for kind, hits in by_kind.items()},
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--batch", action="append")
    parser.add_argument("--each", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    layout = Layout(given.out)
    for batch in given.batch or [path.stem for path in layout.tables("embeddings")]:
        print_json(measure(layout, batch, given.each, given.seed, show=given.show))


if __name__ == "__main__":
    main()
