"""Refusals against the whole corpus: does any batch hold the answer that a pair of another says is nowhere?

Nothing is written: no batch's verdicts change for what another holds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.models.base import Encoder
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import frame_hash, read_table
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, EMBEDDINGS, PAIRS, REFUSALS
from qa_pipeline.verification.refusals import judge_refusals, refused_pairs

_STRENGTH = {"refused_answerable": 0, "unproved_refusal": 1, "correct_refusal": 2}


@dataclass(frozen=True, slots=True)
class BatchText:
    """The searchable texts of one batch."""

    batch: str
    documents: pl.DataFrame
    chunks: pl.DataFrame
    embeddings: pl.DataFrame


def stored_batches(layout: Layout) -> Iterator[BatchText]:
    """Yield the batches of an output folder that have vectors, one after the other, by name.

    Raises:
        TableError: a table cannot be read.
    """
    for path in layout.tables(EMBEDDINGS.name):
        tables = (
            read_table(layout.table(table.name, path.stem), table)
            for table in (DOCUMENTS, CHUNKS, EMBEDDINGS)
        )
        yield BatchText(path.stem, *tables)


def stored_refusals(layout: Layout) -> pl.DataFrame:
    """Return the pairs of all batches that refuse to answer.

    Raises:
        TableError: a table cannot be read.
    """
    frames = [read_table(layout.table(PAIRS.name, path.stem), PAIRS) for path in layout.tables(PAIRS.name)]
    return refused_pairs(pl.concat([PAIRS.empty(), *frames]))


def index_snapshot(shards: Mapping[str, str]) -> str:
    """Hash of the list of shards: each batch with the hash of its vectors."""
    lines = "".join(f"{batch}\x1f{shard}\n" for batch, shard in sorted(shards.items()))
    return hash_text(lines)


def judge_over_corpus(
    pairs: pl.DataFrame,
    batches: Iterable[BatchText],
    embedder: Encoder,
    settings: VerificationSettings,
    *,
    model: str,
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Weigh refusals against every batch, one batch in memory at a time.

    A refusal is right over the corpus where every batch by itself proves that it is; it is wrong where one
    batch holds an answer.

    Args:
        pairs: pairs of coverage none, of any batch.
        batches: what is searched.
        embedder: embeds questions and likely sentences.
        settings: thresholds.
        model: name of the embedder's model; vectors of another cannot be compared.

    Returns:
        One row for each refusal: pair_id, batch, question, outcome over the corpus, and where its strongest
        signal is (found_batch, found_path, found_chunk_id, found_sentence, sentence_recall,
        sentence_similarity). Then the hash of each batch's vectors, for `index_snapshot`.

    Raises:
        IndexMismatchError: a batch has vectors of another model.
    """
    shards: dict[str, str] = {}
    judged = []
    for batch in batches:
        others = set(batch.embeddings["model"]) - {model}
        if others:
            raise IndexMismatchError(
                f"the vectors of batch {batch.batch} are of {sorted(others)} and not of {model}; "
                f"name that model in the settings, or compute the batch again"
            )
        shards[batch.batch] = frame_hash(batch.embeddings)
        judged.append(_in_batch(pairs, batch, embedder, settings))
    return _strongest(pairs, judged), shards


def _in_batch(
    pairs: pl.DataFrame, batch: BatchText, embedder: Encoder, settings: VerificationSettings
) -> pl.DataFrame:
    paths = batch.chunks.select("chunk_id", "document_id").join(
        batch.documents.select("document_id", found_path="path"), on="document_id"
    )
    judged = judge_refusals(pairs, batch.chunks, embedder, settings, embeddings=batch.embeddings)
    return judged.with_columns(found_batch=pl.lit(batch.batch)).join(
        paths.select("found_path", best_chunk_id="chunk_id"), on="best_chunk_id", how="left"
    )


def _strongest(pairs: pl.DataFrame, by_batch: list[pl.DataFrame]) -> pl.DataFrame:
    """Return the batch that speaks most against each refusal; no batch, no proof."""
    empty = REFUSALS.empty().with_columns(
        found_batch=pl.lit(None, pl.String()), found_path=pl.lit(None, pl.String())
    )
    ranked = (
        pl.concat([empty, *by_batch], how="diagonal")
        .with_columns(strength=pl.col("outcome").replace_strict(_STRENGTH, return_dtype=pl.Int8()))
        .sort(
            "strength",
            "sentence_recall",
            "sentence_similarity",
            "found_batch",
            descending=[False, True, True, False],
            nulls_last=True,
        )
        .unique("pair_id", keep="first", maintain_order=True)
    )
    strongest = ranked.select(
        "pair_id",
        "outcome",
        "found_batch",
        "found_path",
        "sentence_recall",
        "sentence_similarity",
        found_chunk_id="best_chunk_id",
        found_sentence="best_sentence",
    )
    return (
        pairs.select("pair_id", "batch", "question")
        .join(strongest, on="pair_id", how="left", maintain_order="left")
        .with_columns(pl.col("outcome").fill_null("unproved_refusal"))
    )
