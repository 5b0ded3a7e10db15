"""How fast claims get their local scores.

    python -m qa_pipeline_tests.benchmarks.speed.bench_claims --data FILE.parquet [--items N] [--rounds N]

Three figures, all of one run and on labelled items given as statements (columns of the bench's README):

- `stored_claims_per_s`: all vectors lie in the store, and nothing is computed but the scores;
- `warm_claims_per_s`: vectors of chunks and of pieces of evidence lie in the store, those of the claims do
  not and are computed; the caches of read texts are empty.
- `cold_share_of_encoder_rate`: time to encode all those texts alone, over the time of finding the claims with
  an empty store; 1 would mean that everything beside the encoder costs nothing.

Rounds alternate between the parts, and the medians are given. Prints one JSON line.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from qa_pipeline.evaluation.calibration.rows import read_complete
from qa_pipeline.evaluation.statements import Statement, StatementTables, statement_tables
from qa_pipeline.models.base import Encoder, Vectors
from qa_pipeline.models.encoder import SentenceEncoder, load_embedder
from qa_pipeline.models.vector_cache import CachedEmbedder, VectorCache, VectorSpace, text_hash
from qa_pipeline.settings.tree import Settings
from qa_pipeline.tables import CLAIMS
from qa_pipeline.verification import evidence
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.consistency import reading
from qa_pipeline_tests.benchmarks.support.command_line import parser_of
from qa_pipeline_tests.fakes import cached, memory_cache

_WARM_UP = ("A sentence to load the weights with.", "Another one, a little longer than the first was.")


@dataclass
class Recording:
    """An encoder that remembers which texts it was asked for."""

    inner: Encoder
    asked: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def revision(self) -> str:
        return self.inner.revision

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.asked.extend(texts)
        return self.inner.encode(texts)


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="Parquet file of labelled items")
    parser.add_argument("--items", type=int, default=300, help="first items of the file")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    items = read_complete(arguments.data).items.head(arguments.items)
    settings = Settings()
    report = measure(_tables(items), load_embedder(settings.embedding), settings, arguments.rounds)
    json.dump({"data": arguments.data.stem, "items": items.height, **report}, sys.stdout)
    print()


def _tables(items: pl.DataFrame) -> StatementTables:
    return statement_tables(
        [
            Statement(row["answer"], tuple(row["context"]), row["language"], row["question"])
            for row in items.iter_rows(named=True)
        ]
    )


def measure(
    tables: StatementTables, encoder: SentenceEncoder, settings: Settings, rounds: int
) -> dict[str, Any]:
    """All figures."""
    encoder.encode(_WARM_UP)
    recording = Recording(encoder)
    claims = _find(tables, recording, settings)
    store = cached(encoder)
    store.encode(recording.asked)
    stored, warm, alone, cold = [], [], [], []
    for _ in range(rounds):
        stored.append(_seconds(lambda: _find(tables, store, settings)))
        store.cache = _without_claims(recording.asked, store, claims)
        warm.append(_seconds(lambda: _find(tables, store, settings)))
        alone.append(_seconds(lambda: encoder.encode(recording.asked)))
        empty = cached(encoder)
        cold.append(_seconds(lambda embedder=empty: _find(tables, embedder, settings)))  # type: ignore[misc]
    return {
        "claims": claims.height,
        "texts": len(set(recording.asked)),
        "stored_claims_per_s": round(claims.height / median(stored), 1),
        "warm_claims_per_s": round(claims.height / median(warm), 1),
        "encoder_texts_per_s": round(len(set(recording.asked)) / median(alone), 1),
        "cold_claims_per_s": round(claims.height / median(cold), 1),
        "cold_share_of_encoder_rate": round(median(alone) / median(cold), 3),
    }


def _without_claims(texts: Sequence[str], store: CachedEmbedder, claims: pl.DataFrame) -> VectorCache:
    """A cache of the vectors of all texts but the claims."""
    space = VectorSpace(store.model, store.revision, store.precision)
    hashes = {text_hash(text) for text in texts} - {text_hash(text) for text in claims["text"].to_list()}
    cache = memory_cache()
    cache.put_many(space, store.cache.get_many(space, sorted(hashes)))
    return cache


def _find(tables: StatementTables, encoder: Encoder, settings: Settings) -> pl.DataFrame:
    """Find the claims as if no text had been read before."""
    for remembered in (evidence.candidates, reading.read):
        remembered.cache_clear()
    alone = settings.verification.model_copy(update={"other_passages": 0})
    found = find_claims(tables.pairs, tables.documents, tables.chunks, encoder, alone)
    return CLAIMS.conform(found)


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
