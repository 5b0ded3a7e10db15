"""What suites are made from: the proved pairs and passages of a batch or of a release."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from qa_pipeline.curation.training import marked_passage
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets.answered_questions import read_rag_rows
from qa_pipeline.records import Passage
from qa_pipeline.retrieval.search import DEPTH, WordIndex, terms
from qa_pipeline.storage.files import local_copy
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, TRAINING_EXAMPLES
from qa_pipeline.text.words import content_stems
from qa_pipeline.verification.canaries.material import Material, gather, lower_words

Row = dict[str, Any]


def fold_text(text: str) -> str:
    """Return the text with single spaces and without case."""
    return " ".join(text.split()).casefold()


@lru_cache(maxsize=20_000)
def stems(text: str, language: str) -> frozenset[str]:
    """Return the stems of the words of a text that mean something, remembered since pairs share passages."""
    return frozenset(content_stems(text, language))


@dataclass(frozen=True, slots=True)
class Text:
    """A passage; title and headings are empty where they are unknown.

    `before` and `behind` are the texts of its document beside it, as far as the next passages reach.
    """

    name: str
    document: str
    title: str
    headings: tuple[str, ...]
    text: str
    language: str
    before: str = ""
    behind: str = ""

    def is_under(self, other: "Text") -> bool:
        """Return whether the text is under the nearest heading of another of its document, as that one is."""
        same = self.document == other.document
        return self == other or (same and bool(other.headings) and other.headings[-1] in self.headings)

    def numbered(self, rank: int) -> str:
        """Return the text as an application shows it: number, title and headings first, where known."""
        if not self.title:
            return self.text
        return marked_passage(rank, Passage(self.name, self.title, self.headings, self.text, self.language))


@dataclass(frozen=True, slots=True)
class Proof:
    """A claim of an answer, the words that prove it, and the passage that has them."""

    claim: str
    quote: str
    passage: Text


@dataclass(frozen=True, slots=True)
class Proved:
    """An accepted pair; one without proofs is a refusal that was accepted."""

    pair_id: str
    question: str
    answer: str
    language: str
    kind: str
    proofs: tuple[Proof, ...]

    @property
    def passages(self) -> tuple[Text, ...]:
        """Return the passages of the proofs, each once."""
        return tuple(dict.fromkeys(proof.passage for proof in self.proofs))

    @property
    def documents(self) -> tuple[str, ...]:
        """Return the documents of the proofs, each once."""
        return tuple(dict.fromkeys(proof.passage.document for proof in self.proofs))


@dataclass(frozen=True)
class Source:
    """The material of a suite: the pairs and passages of a batch, or of a release."""

    name: str
    pairs: tuple[Proved, ...]
    texts: tuple[Text, ...]
    seed: int = 0

    @cached_property
    def material(self) -> Material:
        """Return the passages as canaries are made from them."""
        columns = ("chunk_id", "document_id", "text", "language")
        rows = [(text.name, text.document, text.text, text.language) for text in self.texts]
        frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String()), orient="row")
        # a release does not tell these of its passages
        further = {"repeats": pl.lit(None), "doubts": pl.lit(None), "char_start": pl.lit(0)}
        return gather(frame.with_columns(position=pl.int_range(pl.len()), **further), self.seed)

    @cached_property
    def small_words(self) -> frozenset[str]:
        """Return the words that some passage writes in small letters, so that they are no names."""
        return frozenset().union(*(lower_words(text.text) for text in self.texts))

    @cached_property
    def _by_language(self) -> dict[str, tuple[list[Text], WordIndex]]:
        texts_by_language: dict[str, list[Text]] = defaultdict(list)
        for text in self.texts:
            texts_by_language[text.language].append(text)
        return {
            language: (texts, WordIndex([terms(text.numbered(1), language) for text in texts]))
            for language, texts in texts_by_language.items()
        }

    def near(self, question: str, language: str) -> list[Text]:
        """Return passages that share words with a question, the nearest by BM25 first."""
        texts, index = self._by_language.get(language, ([], WordIndex([])))
        return [texts[place] for place in index.rank(terms(question, language), DEPTH)]


def batch_source(layout: Layout, batch: str, seed: int = 0) -> Source:
    """Return the accepted pairs of a batch and all of its chunks.

    Raises:
        TableError: a table is missing or cannot be read.
    """
    chunks, documents, examples = (
        read_table(layout.table(table.name, batch), table) for table in (CHUNKS, DOCUMENTS, TRAINING_EXAMPLES)
    )
    documents_of_chunks = documents.select("document_id", "path", document="text")
    columns = ("chunk_id", "path", "title", "section_path", "text", "language", "document")
    texts = {
        name: Text(
            name, path, title, tuple(headings), text, language, document[start:first], document[last:end]
        )
        for name, path, title, headings, text, language, document, first, last, start, end in _with_ends(
            chunks
        )
        .join(documents_of_chunks, on="document_id", how="inner", maintain_order="left")
        .select(*columns, "char_start", "char_end", "start", "end")
        .iter_rows()
    }
    pairs = [
        _proved(
            row,
            [
                Proof(evidence["claim"], evidence["quote"], texts[evidence["chunk_id"]])
                for evidence in row["evidence"]
            ],
        )
        for row in examples.iter_rows(named=True)
        if all(evidence["chunk_id"] in texts for evidence in row["evidence"])
    ]
    return Source(batch, tuple(pairs), tuple(texts.values()), seed)


def _with_ends(chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the chunks with the places where the one before begins and the one behind ends."""
    ordered = chunks.sort("document_id", "position")
    before = pl.col("char_start").shift(1).over("document_id")
    behind = pl.col("char_end").shift(-1).over("document_id")
    return ordered.with_columns(start=pl.coalesce(before, "char_start"), end=pl.coalesce(behind, "char_end"))


def _proved(row: Row, proofs: Iterable[Proof]) -> Proved:
    kind = row["question_type"]
    return Proved(row["pair_id"], row["question"], row["answer"], row["language"], kind, tuple(proofs))


def release_source(folder: Path, seed: int = 0) -> Source:
    """Return a source from a release; passages are the contexts of its format `evaluation`, else quotes.

    Raises:
        InputError: the release cannot be read.
    """
    with local_copy(folder) as copy:
        return _local_source(copy, seed)


def _local_source(folder: Path, seed: int) -> Source:
    try:
        files = sorted((folder / "data").glob("*.parquet"))
        examples = pl.concat([pl.read_parquet(path) for path in files if path.stat().st_size])
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{folder} is no release that can be read: {error}") from error
    rows_shown = read_rag_rows([folder]).items.select("id", "contexts", "language")
    texts: dict[str, Text] = {}
    of_row: dict[str, list[Text]] = {}
    for name, contexts, language in rows_shown.iter_rows():
        texts_of_row = [
            _text_shown(context["document"], context["text"], language) for context in contexts or []
        ]
        of_row[name] = texts_of_row
        texts.update((text.name, text) for text in texts_of_row)
    pairs = []
    for row in examples.sort("pair_id").iter_rows(named=True):
        proofs = [
            _proof(evidence, of_row.get(row["pair_id"], []), row["language"]) for evidence in row["evidence"]
        ]
        texts.update((proof.passage.name, proof.passage) for proof in proofs)
        pairs.append(_proved(row, proofs))
    return Source(folder.name, tuple(pairs), tuple(texts[name] for name in sorted(texts)), seed)


def _text_shown(document: str | None, text: str | None, language: str) -> Text:
    name = hash_parts(document, text)[:32]
    return Text(name, document or name[:8], "", (), text or "", language)


def _proof(evidence: Row, texts: Sequence[Text], language: str) -> Proof:
    holding = (text for text in texts if evidence["quote"] in text.text and text.document == evidence["path"])
    passage = next(holding, None) or _text_shown(evidence["path"], evidence["quote"], language)
    return Proof(evidence["claim"], evidence["quote"], passage)
