"""Answered questions as other systems and releases write them, under our names."""

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Mapping

from qa_pipeline.curation.training import HEADING_JOINT
from qa_pipeline.evaluation.datasets.labelled_files import Row

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
"""What fields are called in exports: Ragas (user_input, response, retrieved_contexts, reference and, before
0.2, question, contexts, ground_truth), DeepEval (input, actual_output, retrieval_context, context,
expected_output), TruLens (record_id, input, output)."""
UNANSWERABLE = "UNANSWERABLE"
"""The answer of a golden row whose question must be refused."""
MOST_HEADINGS = 20
"""Headings of a passage: documents have six levels or so."""
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_PYTHON_LIST = re.compile(rf"\[\s*+(?:(?:{_QUOTED})[\s,]*+)*+\]", re.DOTALL)
"""A list of texts as Python and NumPy write it into a cell; NumPy sets no commas."""
_LIST_OF_LISTS = re.compile(r"""\[\s*\[\s*['"]""")
_DEEPEVAL_SEPARATOR = re.compile(r"(?<! )\|(?! )")
"""What DeepEval joins contexts by in CSV and JSONL; the sign among spaces is one of a table in a context."""


def read_list(value: object) -> object:
    """Return the list in a cell of CSV, as JSON, Python or NumPy write it; other texts stay texts.

    Raises:
        ValueError: it begins like such a list and does not go on like one, or it is a list of lists.
    """
    if isinstance(value, str) and _LIST_OF_LISTS.match(value):
        raise ValueError(f"{value[:40]!r} is a list of lists; write one list of texts")
    if not isinstance(value, str) or not re.match(r"""\[\s*(?:['"\]{\d-]|null)""", value):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        if not _PYTHON_LIST.fullmatch(value.strip()):
            if re.match(r"""\[\s*['"{]""", value):
                raise ValueError(
                    f"{value[:40]!r} begins a list and is none; write it as a JSON list"
                ) from None
            return value
    return [ast.literal_eval(text) for text in re.findall(_QUOTED, value, re.DOTALL)]


def with_our_names(values: Row) -> Row:
    """Return the fields of a row under our names, those of ground_truth beside the others."""
    fields = dict(values)
    if _is_released(fields):
        fields |= _of_release(fields)
    truth = fields.pop("ground_truth", None)
    if isinstance(truth, Mapping):
        fields |= _of_ground_truth(truth, fields)
    elif truth is not None:
        fields.setdefault("reference", truth)
    if "retrieval_context" in fields:
        fields = _of_deepeval(fields)
    for name, others in OTHER_NAMES.items():
        if fields.get(name) is None:
            fields[name] = next(
                (fields[other_name] for other_name in others if fields.get(other_name) is not None), None
            )
    if isinstance(fields["reference"], list) and fields["reference"]:
        fields["reference"] = fields["reference"][0]
    fields |= _graded(fields.get("relevant_documents"))
    if is_unanswerable(fields["reference"]):
        fields |= {"reference": None, "must_refuse": True}
    return _with_documents(fields)


def _is_released(values: Row) -> bool:
    evidence = values.get("evidence")
    return (
        {"messages", "answer"} <= values.keys()
        and isinstance(evidence, list)
        and all(
            isinstance(piece, Mapping) and {"claim", "path", "quote"} <= piece.keys() for piece in evidence
        )
        and all(isinstance(piece[name], str) for piece in evidence for name in ("path", "quote"))
    )


def _of_release(values: Row) -> Row:
    """Return a released row: its quotes are the contexts, each once, and its claims are true."""
    evidence: list[Row] = values["evidence"]
    shown = values.get("passages") or []
    headings = {
        passage.get("chunk_id"): str(passage.get("heading", "")).split(HEADING_JOINT)[:MOST_HEADINGS]
        for passage in (shown if isinstance(shown, list) else [])
        if isinstance(passage, Mapping)
    }
    quotes = {(piece["path"], piece["quote"]): piece.get("chunk_id") for piece in evidence}
    return {
        "contexts": [
            {"text": quote, "document": path, "headings": headings.get(chunk_id)}
            for (path, quote), chunk_id in quotes.items()
        ],
        "citations": [
            {"raw": piece["path"], "document": piece["path"], "quote": piece["quote"]} for piece in evidence
        ],
        "reference": values["answer"],
        "relevant_documents": list(dict.fromkeys(piece["path"] for piece in evidence)),
        "true_claims": [{"claim": piece["claim"], "source": piece["path"]} for piece in evidence],
    }


def _of_ground_truth(truth: Mapping[str, object], row: Row) -> Row:
    """Return the right answer of a golden row; documents that it cites are relevant if none are named."""
    relevant = truth.get("relevant_documents", truth.get("relevant_docs", row.get("relevant_docs")))
    cited = truth.get("citations")
    if relevant is None and isinstance(cited, list):
        documents = [
            citation.get("document") if isinstance(citation, Mapping) else citation for citation in cited
        ]
        relevant = (
            list(dict.fromkeys(document for document in documents if isinstance(document, str))) or None
        )
    return {
        "reference": truth.get("answer"),
        "relevant_documents": relevant,
        "true_claims": truth.get("claims"),
        "must_refuse": truth.get("must_refuse", row.get("must_refuse")),
    }


def _graded(relevant: object) -> Row:
    """Return documents and their grades, of `{document: grade}` or `[{document, grade}]`; 0 is irrelevant."""
    if isinstance(relevant, list) and relevant and all(isinstance(entry, Mapping) for entry in relevant):
        relevant = {entry.get("document"): entry.get("grade") for entry in relevant}
    if not isinstance(relevant, Mapping):
        return {}
    grades = {name: grade for name, grade in relevant.items() if grade != 0}
    return {"relevant_documents": list(grades), "relevance_grades": list(grades.values())}


def is_unanswerable(answer: object) -> bool:
    """Return whether the right answer to a golden row is that there is none."""
    return isinstance(answer, str) and answer.strip().upper() == UNANSWERABLE


def _of_deepeval(values: Row) -> Row:
    """Return a row of DeepEval; its `context` has the texts to retrieve, not the retrieved ones."""
    joined = {name: values.get(name) for name in ("retrieval_context", "context")}
    parts = {
        name: _DEEPEVAL_SEPARATOR.split(value) if isinstance(value, str) else value
        for name, value in ((name, read_list(value)) for name, value in joined.items())
    }
    return {
        **{name: value for name, value in values.items() if name != "context"},
        "retrieval_context": parts["retrieval_context"],
        "reference_contexts": values.get("reference_contexts") or parts["context"],
    }


def _with_documents(values: Row) -> Row:
    """Return the contexts with the ids that Ragas gives them, or else with their texts as ids."""
    contexts = read_list(values.get("contexts"))
    if not isinstance(contexts, list) or not all(isinstance(context, str) for context in contexts):
        return values
    ids, relevant, references = (
        read_list(values.get(name))
        for name in ("retrieved_context_ids", "reference_context_ids", "reference_contexts")
    )
    if isinstance(ids, list) and len(ids) == len(contexts):
        context_ids = [str(context_id) for context_id in ids]
        relevant_ids = [str(relevant_id) for relevant_id in relevant] if isinstance(relevant, list) else []
    elif isinstance(references, list):
        context_ids, relevant_ids = _text_ids(contexts), _text_ids(references)
    else:
        return values
    placed = [{"text": text, "document": name} for text, name in zip(contexts, context_ids, strict=True)]
    return {
        **values,
        "contexts": placed,
        "relevant_documents": values.get("relevant_documents") or relevant_ids,
    }


def _text_ids(texts: Iterable[object]) -> list[str]:
    return [hashlib.sha256(str(text).encode(errors="replace")).hexdigest()[:16] for text in texts]
