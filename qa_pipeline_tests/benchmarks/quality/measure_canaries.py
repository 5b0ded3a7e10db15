"""Recall and false alarms of the local verification on canaries made from real documents.

    python -m qa_pipeline_tests.benchmarks.quality.measure_canaries --corpus FOLDER --per-kind 300
        [--out FOLDER] [--kinds number,date] [--languages sv] [--rows FILE.parquet] [--with-vectors]

Prints one JSON document: for each kind and language how many claims were made from how many sentences (fewer
where the documents hold no more), the share rejected, the share accepted, and their Wilson intervals. Of
false claims the rejected share is recall, of true ones false alarms; `untouched` sentences show what is
accepted of what the source says word for word.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.pipeline import stages
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.retrieval.shard import embed_chunks
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import STORED
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.verification.canaries.material import Draft, Generator, Material, gather
from qa_pipeline.verification.canaries.outcomes import canary_rates, canary_rows
from qa_pipeline.verification.canaries.seeding import EVERY, Canary, canary_pairs, draw_canaries
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline_tests.benchmarks.support.command_line import parser_of

_READ = ("documents", "chunks", "embeddings")
_MOST_OF_A_SENTENCE = 2
_UNTOUCHED = Generator(
    "untouched",
    "foreign",
    "untouched",
    lambda sentence, _: iter([Draft(sentence.text, sentence.chunk_id)]),
    "supported",
)
_GENERATORS = (_UNTOUCHED, *EVERY)


def main() -> None:
    """Print the figures."""
    asked = _arguments()
    with TemporaryDirectory() as scratch:
        resources = Resources(load_settings(corpus=str(asked.corpus), out=asked.out or Path(scratch)))
        frames = _tables(resources)
        rows = pl.concat([_measured(resources, frames, language, asked) for language in asked.languages])
    if asked.rows:
        rows.write_parquet(asked.rows)
    json.dump(_figures(rows), sys.stdout, indent=1)
    print()


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--per-kind", type=int, default=300)
    parser.add_argument("--out", type=Path, help="keeps and reuses documents, chunks and vectors")
    parser.add_argument("--kinds", type=_names, default=tuple(dict.fromkeys(one.kind for one in _GENERATORS)))
    parser.add_argument("--languages", type=_names, default=LANGUAGES)
    parser.add_argument("--rows", type=Path, help="keeps the canaries table")
    parser.add_argument("--with-vectors", action="store_true", help="order evidence by them, as for pairs")
    return parser.parse_args()


def _names(written: str) -> tuple[str, ...]:
    return tuple(written.split(","))


def _tables(resources: Resources) -> dict[str, pl.DataFrame]:
    """Documents, chunks and vectors of all batches; read from the output folder where they are there."""
    settings = resources.settings
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in _READ}
    for batch in open_corpus(settings.corpus).find_batches().names:
        for name, frame in zip(_READ, _of_batch(resources, batch), strict=True):
            found[name].append(frame)
    return {
        name: pl.concat(frames).unique(STORED[name].key[0], maintain_order=True)
        for name, frames in found.items()
    }


def _of_batch(resources: Resources, batch: str) -> list[pl.DataFrame]:
    paths = [resources.layout.table(name, batch) for name in _READ]
    if all(path.exists() for path in paths):
        return [read_table(path, STORED[name]) for name, path in zip(_READ, paths, strict=True)]
    documents = stages.read_batch(resources, batch, None)
    chunks = stages.cut_documents(resources, documents)
    made = [documents, chunks, embed_chunks(chunks, resources.embedder)]
    for name, path, frame in zip(_READ, paths, made, strict=True):
        write_table(path, frame, STORED[name])
    return made


def _measured(
    resources: Resources, frames: dict[str, pl.DataFrame], language: str, asked: argparse.Namespace
) -> pl.DataFrame:
    """The canaries of a language, decided; only chunks of that language are searched."""
    chunks = frames["chunks"].filter(pl.col("language") == language)
    material = gather(chunks)
    drawn = _drawn(material, asked)
    pairs = canary_pairs(drawn, material, language)
    begun = time.perf_counter()
    claims = stages.score_claims(
        resources,
        pairs,
        frames["documents"],
        chunks,
        frames["embeddings"],
        similarity=asked.with_vectors,
    )
    verdicts = verify_claims(claims, pairs, frames["documents"], chunks, resources.settings.verification)
    took = time.perf_counter() - begun
    print(f"{language}: {len(drawn)} canaries in {took:.0f} s", file=sys.stderr)
    return canary_rows(drawn, language, claims, verdicts)


def _drawn(material: Material, asked: argparse.Namespace) -> list[Canary]:
    drawn: dict[str, Canary] = {}
    for kind in asked.kinds:
        generators = [one for one in _GENERATORS if one.kind == kind]
        found = draw_canaries(material, generators, asked.per_kind, _MOST_OF_A_SENTENCE)
        drawn |= {one.canary_id: one for one in found if one.canary_id not in drawn}
    return list(drawn.values())


def _figures(rows: pl.DataFrame) -> dict[str, object]:
    by = ("expected", "kind", "family", "language")
    sentences = rows.group_by(by).agg(pl.col("source").n_unique().alias("sentences"))
    rates = canary_rates(rows, by).join(sentences, on=by, how="left", maintain_order="left")
    return {
        "foreign": _rounded(canary_rates(rows.filter(expected="rejected", family="foreign"), ("family",))),
        "by_kind": _rounded(canary_rates(rows, ("expected", "family", "kind"))),
        "by_kind_and_language": _rounded(rates),
    }


def _rounded(rates: pl.DataFrame) -> list[dict[str, object]]:
    return rates.with_columns(pl.col(pl.Float64).round(4)).to_dicts()


if __name__ == "__main__":
    main()
