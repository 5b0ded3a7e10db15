"""Define all stored tables with their keys, columns, types and descriptions.

Parquet files, the Dagster UI and the documentation read these definitions.
"""

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
MESSAGES = pl.List(pl.Struct(_texts("role", "content")))
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

SCHEMA_VERSION = 17
S, I32, I64, F64, B = pl.String(), pl.Int32(), pl.Int64(), pl.Float64(), pl.Boolean()
BATCH = Column("batch", S, "Name of the document batch, also the Dagster partition key.")
REASON = Column("reason", S, "Reason code; null if there is nothing to explain.", nullable=True, counted=True)
DETAIL = Column("detail", S, "Explanation in words, for people.", nullable=True)
PAIR_ID = Column("pair_id", S, "Content hash of question, answer and sources.")

# One column per line is easiest to read.
# fmt: off
CLAIMS = Table(
    "claims",
    "One row per claim of an answer, with its best evidence and every local score.",
    ("claim_id",),
    (
        Column("claim_id", S, "Hash of pair, span, text and self_contained."),
        PAIR_ID,
        BATCH,
        Column("position", I32, "Position in the answer, from 0."),
        Column("text", S, "The claim."),
        Column("self_contained", S, "The claim reworded to be clear by itself; it is embedded, compared and shown to models. Null if text is clear by itself.", nullable=True),
        Column("split_by", S, "What split the answer into claims: rules or model.", nullable=True),
        Column("split_reason", S, "Why the rules were used although a model was asked (the problem of its reply), or too_many_claims; otherwise null.", nullable=True),
        Column("start", I64, "First character in the answer."),
        Column("end", I64, "One past the last character in the answer."),
        Column("citation_status", S, "resolved, quote_repaired, unresolved, quote_not_found, found_by_search (the pair has no citations, so a search found the passages) or uncited.", counted=True),
        Column("evidence_document_id", S, "Document of the evidence.", nullable=True),
        Column("evidence_content_sha256", S, "Hash of that document's bytes.", nullable=True),
        Column("evidence_chunk_id", S, "Chunk of the evidence.", nullable=True),
        Column("evidence_start", I64, "First character of the evidence in the document's text.", nullable=True),
        Column("evidence_end", I64, "One past the last character of the evidence.", nullable=True),
        Column("evidence_page", I32, "Page where the evidence starts.", nullable=True),
        Column("evidence_quote", S, "Text of the evidence, verbatim.", nullable=True),
        Column("evidence_doubt", S, "Kinds of doubt about the text of the evidence; null if there is no doubt.", nullable=True),
        Column("similarity", F64, "Highest cosine similarity of the claim to a chunk of the cited documents.", nullable=True),
        Column("token_recall", F64, "Share of the claim's content words found in the evidence and its headings.", nullable=True),
        Column("proved_by", S, "quotation if a sentence, list item or table row equals the claim, word for word.", nullable=True),
        Column("unproved", STRINGS, "Why the sources alone do not prove the claim, in words.", nullable=True),
        Column("denied", STRINGS, "If the claim contradicts its evidence: the reason code, and the words that differ.", nullable=True),
        Column("scope_differs", B, "True if the evidence and its headings lack a number or identifier of the claim.", nullable=True),
        Column("fragment", B, "True if the claim is complete only together with its question.", nullable=True),
        Column("citation_reason", S, "Why the citation is unresolved, or section_not_found if the whole document is used instead; otherwise null.", nullable=True),
        Column("quotes", pl.List(QUOTE), "Quotes cited for the claim: as given, and the kind of match: exact, spelling, misplaced (in another passage than the cited passage) or missing.", nullable=True),
        Column("entailment", F64, "Probability that the cited passages entail the claim; the highest over text windows.", nullable=True),
        Column("contradiction", F64, "Probability that a cited passage contradicts the claim; the highest over text windows.", nullable=True),
        Column("entailment_model", S, "Name and revision of the entailment model; null without a model.", nullable=True),
        Column("candidate_chunk_ids", STRINGS, "Cited chunks that a model would read for the claim: its evidence first, then by shared words. If the claim is proved word for word, they are in the order of citation.", nullable=True),
    ),
    preview=("text", "evidence_quote", "similarity"),
)

CLAIM_VERDICTS = Table(
    "claim_verdicts",
    "One row per claim with its verdict. A claim is proved if it is a sentence, list item or table row of its source, word for "
    "word, and that text is about the question. Other claims are decided by the verifying model or left to a person.",
    ("claim_id",),
    (
        Column("claim_id", S, "The claim."),
        PAIR_ID,
        BATCH,
        Column("verdict", S, "supported, contradicted, unsupported, undecided or failed.", counted=True),
        Column("decided_by", S, "Step that decided: citation, similarity, quotation, entailment, similarity_only, llm, person, or no_step if none decided.", counted=True),
        REASON,
        DETAIL,
        Column("prompt_hash", S, "Hash of the verification prompt, if a model was asked.", nullable=True),
        Column("model", S, "Model, if a model was asked.", nullable=True),
        Column("llm_decision", S, "Reply of the model: accept, reject, unsure, or the reason code of a failed reply.", nullable=True),
        Column("llm_quotes", pl.List(MODEL_QUOTE), "Quotes of the model with their positions in the documents: the evidence of a claim that it accepted.", nullable=True),
        Column("thresholds_id", S, "Id of the thresholds behind the verdict."),
    ),
    preview=("verdict", "decided_by", "detail"),
)

REFUSALS = Table(
    "refusals",
    "One row per pair that refuses to answer, with the evidence for and against the refusal.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        Column("best_chunk_id", S, "The chunk that comes closest to answering the question.", nullable=True),
        Column("similarity", F64, "Highest cosine similarity of the question to a chunk of the batch.", nullable=True),
        Column("token_recall", F64, "Share of the question's content words, weighted by rarity, in the best chunk.", nullable=True),
        Column("best_sentence", S, "The sentence of a likely chunk that contains most of these words.", nullable=True),
        Column("sentence_recall", F64, "Share of these words in that sentence.", nullable=True),
        Column("sentence_similarity", F64, "Highest cosine similarity of the question to a sentence of the likely chunks.", nullable=True),
        Column("outcome", S, "correct_refusal, refused_answerable or unproved_refusal.", counted=True),
    ),
    preview=("outcome", "best_sentence", "similarity"),
)

ASSESSMENTS = Table(
    "assessments",
    "One row per pair that passed source verification.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        Column("status", S, "judged, not_judged (no judge configured) or failed.", counted=True),
        REASON,
        DETAIL,
        Column("question_quality", F64, "Score from 0 to 1: is the question clear by itself and worth asking?", nullable=True),
        Column("question_quality_reason", S, "The judge's reason for this score.", nullable=True),
        Column("relevance", F64, "Score from 0 to 1: does the answer address the question?", nullable=True),
        Column("relevance_reason", S, "The judge's reason for this score.", nullable=True),
        Column("correctness", F64, "Score from 0 to 1: is the answer right according to the passages?", nullable=True),
        Column("correctness_reason", S, "The judge's reason for this score.", nullable=True),
        Column("completeness", F64, "Score from 0 to 1: does the answer cover the whole question?", nullable=True),
        Column("completeness_reason", S, "The judge's reason for this score.", nullable=True),
        Column("question_type", S, "Type of the question according to the judge.", nullable=True),
        Column("judge", S, "Judge model.", nullable=True),
        Column("prompt_hash", S, "Hash of the judge prompt.", nullable=True),
    ),
    preview=("status", "question_quality", "relevance", "correctness", "completeness"),
)

VERDICTS = Table(
    "verdicts",
    "One row per pair ever generated, imported or edited: the ledger.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        Column("verdict", S, "accepted, rejected, needs_review or failed.", counted=True),
        Column("stage", S, "Last stage of the pair: pairs, source_verification, refusal, quality_assessment, deduplication, person or accepted.", counted=True),
        Column("decided_by", S, "person if a person's decision set the verdict, otherwise pipeline."),
        Column("reason", S, "Reason code of the verdict; accepted rows have one too.", counted=True),
        DETAIL,
        Column("claims", I32, "Number of claims."),
        Column("supported_claims", I32, "Number of claims supported."),
        Column("grounding", F64, "Share of claims supported; null without claims.", nullable=True),
        Column("grounding_low", F64, "Lower Wilson bound (95 %) of grounding.", nullable=True),
        Column("grounding_high", F64, "Upper Wilson bound (95 %) of grounding.", nullable=True),
        Column("support_level", S, "well_supported, partial or weak; null without claims.", nullable=True),
        Column("unsupported_spans", pl.List(UNSUPPORTED), "Spans of the answer that are not supported, with reason codes."),
        Column("relevance", F64, "Score of the judge, 0 to 1.", nullable=True),
        Column("correctness", F64, "Score of the judge, 0 to 1.", nullable=True),
        Column("completeness", F64, "Score of the judge, 0 to 1.", nullable=True),
        Column("question_quality", F64, "Score of the judge, 0 to 1; not part of composite.", nullable=True),
        Column("composite", F64, "Weighted score of grounding and the judge's dimensions.", nullable=True),
        Column("citation_existence", F64, "Share of citations that point to a document or passage of the batch; null without citations.", nullable=True),
        Column("citation_accuracy", F64, "Share of citations that support a claim: the cited source contains the evidence of a supported claim, and the cited quote if there is one. Null without citations or claims.", nullable=True),
        Column("citation_quality", F64, "0.4 citation_existence + 0.3 citation_accuracy + 0.3 grounding in bands (above 0.8: 1, above 0.5: 0.7, else 0).", nullable=True),
        Column("duplicate_of", S, "The kept pair that this pair repeats, or is an alternative to.", nullable=True),
        Column("expected_verdict", S, "Correct verdict of a known-answer pair, set by its author.", nullable=True),
        Column("thresholds_id", S, "Id of the thresholds behind the verdict."),
    ),
    preview=("verdict", "reason", "detail"),
)

DECISIONS = Table(
    "decisions",
    "One row per decision of a person about a pair or one of its claims; rows are only ever added.",
    ("decision_id",),
    (
        Column("decision_id", S, "Hash of the decision, its subject, author, reason and time."),
        BATCH,
        Column("sequence", I32, "Position in the order of recording, from 0; the last decision about a pair or claim counts."),
        PAIR_ID,
        Column("claim_id", S, "The claim that was decided; null if the decision is about the whole pair.", nullable=True),
        Column("content_sha256", S, "Hash of the question, answer and evidence at the time of the decision. The decision is stale if they have changed."),
        Column("decision", S, "accepted, rejected, edited, or reopened (reverts an earlier decision).", counted=True),
        Column("question", S, "The new text of an edited question.", nullable=True),
        Column("answer", S, "The new text of an edited answer.", nullable=True),
        Column("evidence_quote", S, "Quote from a document that the person gave as evidence of an edited pair.", nullable=True),
        Column("evidence_document_id", S, "Document of this quote; null if any document of the batch may contain it.", nullable=True),
        Column("takes_back", S, "The decision_id that a reopened decision reverts.", nullable=True),
        Column("who", S, "Name of the person."),
        Column("why", S, "Reason for the decision.", nullable=True),
        Column("decided_at", S, "Time of the decision (UTC), if the person gave it.", nullable=True),
    ),
    preview=("decision", "who", "why", "answer"),
)

CANARIES = Table(
    "canaries",
    "One row per test claim or test pair, made from the batch with a known correct verdict.",
    ("canary_id",),
    (
        Column("canary_id", S, "Hash of kind, chunk, question and claim."),
        BATCH,
        Column("asks", S, "The tested step: verifier or judge.", counted=True),
        Column("kind", S, "For the verifier: edited (one detail of a sentence changed) or verbatim (an unchanged sentence). For the judge: other_answer (an unrelated sentence of the batch), cut (a correct answer cut short) or good (an unchanged pair).", counted=True),
        Column("mechanism", S, "The changed detail (number, date, unit, name or negation), otherwise alone. Ends in joined if the sentence follows another sentence of the chunk."),
        Column("expected", S, "Correct verdict: accepted or rejected."),
        Column("language", S, "ISO 639-1 code of the chunk or pair."),
        Column("chunk_id", S, "The cited chunk, or the first chunk that the judge read."),
        Column("source", S, "The original sentence or answer."),
        Column("question", S, "Question of a test pair.", nullable=True),
        Column("claim", S, "The test claim, or the answer of a test pair."),
        Column("verdict", S, "accepted, rejected, undecided or failed (no claim, or no readable reply).", counted=True),
        Column("decided_by", S, "Step that decided: judge, llm (a verifying model), or another step of claim_verdicts.", counted=True),
        REASON,
        DETAIL,
        Column("thresholds_id", S, "Id of the thresholds behind the verdict."),
    ),
    preview=("claim", "expected", "verdict", "source"),
)
DOCUMENTS = Table(
    "documents",
    "One row per file found in the batch, parsed or not.",
    ("document_id",),
    (
        Column("document_id", S, "Hash of the file's bytes; of bytes and path for a second equal file."),
        BATCH,
        Column("path", S, "Path inside the batch folder, with forward slashes."),
        Column("source_uri", S, "Where the document came from, if its batch or front matter states it.", nullable=True),
        Column("licence", S, "Licence of the document, if its batch or front matter states it.", nullable=True),
        Column("content_sha256", S, "SHA-256 of the file's bytes; null if they could not be read.", nullable=True),
        Column("size", I64, "Bytes of the file."),
        Column("format", S, "Format of the parser; null if no parser supports the file.", nullable=True, counted=True),
        Column("language", S, "ISO 639-1 code of the main language.", nullable=True, counted=True),
        Column("title", S, "Title from the document, otherwise from its file name.", nullable=True),
        Column("text", S, "Canonical text. All character offsets in all tables refer to it.", nullable=True),
        Column("sections", pl.List(SECTION), "Heading path and character span of each section, in order."),
        Column("pages", pl.List(PAGE), "Number and character span of each page; empty without pages."),
        Column("languages", pl.List(LANGUAGE_SHARE), "Languages of the text with their shares, the main language first."),
        Column("left_out", pl.List(LEFT_OUT), "Content of the file that the text leaves out, by kind: number of parts and of non-blank characters."),
        Column("masked", pl.List(MASKED), "Personal data that was masked in the text and in the declared fields: number of each kind."),
        Column("doubts", pl.List(DOUBT), "Spans of text that may have been read wrongly, by kind: order (of lines), table (columns, names or spans), formula (left out) or quoted (earlier mail). Null without doubts.", nullable=True),
        Column("declared", DECLARED, "Metadata that the document declares about itself; null without any.", nullable=True),
        Column("near_duplicate_of", S, "The document of the batch with nearly the same text, which represents both.", nullable=True),
        Column("near_duplicate_similarity", F64, "Share of five-word sequences that both have in common.", nullable=True),
        Column("parsed_by", S, "Hash of the code and settings that read the file. If it changes, the file is read again.", nullable=True),
        Column("status", S, "parsed, failed, skipped (no parser for the format) or duplicate.", counted=True),
        REASON,
        DETAIL,
    ),
    preview=("path", "title", "status", "text"),
)

CHUNKS = Table(
    "chunks",
    "One row per chunk of a parsed document.",
    ("chunk_id",),
    (
        Column("chunk_id", S, "Hash of section path and text (and a count for repeats). It does not change if other chunks change."),
        BATCH,
        Column("document_id", S, "The document of the chunk."),
        Column("position", I32, "Position among the chunks of the document, from 0."),
        Column("char_start", I64, "First character in the document's text."),
        Column("char_end", I64, "One past the last character."),
        Column("title", S, "Title of the document."),
        Column("section_path", STRINGS, "Headings above the chunk, outermost first."),
        Column("section_start", I64, "First character of the chunk's section, which is its context."),
        Column("section_end", I64, "One past the last character of the section."),
        Column("page_first", I32, "First page of the chunk.", nullable=True),
        Column("page_last", I32, "Last page of the chunk.", nullable=True),
        Column("tokens", I32, "Tokens of section path and text in the embedding model's tokenizer."),
        Column("language", S, "ISO 639-1 code of the chunk's language; the document's language if the chunk is too short to detect it.", counted=True),
        Column("passed_over", S, "Why the chunk gets no questions: near_duplicate (its document), repeated_block (other documents contain the text), no_sentence or front_or_back_matter; otherwise null.", nullable=True),
        Column("doubts", pl.List(DOUBT), "Spans of the chunk that may have been read wrongly, in the form of documents.doubts; null without doubts.", nullable=True),
        Column("text", S, "The document's text from char_start to char_end, unchanged."),
    ),
    preview=("title", "section_path", "text"),
)

EMBEDDINGS = Table(
    "embeddings",
    "One row per chunk vector.",
    ("chunk_id",),
    (
        Column("chunk_id", S, "The embedded chunk."),
        BATCH,
        Column("text_sha256", S, "Hash of the text given to the model, the key of the vector cache."),
        Column("model", S, "Embedding model.", counted=True),
        Column("model_revision", S, "Revision or content hash of the model weights."),
        Column("precision", S, "float32 or bfloat16, the precision of the computation; for other backends the name of the backend.", counted=True),
        Column("vector", pl.List(pl.Float32()), "Unit-length vector."),
    ),
    preview=("chunk_id", "model", "precision"),
)

QUESTIONS = Table(
    "questions",
    "One row per planned question, written or not, and per chunk without questions.",
    ("question_id",),
    (
        Column("question_id", S, "Hash of target chunk, question, its position in the plan, prompt and model."),
        BATCH,
        Column("question", S, "The question; null if it was not written.", nullable=True),
        Column("question_type", S, "Type of the question, a name from generation.mix; null without a question.", nullable=True, counted=True),
        Column("planned_type", S, "Requested type; null if the chunk gets no questions.", nullable=True, counted=True),
        Column("difficulty", S, "Rank of its chunk in the search results: easy is first, medium second or third, hard later or missing. With two target chunks, easy is first and second, and medium is among the first six. Null if not searched.", nullable=True, counted=True),
        Column("place", I32, "Position in the request, from 0; null if the chunk gets no questions.", nullable=True),
        Column("rewritten_from", S, "The original question, if it was rewritten because it was unclear by itself; otherwise null.", nullable=True),
        Column("target_chunk_ids", STRINGS, "Chunks the question was written for."),
        Column("drafted_answer", S, "Answer written together with the question, if its quotes are in the target chunks and it covers the question; otherwise null.", nullable=True),
        Column("drafted_quotes", STRINGS, "Quotes from the target chunks for this answer; null without an answer.", nullable=True),
        Column("passage_ids", STRINGS, "Chunks retrieved for it, best first."),
        Column("passage_scores", pl.List(F64), "Retrieval score of each passage (reciprocal rank fusion); null for a target chunk that the search did not find.", nullable=True),
        Column("language", S, "Language of question and answer."),
        Column("status", S, "kept, dropped or failed.", counted=True),
        REASON,
        DETAIL,
        Column("prompt_hash", S, "Hash of the prompt file."),
        Column("model", S, "Name of the model that wrote the question."),
    ),
    preview=("question", "question_type", "status"),
)

PAIRS = Table(
    "pairs",
    "One row per question-answer pair, generated, imported or edited.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        Column("question_id", S, "The generated question; null for imported pairs.", nullable=True),
        Column("question", S, "The question; null if its line could not be read.", nullable=True),
        Column("answer", S, "The answer; null if drafting failed.", nullable=True),
        Column("language", S, "Language of the pair."),
        Column("question_type", S, "Type of the question, or imported for imported pairs."),
        Column("difficulty", S, "Difficulty of finding the question's chunks by search: easy, medium or hard; null for imported pairs.", nullable=True),
        Column("hops", I32, "Number of chunks that the question needs: 1 or 2; null for imported and edited pairs.", nullable=True, counted=True),
        Column("answer_style", S, "short, sentence, long_form or steps; null for imported and edited pairs.", nullable=True),
        Column("draft", I32, "Number of the draft for its question, from 1; null for imported and edited pairs.", nullable=True),
        Column("origin", S, "generated, imported or edited (by a person).", counted=True),
        Column("passage_ids", STRINGS, "Chunks the answer was drafted from, best first."),
        Column("used_chunk_ids", STRINGS, "Chunks that the answer cites or reports as used."),
        Column("citations", pl.List(CITATION), "Citations of the answer with their resolved documents and chunks."),
        Column("coverage", S, "full, partial or none (a refusal); null if drafting failed.", nullable=True, counted=True),
        Column("status", S, "drafted, flawed (the answer is unfit for training) or failed.", counted=True),
        REASON,
        DETAIL,
        Column("generator", S, "Model that drafted the answer, file of an imported pair, or person: with the name of the editor."),
        Column("prompt_hash", S, "Hash of the answer prompt; null for imported pairs.", nullable=True),
        Column("expected_verdict", S, "Correct verdict of a known-answer pair, set by its author.", nullable=True),
        Column("expected_kind", S, "Error that a known-answer pair tests, e.g. swapped_number.", nullable=True),
        Column("passage_scores", pl.List(F64), "Retrieval score of each passage (reciprocal rank fusion); null for imported pairs.", nullable=True),
        Column("guarded_by", S, "Method that decided if an answer is drafted: prompt, embedding, hybrid, llm or validation; null for pairs without drafting.", nullable=True),
        Column("guard_similarity", F64, "Mean cosine similarity of the question and its three best passages; null if it was not computed.", nullable=True),
        Column("guard_passed", B, "True if an answer was drafted; null for pairs without drafting, or if the decision failed.", nullable=True),
        Column("guard_confidence", F64, "Confidence of the guard model in its decision, 0 to 1; null without a model's decision.", nullable=True),
        Column("guard_reasoning", S, "Reasoning of the guard model; null without a model's decision.", nullable=True),
        Column("source_line", I64, "Line, row or entry of an imported pair in its file, from 1.", nullable=True),
        Column("source_id", S, "Id of an imported pair in its file.", nullable=True),
        Column("source_fields", S, "Further fields of an imported pair, as a JSON object.", nullable=True),
    ),
    preview=("question", "answer", "coverage", "quote"),
)

TRAINING_EXAMPLES = Table(
    "training_examples",
    "One row per accepted pair, ready for training.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        Column("question", S, "The question."),
        Column("answer", S, "The answer."),
        Column("language", S, "Language of the pair.", counted=True),
        Column("question_type", S, "Type of the question according to the judge, otherwise from the pairs table.", counted=True),
        Column("difficulty", S, "Difficulty of finding the question's chunks by search: easy, medium or hard; null for imported pairs.", nullable=True),
        Column("source_fields", S, "Further fields, as a JSON object; null without any.", nullable=True),
        Column("coverage", S, "full, partial or none (a proved refusal).", counted=True),
        Column("messages", MESSAGES, "Chat messages in the layout of `training.layout`, in the format of trainers such as TRL."),
        Column("passages", STRINGS, "Ids of the chunks in the messages, in order."),
        Column("tokens", I32, "Tokens of the messages in the embedding model's tokenizer."),
        Column("grounding", F64, "Share of claims supported; null for a refusal.", nullable=True),
        Column("relevance", F64, "Score of the judge, 0 to 1.", nullable=True),
        Column("correctness", F64, "Score of the judge, 0 to 1.", nullable=True),
        Column("completeness", F64, "Score of the judge, 0 to 1.", nullable=True),
        Column("composite", F64, "Weighted score of grounding and the judge's dimensions.", nullable=True),
        Column("reason", S, "Reason code of the verdict."),
        Column("evidence", pl.List(EVIDENCE), "Evidence of each claim: document, character span, page and quote."),
        Column("provenance", PROVENANCE, "Models, prompt, thresholds and sources behind the example."),
    ),
    preview=("question", "answer", "quote"),
)

ROUND_TRIPS = Table(
    "round_trips",
    "One row per generated pair that passed source verification: an independent model answers its question.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        Column("status", S, "checked, not_asked (no model is configured, or the check is off) or failed.", counted=True),
        REASON,
        DETAIL,
        Column("solved_answer", S, "Answer of the model from the evidence quotes alone; null if they were not enough.", nullable=True),
        Column("agrees", B, "True if that answer agrees with the pair's answer; null if unknown.", nullable=True),
        Column("fewer_chunks_answer", B, "True if a question for two chunks can be answered from fewer chunks; null for other questions, or if unknown.", nullable=True),
        Column("model", S, "The model; null without a model.", nullable=True),
    ),
    preview=("status", "agrees", "solved_answer"),
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
        Column("call_id", S, "Unique id of the call."),
        Column("run", S, "The run of the call."),
        BATCH,
        Column("role", S, "questions, standalone, validate, guard, answer, split, verify, solve, compare or judge.", counted=True),
        Column("asked_model", S, "Requested model: provider, name and, if it is not the provider's default, server."),
        Column("replied_model", S, "Model name in the reply.", nullable=True, counted=True),
        Column("request_key", S, "Hash of the request. A repeated request has a row for each call."),
        Column("started_at", pl.Datetime("us", "UTC"), "Time when the request was first sent."),
        Column("seconds", F64, "Seconds from then to the last byte of the reply, including waits."),
        Column("tries", I32, "Number of times the request was sent."),
        Column("outcome", S, "replied, or the reason code of the error.", counted=True),
        Column("repair", S, "Repair that made the reply readable: none, stripped, repaired or reasked.", counted=True),
        Column("input_tokens", I64, "Tokens of the prompt, including cached tokens; null if the provider does not report them.", nullable=True),
        Column("output_tokens", I64, "Tokens of the reply, including reasoning tokens.", nullable=True),
        Column("cached_tokens", I64, "Tokens of the prompt that the provider read from its cache.", nullable=True),
        Column("thought_tokens", I64, "Reasoning tokens.", nullable=True),
        Column("cost", F64, "Cost in the currency; null if the price or tokens are unknown.", nullable=True),
        Column("currency", S, "Currency of the price; null without a price.", nullable=True),
    ),
    preview=("role", "outcome", "replied_model", "seconds", "cost"),
)

SIDE_TABLES: dict[str, Table] = {table.name: table for table in (LLM_CALLS, CANARIES, DECISIONS)}
"""Records of a batch outside the pipeline's flow. They are never released or checked for conservation."""

STORED: dict[str, Table] = TABLES | SIDE_TABLES
"""Every stored table."""
# fmt: on
