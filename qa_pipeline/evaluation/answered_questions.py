"""Answered questions to evaluate: our own layout, exports of Ragas, DeepEval and TruLens, and releases."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from qa_pipeline.curation.training import HEADING_JOINT
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.labelled_files import Labelled, LabelledRow, Row, Text, labelled_files, read_file
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.row_files import Fault
from qa_pipeline.text.language import languages_of
from qa_pipeline.text.refusals import is_refusal

CONTEXT = pl.Struct(
    {
        **dict.fromkeys(("text", "document", "date"), pl.String()),
        **dict.fromkeys(("score", "authority"), pl.Float64()),
        "rank": pl.Int64(),
        "headings": pl.List(pl.String()),
    }
)
CITATION = pl.Struct(dict.fromkeys(("raw", "document", "quote"), pl.String()))
TRUE_CLAIM = pl.Struct(dict.fromkeys(("claim", "source"), pl.String()))
RAG_ROWS = pl.Schema(
    {
        **dict.fromkeys(("file", "id", "dataset", "group", "query", "answer", "language"), pl.String()),
        "contexts": pl.List(CONTEXT),
        "citations": pl.List(CITATION),
        "reference": pl.String(),
        "relevant_documents": pl.List(pl.String()),
        "relevance_grades": pl.List(pl.Int64()),
        "true_claims": pl.List(TRUE_CLAIM),
        "must_refuse": pl.Boolean(),
        "samples": pl.List(pl.String()),
        "confidences": pl.List(pl.Float64()),
        **dict.fromkeys(("category", "difficulty"), pl.String()),
        "seconds": pl.Float64(),
    }
)
"""A row for each answered question; all but id, group, query and language may be null, which is unknown.

`group` is the document of a row, the unit of resampling: as named, or else the first relevant document, that
of the first context, or the query. `contexts` are in the order of their ranks. `samples` are further answers
to the same question, `relevance_grades` the gains of `relevant_documents` (1 each if null), `confidences`
those of the steps of a chain of evidence.
"""
LONGEST = 1_000_000
"""Characters of an answer and its contexts together, more than models read at once."""
_MOST_TEXTS = 1000
"""Contexts or citations of a row, far more than a search returns."""
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
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
_MOST_HEADINGS = 20
"""Headings of a passage; documents have about six levels."""


def _number(value: object) -> object:
    """Return a score, unknown unless finite; a cell of CSV is parsed."""
    if isinstance(value, str):
        value = float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _yes_or_no(value: object) -> object:
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _read_list(value: object) -> object:
    """Return the JSON list in a cell of CSV, such as `["a"]`; raises ValueError for a broken list."""
    if isinstance(value, str) and re.match(r"""\[\s*['"{\[]""", value):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{value[:40]!r} begins a list; write it as a JSON list") from None
    return value


def _texts_as(name: str) -> BeforeValidator:
    """Return a validator that turns a text, or each text of a list, into an object {name: text}."""

    def wrap_texts(value: object) -> object:
        value = _read_list(value)  # a list may be written as a string
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list):
            return [{name: item} if isinstance(item, str) else item for item in value]
        return value

    return BeforeValidator(wrap_texts)


Number = Annotated[float | None, BeforeValidator(_number)]
_LIST = BeforeValidator(_read_list)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Context(_Part):
    """A passage that the answer could rest on; `headings` are those above it, the title first."""

    text: str | None = None
    document: str | None = None
    rank: int | None = None
    score: Number = None
    date: str | None = None
    authority: Annotated[Annotated[float, Field(ge=0, le=1)] | None, BeforeValidator(_number)] = None
    headings: Annotated[list[str], Field(max_length=_MOST_HEADINGS)] | None = None


class Citation(_Part):
    """A source that an answer cites."""

    raw: str | None = None
    document: str | None = None
    quote: str | None = None


class TrueClaim(_Part):
    """A statement of the right answer, and the document that states it."""

    claim: str
    source: str | None = None


class RagRow(LabelledRow):
    """An answered question."""

    columns = RAG_ROWS
    id: Text | None = None
    query: Text = Field(description="the question that was asked")
    answer: str | None = None
    language: str | None = None
    group: str | None = None
    dataset: Text | None = None
    contexts: Annotated[list[Context], _texts_as("text"), Field(max_length=_MOST_TEXTS)] | None = None
    citations: Annotated[list[Citation], _texts_as("raw"), Field(max_length=_MOST_TEXTS)] | None = None
    reference: str | None = None
    relevant_documents: Annotated[list[str] | None, _LIST] = None
    relevance_grades: list[Annotated[int, Field(gt=0, le=1000)]] | None = None
    true_claims: Annotated[list[TrueClaim], _texts_as("claim")] | None = None
    must_refuse: Annotated[bool | None, BeforeValidator(_yes_or_no)] = None
    samples: Annotated[list[str] | None, _LIST] = None
    confidences: Annotated[list[float] | None, _LIST] = None
    category: str | None = None
    difficulty: str | None = None
    seconds: Number = None

    @classmethod
    def from_values(cls, values: Row) -> Row:
        """Return the fields under our names, whichever system wrote them."""
        return super().from_values(_with_our_names(values))

    def row(self) -> Row | Fault:
        """Return the row with its contexts ranked, its language, group and `must_refuse` filled in."""
        row = self.model_dump()
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return Fault("broken_text", "a text contains half a character (a lone surrogate)")
        contexts = row["contexts"] or []
        length = len(row["answer"] or "") + sum(len(context["text"] or "") for context in contexts)
        if length > LONGEST:
            detail = f"answer and contexts have {length:,} characters; the most is {LONGEST:,}"
            return Fault("too_long", detail)
        ranks = [context["rank"] for context in contexts if context["rank"] is not None]
        if len(set(ranks)) < len(ranks):
            return Fault("repeated_rank", "two contexts have the same rank; give each its own rank")
        if ranks and len(ranks) < len(contexts):
            return Fault("missing_rank", "only some contexts have a rank; rank all contexts or none")
        if ranks:
            contexts.sort(key=lambda context: context["rank"])
        for rank, passage in enumerate(contexts, start=1):
            passage["rank"] = rank
        # en-US and EN are English: rules are chosen by the language code alone
        language = re.split(r"[-_]", (row["language"] or "").strip().lower())[0]
        if not language:
            guesses = languages_of(f"{row['query']} {row['answer'] or ''}")
            language = next((guess.language for guess in guesses), "en")
        row["language"] = language
        if row["must_refuse"] is None and row["reference"]:
            row["must_refuse"] = is_refusal(row["reference"])
        documents = [*(row["relevant_documents"] or []), *(context["document"] for context in contexts)]
        query_hash = hash_text(row["query"])[:16]
        row["group"] = row["group"] or next((document for document in documents if document), query_hash)
        return row


def _with_our_names(values: Row) -> Row:
    """Return the fields of a row under our names, including the fields of `ground_truth`."""
    fields = dict(values)
    if _is_released(fields):
        fields |= _from_release(fields)
    truth = fields.pop("ground_truth", None)
    if isinstance(truth, Mapping):
        fields |= _from_ground_truth(truth, fields)
    elif truth is not None:
        fields.setdefault("reference", truth)
    for name, other_names in _OTHER_NAMES.items():
        if fields.get(name) is None:
            other_values = (fields[other] for other in other_names if fields.get(other) is not None)
            fields[name] = next(other_values, None)
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
    headings = {  # of each passage, such as ["Guide", "Mass"]
        passage.get("chunk_id"): str(passage.get("heading", "")).split(HEADING_JOINT)[:_MOST_HEADINGS]
        for passage in (passages if isinstance(passages, list) else [])
        if isinstance(passage, Mapping)
    }
    # the chunk of each distinct quote, by path and quote
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
    """Return the fields that a ground truth states; relevant_docs and must_refuse may be in `row` instead."""
    relevant = truth.get("relevant_documents", truth.get("relevant_docs", row.get("relevant_docs")))
    cited = truth.get("citations")
    if relevant is None and isinstance(cited, list):  # cited documents are relevant by default
        names = [entry.get("document") if isinstance(entry, Mapping) else entry for entry in cited]
        relevant = list(dict.fromkeys(name for name in names if isinstance(name, str))) or None
    stated = {
        "reference": truth.get("answer"),
        "relevant_documents": relevant,
        "true_claims": truth.get("claims"),
        "must_refuse": truth.get("must_refuse", row.get("must_refuse")),
    }
    return {name: value for name, value in stated.items() if value is not None}  # None replaces nothing


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


def read_rag_rows(paths: Sequence[Path]) -> Labelled:
    """Read answered questions (`RAG_ROWS`) of files, folders and releases.

    The contexts of released rows are the quotes of their evidence. Raises `InputError` if a file cannot be
    read as a whole or has no usable row, or two files use an id.
    """
    files = labelled_files([file for path in paths for file in _release_files(path)])
    read = [read_file(file, RagRow) for file in files]
    items = pl.concat([file.items for file in read])
    repeated = items.filter(pl.col("id").is_duplicated())  # within a file, ids were checked on reading
    if repeated.height:
        row_id, file = repeated.select("id", "file").row(-1)  # the last row repeats one of an earlier file
        raise InputError(f"id {row_id!r} occurs in {file} and in another file; make ids unique")
    return Labelled(items, pl.concat([file.left_out for file in read]))


def _release_files(path: Path) -> list[Path]:
    """Return the files of a release whose splits have rows; any other path is returned as it is."""
    if not (path / "manifest.json").is_file():
        return [path]
    files = sorted((path / "data" if (path / "data").is_dir() else path).iterdir())
    return [file for file in files if not _is_empty(file)] or files  # if all are empty, reading them fails


def _is_empty(path: Path) -> bool:
    if path.suffix != ".parquet":
        return path.stat().st_size == 0
    try:
        return not pl.scan_parquet(path).select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError):  # its reader reports the damage
        return False
