"""What the local verification makes of canaries from real documents.

    python -m qa_pipeline_tests.benchmarks.quality.measure_canaries --corpus FOLDER --per-kind 300
        [--out FOLDER] [--languages sv] [--rows FILE.parquet]

Prints one JSON document: for each kind, mechanism and language how many claims were made (fewer where the
documents hold no more), the shares rejected and accepted, and their Wilson intervals. Of edited and foreign
sentences none may be accepted; of verbatim ones the accepted share is what is proved word by word, and the
rejected share false alarms.
"""

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from qa_pipeline.documents.corpus.corpora import open_corpus
from qa_pipeline.pipeline import stages
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.retrieval.search import embed_chunks
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, EMBEDDINGS
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.verification.canaries import canary_pairs, canary_rates, draw_canaries, verified_rows
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline_tests.benchmarks.support.command_line import parser_of


def main() -> None:
    """Print the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--per-kind", type=int, default=300)
    parser.add_argument("--out", type=Path, help="keeps and reuses documents and chunks")
    parser.add_argument("--languages", type=lambda names: names.split(","), default=LANGUAGES)
    parser.add_argument("--rows", type=Path, help="keeps the canaries table")
    asked = parser.parse_args()
    with TemporaryDirectory() as scratch:
        resources = Resources(load_settings(corpus=str(asked.corpus), out=asked.out or Path(scratch)))
        batches = open_corpus(resources.settings.corpus).find_batches().names
        read = [_tables(resources, batch) for batch in batches]
        documents, chunks = (pl.concat(frames) for frames in zip(*read, strict=True))
        tables = documents.unique("document_id"), chunks.unique("chunk_id")
        rows = pl.concat(
            [_verified(resources, *tables, language, asked.per_kind) for language in asked.languages]
        )
    if asked.rows:
        rows.write_parquet(asked.rows)
    groups = {
        "by_kind": ("kind",),
        "by_kind_and_language": ("kind", "language"),
        "by_mechanism": ("kind", "mechanism", "language"),
    }
    rates = {name: canary_rates(rows, by).sort(by) for name, by in groups.items()}
    rounded = {name: frame.with_columns(pl.col(pl.Float64).round(4)) for name, frame in rates.items()}
    json.dump({name: frame.to_dicts() for name, frame in rounded.items()}, sys.stdout, indent=1)
    print()


def _tables(resources: Resources, batch: str) -> list[pl.DataFrame]:
    """Documents and chunks of a batch; read from the output folder where they are there."""
    paths = [resources.layout.table(table.name, batch) for table in (DOCUMENTS, CHUNKS)]
    if not all(path.exists() for path in paths):
        documents = stages.read_batch(stages.StageRun(resources, batch))
        made = (documents, stages.cut_documents(resources, documents))
        for path, frame, table in zip(paths, made, (DOCUMENTS, CHUNKS), strict=True):
            write_table(path, frame, table)
    return [read_table(path, table) for path, table in zip(paths, (DOCUMENTS, CHUNKS), strict=True)]


def _verified(
    resources: Resources, documents: pl.DataFrame, chunks: pl.DataFrame, language: str, per_kind: int
) -> pl.DataFrame:
    """The canaries of a language, decided; only chunks of that language are searched."""
    chunks = chunks.filter(pl.col("language") == language)
    canaries = draw_canaries(chunks, per_kind)
    pairs = canary_pairs(canaries, language)
    begun = time.perf_counter()
    settings = resources.settings.verification
    similarity = settings.policy == "similarity_only"
    vectors = embed_chunks(chunks, resources.embedder) if similarity else EMBEDDINGS.empty()
    claims = stages.score_claims(resources, pairs, documents, chunks, vectors, with_similarity=similarity)
    verdicts = verify_claims(claims, pairs, {}, settings)
    print(f"{language}: {len(canaries)} canaries in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    return verified_rows(canaries, language, claims, verdicts)


if __name__ == "__main__":
    main()
