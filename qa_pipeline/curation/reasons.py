"""Reason codes in words, for people who read a verdict or a file that was not read."""

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    # files that were not read
    "archive_bomb": "it unpacks to far more than an archive of its size should",
    "binary_content": "it holds bytes that are not text",
    "damaged": "it is damaged, or its suffix is wrong",
    "duplicate_name": "another file of the archive has the same name",
    "empty_file": "it is empty",
    "encrypted": "it is encrypted",
    "forgotten": "it was forgotten; take the file out of the corpus",
    "linked_folder": "it is a link to a folder",
    "nested_too_deep": "its parts are nested too deep",
    "no_text": "it holds no text",
    "not_a_file": "it is not an ordinary file",
    "outside_corpus": "it is a link that leads out of the corpus",
    "scanned": "its pages are pictures; documents.ocr reads them",
    "timed_out": "reading it took too long (documents.parse_seconds)",
    "too_large": "it is too large (documents.max_bytes)",
    "undecodable": "its letters are in no known encoding",
    "unsupported_format": "its format is not supported",
    # chunks that were not asked
    "front_or_back_matter": "it is a list of contents or sources, a licence or a legal notice",
    "in_doubt": "the reader is not sure of its text",
    # sections that gave no row asked nothing
    "language_not_handled": "there are neither rules nor prompts for its language",
    "no_sentence": "it holds headings, code or cells, and no sentence",
    "near_duplicate": "its document says nearly the same as another",
    "not_offered": "it has nothing that the planned types of question ask for",
    "not_standalone": "its questions are only understood beside their text",
    "not_written": "no question was found in it",
    "over_limit": "generation.max_questions was reached before it",
    "repeated_block": "other documents hold the same text",
    "repeated_question": "its questions were asked of another section",
    "round_trip_failed": "the search does not find it by its questions",
    # pairs that were not accepted
    "ambiguous_citation": "its citation fits several documents",
    "bare_cells": "the answer is a row of a table and no sentence",
    "bare_heading": "the answer is a heading and nothing of its text",
    "dangling_reference": "the answer speaks of something that its question does not name",
    "lead_in_only": "the answer announces what it does not give",
    "same_wording": "enough other rows differ from it in figures alone",
    "unclear_question": "it is not clear what the question asks",
    "cited_document_without_text": "it cites a document that could not be read",
    "conflicting_answers": "one question has different accepted answers",
    "evidence_in_doubt": "it is proved, and the reader is not sure of the text that proves it",
    "entailment_contradiction": "the entailment model finds it contradicted",
    "fabricated_citation": "it cites a source that does not exist",
    "fewer_chunks_answer": "fewer passages answer it than it should need",
    "hops_unproved": "whether it needs each of its passages is not known",
    "llm_rejected": "the verifying model rejected it",
    "llm_unsure": "the verifying model was unsure",
    "judge_not_trusted": "it is verified, and its judge accepts what is wrong",
    "low_completeness": "the answer is too incomplete",
    "low_composite": "its score is too low",
    "low_correctness": "the answer is not correct enough",
    "low_grounding": "too little of it is supported",
    "low_question_quality": "the question is unclear or not worth asking",
    "low_relevance": "the answer is not relevant enough",
    "no_claims": "the answer states nothing that can be checked",
    "no_evidence_found": "nothing in its batch says so",
    "no_refusal_evidence": "nobody looked whether the documents answer it",
    "not_entailed": "the entailment model does not find it proved",
    "not_judged": "it is verified and waits to be judged",
    "one_sided": "another document says otherwise",
    "passage_not_cited": "the answer of several passages cites fewer",
    "person_rejected": "a person rejected it",
    "premise_not_denied": "the answer does not deny what the question takes for granted",
    "question_answered": "a question meant to have no answer was answered",
    "quote_not_found": "its quote is not in the cited source",
    "no_quote": "the model that accepted it quotes nothing",
    "quote_lacks_figure": "what the model quotes lacks a number or name of it",
    "quote_lacks_negation": "what the model quotes does not deny what it denies",
    "probe_accepted": "the model accepted a false claim beside it",
    "refused_answerable": "it declines to answer, and the documents hold the answer",
    "solver_disagrees": "answered from the quotes alone, it is another answer",
    "superseded_by_edit": "a person edited it",
    "uncited": "it cites nothing",
    "undecided_without_model": "not proved word by word, and no model was asked",
    "unknown_number": "it cites a number that stands for no passage",
    "unproved_refusal": "it declines to answer, and whether the documents do is not certain",
    "verifier_not_trusted": "the model that verified it accepts what is wrong",
    "wrong_citation": "another passage than the cited one says so",
}
"""Codes whose letters do not say what they mean; of any other code the letters are the words."""


def in_words(reason: str, detail: str | None = None) -> str:
    """Return what a reason code means, with the detail that was stored beside it."""
    words = REASONS.get(reason, reason.replace("_", " "))
    rest = (detail or "").replace(f"{reason}: ", "").strip()
    return f"{words}: {rest}" if rest else words
