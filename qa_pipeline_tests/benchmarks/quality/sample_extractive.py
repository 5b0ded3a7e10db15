"""Print a random sample of the extractive provider's pairs over a folder, for a person to judge.

python -m qa_pipeline_tests.benchmarks.quality.sample_extractive --corpus FOLDER --language en
    --seed 1 --size 100
"""

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.documents.reading import read_documents
from qa_pipeline.generation.offline.provider import find_candidates
from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.settings.documents import ChunkingSettings, DocumentSettings
from qa_pipeline.settings.generation import EmbeddingSettings
from qa_pipeline_tests.benchmarks.support.command_line import parser_of


@dataclass(frozen=True, slots=True)
class Yield:
    """The pairs of one corpus and the number of sections they come from."""

    pairs: list[dict[str, Any]]
    sections: int


def read_pairs(corpus: Path, language: str, limit: int) -> Yield:
    """Parse and chunk a folder, and take at most `limit` pairs of each chunk of the language."""
    documents = read_documents(corpus.name, corpus, DocumentSettings())
    documents = documents.filter((pl.col("status") == "parsed") & (pl.col("language") == language))
    chunks = chunk_documents(documents, load_embedder(EmbeddingSettings()), ChunkingSettings())
    paths = dict(documents.select("document_id", "path").iter_rows())
    passages = passages_by_id(chunks)
    pairs = [
        pair
        for chunk_id, document_id in chunks.select("chunk_id", "document_id").iter_rows()
        for pair in _pairs(passages[chunk_id], paths[document_id], limit)
    ]
    return Yield(pairs, int(documents["sections"].list.len().sum()))


def _pairs(passage: Passage, path: str, limit: int) -> list[dict[str, Any]]:
    return [
        {
            "document": path,
            "section": " > ".join(passage.section_path),
            "question_type": candidate.question_type,
            "question": candidate.question,
            "answer": candidate.answer,
        }
        for candidate in find_candidates(passage)[:limit]
    ]


def main() -> None:
    """Read the arguments, print the yield of each corpus and the sample over all of them."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, action="append", required=True, help="repeat for several")
    parser.add_argument("--language", default="en")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--limit", type=int, default=3, help="pairs of a chunk")
    parser.add_argument("--type", action="append", help="only these question types")
    parser.add_argument("--out", type=Path, help="also write the sample as JSON lines")
    arguments = parser.parse_args()

    pool: list[dict[str, Any]] = []
    for corpus in arguments.corpus:
        found = read_pairs(corpus, arguments.language, arguments.limit)
        types = Counter(pair["question_type"] for pair in found.pairs)
        ratio = len(found.pairs) / max(found.sections, 1)
        print(f"{corpus.name}: {len(found.pairs)} pairs, {found.sections} sections, {ratio:.3f} per section")
        print("  " + ", ".join(f"{name} {count}" for name, count in types.most_common()))
        pool += [
            pair for pair in found.pairs if not arguments.type or pair["question_type"] in arguments.type
        ]

    sample = random.Random(arguments.seed).sample(pool, min(arguments.size, len(pool)))
    for number, pair in enumerate(sample, start=1):
        print(f"\n{number}. [{pair['question_type']}] {pair['document']} | {pair['section'][-90:]}")
        print(f"   Q {pair['question']}\n   A {pair['answer']}")
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in sample))


if __name__ == "__main__":
    main()
