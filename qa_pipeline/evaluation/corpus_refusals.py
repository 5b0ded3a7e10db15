"""Refusals against the whole corpus: does any batch hold the answer that a pair of another says is nowhere?

Nothing is written: no batch's verdicts change for what another holds.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from qa_pipeline.errors import IndexMismatchError
from qa_pipeline.models.base import Encoder
from qa_pipeline.retrieval.corpus_index import CorpusIndex, update_corpus_index
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_columns, read_table, scan_rows
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, EMBEDDINGS, PAIRS, REFUSALS
from qa_pipeline.verification.refusals import judge_refusals, refused_pairs

_STRENGTH = {"refused_answerable": 0, "unproved_refusal": 1, "correct_refusal": 2}


@dataclass(frozen=True, slots=True)
class BatchText:
    """The searchable texts of one batch, and the hash of the file of its vectors."""

    batch: str
    vectors_hash: str
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
        yield BatchText(path.stem, hash_file(path), *tables)


def stored_refusals(layout: Layout) -> pl.DataFrame:
    """Return the pairs of all batches that refuse to answer.

    Raises:
        TableError: a table cannot be read.
    """
    frames = [read_table(layout.table(PAIRS.name, path.stem), PAIRS) for path in layout.tables(PAIRS.name)]
    return refused_pairs(pl.concat([PAIRS.empty(), *frames]))


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
            raise _other_model(f"batch {batch.batch}", others, model)
        shards[batch.batch] = batch.vectors_hash
        judged.append(_in_batch(pairs, batch, embedder, settings))
    return _strongest(pairs, judged), shards


def updated_index(layout: Layout) -> CorpusIndex:
    """Return the index of all batches of an output folder, brought to what they hold now.

    Raises:
        IndexMismatchError: the batches have vectors of different models.
        TableError: a table cannot be read.
    """
    paths = {path.stem: path for path in layout.tables(EMBEDDINGS.name)}
    shards = {batch: hash_file(path) for batch, path in paths.items()}
    return update_corpus_index(
        layout.corpus_index, shards, lambda batch: read_table(paths[batch], EMBEDDINGS)
    )


def judge_by_index(
    pairs: pl.DataFrame,
    index: CorpusIndex,
    layout: Layout,
    embedder: Encoder,
    settings: VerificationSettings,
    *,
    model: str,
    nearest: int,
) -> pl.DataFrame:
    """Weigh refusals against the chunks nearest to any of their questions, wherever they are.

    This finds answers, and proves no absence: words are looked for in these chunks alone, so no refusal is
    `correct_refusal`.

    Args:
        pairs: pairs of coverage none, of any batch.
        index: of all batches.
        layout: whose tables hold the chunks.
        embedder: embeds questions and likely sentences.
        settings: thresholds.
        model: name of the embedder's model; vectors of another cannot be compared.
        nearest: chunks looked up for each question.

    Returns:
        Rows as of `judge_over_corpus`.

    Raises:
        IndexMismatchError: the index is of another model.
        TableError: a table cannot be read.
    """
    if index.rows and index.manifest.origin[0] != model:
        raise _other_model("the index of the corpus", [index.manifest.origin[0]], model)
    questions = embedder.encode(pairs["question"].to_list())
    places = {
        (chunk.batch, chunk.chunk_id) for chunks in index.search(questions, nearest) for chunk in chunks
    }
    by_batch = {batch: [i for other, i in places if other == batch] for batch in {b for b, _ in places}}
    parts = [_chunks_of(layout, batch, chunk_ids) for batch, chunk_ids in sorted(by_batch.items())]
    if not parts:
        return _strongest(pairs, [])
    # A text that stands in several batches has one id, and is looked at once.
    chunks = pl.concat(parts, how="diagonal").unique("chunk_id", keep="first", maintain_order=True)
    judged = judge_refusals(pairs, chunks, embedder, settings).with_columns(
        outcome=pl.col("outcome").replace("correct_refusal", "unproved_refusal")
    )
    origins = chunks.select("found_batch", "found_path", best_chunk_id="chunk_id")
    return _strongest(pairs, [judged.join(origins, on="best_chunk_id", how="left")])


def _chunks_of(layout: Layout, batch: str, chunk_ids: Collection[str]) -> pl.DataFrame:
    """Return some chunks of a batch, with the batch and the path of their document."""
    documents = read_columns(layout.table(DOCUMENTS.name, batch), DOCUMENTS, ["document_id", "path"])
    return (
        scan_rows(layout.table(CHUNKS.name, batch))
        .filter(pl.col("chunk_id").is_in(sorted(chunk_ids)))
        .collect()
        .join(documents.rename({"path": "found_path"}), on="document_id", how="left", maintain_order="left")
        .with_columns(found_batch=pl.lit(batch))
    )


def _other_model(place: str, models: Iterable[str], model: str) -> IndexMismatchError:
    return IndexMismatchError(
        f"the vectors of {place} are of {sorted(models)} and not of {model}; "
        f"name that model in the settings, or compute the batch again"
    )


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
