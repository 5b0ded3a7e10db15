"""What leaves the tables of a batch when documents are forgotten, by one rule for all tables.

A row that names something that is gone goes as well, and with it the pair it is about. Names are found by
column (`kind_of`), in structs and lists too. Where ids do not reach, words do: a row goes that repeats a
sentence which no other document of its batch holds. Rows that stay lose what they say of those that go.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import cast

import polars as pl

from qa_pipeline.curation.training import marked_passage
from qa_pipeline.records import passages_by_id
from qa_pipeline.storage.table_schema import Table
from qa_pipeline.storage.tables import (
    CANARIES,
    DOCUMENTS,
    LAYOUTS,
    LLM_CALLS,
    TRAINING_EXAMPLES,
    TWINS,
    VERDICTS,
)
from qa_pipeline.text.sentences import split_sentences

KINDS = ("content", "document", "chunk", "question", "pair", "claim")
OTHER_IDS = frozenset(
    {"contradiction_id", "decision_id", "canary_id", "call_id", "thresholds_id", "source_id", "text_sha256"}
)
"""Columns of ids that name nothing a document is the source of, or only their own row."""
MENDED = frozenset({"near_duplicate_of", "duplicate_of", "exact_group", "near_group", "similar"})
"""Columns that name another row which may go while their own stays."""
REPEATED_FORGOTTEN = "repeated_forgotten"
"""The reason of a pair that awaits the next run: the pair it repeated, or its denial, is forgotten."""
LEAST_WORDS = 30
"""Characters from which a sentence is not said twice by chance."""
_ID_COLUMNS = re.compile(r"(?:^|_)(document|chunk|question|pair|claim)_ids?$")
_PREFIX = 12
"""Characters of a document's id in a message of `find_one_sided`."""

RemovedIds = dict[str, set[str]]
Test = Callable[[str, pl.Expr], pl.Expr | None]


def kind_of(name: str) -> str | None:
    """Return the kind of ids in a column or field of this name; None where nothing in it can go."""
    if name in OTHER_IDS:
        return None
    if name.endswith("content_sha256"):
        return "content"
    if name == "passage_ids":
        return "chunk"
    match = _ID_COLUMNS.search(name)
    return match[1] if match else None


@dataclass(frozen=True, slots=True)
class RemovedTexts:
    """The words of forgotten documents that no other document of the batch has, on one line each.

    Args:
        pieces: sentences and passages as a training example shows them.
        text: all of their text.
        others: all other text.
    """

    pieces: tuple[str, ...]
    text: str
    others: pl.Series

    def is_theirs(self, sentence: str | None) -> bool:
        """Return whether only the removed documents have a sentence, however short it is."""
        words = " ".join((sentence or "").split())
        if not words or words not in self.text:
            return False
        return not self.others.str.contains(words, literal=True).any()


def words_of(documents: pl.DataFrame, chunks: pl.DataFrame, contents: Collection[str]) -> RemovedTexts:
    """Return the words of the documents of these contents, and those of the others of the batch."""
    theirs = pl.col("content_sha256").is_in(list(contents)).fill_null(value=False)
    texts = documents.filter(theirs).select("document_id", "text", "language").drop_nulls("text")
    others = documents.filter(~theirs)["text"].drop_nulls()
    if texts.is_empty():
        return RemovedTexts((), "", others.head(0))
    on_a_line = others.str.replace_all(r"\s+", " ")
    sentences = {
        line
        for text, language in texts.select("text", "language").iter_rows()
        for start, end in split_sentences(text, language or "en")
        if len(line := " ".join(text[start:end].split())) >= LEAST_WORDS
    }
    shared = on_a_line.str.extract_many(sorted(sentences), overlapping=True).explode(empty_as_null=True)
    passages = passages_by_id(chunks.join(texts, on="document_id", how="semi")).values()
    passages_written = {
        " ".join(marked_passage(0, passage).split())[1:] for passage in passages
    }  # without "[0"
    ids = {f"document {document_id[:_PREFIX]}:" for document_id in texts["document_id"]}
    pieces = tuple(sorted(sentences - set(shared.drop_nulls()) | passages_written | ids))
    return RemovedTexts(pieces, " ".join(" ".join(texts["text"]).split()), on_a_line)


_NO_WORDS_OF_OTHERS = frozenset(
    {"documents", "chunks", "embeddings", "links", "coverage", "llm_calls", "verdicts"}
)
"""Tables that quote no other document than the one they name, or whose words are mended (`mended`)."""


def names_removed(table: Table, removed: RemovedIds) -> pl.Expr:
    """Return whether each row names something that is removed."""

    def mentions(name: str, value: pl.Expr) -> pl.Expr | None:
        kind = None if name in MENDED else kind_of(name)
        return value.is_in(listed(removed[kind])) if kind and removed[kind] else None

    return _in_any(table, MENDED, mentions)


def repeating(table: Table, frame: pl.DataFrame, texts: RemovedTexts) -> pl.Series:
    """Return whether each row repeats words that only removed documents have, as Booleans."""
    is_repeated: pl.Expr = pl.lit(value=False)
    if texts.pieces and table.name not in _NO_WORDS_OF_OTHERS:
        is_repeated = _in_any(table, {MESSAGES_WITH_DISTRACTORS}, lambda _, value: _repeats(value, texts))
    rows = frame.select(pl.repeat(value=False, n=pl.len()) | is_repeated).to_series()
    if table is CANARIES:  # short ones too: they are made of one sentence, and cite another one's chunk
        rows |= pl.Series([texts.is_theirs(source) for source in frame["source"]], dtype=pl.Boolean())
    return rows


def _in_any(table: Table, aside: Collection[str], test: Test) -> pl.Expr:
    """Return whether any string of a row meets the test, some columns aside."""
    conditions = (
        _any(column.name, column.dtype, pl.col(column.name), test)
        for column in table.columns
        if column.name not in aside
    )
    present = (condition.fill_null(value=False) for condition in conditions if condition is not None)
    return pl.any_horizontal([pl.lit(value=False), *present])


MESSAGES_WITH_DISTRACTORS = "messages_with_distractors"


def _any(name: str, dtype: pl.DataType, value: pl.Expr, test: Test) -> pl.Expr | None:
    """Return whether any string below `value` meets the test; None where there is no string."""
    if isinstance(dtype, pl.List):
        inner = _any(name, cast("pl.DataType", dtype.inner), pl.element(), test)
        return None if inner is None else value.list.eval(inner).list.any()
    if isinstance(dtype, pl.Struct):
        parts = [
            _any(field.name, cast("pl.DataType", field.dtype), value.struct.field(field.name), test)
            for field in dtype.fields
        ]
        conditions = [part.fill_null(value=False) for part in parts if part is not None]
        return pl.any_horizontal(conditions) if conditions else None
    return test(name, value) if dtype == pl.String() else None


def _repeats(value: pl.Expr, texts: RemovedTexts) -> pl.Expr:
    return value.str.replace_all(r"\s+", " ").str.contains_any(list(texts.pieces))


def listed(ids: Iterable[str]) -> pl.Series:
    """Return the ids as polars looks them up in any column."""
    return pl.Series(sorted(ids), dtype=pl.String()).implode()


def mended(
    table: Table, frame: pl.DataFrame, removed: RemovedIds, texts: RemovedTexts, calls_shown: Collection[str]
) -> pl.DataFrame:
    """Return the remaining rows, without their references to removed ones."""
    if table.name == DOCUMENTS.name:
        first = pl.col("near_duplicate_of").is_in(listed(removed["document"]))
        columns = ("near_duplicate_of", "near_duplicate_similarity")
        return frame.with_columns(
            pl.when(~first.fill_null(value=False)).then(column).alias(column) for column in columns
        )
    if table.name == TWINS.name:
        return _regrouped(frame, removed["pair"])
    if table.name == VERDICTS.name:
        return _undecided(frame, removed["pair"], texts)
    if table.name == TRAINING_EXAMPLES.name and texts.pieces:
        return _without_distractors(frame, texts)
    if table.name == LLM_CALLS.name:
        is_kept = pl.col("call_id").is_in(listed(calls_shown))
        return frame.with_columns(pl.when(is_kept).then("prompt").alias("prompt"))
    return frame


def _regrouped(twins: pl.DataFrame, removed: Collection[str]) -> pl.DataFrame:
    """Return twins; groups named after a removed pair get the name of the first that remains."""
    lost = listed(removed)
    group_columns = [
        pl.when(pl.col(column).is_in(lost))
        .then(pl.col("pair_id").min().over(column))
        .otherwise(column)
        .alias(column)
        for column in ("exact_group", "near_group")
    ]
    near = pl.col("similar").list.filter(~pl.element().struct.field("pair_id").is_in(lost))
    return twins.with_columns(*group_columns, similar=near)


def _undecided(verdicts: pl.DataFrame, removed: Collection[str], texts: RemovedTexts) -> pl.DataFrame:
    """Return verdicts; pairs decided by something removed await the next run, which decides again."""
    by_twin = pl.col("duplicate_of").is_in(listed(removed)).fill_null(value=False)
    by_words = pl.lit(value=False)
    if texts.pieces:
        by_words = _repeats(pl.col("detail"), texts).fill_null(value=False)
    new = {
        "verdict": "needs_review",
        "stage": "deduplication",
        "reason": REPEATED_FORGOTTEN,
        "decided_by": "pipeline",
        "detail": "what decided it is forgotten; the next run of the batch decides again",
        "duplicate_of": None,
    }
    lost = by_twin | by_words
    return verdicts.with_columns(
        pl.when(lost).then(pl.lit(value, pl.String())).otherwise(name).alias(name)
        for name, value in new.items()
    )


def _without_distractors(examples: pl.DataFrame, texts: RemovedTexts) -> pl.DataFrame:
    """Return examples; those that show a removed passage as distractor lose that layout, or null."""
    name = MESSAGES_WITH_DISTRACTORS
    is_repeated = _any(name, examples.schema[name], pl.col(name), lambda _, value: _repeats(value, texts))
    is_kept = pl.lit(value=True) if is_repeated is None else ~is_repeated.fill_null(value=False)
    fields = pl.col("tokens").struct
    counts = [fields.field(layout) for layout in LAYOUTS[:-1]]
    last = pl.when(is_kept).then(fields.field(LAYOUTS[-1])).alias(LAYOUTS[-1])
    return examples.with_columns(pl.when(is_kept).then(name).alias(name), tokens=pl.struct(*counts, last))
