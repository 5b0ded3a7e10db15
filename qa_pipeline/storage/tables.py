"""Define all stored tables with their keys, columns, types and descriptions.

Parquet files, the Dagster UI and the documentation read these definitions. Frames are checked in
`table_schema.py`.
"""

from typing import Any

import polars as pl

from qa_pipeline.storage.table_schema import Column, Table


def _texts(*names: str) -> dict[str, pl.DataType]:
    return dict.fromkeys(names, pl.String())


STRINGS = pl.List(pl.String())
SPAN = {"start": pl.Int64(), "end": pl.Int64()}
SECTION = pl.Struct({"heading_path": STRINGS, "level": pl.Int32(), **SPAN})
PAGE = pl.Struct({"number": pl.Int32(), **SPAN})
LEFT_OUT = pl.Struct({"what": pl.String(), "pieces": pl.Int32(), "characters": pl.Int64()})
MASKED = pl.Struct({"kind": pl.String(), "count": pl.Int32()})
DOUBT = pl.Struct({"kind": pl.String(), **SPAN})
LANGUAGE_SHARE = pl.Struct({"language": pl.String(), "share": pl.Float64()})
DECLARED = pl.Struct(_texts("title", "language", "source_uri", "licence", "status"))
CITATION = pl.Struct(
    {**_texts("raw", "document_id", "chunk_id", "quote"), "number": pl.Int32(), "resolution": pl.String()}
)
QUOTE = pl.Struct(_texts("given", "kind"))
UNSUPPORTED = pl.Struct({**SPAN, "reason": pl.String()})
MESSAGE = pl.Struct(_texts("role", "content"))
MESSAGES = pl.List(MESSAGE)
_CITED = {**SPAN, "page": pl.Int32(), "quote": pl.String()}
EVIDENCE = pl.Struct({**_texts("claim", "document_id", "chunk_id", "path", "content_sha256"), **_CITED})
MODEL_QUOTE = pl.Struct({**_texts("document_id", "content_sha256", "chunk_id"), **_CITED})
PROVENANCE = pl.Struct(
    {
        **_texts("origin", "generator", "prompt_hash", "judge", "thresholds_id"),
        "citation_quality": pl.Float64(),
        **dict.fromkeys(("source_uris", "licences"), STRINGS),
    }
)


def column(name: str, dtype: Any, description: str, *, nullable: bool = False) -> Column:
    """Build a column. `dtype` is a type or an instance of a type."""
    return Column(name, dtype() if isinstance(dtype, type) else dtype, description, nullable)


S, I32, I64, F64, B = pl.String(), pl.Int32(), pl.Int64(), pl.Float64(), pl.Boolean()
BATCH = column("batch", S, "Name of the document batch, also the Dagster partition key.")
REASON = column("reason", S, "Reason code; null if there is nothing to explain.", nullable=True)
DETAIL = column("detail", S, "Explanation in words, for people.", nullable=True)
PAIR_ID = column("pair_id", S, "Content hash of question, answer and sources.")

# One column per line is easiest to read.
# fmt: off
CLAIMS = Table(
    "claims",
    "One row per claim of an answer, with its best evidence and every local score.",
    ("claim_id",),
    (
        column("claim_id", S, "Hash of pair, span, text and self_contained."),
        PAIR_ID,
        BATCH,
        column("position", I32, "Position in the answer, from 0."),
        column("text", S, "The claim."),
        column("self_contained", S, "The claim reworded to be clear by itself; it is embedded, compared and shown to models. Null if text is clear by itself.", nullable=True),
        column("split_by", S, "What split the answer into claims: rules or model.", nullable=True),
        column("split_reason", S, "Why the rules were used although a model was asked (the problem of its reply), or too_many_claims; otherwise null.", nullable=True),
        column("start", I64, "First character in the answer."),
        column("end", I64, "One past the last character in the answer."),
        column("citation_status", S, "resolved, quote_repaired, unresolved, quote_not_found, found_by_search (the pair has no citations, so a search found the passages) or uncited."),
        column("evidence_document_id", S, "Document of the evidence.", nullable=True),
        column("evidence_content_sha256", S, "Hash of that document's bytes.", nullable=True),
        column("evidence_chunk_id", S, "Chunk of the evidence.", nullable=True),
        column("evidence_start", I64, "First character of the evidence in the document's text.", nullable=True),
        column("evidence_end", I64, "One past the last character of the evidence.", nullable=True),
        column("evidence_page", I32, "Page where the evidence starts.", nullable=True),
        column("evidence_quote", S, "Text of the evidence, verbatim.", nullable=True),
        column("evidence_doubt", S, "Kinds of doubt about the text of the evidence; null if there is no doubt.", nullable=True),
        column("similarity", F64, "Highest cosine similarity of the claim to a chunk of the cited documents.", nullable=True),
        column("token_recall", F64, "Share of the claim's content words found in the evidence and its headings.", nullable=True),
        column("proved_by", S, "quotation if a sentence, list item or table row equals the claim, word for word.", nullable=True),
        column("unproved", STRINGS, "Why the sources alone do not prove the claim, in words.", nullable=True),
        column("denied", STRINGS, "If the claim contradicts its evidence: the reason code, and the words that differ.", nullable=True),
        column("scope_differs", B, "True if the evidence and its headings lack a number or identifier of the claim.", nullable=True),
        column("fragment", B, "True if the claim is complete only together with its question.", nullable=True),
        column("citation_reason", S, "Why the citation is unresolved, or section_not_found if the whole document is used instead; otherwise null.", nullable=True),
        column("quotes", pl.List(QUOTE), "Quotes cited for the claim: as given, and the kind of match: exact, spelling, misplaced (in another passage than the cited passage) or missing.", nullable=True),
        column("entailment", F64, "Probability that the cited passages entail the claim; the highest over text windows.", nullable=True),
        column("contradiction", F64, "Probability that a cited passage contradicts the claim; the highest over text windows.", nullable=True),
        column("entailment_model", S, "Name and revision of the entailment model; null without a model.", nullable=True),
        column("candidate_chunk_ids", STRINGS, "Cited chunks that a model would read for the claim: its evidence first, then by shared words. If the claim is proved word for word, they are in the order of citation.", nullable=True),
    ),
    preview=("text", "evidence_quote", "similarity"),
    counted=("citation_status",),
)

CLAIM_VERDICTS = Table(
    "claim_verdicts",
    "One row per claim with its verdict. A claim is proved if it is a sentence, list item or table row of its source, word for "
    "word, and that text is about the question. Other claims are decided by the verifying model or left to a person.",
    ("claim_id",),
    (
        column("claim_id", S, "The claim."),
        PAIR_ID,
        BATCH,
        column("verdict", S, "supported, contradicted, unsupported, undecided or failed."),
        column("decided_by", S, "Step that decided: citation, similarity, quotation, entailment, similarity_only, llm, person, or no_step if none decided."),
        REASON,
        DETAIL,
        column("prompt_hash", S, "Hash of the verification prompt, if a model was asked.", nullable=True),
        column("model", S, "Model, if a model was asked.", nullable=True),
        column("llm_decision", S, "Reply of the model: accept, reject, unsure, or the reason code of a failed reply.", nullable=True),
        column("llm_quotes", pl.List(MODEL_QUOTE), "Quotes of the model with their positions in the documents: the evidence of a claim that it accepted.", nullable=True),
        column("thresholds_id", S, "Id of the thresholds behind the verdict."),
    ),
    preview=("verdict", "decided_by", "detail"),
    counted=("verdict", "decided_by", "reason"),
)

REFUSALS = Table(
    "refusals",
    "One row per pair that refuses to answer, with the evidence for and against the refusal.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        column("best_chunk_id", S, "The chunk that comes closest to answering the question.", nullable=True),
        column("similarity", F64, "Highest cosine similarity of the question to a chunk of the batch.", nullable=True),
        column("token_recall", F64, "Share of the question's content words, weighted by rarity, in the best chunk.", nullable=True),
        column("best_sentence", S, "The sentence of a likely chunk that contains most of these words.", nullable=True),
        column("sentence_recall", F64, "Share of these words in that sentence.", nullable=True),
        column("sentence_similarity", F64, "Highest cosine similarity of the question to a sentence of the likely chunks.", nullable=True),
        column("outcome", S, "correct_refusal, refused_answerable or unproved_refusal."),
    ),
    preview=("outcome", "best_sentence", "similarity"),
    counted=("outcome",),
)

ASSESSMENTS = Table(
    "assessments",
    "One row per pair that passed source verification.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        column("status", S, "judged, not_judged (no judge configured) or failed."),
        REASON,
        DETAIL,
        column("question_quality", F64, "Score from 0 to 1: is the question clear by itself and worth asking?", nullable=True),
        column("question_quality_reason", S, "The judge's reason for this score.", nullable=True),
        column("relevance", F64, "Score from 0 to 1: does the answer address the question?", nullable=True),
        column("relevance_reason", S, "The judge's reason for this score.", nullable=True),
        column("correctness", F64, "Score from 0 to 1: is the answer right according to the passages?", nullable=True),
        column("correctness_reason", S, "The judge's reason for this score.", nullable=True),
        column("completeness", F64, "Score from 0 to 1: does the answer cover the whole question?", nullable=True),
        column("completeness_reason", S, "The judge's reason for this score.", nullable=True),
        column("question_type", S, "Type of the question according to the judge.", nullable=True),
        column("judge", S, "Judge model.", nullable=True),
        column("prompt_hash", S, "Hash of the judge prompt.", nullable=True),
    ),
    preview=("status", "question_quality", "relevance", "correctness", "completeness"),
    counted=("status", "reason"),
)

VERDICTS = Table(
    "verdicts",
    "One row per pair ever generated, imported or edited: the ledger.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        column("verdict", S, "accepted, rejected, needs_review or failed."),
        column("stage", S, "Last stage of the pair: pairs, source_verification, refusal, quality_assessment, deduplication, person or accepted."),
        column("decided_by", S, "person if a person's decision set the verdict, otherwise pipeline."),
        column("reason", S, "Reason code of the verdict; accepted rows have one too."),
        DETAIL,
        column("claims", I32, "Number of claims."),
        column("supported_claims", I32, "Number of claims supported."),
        column("grounding", F64, "Share of claims supported; null without claims.", nullable=True),
        column("grounding_low", F64, "Lower Wilson bound (95 %) of grounding.", nullable=True),
        column("grounding_high", F64, "Upper Wilson bound (95 %) of grounding.", nullable=True),
        column("support_level", S, "well_supported, partial or weak; null without claims.", nullable=True),
        column("unsupported_spans", pl.List(UNSUPPORTED), "Spans of the answer that are not supported, with reason codes."),
        column("relevance", F64, "Score of the judge, 0 to 1.", nullable=True),
        column("correctness", F64, "Score of the judge, 0 to 1.", nullable=True),
        column("completeness", F64, "Score of the judge, 0 to 1.", nullable=True),
        column("question_quality", F64, "Score of the judge, 0 to 1; not part of composite.", nullable=True),
        column("composite", F64, "Weighted score of grounding and the judge's dimensions.", nullable=True),
        column("citation_existence", F64, "Share of citations that point to a document or passage of the batch; null without citations.", nullable=True),
        column("citation_accuracy", F64, "Share of citations that support a claim: the cited source contains the evidence of a supported claim, and the cited quote if there is one. Null without citations or claims.", nullable=True),
        column("citation_quality", F64, "0.4 citation_existence + 0.3 citation_accuracy + 0.3 grounding in bands (above 0.8: 1, above 0.5: 0.7, else 0).", nullable=True),
        column("duplicate_of", S, "The kept pair that this pair repeats, or is an alternative to.", nullable=True),
        column("expected_verdict", S, "Correct verdict of a known-answer pair, set by its author.", nullable=True),
        column("thresholds_id", S, "Id of the thresholds behind the verdict."),
    ),
    preview=("verdict", "reason", "detail"),
    counted=("verdict", "stage", "reason"),
)

DECISIONS = Table(
    "decisions",
    "One row per decision of a person about a pair or one of its claims; rows are only ever added.",
    ("decision_id",),
    (
        column("decision_id", S, "Hash of the decision, its subject, author, reason and time."),
        BATCH,
        column("sequence", I32, "Position in the order of recording, from 0; the last decision about a pair or claim counts."),
        PAIR_ID,
        column("claim_id", S, "The claim that was decided; null if the decision is about the whole pair.", nullable=True),
        column("content_sha256", S, "Hash of the question, answer and evidence at the time of the decision. The decision is stale if they have changed."),
        column("decision", S, "accepted, rejected, edited, or reopened (reverts an earlier decision)."),
        column("question", S, "The new text of an edited question.", nullable=True),
        column("answer", S, "The new text of an edited answer.", nullable=True),
        column("evidence_quote", S, "Quote from a document that the person gave as evidence of an edited pair.", nullable=True),
        column("evidence_document_id", S, "Document of this quote; null if any document of the batch may contain it.", nullable=True),
        column("takes_back", S, "The decision_id that a reopened decision reverts.", nullable=True),
        column("who", S, "Name of the person."),
        column("why", S, "Reason for the decision.", nullable=True),
        column("decided_at", S, "Time of the decision (UTC), if the person gave it.", nullable=True),
    ),
    preview=("decision", "who", "why", "answer"),
    counted=("decision",),
)

CANARIES = Table(
    "canaries",
    "One row per test claim or test pair, made from the batch with a known correct verdict.",
    ("canary_id",),
    (
        column("canary_id", S, "Hash of kind, chunk, question and claim."),
        BATCH,
        column("asks", S, "The tested step: verifier or judge."),
        column("kind", S, "For the verifier: edited (one detail of a sentence changed) or verbatim (an unchanged sentence). For the judge: other_answer (an unrelated sentence of the batch), cut (a correct answer cut short) or good (an unchanged pair)."),
        column("mechanism", S, "The changed detail (number, date, unit, name or negation), otherwise alone. Ends in joined if the sentence follows another sentence of the chunk."),
        column("expected", S, "Correct verdict: accepted or rejected."),
        column("language", S, "ISO 639-1 code of the chunk or pair."),
        column("chunk_id", S, "The cited chunk, or the first chunk that the judge read."),
        column("source", S, "The original sentence or answer."),
        column("question", S, "Question of a test pair.", nullable=True),
        column("claim", S, "The test claim, or the answer of a test pair."),
        column("verdict", S, "accepted, rejected, undecided or failed (no claim, or no readable reply)."),
        column("decided_by", S, "Step that decided: judge, llm (a verifying model), or another step of claim_verdicts."),
        REASON,
        DETAIL,
        column("thresholds_id", S, "Id of the thresholds behind the verdict."),
    ),
    preview=("claim", "expected", "verdict", "source"),
    counted=("verdict", "kind", "asks", "decided_by"),
)
# fmt: on


SCHEMA_VERSION = 17

# One column per line is easiest to read.
# fmt: off
DOCUMENTS = Table(
    "documents",
    "One row per file found in the batch, parsed or not.",
    ("document_id",),
    (
        column("document_id", S, "Hash of the file's bytes; of bytes and path for a second equal file."),
        BATCH,
        column("path", S, "Path inside the batch folder, with forward slashes."),
        column("source_uri", S, "Where the document came from, if its batch or front matter states it.", nullable=True),
        column("licence", S, "Licence of the document, if its batch or front matter states it.", nullable=True),
        column("content_sha256", S, "SHA-256 of the file's bytes; null if they could not be read.", nullable=True),
        column("size", I64, "Bytes of the file."),
        column("format", S, "Format of the parser; null if no parser supports the file.", nullable=True),
        column("language", S, "ISO 639-1 code of the main language.", nullable=True),
        column("title", S, "Title from the document, otherwise from its file name.", nullable=True),
        column("text", S, "Canonical text. All character offsets in all tables refer to it.", nullable=True),
        column("sections", pl.List(SECTION), "Heading path and character span of each section, in order."),
        column("pages", pl.List(PAGE), "Number and character span of each page; empty without pages."),
        column("languages", pl.List(LANGUAGE_SHARE), "Languages of the text with their shares, the main language first."),
        column("left_out", pl.List(LEFT_OUT), "Content of the file that the text leaves out, by kind: number of parts and of non-blank characters."),
        column("masked", pl.List(MASKED), "Personal data that was masked in the text and in the declared fields: number of each kind."),
        column("doubts", pl.List(DOUBT), "Spans of text that may have been read wrongly, by kind: order (of lines), table (columns, names or spans), formula (left out) or quoted (earlier mail). Null without doubts.", nullable=True),
        column("declared", DECLARED, "Metadata that the document declares about itself; null without any.", nullable=True),
        column("near_duplicate_of", S, "The document of the batch with nearly the same text, which represents both.", nullable=True),
        column("near_duplicate_similarity", F64, "Share of five-word sequences that both have in common.", nullable=True),
        column("parsed_by", S, "Hash of the code and settings that read the file. If it changes, the file is read again.", nullable=True),
        column("status", S, "parsed, failed, skipped (no parser for the format) or duplicate."),
        REASON,
        DETAIL,
    ),
    preview=("path", "title", "status", "text"),
    counted=("status", "reason", "format", "language"),
)

CHUNKS = Table(
    "chunks",
    "One row per chunk of a parsed document.",
    ("chunk_id",),
    (
        column("chunk_id", S, "Hash of section path and text (and a count for repeats). It does not change if other chunks change."),
        BATCH,
        column("document_id", S, "The document of the chunk."),
        column("position", I32, "Position among the chunks of the document, from 0."),
        column("char_start", I64, "First character in the document's text."),
        column("char_end", I64, "One past the last character."),
        column("title", S, "Title of the document."),
        column("section_path", STRINGS, "Headings above the chunk, outermost first."),
        column("section_start", I64, "First character of the chunk's section, which is its context."),
        column("section_end", I64, "One past the last character of the section."),
        column("page_first", I32, "First page of the chunk.", nullable=True),
        column("page_last", I32, "Last page of the chunk.", nullable=True),
        column("tokens", I32, "Tokens of section path and text in the embedding model's tokenizer."),
        column("language", S, "ISO 639-1 code of the chunk's language; the document's language if the chunk is too short to detect it."),
        column("passed_over", S, "Why the chunk gets no questions: near_duplicate (its document), repeated_block (other documents contain the text), no_sentence or front_or_back_matter; otherwise null.", nullable=True),
        column("doubts", pl.List(DOUBT), "Spans of the chunk that may have been read wrongly, in the form of documents.doubts; null without doubts.", nullable=True),
        column("text", S, "The document's text from char_start to char_end, unchanged."),
    ),
    preview=("title", "section_path", "text"),
    counted=("language",),
)

EMBEDDINGS = Table(
    "embeddings",
    "One row per chunk vector.",
    ("chunk_id",),
    (
        column("chunk_id", S, "The embedded chunk."),
        BATCH,
        column("text_sha256", S, "Hash of the text given to the model, the key of the vector cache."),
        column("model", S, "Embedding model."),
        column("model_revision", S, "Revision or content hash of the model weights."),
        column("precision", S, "float32 or bfloat16, the precision of the computation; for other backends the name of the backend."),
        column("vector", pl.List(pl.Float32()), "Unit-length vector."),
    ),
    preview=("chunk_id", "model", "precision"),
    counted=("model", "precision"),
)

QUESTIONS = Table(
    "questions",
    "One row per planned question, written or not, and per chunk without questions.",
    ("question_id",),
    (
        column("question_id", S, "Hash of target chunk, question, its position in the plan, prompt and model."),
        BATCH,
        column("question", S, "The question; null if it was not written.", nullable=True),
        column("question_type", S, "Type of the question, a name from generation.mix; null without a question.", nullable=True),
        column("planned_type", S, "Requested type; null if the chunk gets no questions.", nullable=True),
        column("difficulty", S, "Rank of its chunk in the search results: easy is first, medium second or third, hard later or missing. With two target chunks, easy is first and second, and medium is among the first six. Null if not searched.", nullable=True),
        column("place", I32, "Position in the request, from 0; null if the chunk gets no questions.", nullable=True),
        column("rewritten_from", S, "The original question, if it was rewritten because it was unclear by itself; otherwise null.", nullable=True),
        column("target_chunk_ids", STRINGS, "Chunks the question was written for."),
        column("drafted_answer", S, "Answer written together with the question, if its quotes are in the target chunks and it covers the question; otherwise null.", nullable=True),
        column("drafted_quotes", STRINGS, "Quotes from the target chunks for this answer; null without an answer.", nullable=True),
        column("passage_ids", STRINGS, "Chunks retrieved for it, best first."),
        column("passage_scores", pl.List(F64), "Retrieval score of each passage (reciprocal rank fusion); null for a target chunk that the search did not find.", nullable=True),
        column("language", S, "Language of question and answer."),
        column("status", S, "kept, dropped or failed."),
        REASON,
        DETAIL,
        column("prompt_hash", S, "Hash of the prompt file."),
        column("model", S, "Name of the model that wrote the question."),
    ),
    preview=("question", "question_type", "status"),
    counted=("status", "reason", "planned_type", "question_type", "difficulty"),
)

PAIRS = Table(
    "pairs",
    "One row per question-answer pair, generated, imported or edited.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        column("question_id", S, "The generated question; null for imported pairs.", nullable=True),
        column("question", S, "The question; null if its line could not be read.", nullable=True),
        column("answer", S, "The answer; null if drafting failed.", nullable=True),
        column("language", S, "Language of the pair."),
        column("question_type", S, "Type of the question, or imported for imported pairs."),
        column("difficulty", S, "Difficulty of finding the question's chunks by search: easy, medium or hard; null for imported pairs.", nullable=True),
        column("hops", I32, "Number of chunks that the question needs: 1 or 2; null for imported and edited pairs.", nullable=True),
        column("answer_style", S, "short, sentence, long_form or steps; null for imported and edited pairs.", nullable=True),
        column("draft", I32, "Number of the draft for its question, from 1; null for imported and edited pairs.", nullable=True),
        column("origin", S, "generated, imported or edited (by a person)."),
        column("passage_ids", STRINGS, "Chunks the answer was drafted from, best first."),
        column("used_chunk_ids", STRINGS, "Chunks that the answer cites or reports as used."),
        column("citations", pl.List(CITATION), "Citations of the answer with their resolved documents and chunks."),
        column("coverage", S, "full, partial or none (a refusal); null if drafting failed.", nullable=True),
        column("status", S, "drafted, flawed (the answer is unfit for training) or failed."),
        REASON,
        DETAIL,
        column("generator", S, "Model that drafted the answer, file of an imported pair, or person: with the name of the editor."),
        column("prompt_hash", S, "Hash of the answer prompt; null for imported pairs.", nullable=True),
        column("expected_verdict", S, "Correct verdict of a known-answer pair, set by its author.", nullable=True),
        column("expected_kind", S, "Error that a known-answer pair tests, e.g. swapped_number.", nullable=True),
        column("passage_scores", pl.List(F64), "Retrieval score of each passage (reciprocal rank fusion); null for imported pairs.", nullable=True),
        column("guarded_by", S, "Method that decided if an answer is drafted: prompt, embedding, hybrid, llm or validation; null for pairs without drafting.", nullable=True),
        column("guard_similarity", F64, "Mean cosine similarity of the question and its three best passages; null if it was not computed.", nullable=True),
        column("guard_passed", B, "True if an answer was drafted; null for pairs without drafting, or if the decision failed.", nullable=True),
        column("guard_confidence", F64, "Confidence of the guard model in its decision, 0 to 1; null without a model's decision.", nullable=True),
        column("guard_reasoning", S, "Reasoning of the guard model; null without a model's decision.", nullable=True),
        column("source_line", I64, "Line, row or entry of an imported pair in its file, from 1.", nullable=True),
        column("source_id", S, "Id of an imported pair in its file.", nullable=True),
        column("source_fields", S, "Further fields of an imported pair, as a JSON object.", nullable=True),
    ),
    preview=("question", "answer", "coverage", "quote"),
    counted=("status", "reason", "origin", "coverage", "hops"),
)

TRAINING_EXAMPLES = Table(
    "training_examples",
    "One row per accepted pair, ready for training.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        column("question", S, "The question."),
        column("answer", S, "The answer."),
        column("language", S, "Language of the pair."),
        column("question_type", S, "Type of the question according to the judge, otherwise from the pairs table."),
        column("difficulty", S, "Difficulty of finding the question's chunks by search: easy, medium or hard; null for imported pairs.", nullable=True),
        column("source_fields", S, "Further fields, as a JSON object; null without any.", nullable=True),
        column("coverage", S, "full, partial or none (a proved refusal)."),
        column("messages", MESSAGES, "Chat messages in the layout of `training.layout`, in the format of trainers such as TRL."),
        column("passages", STRINGS, "Ids of the chunks in the messages, in order."),
        column("tokens", I32, "Tokens of the messages in the embedding model's tokenizer."),
        column("grounding", F64, "Share of claims supported; null for a refusal.", nullable=True),
        column("relevance", F64, "Score of the judge, 0 to 1.", nullable=True),
        column("correctness", F64, "Score of the judge, 0 to 1.", nullable=True),
        column("completeness", F64, "Score of the judge, 0 to 1.", nullable=True),
        column("composite", F64, "Weighted score of grounding and the judge's dimensions.", nullable=True),
        column("reason", S, "Reason code of the verdict."),
        column("evidence", pl.List(EVIDENCE), "Evidence of each claim: document, character span, page and quote."),
        column("provenance", PROVENANCE, "Models, prompt, thresholds and sources behind the example."),
    ),
    preview=("question", "answer", "quote"),
    counted=("coverage", "question_type", "language"),
)

ROUND_TRIPS = Table(
    "round_trips",
    "One row per generated pair that passed source verification: an independent model answers its question.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        column("status", S, "checked, not_asked (no model is configured, or the check is off) or failed."),
        REASON,
        DETAIL,
        column("solved_answer", S, "Answer of the model from the evidence quotes alone; null if they were not enough.", nullable=True),
        column("agrees", B, "True if that answer agrees with the pair's answer; null if unknown.", nullable=True),
        column("fewer_chunks_answer", B, "True if a question for two chunks can be answered from fewer chunks; null for other questions, or if unknown.", nullable=True),
        column("model", S, "The model; null without a model.", nullable=True),
    ),
    preview=("status", "agrees", "solved_answer"),
    counted=("status", "reason"),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        DOCUMENTS, CHUNKS, EMBEDDINGS, QUESTIONS, PAIRS, CLAIMS, CLAIM_VERDICTS, REFUSALS, ASSESSMENTS,
        ROUND_TRIPS, VERDICTS, TRAINING_EXAMPLES,
    )
}
"""Tables of the pipeline, from documents to training examples."""

LLM_CALLS = Table(
    "llm_calls",
    "One row per call of a hosted model that was answered or may have been charged.",
    ("call_id",),
    (
        column("call_id", S, "Unique id of the call."),
        column("run", S, "The run of the call."),
        BATCH,
        column("role", S, "questions, standalone, validate, guard, answer, split, verify, solve, compare or judge."),
        column("asked_model", S, "Requested model: provider, name and, if it is not the provider's default, server."),
        column("replied_model", S, "Model name in the reply.", nullable=True),
        column("request_key", S, "Hash of the request. A repeated request has a row for each call."),
        column("started_at", pl.Datetime("us", "UTC"), "Time when the request was first sent."),
        column("seconds", F64, "Seconds from then to the last byte of the reply, including waits."),
        column("tries", I32, "Number of times the request was sent."),
        column("outcome", S, "replied, or the reason code of the error."),
        column("repair", S, "Repair that made the reply readable: none, stripped, repaired or reasked."),
        column("input_tokens", I64, "Tokens of the prompt, including cached tokens; null if the provider does not report them.", nullable=True),
        column("output_tokens", I64, "Tokens of the reply, including reasoning tokens.", nullable=True),
        column("cached_tokens", I64, "Tokens of the prompt that the provider read from its cache.", nullable=True),
        column("thought_tokens", I64, "Reasoning tokens.", nullable=True),
        column("cost", F64, "Cost in the currency; null if the price or tokens are unknown.", nullable=True),
        column("currency", S, "Currency of the price; null without a price.", nullable=True),
    ),
    preview=("role", "outcome", "replied_model", "seconds", "cost"),
    counted=("role", "outcome", "repair", "replied_model"),
)

SIDE_TABLES: dict[str, Table] = {table.name: table for table in (LLM_CALLS, CANARIES, DECISIONS)}
"""Records of a batch outside the pipeline's flow. They are never released or checked for conservation."""

STORED: dict[str, Table] = TABLES | SIDE_TABLES
"""Every stored table."""
# fmt: on
