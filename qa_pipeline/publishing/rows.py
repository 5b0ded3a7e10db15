"""Rows of a release: accepted pairs with messages, scores, evidence and origin."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from qa_pipeline.curation.duplicates import ALTERNATIVE
from qa_pipeline.curation.training import SCORES, heading_of, unmarked_answer, user_message
from qa_pipeline.generation.deduplication import normalised
from qa_pipeline.publishing.splits import SplitMap, document_keys
from qa_pipeline.records import Passage, passages_by_id
from qa_pipeline.storage.hashes import hash_json, hash_text
from qa_pipeline.storage.table_schema import Column, Table
from qa_pipeline.storage.tables import EVIDENCE, MESSAGES, STRINGS, TRAINING_EXAMPLES, VERDICTS
from qa_pipeline.verification.outcomes import SUPPORTED

PASSAGE = pl.Struct(
    {"chunk_id": pl.String(), "content_sha256": pl.String(), "start": pl.Int64(), "end": pl.Int64(),
     "heading": pl.String()}
)  # fmt: skip
"""A passage of a user message: the span of its document's text, and the heading above it."""
_S = pl.String()
_COLUMNS = (
    Column("messages", MESSAGES, "System, user and assistant, in the layout of `training.layout`."),
    Column("question", _S, "The question."),
    Column("answer", _S, "The answer as it was judged."),
    Column("language", _S, "Language of the pair."),
    Column("question_type", _S, "Type of the question."),
    Column("split", _S, "The split, also the name of the file."),
    *(Column(name, pl.Float64(), "The score, 0 to 1; null where unknown.", nullable=True) for name in SCORES),
    Column("verdict", _S, "Always accepted: other rows are not released."),
    Column("reason", _S, "Reason code of the verdict."),
    Column("coverage", _S, "full, partial or none (a proved refusal)."),
    Column("evidence", pl.List(EVIDENCE), "Proof of each claim: document, character span, page, quote."),
    Column("decided_by", STRINGS, "The steps that decided the claims, each once."),
    Column("document", _S, "Path of the document it rests on first.", nullable=True),
    Column("documents", STRINGS, "Hashes of the documents it rests on; of a refusal those it was shown."),
    Column("licences", STRINGS, "Licences of these documents; an unknown one is absent."),
    Column("passages", pl.List(PASSAGE), "What the user message shows before the question.", nullable=True),
    Column("difficulty", _S, "How the search finds it: easy, medium or hard.", nullable=True),
    Column("source_fields", _S, "Further fields of an imported pair, as a JSON object.", nullable=True),
    Column("origin", _S, "Where the pair comes from."),
    Column("generator", _S, "Who wrote the answer.", nullable=True),
    Column("judge", _S, "Model that judged it.", nullable=True),
    Column("batch", _S, "Name of the batch."),
    Column("pair_id", _S, "Id of the pair in the tables of its batch."),
    Column("row_id", _S, "Hash of all other columns but split."),
)  # fmt: skip
OPTIONAL = (*SCORES[1:], "passages", "difficulty", "source_fields", "generator", "judge")
"""Columns that a release omits if they are null in all its rows. The first score, grounding, never is."""


def released_table(lacking: Sequence[str] = ()) -> Table:
    """Return the table of released rows, without the omitted columns."""
    columns = tuple(column for column in _COLUMNS if column.name not in lacking)
    return Table("released", "One row per released pair.", ("pair_id",), columns)


SOURCE_SCHEMA = pl.Schema(
    dict.fromkeys(("content_sha256", "batch", "path", "title", "language", "source_uri"), pl.String())
    | dict.fromkeys(("licence", "text", "text_sha256"), pl.String())
)
LEFT_OUT_SCHEMA = pl.Schema(dict.fromkeys(("pair_id", "batch", "reason"), pl.String()))


def candidate_rows(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the accepted pairs of a batch, sorted by pair_id, without split and row_id."""
    verdicts = tables[VERDICTS.name].filter(pl.col("verdict") == "accepted")
    cited = _cited_documents(tables[TRAINING_EXAMPLES.name], tables)
    documents = cited.group_by("pair_id", maintain_order=True).agg(
        documents=pl.col("content_sha256").unique(maintain_order=True), document=pl.col("path").first()
    )
    supported = tables["claim_verdicts"].filter(pl.col("verdict") == SUPPORTED)
    deciders = supported.group_by("pair_id").agg(decided_by=pl.col("decided_by").unique().sort())
    return (
        tables[TRAINING_EXAMPLES.name]
        .join(verdicts.select("pair_id", "verdict"), on="pair_id")
        .join(documents, on="pair_id", how="left")
        .join(deciders, on="pair_id", how="left")
        .sort("pair_id")
        .with_columns(
            # an empty list becomes null: a release omits the columns of OPTIONAL that are null in all rows
            pl.when(pl.col("passages").list.len() > 0).then("passages"),
            pl.col("provenance").struct.field("origin", "generator", "judge", "licences"),
            pl.col("documents", "decided_by").fill_null([]),
        )
    )


def finished_rows(
    rows: pl.DataFrame, tables: Mapping[str, pl.DataFrame], split_map: SplitMap, table: Table
) -> pl.DataFrame:
    """Return candidate rows with the columns of a release.

    Distractors from documents of other splits are removed, since batches draw them before splits are known.
    """
    if "passages" in table.schema:
        rows = _with_passages(rows, tables, split_map)
    complete = rows.select(name for name in table.schema if name != "row_id")
    return table.conform(complete.with_columns(row_ids(complete)))


def row_ids(rows: pl.DataFrame) -> pl.Series:
    """Return the hash of each row, without its split."""
    content = rows.drop("split", "row_id", strict=False)
    return pl.Series("row_id", [hash_json(row)[:32] for row in content.iter_rows(named=True)], pl.String())


def _with_passages(
    rows: pl.DataFrame, tables: Mapping[str, pl.DataFrame], split_map: SplitMap
) -> pl.DataFrame:
    """Drop passages from documents of other splits, render the user messages again, and describe the rest."""
    documents = tables["documents"].select("document_id", "content_sha256").drop_nulls()
    splits = split_map.splits_of(document_keys(documents["content_sha256"]))
    split_of = dict(zip(documents["document_id"], splits, strict=True))
    passage_of = passages_by_id(tables["chunks"])
    spans = (
        tables["chunks"]
        .join(documents, on="document_id")
        .select("chunk_id", "content_sha256", start="char_start", end="char_end")
    )
    span_of = {span["chunk_id"]: span for span in spans.iter_rows(named=True)}
    messages, described = [], []  # a list for each row
    # the column `passages` of a batch has ids of chunks, and that of a release has PASSAGE structs
    columns = ("question", "split", "messages", "passages")
    for question, split, (system, _, assistant), chunk_ids in rows.select(columns).iter_rows():
        passages = (passage_of[chunk_id] for chunk_id in chunk_ids or ())
        own_passages = [passage for passage in passages if split_of[passage.document_id] == split]
        messages.append(
            [system, {"role": "user", "content": user_message(own_passages, question)}, assistant]
        )
        described.append(
            [{**span_of[passage.chunk_id], "heading": heading_of(passage)} for passage in own_passages]
        )
    return rows.with_columns(
        pl.Series("messages", messages, MESSAGES), pl.Series("passages", described, pl.List(PASSAGE))
    )


def rebuilt_user_message(row: Mapping[str, Any], texts: Mapping[str, str]) -> str | None:
    """Return the user message of a released row; None if the text of a document is missing."""
    spans = row.get("passages") or []
    if any(span["content_sha256"] not in texts for span in spans):
        return None
    passages = [
        Passage(
            chunk_id=span["chunk_id"],
            title=span["heading"],  # title and headings, as the message shows them
            section_path=(),
            text=texts[span["content_sha256"]][span["start"] : span["end"]],
            language=row["language"],
        )
        for span in spans
    ]
    return user_message(passages, row["question"])


def named_documents(rows: pl.DataFrame) -> pl.Series:
    """Return the distinct hashes of the documents that rows cite or show."""
    names = [rows["documents"].explode(empty_as_null=True)]
    if "passages" in rows.columns:
        names.append(rows["passages"].explode(empty_as_null=True).struct.field("content_sha256"))
    return pl.concat(names).drop_nulls().unique(maintain_order=True)


def documents_of(rows: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the documents that rows cite or show, in the order of the batch and without repeated texts."""
    return (
        tables["documents"]
        .filter(pl.col("content_sha256").is_in(named_documents(rows).implode()))
        .unique("content_sha256", keep="first", maintain_order=True)
        .with_columns(pl.col("text").map_elements(hash_text, return_dtype=pl.String()).alias("text_sha256"))
    )


def _cited_documents(examples: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return pair_id, hash and path of the document of each quote, or of each passage of a refusal."""
    evidence = pl.col("evidence").struct
    cited = (
        examples.select("pair_id", "evidence")
        .explode("evidence", empty_as_null=True)
        .drop_nulls("evidence")
        .select("pair_id", evidence.field("content_sha256"), evidence.field("path"))
    )
    documents = tables["documents"].select("document_id", "content_sha256", "path")
    retrieved = (
        tables["pairs"]
        .join(examples, on="pair_id", how="semi", maintain_order="left")
        .select("pair_id", chunk_id="passage_ids")
        .explode("chunk_id", empty_as_null=True)
        .join(tables["chunks"].select("chunk_id", "document_id"), on="chunk_id", maintain_order="left")
        .join(documents, on="document_id", maintain_order="left")
        .select("pair_id", "content_sha256", "path")
    )
    # a refusal has no quotes
    return pl.concat([cited, retrieved.join(cited, on="pair_id", how="anti", maintain_order="left")])


ORIGIN = ("pair_id", "batch", "language", "question_type", "documents", "licences", "grounding", "composite")
"""Columns of a released row that every trainer format repeats."""
_MESSAGES = pl.col("messages")
_PROMPT, _COMPLETION = _MESSAGES.list.slice(0, 2), _MESSAGES.list.tail(1)
_SYSTEM, _USER, _ASSISTANT = (_MESSAGES.list.get(index).struct.field("content") for index in range(3))

FORMATS: Mapping[str, Mapping[str, pl.Expr]] = {
    # OpenAI's fine-tuning format, accepted by most chat trainers
    "messages": {"messages": _MESSAGES},
    # TRL's prompt-completion format: only the answer is trained on
    "prompt_completion": {"prompt": _PROMPT, "completion": _COMPLETION},
    # Stanford Alpaca's columns and a system prompt; passages are part of the instruction
    "alpaca": {"system": _SYSTEM, "instruction": _USER, "input": pl.lit(""), "output": _ASSISTANT},
    # conversations for TRL's preference trainers
    "preference": {
        "prompt": _PROMPT,
        "chosen": _COMPLETION,
        "rejected": pl.concat_list(pl.struct(role=pl.lit("assistant"), content="worse_answer")),
        "rejected_reason": pl.col("worse_reason"),
        "rejected_pair_id": pl.col("worse_pair_id"),
    },
}
"""Columns of each format; the names are values of `release.formats`."""
PREFERENCE = "preference"
"""The only format that also uses unreleased drafts."""


def trainer_lines(name: str, released: pl.DataFrame) -> Iterator[bytes]:
    """Yield the lines of a format; for preferences, `released` comes from `with_worse_drafts`."""
    origin = released.select(column for column in ORIGIN if column in released.columns)
    rows = released.select(**FORMATS[name]).hstack(origin)
    return (part.write_ndjson().encode() for part in rows.iter_slices(1000))


def with_worse_drafts(rows: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Join each released row with each worse draft of its question; a row per released row and worse draft.

    A draft has worse_answer, worse_reason and worse_pair_id. Drafts with the same words as the released
    answer are dropped, since they teach no preference.
    """
    drafts = tables["pairs"].filter(  # of written questions, without imported and known-answer pairs
        pl.col("question_id").is_not_null(),
        pl.col("answer").is_not_null(),
        pl.col("expected_verdict").is_null(),
    )
    # a draft that a check rejected is worse, and so is an alternative; the stage deduplication also rejects
    # repeats of other pairs, which are as good
    is_repeat = (pl.col("stage") == "deduplication") & (pl.col("reason") != ALTERNATIVE)
    worse = tables["verdicts"].filter(pl.col("verdict") == "rejected", ~is_repeat)
    worse_drafts = drafts.join(
        worse.select("pair_id", worse_reason="reason"), on="pair_id", maintain_order="left"
    ).select("question_id", "worse_reason", worse_pair_id="pair_id", worse_answer=unmarked_answer())
    released_wording = normalised(_ASSISTANT)  # the last message of a released row is its answer
    return (
        rows.join(drafts.select("pair_id", "question_id"), on="pair_id", maintain_order="left")
        .join(worse_drafts, on="question_id", maintain_order="left_right")
        .with_columns(wording=normalised(pl.col("worse_answer")))
        .filter(pl.col("wording") != "", pl.col("wording") != released_wording)
        .unique(["pair_id", "wording"], keep="first", maintain_order=True)
    )
