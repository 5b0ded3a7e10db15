"""How often the passage that answers a question is found, by size of chunks and merging.

    python -m qa_pipeline_tests.benchmarks.quality.bench_chunkers --bench FOLDER [--words N] [--seed S]

FOLDER holds question sets as Parquet files; `question_documents.py` says how they become documents. They
are cut with each variant of the settings, chunks are embedded with the package's model and retrieved as in a
run (words and vectors, fused). A question counts as answered by a chunk that holds the whole character span
of its answer.

`hit@1` and `hit@5` favour large chunks, which hold more of everything, so `tokens@1` and `tokens@5` say how
much was read for it, and `hit@budget` counts what is found in the first chunks that have together at most
512 tokens. Intervals are 95 % percentile bootstraps over groups (articles or pages), `against` those of the
difference to the default settings, paired. Prints one JSON line for each set and variant, then one for all
sets together (the mean over sets), and a table on the error stream.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qa_pipeline.models.encoder import load_embedder
from qa_pipeline.models.vector_cache import CachedEmbedder
from qa_pipeline.retrieval.chunks import chunk_documents
from qa_pipeline.retrieval.search import Retriever, build_index, embed_chunks
from qa_pipeline.settings.documents import ChunkingSettings
from qa_pipeline.settings.generation import EmbeddingSettings, RetrievalSettings
from qa_pipeline_tests.benchmarks.quality.question_documents import Asked, AskedDocuments, read_sets
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.fakes import cached

Shares = npt.NDArray[np.float64]

BUDGET = 512
DEPTH = 30
RESAMPLES = 1000
DEFAULT = "default"
VARIANTS = {
    DEFAULT: ChunkingSettings(),
    "structure 128": ChunkingSettings(max_tokens=128),
    "structure 64": ChunkingSettings(max_tokens=64),
}
MEASURES = ("hit@1", "hit@5", "hit@budget")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--words", type=int, default=10_000, help="of a set")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    embedder = cached(load_embedder(EmbeddingSettings()))
    results: dict[str, dict[str, _Result]] = {name: {} for name in VARIANTS}
    for asked in read_sets(arguments.bench, arguments.words, arguments.seed):
        for name, settings in VARIANTS.items():
            results[name][asked.name] = _measure(asked, settings, embedder)
        for name, row in _rows({name: {asked.name: own[asked.name]} for name, own in results.items()}):
            questions = {"questions": len(asked.questions), "not_found": asked.not_found}
            print_json({"set": asked.name, "variant": name, **questions, **row})
    table = dict(_rows(results))
    for name, row in table.items():
        print_json({"set": "all", "variant": name, **row})
    _print_table(table)


class _Result:
    """What each question of a set found, by variant: one row a question, one column a measure."""

    def __init__(self, hits: Shares, tokens: Shares, groups: Sequence[str], chunks: int) -> None:
        self.hits = hits
        self.tokens = tokens
        self.groups = groups
        self.chunks = chunks

    def resampled(self, source: np.random.Generator) -> Iterator[Shares]:
        """Means of the measures over groups drawn with replacement."""
        names = sorted(set(self.groups))
        number = {name: place for place, name in enumerate(names)}
        member = np.array([number[group] for group in self.groups])
        sums = np.stack([np.bincount(member, column, len(names)) for column in self.hits.T], axis=1)
        sizes = np.bincount(member, minlength=len(names))
        for _ in range(RESAMPLES):
            drawn = source.integers(len(names), size=len(names))
            yield sums[drawn].sum(axis=0) / sizes[drawn].sum()


def _measure(asked: AskedDocuments, settings: ChunkingSettings, embedder: CachedEmbedder) -> _Result:
    chunks = chunk_documents(asked.frame, embedder, settings)
    shard = build_index(embed_chunks(chunks, embedder))
    retriever = Retriever(chunks, shard, embedder, RetrievalSettings(top_k=DEPTH))
    found = retriever.retrieve(
        [one.question for one in asked.questions], [asked.language] * len(asked.questions)
    )
    rows = {row["chunk_id"]: row for row in chunks.iter_rows(named=True)}
    ranked = [[rows[chunk_id] for chunk_id, _ in hits] for hits in found]
    hits = [_hits(one, own) for one, own in zip(asked.questions, ranked, strict=True)]
    tokens = [[sum(row["tokens"] for row in own[:k]) for k in (1, 5)] for own in ranked]
    groups = [one.group for one in asked.questions]
    return _Result(np.array(hits, dtype=float), np.array(tokens, dtype=float), groups, chunks.height)


def _hits(asked: Asked, ranked: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Whether the answer is in the first chunk, the first five, and the first within the budget."""
    held = [
        row["document_id"] == asked.document_id
        and any(row["char_start"] <= start and end <= row["char_end"] for start, end in asked.spans)
        for row in ranked
    ]
    within = sum(tokens <= BUDGET for tokens in accumulate(row["tokens"] for row in ranked))
    return [any(held[:1]), any(held[:5]), any(held[:within])]


def _rows(results: Mapping[str, Mapping[str, _Result]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Figures of each variant, the mean over the sets, with intervals."""
    base = _draws(results[DEFAULT])
    for name, sets in results.items():
        draws = _draws(sets)
        means = np.mean([one.hits.mean(axis=0) for one in sets.values()], axis=0)
        tokens = np.mean([one.tokens.mean(axis=0) for one in sets.values()], axis=0)
        row: dict[str, Any] = {"chunks": sum(one.chunks for one in sets.values())}
        for place, measure in enumerate(MEASURES):
            row[measure] = round(float(means[place]), 3)
            row[f"{measure} interval"] = _interval(draws[:, place])
            row[f"{measure} against default"] = _interval((draws - base)[:, place])
        row |= {f"tokens@{k}": round(float(value)) for k, value in zip((1, 5), tokens, strict=True)}
        yield name, row


def _draws(sets: Mapping[str, _Result]) -> Shares:
    """Bootstrap means over the sets; the seed makes them comparable draw by draw between variants."""
    drawn = [list(one.resampled(np.random.default_rng(7))) for one in sets.values()]
    mean: Shares = np.array(drawn).mean(axis=0)
    return mean


def _interval(values: Shares) -> list[float]:
    return [round(float(bound), 3) for bound in np.percentile(values, (2.5, 97.5))]


def _print_table(table: Mapping[str, Mapping[str, Any]]) -> None:
    names = ["chunks", *MEASURES, "tokens@1", "tokens@5"]
    print("| variant | " + " | ".join(names) + " |", file=sys.stderr)
    print("|---" * (len(names) + 1) + "|", file=sys.stderr)
    for variant, row in table.items():
        cells = [
            f"{row[name]} ({row[f'{name} interval'][0]}–{row[f'{name} interval'][1]})"
            if name in MEASURES
            else str(row[name])
            for name in names
        ]
        print(f"| {variant} | " + " | ".join(cells) + " |", file=sys.stderr)


if __name__ == "__main__":
    main()
