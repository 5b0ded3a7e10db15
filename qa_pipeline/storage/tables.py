"""Every stored table: its grain, key, columns, types and what each column means.

What belongs here: the single source for Parquet files, the Dagster UI and the documentation. What does not:
holding a frame to it (`table_schema.py`), and computing a column.
"""

from typing import Any

import polars as pl

from qa_pipeline.storage.table_schema import Column, Table

STRINGS = pl.List(pl.String())
SPAN = {"start": pl.Int64(), "end": pl.Int64()}
SECTION = pl.Struct({"heading_path": STRINGS, "level": pl.Int32(), **SPAN})
PAGE = pl.Struct({"number": pl.Int32(), **SPAN})
LEFT_OUT = pl.Struct({"what": pl.String(), "pieces": pl.Int32(), "characters": pl.Int64()})
MASKED = pl.Struct({"kind": pl.String(), "count": pl.Int32()})
DOUBT = pl.Struct({"kind": pl.String(), **SPAN})
LANGUAGE_SHARE = pl.Struct({"language": pl.String(), "share": pl.Float64()})
DECLARED = pl.Struct(
    {
        "title": pl.String(),
        "language": pl.String(),
        "source_uri": pl.String(),
        "licence": pl.String(),
        "status": pl.String(),
    }
)
CITATION = pl.Struct(
    {
        "raw": pl.String(),
        "document_id": pl.String(),
        "chunk_id": pl.String(),
        "quote": pl.String(),
        "number": pl.Int32(),
        "resolution": pl.String(),
    }
)
QUOTE = pl.Struct(
    {
        "given": pl.String(),
        "found": pl.String(),
        "document_id": pl.String(),
        "chunk_id": pl.String(),
        **SPAN,
        "kind": pl.String(),
    }
)
UNSUPPORTED = pl.Struct({**SPAN, "reason": pl.String()})
MESSAGE = pl.Struct({"role": pl.String(), "content": pl.String()})
MESSAGES = pl.List(MESSAGE)
EVIDENCE = pl.Struct(
    {
        "claim": pl.String(),
        "document_id": pl.String(),
        "chunk_id": pl.String(),
        "path": pl.String(),
        "content_sha256": pl.String(),
        **SPAN,
        "page": pl.Int32(),
        "quote": pl.String(),
    }
)
MODEL_QUOTE = pl.Struct(
    {
        "document_id": pl.String(),
        "content_sha256": pl.String(),
        "chunk_id": pl.String(),
        **SPAN,
        "page": pl.Int32(),
        "quote": pl.String(),
    }
)
PROVENANCE = pl.Struct(
    {
        "origin": pl.String(),
        "generator": pl.String(),
        "prompt_hash": pl.String(),
        "judge": pl.String(),
        "thresholds_id": pl.String(),
        "citation_quality": pl.Float64(),
        "citation_precision": pl.Float64(),
        "source_uris": STRINGS,
        "licences": STRINGS,
    }
)


def column(name: str, dtype: Any, description: str, *, nullable: bool = False) -> Column:
    """Return a column; `dtype` is a type or an instance of one."""
    return Column(name, dtype() if isinstance(dtype, type) else dtype, description, nullable)


S, I32, I64, F64, B = pl.String(), pl.Int32(), pl.Int64(), pl.Float64(), pl.Boolean()
BATCH = column("batch", S, "Name of the document batch, also the Dagster partition key.")
REASON = column("reason", S, "Reason code; null when there is nothing to explain.", nullable=True)
DETAIL = column("detail", S, "What happened in words, for people.", nullable=True)
PAIR_ID = column("pair_id", S, "Content hash of question, answer and sources.")

# One column a line reads best.
# fmt: off
CLAIMS = Table(
    "claims",
    "One row per claim of an answer, with its best evidence and every local score.",
    ("claim_id",),
    (
        column("claim_id", S, "Hash of pair, span, text and self_contained."),
        PAIR_ID,
        BATCH,
        column("position", I32, "Place in the answer, from 0."),
        column("text", S, "The claim."),
        column("self_contained", S, "The claim as it is understood alone: what is embedded, compared and shown to models; null where text does.", nullable=True),
        column("split_by", S, "Who cut the answer into this claim: rules or model.", nullable=True),
        column("split_reason", S, "Why the rules were used although a model was asked (a failed reply, or what was wrong with it), or too_many_claims; else null.", nullable=True),
        column("start", I64, "First character in the answer."),
        column("end", I64, "One past the last character in the answer."),
        column("citation_status", S, "resolved, quote_repaired, unresolved, quote_not_found, found_by_search (the pair cites nothing: the passages were searched for) or uncited."),
        column("evidence_document_id", S, "Document of the evidence.", nullable=True),
        column("evidence_content_sha256", S, "Hash of that document's bytes.", nullable=True),
        column("evidence_chunk_id", S, "Chunk of the evidence.", nullable=True),
        column("evidence_start", I64, "First character of the evidence in the document's text.", nullable=True),
        column("evidence_end", I64, "One past its last character.", nullable=True),
        column("evidence_page", I32, "Page it starts on.", nullable=True),
        column("evidence_quote", S, "The evidence, verbatim.", nullable=True),
        column("evidence_doubt", S, "Kinds of doubt about the text of the evidence; null where its reader is sure of it.", nullable=True),
        column("similarity", F64, "Best cosine of the claim to a chunk that it cites.", nullable=True),
        column("chunk_similarity", F64, "Best cosine of the claim to a chunk of the cited documents.", nullable=True),
        column("token_recall", F64, "Share of the claim's content words found in the evidence and its headings.", nullable=True),
        column("proved_by", S, "What proves it: quotation (a sentence, list item or table row, word for word), fragment (a few words of one, with their question), cell (a cell of a row with its key and column); else null.", nullable=True),
        column("unproved", STRINGS, "Why the sources do not prove it by themselves, in words.", nullable=True),
        column("denied", STRINGS, "Reason code and words of the slot in which the claim denies its evidence.", nullable=True),
        column("scope_differs", B, "Whether the evidence and its headings lack a number or identifier of the claim.", nullable=True),
        column("proved_by_chunk_id", S, "A passage that is not cited and says the claim word for word, where the cited ones do not.", nullable=True),
        column("fragment", B, "Whether it only states something together with its question.", nullable=True),
        column("citation_reason", S, "Why the citation is unresolved, or section_not_found where the whole document is used instead; else null.", nullable=True),
        column("quotes", pl.List(QUOTE), "Quotes cited for the claim: as given, as found in the document's text, and how they agree: exact, spelling, ellipsis, misplaced (in another passage than the one named) or missing.", nullable=True),
        column("entailment", F64, "Probability that the cited passages entail the claim, the best of the windows read.", nullable=True),
        column("contradiction", F64, "Probability that a cited passage contradicts it, the largest over windows.", nullable=True),
        column("entailment_model", S, "Cross-encoder and revision; null without one.", nullable=True),
        column("entailment_reason", S, "Why entailment is unknown although there is a model: empty_claim, claim_too_long, no_passage or model_nan.", nullable=True),
        column("candidate_chunk_ids", STRINGS, "Cited chunks that a model would read for the claim: its evidence, then by shared words, or in the order cited where it is proved to the letter.", nullable=True),
    ),
    preview=("text", "evidence_quote", "similarity"),
    counted=("citation_status", "entailment_reason"),
)

CLAIM_VERDICTS = Table(
    "claim_verdicts",
    "One row per claim, decided: proved when it is a sentence, list item or table row of its source, word for word, and that "
    "unit speaks of what is asked; else decided by the verifying model, or left to a person.",
    ("claim_id",),
    (
        column("claim_id", S, "The claim."),
        PAIR_ID,
        BATCH,
        column("verdict", S, "supported, contradicted, unsupported, undecided or failed."),
        column("decided_by", S, "citation, similarity, quotation, entailment, similarity_only, llm, person, or no_step where none decided."),
        REASON,
        DETAIL,
        column("prompt_hash", S, "Hash of the verify prompt, where a model was asked.", nullable=True),
        column("model", S, "Model asked, if one was.", nullable=True),
        column("llm_decision", S, "Its reply: accept, reject, unsure, or the reason code of a reply that failed.", nullable=True),
        column("llm_quotes", pl.List(MODEL_QUOTE), "What it quotes, where it stands in the documents: the proof of a claim that it accepted.", nullable=True),
        column("thresholds_id", S, "The thresholds that decided."),
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
        column("similarity", F64, "Best cosine of the question to the batch's chunks.", nullable=True),
        column("token_recall", F64, "Share of the question's content words, weighted by rarity, in the best chunk.", nullable=True),
        column("best_sentence", S, "The sentence of a likely chunk that contains most of these words.", nullable=True),
        column("sentence_recall", F64, "Share of these words in that sentence.", nullable=True),
        column("sentence_similarity", F64, "Best cosine of the question to a sentence of the likely chunks.", nullable=True),
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
        column("question_quality", F64, "Is the question clear by itself and worth asking, 0 to 1.", nullable=True),
        column("question_quality_reason", S, "The judge's reason for that score.", nullable=True),
        column("relevance", F64, "Does the answer address the question, 0 to 1.", nullable=True),
        column("relevance_reason", S, "The judge's reason for that score.", nullable=True),
        column("correctness", F64, "Is it right according to the passages, 0 to 1.", nullable=True),
        column("correctness_reason", S, "The judge's reason for that score.", nullable=True),
        column("completeness", F64, "Does it cover what is asked, 0 to 1.", nullable=True),
        column("completeness_reason", S, "The judge's reason for that score.", nullable=True),
        column("question_type", S, "Type of the question according to the judge.", nullable=True),
        column("judge", S, "Model that judged.", nullable=True),
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
        column("stage", S, "Stage reached: pairs, source_verification, refusal, quality_assessment, deduplication, person or accepted."),
        column("decided_by", S, "person where a decision of a person set the verdict, else pipeline."),
        column("reason", S, "Reason code of the verdict; accepted rows have one too."),
        DETAIL,
        column("claims", I32, "Number of claims."),
        column("supported_claims", I32, "Number of claims supported."),
        column("grounding", F64, "Share of claims supported; null without claims.", nullable=True),
        column("grounding_low", F64, "Lower Wilson bound (95 %) of grounding.", nullable=True),
        column("grounding_high", F64, "Upper Wilson bound (95 %) of grounding.", nullable=True),
        column("support_level", S, "well_supported, partial or weak; null without claims.", nullable=True),
        column("unsupported_spans", pl.List(UNSUPPORTED), "Spans of the answer that are not supported, and why."),
        column("relevance", F64, "From the judge.", nullable=True),
        column("correctness", F64, "From the judge.", nullable=True),
        column("completeness", F64, "From the judge.", nullable=True),
        column("question_quality", F64, "From the judge; no part of composite.", nullable=True),
        column("composite", F64, "Weighted score of grounding and the judge's dimensions.", nullable=True),
        column("citation_existence", F64, "Share of its citations that name something of the batch; null without citations.", nullable=True),
        column("citation_accuracy", F64, "Share of its citations that support a claim: evidence of a supported claim is in what they name, and so does their quote, where they have one; null without citations or claims.", nullable=True),
        column("citation_quality", F64, "0.4 citation_existence + 0.3 citation_accuracy + 0.3 grounding in bands (above 0.8: 1, above 0.5: 0.7, else 0).", nullable=True),
        column("citation_precision", F64, "The same share of the different passages or documents cited, each counted once.", nullable=True),
        column("citation_completeness", F64, "Share of claims supported by what is cited alone; null without claims.", nullable=True),
        column("source_coverage", F64, "Multi-source coverage: share of the cited documents that support a claim.", nullable=True),
        column("cited_documents", I32, "Number of documents cited.", nullable=True),
        column("duplicate_of", S, "The kept pair this one repeats, or is an alternative to.", nullable=True),
        column("expected_verdict", S, "Verdict its author knows to be right, for known-answer pairs.", nullable=True),
        column("thresholds_id", S, "The thresholds that decided."),
    ),
    preview=("verdict", "reason", "detail"),
    counted=("verdict", "stage", "reason"),
)

DECISIONS = Table(
    "decisions",
    "One row per decision of a person about a pair or one of its claims; rows are only ever added.",
    ("decision_id",),
    (
        column("decision_id", S, "Hash of the decision, what it is about, and who made it why and when."),
        BATCH,
        column("sequence", I32, "Place in the order of recording, from 0; the last about a pair or claim counts."),
        PAIR_ID,
        column("claim_id", S, "The claim it is about; null where it is about the pair.", nullable=True),
        column("content_sha256", S, "Hash of the question, answer and evidence it was made about; stale once they differ."),
        column("decision", S, "accepted, rejected, edited, or reopened, which takes an earlier decision back."),
        column("question", S, "The new text of an edited question.", nullable=True),
        column("answer", S, "The new text of an edited answer.", nullable=True),
        column("evidence_quote", S, "Words of a document that a person names as evidence of an edited pair.", nullable=True),
        column("evidence_document_id", S, "The document they are in; null where any document of the batch may be it.", nullable=True),
        column("takes_back", S, "The decision_id that a reopened pair or claim is rid of.", nullable=True),
        column("who", S, "Who decided."),
        column("why", S, "Why.", nullable=True),
        column("decided_at", S, "When, in UTC, where the person says so.", nullable=True),
    ),
    preview=("decision", "who", "why", "answer"),
    counted=("decision",),
)

CANARIES = Table(
    "canaries",
    "One row per claim or pair that was made from the batch and whose right verdict is known.",
    ("canary_id",),
    (
        column("canary_id", S, "Hash of kind, chunk, question and claim."),
        BATCH,
        column("asks", S, "verifier or judge: which of them it tests."),
        column("kind", S, "For the verifier edited (one thing changed), verbatim (a sentence as it is) or foreign (of another document); for the judge other_answer (of another question), cut (a right answer cut short) or good (as it is)."),
        column("mechanism", S, "What was changed (number, date, unit, name or negation), else alone; joined after another sentence of the chunk."),
        column("expected", S, "accepted or rejected."),
        column("language", S, "ISO 639-1 code of the chunk or pair."),
        column("chunk_id", S, "The chunk it cites, or the first that the judge read."),
        column("source", S, "The sentence or answer that it was made from."),
        column("question", S, "The question of a pair.", nullable=True),
        column("claim", S, "The claim, or the answer of a pair."),
        column("verdict", S, "accepted, rejected, undecided or failed (no claim or no reply that can be read)."),
        column("decided_by", S, "The step that decided: judge, llm for a model that verifies, or one of claim_verdicts."),
        REASON,
        DETAIL,
        column("thresholds_id", S, "The thresholds that decided."),
    ),
    preview=("claim", "expected", "verdict", "source"),
    counted=("verdict", "kind", "asks", "decided_by"),
)
# fmt: on


SCHEMA_VERSION = 16

# One column a line reads best.
# fmt: off
DOCUMENTS = Table(
    "documents",
    "One row per file found in the batch, parsed or not.",
    ("document_id",),
    (
        column("document_id", S, "Hash of the file's bytes; of bytes and path for a second equal file."),
        BATCH,
        column("path", S, "Path inside the batch folder, with forward slashes."),
        column("source_uri", S, "Where the document came from, if its batch or front matter says.", nullable=True),
        column("licence", S, "Licence of the document, if its batch or front matter says.", nullable=True),
        column("content_sha256", S, "SHA-256 of the file's bytes; null if they could not be read.", nullable=True),
        column("size", I64, "Bytes of the file."),
        column("format", S, "Format parser used; null when there is none for the file.", nullable=True),
        column("language", S, "ISO 639-1 code of the main language.", nullable=True),
        column("title", S, "Title from the document itself, else from its file name.", nullable=True),
        column("text", S, "Canonical text; every offset in every table points into it.", nullable=True),
        column("sections", pl.List(SECTION), "Heading path and character span of each section, in order."),
        column("pages", pl.List(PAGE), "Number and character span of each page; empty without pages."),
        column("languages", pl.List(LANGUAGE_SHARE), "Languages of the text with their share of it, the main one first."),
        column("left_out", pl.List(LEFT_OUT), "What the file holds and the text does not, by kind: pieces and non-blank characters."),
        column("masked", pl.List(MASKED), "Personal data found in the text and in what the document says of itself, by kind and count."),
        column("doubts", pl.List(DOUBT), "Where its reader is not sure of the text, by kind: order (of lines), table (columns, names or spans), formula (left out) or quoted (earlier mail); null where nothing is in doubt.", nullable=True),
        column("declared", DECLARED, "What the document says about itself; null where it says nothing.", nullable=True),
        column("near_duplicate_of", S, "The document of the batch whose text is nearly the same and that represents both.", nullable=True),
        column("near_duplicate_similarity", F64, "Share of five-word sequences they have in common.", nullable=True),
        column("parsed_by", S, "Hash of the code and settings that read the file; a file is read again when it changes.", nullable=True),
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
        column("chunk_id", S, "Hash of section path and text (and a count for repeats): stable when others change."),
        BATCH,
        column("document_id", S, "The document it is cut from."),
        column("position", I32, "Place among the document's chunks, from 0."),
        column("char_start", I64, "First character in the document's text."),
        column("char_end", I64, "One past the last character."),
        column("title", S, "Title of the document."),
        column("section_path", STRINGS, "Headings above the chunk, outermost first."),
        column("section_start", I64, "First character of the section it is cut from, its context."),
        column("section_end", I64, "One past the last character of that section."),
        column("page_first", I32, "First page it is on.", nullable=True),
        column("page_last", I32, "Last page it is on.", nullable=True),
        column("tokens", I32, "Tokens of section path and text in the embedding model's tokenizer."),
        column("language", S, "ISO 639-1 code of the chunk's own language, the document's where it is too short to tell."),
        column("passed_over", S, "Why it is not asked: near_duplicate (its document), repeated_block (text that other documents hold), no_sentence or front_or_back_matter; else null.", nullable=True),
        column("doubts", pl.List(DOUBT), "The doubts about its text, as those of the document; null where there are none.", nullable=True),
        column("text", S, "Exactly the document's text from char_start to char_end."),
    ),
    preview=("title", "section_path", "text"),
    counted=("language",),
)

EMBEDDINGS = Table(
    "embeddings",
    "One row per chunk vector.",
    ("chunk_id",),
    (
        column("chunk_id", S, "The chunk embedded."),
        BATCH,
        column("text_sha256", S, "Hash of the text given to the model; vectors are cached by it."),
        column("model", S, "Embedding model."),
        column("model_revision", S, "Revision or content hash of its weights."),
        column("precision", S, "float32 or bfloat16, the arithmetic the vector was computed in; else the backend."),
        column("vector", pl.List(pl.Float32()), "Unit-length vector."),
    ),
    preview=("chunk_id", "model", "precision"),
    counted=("model", "precision"),
)

QUESTIONS = Table(
    "questions",
    "One row per planned question, written or not, and per chunk that was not asked.",
    ("question_id",),
    (
        column("question_id", S, "Hash of target chunk, question, its place in the plan, prompt and model."),
        BATCH,
        column("question", S, "The question; null when none was written.", nullable=True),
        column("question_type", S, "Type it is of, a name of the mix; null without a question.", nullable=True),
        column("planned_type", S, "Type that was asked for; null when the chunk was not asked.", nullable=True),
        column("difficulty", S, "How the search finds its chunk: easy first, medium second or third, hard later or not (both chunks of two hops: easy first, medium among the first six); null when not searched.", nullable=True),
        column("place", I32, "Its place in the request, from 0; null when the chunk was not asked.", nullable=True),
        column("rewritten_from", S, "The question as first written, where it could not be understood by itself; else null.", nullable=True),
        column("target_chunk_ids", STRINGS, "Chunks the question was written for."),
        column("drafted_answer", S, "Answer that was written with it, where its quotes are in those chunks and it covers the question; else null.", nullable=True),
        column("drafted_quotes", STRINGS, "Words of those chunks that the answer was written from; null without one.", nullable=True),
        column("passage_ids", STRINGS, "Chunks retrieved for it, best first."),
        column("passage_scores", pl.List(F64), "Retrieval score of each of them (reciprocal rank fusion); null for a hop that the search did not find.", nullable=True),
        column("language", S, "Language of question and answer."),
        column("status", S, "kept, dropped or failed."),
        REASON,
        DETAIL,
        column("prompt_hash", S, "Hash of the prompt file."),
        column("model", S, "Name of the model that wrote it."),
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
        column("question", S, "The question; null when its line could not be read.", nullable=True),
        column("answer", S, "The answer; null when drafting failed.", nullable=True),
        column("language", S, "Language of the pair."),
        column("question_type", S, "Type of the question; imported for imported pairs."),
        column("difficulty", S, "How the search finds what the question is about: easy, medium or hard; null for what others wrote.", nullable=True),
        column("hops", I32, "Chunks its question was written for, each of them needed: 1 or 2; null for what others wrote.", nullable=True),
        column("answer_style", S, "short, sentence, long_form or steps; null for what others wrote.", nullable=True),
        column("draft", I32, "Which of the drafts for its question, from 1; null for what others wrote.", nullable=True),
        column("origin", S, "generated, imported or edited (by a person)."),
        column("passage_ids", STRINGS, "Chunks the answer was drafted from, best first."),
        column("used_chunk_ids", STRINGS, "Chunks the answer says it used."),
        column("citations", pl.List(CITATION), "What the answer cites, and what each citation resolves to."),
        column("coverage", S, "full, partial or none; null when drafting failed.", nullable=True),
        column("status", S, "drafted, flawed (its answer is unfit to train on) or failed."),
        REASON,
        DETAIL,
        column("generator", S, "Model that drafted the answer, the file it was imported from, or person: and who edited it."),
        column("prompt_hash", S, "Hash of the answer prompt; null for imported pairs.", nullable=True),
        column("expected_verdict", S, "Verdict its author knows to be right, for known-answer pairs.", nullable=True),
        column("expected_kind", S, "What the known-answer pair probes, e.g. swapped_number.", nullable=True),
        column("passage_scores", pl.List(F64), "Retrieval score of each passage (reciprocal rank fusion); null for imported pairs.", nullable=True),
        column("guarded_by", S, "What decided whether an answer was drafted: prompt, embedding, hybrid, llm or validation; null where nothing was to be drafted.", nullable=True),
        column("guard_similarity", F64, "Mean cosine of the question and its three best passages; null where no cosine decided.", nullable=True),
        column("guard_passed", B, "Whether an answer was drafted; null where nothing was to be drafted, or the decision could not be had.", nullable=True),
        column("guard_confidence", F64, "How sure the model of the guard was of its decision, 0 to 1; null where none decided.", nullable=True),
        column("guard_reasoning", S, "Why the model of the guard decided so, in its words; null where none decided.", nullable=True),
        column("source_line", I64, "Line, row or entry, from 1, of an imported pair in its file.", nullable=True),
        column("source_id", S, "The id an imported pair has in its file.", nullable=True),
        column("source_fields", S, "Further fields, as a JSON object: those of an imported pair.", nullable=True),
    ),
    preview=("question", "answer", "coverage", "quote"),
    counted=("status", "reason", "origin", "coverage", "hops"),
)

TRAINING_EXAMPLES = Table(
    "training_examples",
    "One row per accepted pair, ready to train on.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        column("question", S, "The question."),
        column("answer", S, "The answer."),
        column("language", S, "Language of the pair."),
        column("question_type", S, "Type of the question: the judge's word before that of whoever asked it."),
        column("difficulty", S, "How the search finds what the question is about: easy, medium or hard; null for what others wrote.", nullable=True),
        column("source_fields", S, "Further fields, as a JSON object; null without any.", nullable=True),
        column("coverage", S, "full, partial or none (a proved refusal)."),
        column("messages", MESSAGES, "Chat messages in the layout of `training.layout`: what trainers such as TRL read."),
        column("passages", STRINGS, "Ids of the chunks that the messages show, in order."),
        column("tokens", I32, "Tokens of the messages in the embedding model's tokenizer."),
        column("grounding", F64, "Share of claims supported; null for a refusal.", nullable=True),
        column("relevance", F64, "From the judge.", nullable=True),
        column("correctness", F64, "From the judge.", nullable=True),
        column("completeness", F64, "From the judge.", nullable=True),
        column("composite", F64, "Weighted score of grounding and the judge's dimensions.", nullable=True),
        column("reason", S, "Reason code of the verdict."),
        column("evidence", pl.List(EVIDENCE), "Proof of each claim: document, character span, page, quote."),
        column("provenance", PROVENANCE, "Who wrote, judged and decided it, and from which sources."),
    ),
    preview=("question", "answer", "quote"),
    counted=("coverage", "question_type", "language"),
)

ROUND_TRIPS = Table(
    "round_trips",
    "One row per generated pair that passed source verification: what an independent model makes of its question.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        column("status", S, "checked, not_asked (there is no model, or it is switched off) or failed."),
        REASON,
        DETAIL,
        column("solved_answer", S, "Answer from the quotes of the proof alone; null where they were not enough.", nullable=True),
        column("agrees", B, "Whether that answer is the pair's; null where it is not known.", nullable=True),
        column("fewer_chunks_answer", B, "Whether a question of two hops is answered from a chunk less; null for others, and where it is not known.", nullable=True),
        column("model", S, "Model that was asked; null without one.", nullable=True),
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
"""The road from documents to training examples."""

LLM_CALLS = Table(
    "llm_calls",
    "One row per call of a hosted model that was answered or may have been charged; empty without one.",
    ("call_id",),
    (
        column("call_id", S, "The call."),
        column("run", S, "The run that made it."),
        BATCH,
        column("role", S, "questions, standalone, validate, guard, answer, split, verify, solve, compare or judge."),
        column("asked_model", S, "Model that was asked: provider, name and, where it is not the provider's own, server."),
        column("replied_model", S, "Model that says it replied.", nullable=True),
        column("request_key", S, "Hash of the request; a request asked once more has a row for each call."),
        column("started_at", pl.Datetime("us", "UTC"), "When it was first sent."),
        column("seconds", F64, "From then to the last byte, waits included."),
        column("tries", I32, "How often it was sent."),
        column("outcome", S, "replied, or the reason code of what went wrong."),
        column("repair", S, "How the reply became readable: none, stripped, repaired or reasked."),
        column("input_tokens", I64, "Tokens of the prompt, cached ones included; null where the provider does not tell.", nullable=True),
        column("output_tokens", I64, "Tokens of the reply, thoughts included.", nullable=True),
        column("cached_tokens", I64, "Tokens of the prompt that the provider read from its cache.", nullable=True),
        column("thought_tokens", I64, "Tokens of thoughts.", nullable=True),
        column("cost", F64, "In the currency; null where price or tokens are not known.", nullable=True),
        column("currency", S, "Of the price; null without one.", nullable=True),
    ),
    preview=("role", "outcome", "replied_model", "seconds", "cost"),
    counted=("role", "outcome", "repair", "replied_model"),
)

KEPT_APART: dict[str, Table] = {table.name: table for table in (LLM_CALLS, CANARIES, DECISIONS)}
"""Tables that tell of a batch and are no part of the road: never in conservation, never in a release."""

STORED: dict[str, Table] = TABLES | KEPT_APART
"""Every stored table."""
# fmt: on
