"""Rows as other evaluators and releases write them, translated to our names."""

import json
import re
from collections.abc import Mapping

from qa_pipeline.curation.training import HEADING_JOINT
from qa_pipeline.evaluation.labelled_files import Row

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("pair_id", "record_id", "request_id"),
    "query": ("question", "user_input", "input"),
    "answer": ("response", "actual_output", "output"),
    "contexts": ("retrieved_contexts", "retrieval_context", "context"),
    "reference": ("expected_output", "ground_truths", "expected_response"),
    "category": ("question_type",),
    "seconds": ("completion_time", "latency"),
    "group": ("group_id",),
}
"""Names of fields in exports of Ragas (user_input, response, retrieved_contexts, reference and, before 0.2,
question, contexts, ground_truth), DeepEval (input, actual_output, retrieval_context, context,
expected_output) and TruLens (record_id, input, output)."""
UNANSWERABLE = "UNANSWERABLE"
"""The answer of a golden row whose question must be refused."""
MOST_HEADINGS = 20
"""Headings of a passage; documents have about six levels."""


def read_list(value: object) -> object:
    """Return the JSON list in a cell of CSV, such as `["a"]`; other values stay.

    Raises:
        ValueError: it begins like a list and is not JSON.
    """
    if isinstance(value, str) and re.match(r"""\[\s*['"{\[]""", value):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{value[:40]!r} begins a list; write it as a JSON list") from None
    return value


def with_our_names(values: Row) -> Row:
    """Return the fields of a row under our names, including the fields of `ground_truth`."""
    fields = dict(values)
    if _is_released(fields):
        fields |= _from_release(fields)
    truth = fields.pop("ground_truth", None)
    if isinstance(truth, Mapping):
        fields |= _from_ground_truth(truth, fields)
    elif truth is not None:
        fields.setdefault("reference", truth)
    for name, others in OTHER_NAMES.items():
        if fields.get(name) is None:
            present = (fields[other] for other in others if fields.get(other) is not None)
            fields[name] = next(present, None)
    if isinstance(fields["reference"], list) and fields["reference"]:  # such as ground_truths of Ragas
        fields["reference"] = fields["reference"][0]
    fields |= _graded(fields.get("relevant_documents"))
    if is_unanswerable(fields["reference"]):
        fields |= {"reference": None, "must_refuse": True}
    return fields


def _is_released(values: Row) -> bool:
    """Return True for a row of a release, with messages, answer and complete evidence."""
    evidence = values.get("evidence")
    if not {"messages", "answer"} <= values.keys() or not isinstance(evidence, list):
        return False
    return all(
        isinstance(proof, Mapping)
        and "claim" in proof
        and all(isinstance(proof.get(name), str) for name in ("path", "quote"))
        for proof in evidence
    )


def _from_release(values: Row) -> Row:
    """Return a released row: its distinct quotes are the contexts, and its claims are true."""
    evidence: list[Row] = values["evidence"]
    passages = values.get("passages")
    headings = {
        passage.get("chunk_id"): str(passage.get("heading", "")).split(HEADING_JOINT)[:MOST_HEADINGS]
        for passage in (passages if isinstance(passages, list) else [])
        if isinstance(passage, Mapping)
    }
    quotes = {(proof["path"], proof["quote"]): proof.get("chunk_id") for proof in evidence}
    return {
        "contexts": [
            {"text": quote, "document": path, "headings": headings.get(chunk_id)}
            for (path, quote), chunk_id in quotes.items()
        ],
        "citations": [
            {"raw": proof["path"], "document": proof["path"], "quote": proof["quote"]} for proof in evidence
        ],
        "reference": values["answer"],
        "relevant_documents": list(dict.fromkeys(proof["path"] for proof in evidence)),
        "true_claims": [{"claim": proof["claim"], "source": proof["path"]} for proof in evidence],
    }


def _from_ground_truth(truth: Mapping[str, object], row: Row) -> Row:
    """Return the right answer of a golden row, and the relevant documents or else those it cites."""
    relevant = truth.get("relevant_documents", truth.get("relevant_docs", row.get("relevant_docs")))
    cited = truth.get("citations")
    if relevant is None and isinstance(cited, list):
        names = [entry.get("document") if isinstance(entry, Mapping) else entry for entry in cited]
        relevant = list(dict.fromkeys(name for name in names if isinstance(name, str))) or None
    return {
        "reference": truth.get("answer"),
        "relevant_documents": relevant,
        "true_claims": truth.get("claims"),
        "must_refuse": truth.get("must_refuse", row.get("must_refuse")),
    }


def _graded(relevant: object) -> Row:
    """Return documents and grades of `{document: grade}` or `[{document, grade}]`; grade 0 is irrelevant."""
    if isinstance(relevant, list) and relevant and all(isinstance(entry, Mapping) for entry in relevant):
        relevant = {entry.get("document"): entry.get("grade") for entry in relevant}
    if not isinstance(relevant, Mapping):
        return {}
    grades = {name: grade for name, grade in relevant.items() if grade != 0}
    return {"relevant_documents": list(grades), "relevance_grades": list(grades.values())}


def is_unanswerable(answer: object) -> bool:
    """Return True if the answer of a golden row says that the question has no answer."""
    return isinstance(answer, str) and answer.strip().upper() == UNANSWERABLE
