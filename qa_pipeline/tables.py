"""Every stored table: its grain, key, columns, types and what each column means.

What belongs here: the single source for Parquet files, the Dagster UI and the documentation. What does not:
holding a frame to it (`table_schema.py`), and computing a column.
"""

import polars as pl

from qa_pipeline.checking_tables import ASSESSMENTS as ASSESSMENTS
from qa_pipeline.checking_tables import CANARIES as CANARIES
from qa_pipeline.checking_tables import CLAIM_VERDICTS as CLAIM_VERDICTS
from qa_pipeline.checking_tables import CLAIMS as CLAIMS
from qa_pipeline.checking_tables import CONTRADICTIONS as CONTRADICTIONS
from qa_pipeline.checking_tables import DECISIONS as DECISIONS
from qa_pipeline.checking_tables import REFUSALS as REFUSALS
from qa_pipeline.checking_tables import VERDICTS as VERDICTS
from qa_pipeline.columns import (
    BATCH,
    CITATION,
    DECLARED,
    DETAIL,
    EVIDENCE,
    F64,
    I32,
    I64,
    LANGUAGE_SHARE,
    LAYOUTS,
    LEFT_OUT,
    MASKED,
    MESSAGE_COLUMNS,
    MESSAGES,
    PAGE,
    PAIR_ID,
    PROVENANCE,
    REASON,
    SECTION,
    STRINGS,
    S,
)
from qa_pipeline.columns import column as _c
from qa_pipeline.table_schema import Table

SCHEMA_VERSION = 4

# One column a line reads best.
# fmt: off
DOCUMENTS = Table(
    "documents",
    "One row per file found in the batch, parsed or not.",
    ("document_id",),
    (
        _c("document_id", S, "Hash of the file's bytes; of bytes and path for a second equal file."),
        BATCH,
        _c("path", S, "Path inside the batch folder, with forward slashes."),
        _c("source_uri", S, "Where the document came from, if its batch or front matter says.", nullable=True),
        _c("licence", S, "Licence of the document, if its batch or front matter says.", nullable=True),
        _c("content_sha256", S, "SHA-256 of the file's bytes; null if they could not be read.", nullable=True),
        _c("size", I64, "Bytes of the file."),
        _c("format", S, "Format parser used; null when there is none for the file.", nullable=True),
        _c("language", S, "ISO 639-1 code of the main language.", nullable=True),
        _c("title", S, "Title from the document itself, else from its file name.", nullable=True),
        _c("text", S, "Canonical text; every offset in every table points into it.", nullable=True),
        _c("sections", pl.List(SECTION), "Heading path and character span of each section, in order."),
        _c("pages", pl.List(PAGE), "Number and character span of each page; empty without pages."),
        _c("languages", pl.List(LANGUAGE_SHARE), "Languages of the text with their share of it, the main one first."),
        _c("left_out", pl.List(LEFT_OUT), "What the file holds and the text does not, by kind: pieces and non-blank characters."),
        _c("masked", pl.List(MASKED), "Personal data found in the text and in what the document says of itself, by kind and count."),
        _c("declared", DECLARED, "What the document says about itself; null where it says nothing.", nullable=True),
        _c("near_duplicate_of", S, "The document of the batch whose text is nearly the same and that stands for both.", nullable=True),
        _c("near_duplicate_similarity", F64, "Share of five-word sequences they have in common.", nullable=True),
        _c("parsed_by", S, "Hash of the code and settings that read the file; a file is read again when it changes.", nullable=True),
        _c("status", S, "parsed, failed, skipped (no parser for the format) or duplicate."),
        REASON,
        DETAIL,
    ),
)

CHUNKS = Table(
    "chunks",
    "One row per chunk of a parsed document.",
    ("chunk_id",),
    (
        _c("chunk_id", S, "Hash of section path and text (and a count for repeats): stable when others change."),
        BATCH,
        _c("document_id", S, "The document it is cut from."),
        _c("position", I32, "Place among the document's chunks, from 0."),
        _c("char_start", I64, "First character in the document's text."),
        _c("char_end", I64, "One past the last character."),
        _c("title", S, "Title of the document."),
        _c("section_path", STRINGS, "Headings above the chunk, outermost first."),
        _c("section_start", I64, "First character of the section it is cut from, its context."),
        _c("section_end", I64, "One past the last character of that section."),
        _c("page_first", I32, "First page it stands on.", nullable=True),
        _c("page_last", I32, "Last page it stands on.", nullable=True),
        _c("tokens", I32, "Tokens of section path and text in the embedding model's tokenizer."),
        _c("language", S, "ISO 639-1 code of the chunk's own language, the document's where it is too short to tell."),
        _c("repeats", S, "near_duplicate (its document) or repeated_block (text that other documents hold); else null.", nullable=True),
        _c("text", S, "Exactly the document's text from char_start to char_end."),
    ),
)

EMBEDDINGS = Table(
    "embeddings",
    "One row per chunk vector.",
    ("chunk_id",),
    (
        _c("chunk_id", S, "The chunk embedded."),
        BATCH,
        _c("text_sha256", S, "Hash of the text given to the model; vectors are cached by it."),
        _c("model", S, "Embedding model."),
        _c("model_revision", S, "Revision or content hash of its weights."),
        _c("precision", S, "float32, bfloat16, int8 or int7: the arithmetic the vector was computed in."),
        _c("vector", pl.List(pl.Float32()), "Unit-length vector."),
    ),
)

QUESTIONS = Table(
    "questions",
    "One row per question asked of a chunk, or per chunk that was not asked or whose questions could not be had.",
    ("question_id",),
    (
        _c("question_id", S, "Hash of target chunk, question, prompt and model."),
        BATCH,
        _c("question", S, "The question; null when the chunk was not asked or generation failed.", nullable=True),
        _c("question_type", S, "definition, figure, date, reason, how_to, key_value, table_cell or fact.", nullable=True),
        _c("target_chunk_ids", STRINGS, "Chunks the question was written for."),
        _c("passage_ids", STRINGS, "Chunks retrieved for it, best first."),
        _c("passage_scores", pl.List(F64), "Retrieval score of each of them (reciprocal rank fusion).", nullable=True),
        _c("language", S, "Language of question and answer."),
        _c("status", S, "kept, dropped or failed."),
        REASON,
        DETAIL,
        _c("prompt_hash", S, "Hash of the prompt file."),
        _c("model", S, "Name of the model that wrote it."),
    ),
)

PAIRS = Table(
    "pairs",
    "One row per question-answer pair, generated, imported or edited.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        _c("question_id", S, "The generated question; null for imported pairs.", nullable=True),
        _c("question", S, "The question; null when its line could not be read.", nullable=True),
        _c("answer", S, "The answer; null when drafting failed.", nullable=True),
        _c("language", S, "Language of the pair."),
        _c("question_type", S, "Type of the question; imported for imported pairs."),
        _c("origin", S, "generated, imported or edited (by a person)."),
        _c("passage_ids", STRINGS, "Chunks the answer was drafted from, best first."),
        _c("used_chunk_ids", STRINGS, "Chunks the answer says it used."),
        _c("citations", pl.List(CITATION), "What the answer cites, and what each citation resolves to."),
        _c("coverage", S, "full, partial or none; null when drafting failed.", nullable=True),
        _c("status", S, "drafted or failed."),
        REASON,
        DETAIL,
        _c("generator", S, "Model that drafted the answer, the file it was imported from, or person: and who edited it."),
        _c("prompt_hash", S, "Hash of the answer prompt; null for imported pairs.", nullable=True),
        _c("expected_verdict", S, "Verdict its author knows to be right, for known-answer pairs.", nullable=True),
        _c("expected_kind", S, "What the known-answer pair probes, e.g. swapped_number.", nullable=True),
        _c("passage_scores", pl.List(F64), "Retrieval score of each passage (reciprocal rank fusion); null for imported pairs.", nullable=True),
        _c("source_line", I64, "Line, or row from 1, of an imported pair in its file.", nullable=True),
        _c("source_id", S, "The id an imported pair has in its file.", nullable=True),
        _c("source_fields", S, "Further fields of an imported pair, as a JSON object.", nullable=True),
    ),
)

TRAINING_EXAMPLES = Table(
    "training_examples",
    "One row per accepted pair, ready to train on.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        _c("question", S, "The question."),
        _c("answer", S, "The answer."),
        _c("language", S, "Language of the pair."),
        _c("question_type", S, "Type of the question."),
        _c("coverage", S, "full, partial or none (a proved refusal)."),
        _c("messages", MESSAGES, "Chat messages, the question alone (closed_book): what trainers such as TRL read."),
        *(
            _c(MESSAGE_COLUMNS[layout], MESSAGES, f"The same in the layout {layout}; null where it cannot be had.", nullable=True)
            for layout in LAYOUTS[1:]
        ),
        _c("tokens", pl.Struct(dict.fromkeys(LAYOUTS, pl.Int32())), "Tokens of each layout in the embedding model's tokenizer; null where it cannot be had."),
        _c("evidence", pl.List(EVIDENCE), "Proof of each claim: document, character span, page, quote."),
        _c("provenance", PROVENANCE, "Who wrote, judged and decided it, and from which sources."),
    ),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        DOCUMENTS, CHUNKS, EMBEDDINGS, QUESTIONS, PAIRS, CLAIMS, CLAIM_VERDICTS, REFUSALS, CONTRADICTIONS,
        ASSESSMENTS, VERDICTS, TRAINING_EXAMPLES,
    )
}
"""The road from documents to training examples.

`contradictions` tells of documents and not of pairs, and belongs here all the same: verdicts are read from it.
"""

LLM_CALLS = Table(
    "llm_calls",
    "One row per call of a hosted model that was answered or may have been charged; empty without one.",
    ("call_id",),
    (
        _c("call_id", S, "The call."),
        _c("run", S, "The run that made it."),
        BATCH,
        _c("role", S, "questions, answer, split, verify or judge."),
        _c("asked_model", S, "Model that was asked: provider, name and, where it is not the provider's own, server."),
        _c("replied_model", S, "Model that says it replied.", nullable=True),
        _c("request_key", S, "Hash of the request; a request asked once more has a row for each call."),
        _c("started_at", pl.Datetime("us", "UTC"), "When it was first sent."),
        _c("seconds", F64, "From then to the last byte, waits included."),
        _c("tries", I32, "How often it was sent."),
        _c("outcome", S, "replied, or the reason code of what went wrong."),
        _c("repair", S, "How the reply became readable: none, stripped, mended, reasked or recovered."),
        _c("input_tokens", I64, "Tokens of the prompt, cached ones included; null where the provider does not tell.", nullable=True),
        _c("output_tokens", I64, "Tokens of the reply, thoughts included.", nullable=True),
        _c("cached_tokens", I64, "Tokens of the prompt that the provider read from its cache.", nullable=True),
        _c("thought_tokens", I64, "Tokens of thoughts.", nullable=True),
        _c("cost", F64, "In the currency; null where price or tokens are not known.", nullable=True),
        _c("currency", S, "Of the price; null without one.", nullable=True),
        _c("prompt", S, "What was asked; null unless llm.store.keep_prompts.", nullable=True),
    ),
)

KEPT_APART: dict[str, Table] = {table.name: table for table in (LLM_CALLS, CANARIES, DECISIONS)}
"""Tables that tell of a batch and are no part of the road: never in conservation, never in a release."""

STORED: dict[str, Table] = TABLES | KEPT_APART
"""Every stored table."""
# fmt: on
