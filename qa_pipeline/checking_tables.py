"""The tables of the stages that check: claims and what is decided of them, up to the ledger.

What belongs here: grain, key and columns, as in `tables.py`, which lists them with the others. What does not:
computing a column.
"""

import polars as pl

from qa_pipeline.columns import (
    BATCH,
    DETAIL,
    F64,
    FLAGGED,
    I32,
    I64,
    PAIR_ID,
    QUOTE,
    REASON,
    STRINGS,
    UNSUPPORTED,
    B,
    S,
)
from qa_pipeline.columns import column as _c
from qa_pipeline.table_schema import Column, Table


def _side(side: str) -> tuple[Column, ...]:
    """Where one of two sentences stands."""
    return (
        _c(f"{side}_document_id", S, f"Document of the {side} sentence."),
        _c(f"{side}_content_sha256", S, "Hash of that document's bytes."),
        _c(f"{side}_chunk_id", S, "Chunk it stands in."),
        _c(f"{side}_start", I64, "Its first character in the document's text."),
        _c(f"{side}_end", I64, "One past its last character."),
        _c(f"{side}_quote", S, "The sentence, verbatim."),
    )


# One column a line reads best.
# fmt: off
CLAIMS = Table(
    "claims",
    "One row per claim of an answer, with its best evidence and every local score.",
    ("claim_id",),
    (
        _c("claim_id", S, "Hash of pair, span, text and self_contained."),
        PAIR_ID,
        BATCH,
        _c("position", I32, "Place in the answer, from 0."),
        _c("text", S, "The claim."),
        _c("self_contained", S, "The claim as it is understood alone: what is embedded, compared and shown to models; null where text does.", nullable=True),
        _c("split_by", S, "Who cut the answer into this claim: rules or model.", nullable=True),
        _c("split_reason", S, "Why the rules had to: a reply that failed, or what was wrong with it; or too_many_claims; else null.", nullable=True),
        _c("start", I64, "First character in the answer."),
        _c("end", I64, "One past the last character in the answer."),
        _c("citation_status", S, "resolved, quote_repaired, unresolved, quote_not_found, found_by_search (an imported pair that cites nothing: the passages were searched for) or uncited."),
        _c("evidence_document_id", S, "Document of the evidence.", nullable=True),
        _c("evidence_content_sha256", S, "Hash of that document's bytes.", nullable=True),
        _c("evidence_chunk_id", S, "Chunk of the evidence.", nullable=True),
        _c("evidence_start", I64, "First character of the evidence in the document's text.", nullable=True),
        _c("evidence_end", I64, "One past its last character.", nullable=True),
        _c("evidence_page", I32, "Page it starts on.", nullable=True),
        _c("evidence_quote", S, "The evidence, verbatim.", nullable=True),
        _c("verbatim", B, "The claim stands word for word in the evidence (case, spacing, punctuation aside)."),
        _c("similarity", F64, "Best cosine of the claim to a sentence, window or chunk of its cited passages.", nullable=True),
        _c("chunk_similarity", F64, "Best cosine of the claim to a chunk of the cited documents.", nullable=True),
        _c("other_similarity", F64, "Best cosine to a passage that is not cited: of the pair, or of the batch by shared words.", nullable=True),
        _c("token_recall", F64, "Share of the claim's content words found in the evidence and its headings.", nullable=True),
        _c("number_conflicts", STRINGS, "Numbers or units of the claim that the evidence does not hold."),
        _c("name_conflicts", STRINGS, "Names of the claim that the evidence does not hold."),
        _c("polarity_conflicts", STRINGS, "Negations and opposites that differ."),
        _c("date_conflicts", STRINGS, "Dates of the claim that the evidence does not hold.", nullable=True),
        _c("quantifier_conflicts", STRINGS, "Quantifiers, bounds or obligations that differ.", nullable=True),
        _c("cell_conflicts", STRINGS, "Values of a table that belong to another row or column than the claim's.", nullable=True),
        _c("open_points", STRINGS, "What the local checks can neither confirm nor refute.", nullable=True),
        _c("fragment", B, "Whether it only states something together with its question.", nullable=True),
        _c("citation_reason", S, "Why the citation is unresolved, or section_not_found where the whole document counts instead; else null.", nullable=True),
        _c("other_recall", F64, "Best token_recall in the passage behind other_similarity.", nullable=True),
        _c("other_chunk_id", S, "The passage with that recall: the pair's own before others of the batch, where it does not cite them.", nullable=True),
        _c("quotes", pl.List(QUOTE), "Quotes cited for the claim: as given, as found in the document's text, and how they agree: exact, spelling, ellipsis, edited (repaired), misplaced (in another passage than the one named) or missing.", nullable=True),
        _c("question_recall", F64, "Share of the question's content words found in the evidence and its headings.", nullable=True),
        _c("context_recall", F64, "The same share without the claim's numbers, dates and names.", nullable=True),
        _c("pair_recall", F64, "token_recall of evidence and second evidence together; null without the latter.", nullable=True),
        _c("second_evidence_document_id", S, "Document of a piece of another cited passage, where the evidence alone holds too little.", nullable=True),
        _c("second_evidence_content_sha256", S, "Hash of that document's bytes.", nullable=True),
        _c("second_evidence_chunk_id", S, "Chunk of the second evidence.", nullable=True),
        _c("second_evidence_start", I64, "First character of it in the document's text.", nullable=True),
        _c("second_evidence_end", I64, "One past its last character.", nullable=True),
        _c("second_evidence_page", I32, "Page it starts on.", nullable=True),
        _c("second_evidence_quote", S, "The second evidence, verbatim.", nullable=True),
        _c("evidence_row", B, "Whether the evidence is a table row or key-value line.", nullable=True),
        _c("evidence_sentences", I32, "Sentences the evidence consists of.", nullable=True),
        _c("order_agreement", F64, "Share of the claim's content words that the evidence has in the same order.", nullable=True),
        _c("cited_recall", F64, "Share of the claim's content words found anywhere in its cited passages.", nullable=True),
        _c("combined", F64, "Probability that the claim is supported, by the small model over the scores above.", nullable=True),
        _c("combined_model", S, "Name and version of that model; null where none fits the embedding model.", nullable=True),
        _c("entailment", F64, "Probability that the cited passages entail the claim, the best of windows and pairs of passages.", nullable=True),
        _c("contradiction", F64, "Probability that a cited passage contradicts it, the largest over windows.", nullable=True),
        _c("neutral", F64, "Probability of neither, in the window of the best entailment.", nullable=True),
        _c("entailment_chunk_ids", STRINGS, "Chunks of the window or pair of the best entailment.", nullable=True),
        _c("entailment_model", S, "Cross-encoder and revision; null without one.", nullable=True),
        _c("entailment_reason", S, "Why entailment is unknown although there is a model: empty_claim, claim_too_long, no_passage or model_nan.", nullable=True),
        _c("candidate_chunk_ids", STRINGS, "Cited chunks that a model would read for the claim: its evidence, then by shared words.", nullable=True),
        _c("flagged_spans", pl.List(FLAGGED), "Spans of the answer within the claim that a span detector finds unsupported, with their largest probability.", nullable=True),
        _c("span_support", F64, "1 less the largest probability of a word of the claim to be unsupported, by that detector.", nullable=True),
        _c("span_model", S, "Span detector and revision; null without one.", nullable=True),
        _c("span_reason", S, "Why span_support is unknown although there is a detector.", nullable=True),
    ),
)

CLAIM_VERDICTS = Table(
    "claim_verdicts",
    "One row per claim, decided.",
    ("claim_id",),
    (
        _c("claim_id", S, "The claim."),
        PAIR_ID,
        BATCH,
        _c("verdict", S, "supported, contradicted, unsupported, undecided or failed."),
        _c("decided_by", S, "citation, similarity, consistency, verbatim, combined, entailment, similarity_only, llm, person, or no_step where none decided."),
        REASON,
        DETAIL,
        _c("prompt_hash", S, "Hash of the verify prompt, where a model was asked.", nullable=True),
        _c("model", S, "Model asked, if one was.", nullable=True),
        _c("llm_decision", S, "What it said: accept, reject, unsure, or the reason code of a reply that failed.", nullable=True),
        _c("thresholds_id", S, "The thresholds that decided."),
    ),
)

REFUSALS = Table(
    "refusals",
    "One row per pair that refuses to answer, with what speaks for and against the refusal.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        _c("best_chunk_id", S, "The chunk that comes closest to answering the question.", nullable=True),
        _c("similarity", F64, "Best cosine of the question to the batch's chunks.", nullable=True),
        _c("token_recall", F64, "Share of the question's content words, weighted by rarity, in the best chunk.", nullable=True),
        _c("best_sentence", S, "The sentence of a likely chunk that holds most of them.", nullable=True),
        _c("sentence_recall", F64, "Their share in that sentence.", nullable=True),
        _c("sentence_similarity", F64, "Best cosine of the question to a sentence of the likely chunks.", nullable=True),
        _c("question_words", I32, "Content words of the question.", nullable=True),
        _c("chunks_searched", I32, "Chunks of the batch.", nullable=True),
        _c("sentences_looked_at", I32, "Sentences of the likely chunks.", nullable=True),
        _c("outcome", S, "correct_refusal, refused_answerable or unproved_refusal."),
        _c("thresholds_id", S, "The thresholds that decided."),
    ),
)

CONTRADICTIONS = Table(
    "contradictions",
    "One row per pair of sentences of different documents that contradict each other.",
    ("contradiction_id",),
    (
        _c("contradiction_id", S, "Hash of both places and texts."),
        BATCH,
        _c("kind", S, "What differs: number, date, name, negation or quantifier."),
        _c("detail", S, "The difference in words, for people."),
        _c("similarity", F64, "Cosine of the two sentences."),
        *(column for side in ("first", "second") for column in _side(side)),
    ),
)

ASSESSMENTS = Table(
    "assessments",
    "One row per pair that passed source verification.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        _c("status", S, "judged, not_judged (no judge configured) or failed."),
        REASON,
        DETAIL,
        _c("relevance", F64, "Does the answer address the question, 0 to 1.", nullable=True),
        _c("correctness", F64, "Is it right according to the passages, 0 to 1.", nullable=True),
        _c("completeness", F64, "Does it cover what is asked, 0 to 1.", nullable=True),
        _c("reasoning", S, "The judge's reasons.", nullable=True),
        _c("judge", S, "Model that judged.", nullable=True),
        _c("prompt_hash", S, "Hash of the judge prompt.", nullable=True),
    ),
)

VERDICTS = Table(
    "verdicts",
    "One row per pair ever generated, imported or edited: the ledger.",
    ("pair_id",),
    (
        PAIR_ID,
        BATCH,
        _c("verdict", S, "accepted, rejected, needs_review or failed."),
        _c("stage", S, "Stage reached: pairs, source_verification, refusal, quality_assessment, deduplication, person or accepted."),
        _c("decided_by", S, "person where a decision of a person set the verdict, else pipeline."),
        _c("reason", S, "Reason code of the verdict; accepted rows have one too."),
        DETAIL,
        _c("claims", I32, "Number of claims."),
        _c("supported_claims", I32, "Number of claims supported."),
        _c("grounding", F64, "Share of claims supported; null without claims.", nullable=True),
        _c("grounding_low", F64, "Lower Wilson bound (95 %) of grounding.", nullable=True),
        _c("grounding_high", F64, "Upper Wilson bound (95 %) of grounding.", nullable=True),
        _c("support_level", S, "well_supported, partial or weak; null without claims.", nullable=True),
        _c("unsupported_spans", pl.List(UNSUPPORTED), "Spans of the answer that are not supported, and why."),
        _c("relevance", F64, "From the judge.", nullable=True),
        _c("correctness", F64, "From the judge.", nullable=True),
        _c("completeness", F64, "From the judge.", nullable=True),
        _c("composite", F64, "Weighted score of grounding and the judge's dimensions.", nullable=True),
        _c("citation_existence", F64, "Share of its citations that name something of the batch; null without citations.", nullable=True),
        _c("citation_accuracy", F64, "Share of its citations that support a claim: evidence of a supported claim stands in what they name, and so does their quote, where they have one; null without citations or claims.", nullable=True),
        _c("citation_quality", F64, "0.4 citation_existence + 0.3 citation_accuracy + 0.3 grounding in bands (above 0.8: 1, above 0.5: 0.7, else 0).", nullable=True),
        _c("citation_precision", F64, "The same share of the different passages or documents cited, each counted once.", nullable=True),
        _c("citation_completeness", F64, "Share of claims supported by what is cited alone; null without claims.", nullable=True),
        _c("source_coverage", F64, "Multi-source coverage: share of the cited documents that support a claim.", nullable=True),
        _c("cited_documents", I32, "Number of documents cited.", nullable=True),
        _c("duplicate_of", S, "The kept pair this one repeats.", nullable=True),
        _c("expected_verdict", S, "Verdict its author knows to be right, for known-answer pairs.", nullable=True),
        _c("thresholds_id", S, "The thresholds that decided."),
    ),
)

DECISIONS = Table(
    "decisions",
    "One row per decision of a person about a pair or one of its claims; rows are only ever added.",
    ("decision_id",),
    (
        _c("decision_id", S, "Hash of the decision, what it is about, and who made it why and when."),
        BATCH,
        _c("sequence", I32, "Place in the order of recording, from 0; the last about a pair or claim stands."),
        PAIR_ID,
        _c("claim_id", S, "The claim it is about; null where it is about the pair.", nullable=True),
        _c("content_sha256", S, "Hash of the question, answer and evidence it was made about; stale once they differ."),
        _c("decision", S, "accepted, rejected or edited."),
        _c("answer", S, "The new text of an edited answer.", nullable=True),
        _c("who", S, "Who decided."),
        _c("why", S, "Why.", nullable=True),
        _c("decided_at", S, "When, in UTC, where the person says so.", nullable=True),
    ),
)

CANARIES = Table(
    "canaries",
    "One row per claim made from the batch's own sentences whose right verdict is known.",
    ("canary_id",),
    (
        _c("canary_id", S, "Hash of kind, cited chunk and claim."),
        BATCH,
        _c("kind", S, "What was done to the sentence, e.g. number, negation, clause_dropped."),
        _c("family", S, "tuning (looked at while rules are made) or held_out (only measured)."),
        _c("mechanism", S, "How it was done."),
        _c("expected", S, "supported (the claim is true) or rejected (it is false)."),
        _c("language", S, "ISO 639-1 code of the sentence."),
        _c("chunk_id", S, "The chunk it cites; another than the sentence's for a wrong passage."),
        _c("source", S, "The sentence it was made from, on one line."),
        _c("claim", S, "What was put before verification."),
        _c("verdict", S, "Worst verdict of its claims: supported, contradicted, unsupported, undecided or failed; no_claims where none was found."),
        _c("decided_by", S, "The step that decided; no_step where none did."),
        REASON,
        DETAIL,
        _c("similarity", F64, "Of the claim that decided, as in claims.", nullable=True),
        _c("token_recall", F64, "Likewise.", nullable=True),
        _c("combined", F64, "Likewise.", nullable=True),
        _c("entailment", F64, "Likewise.", nullable=True),
        _c("thresholds_id", S, "The thresholds that decided."),
    ),
)
# fmt: on
