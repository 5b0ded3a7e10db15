"""Answered questions to evaluate: our own layout, files of Ragas, DeepEval and TruLens, and releases."""

import ast
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from qa_pipeline.curation.training import HEADING_JOINT
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.datasets import (
    LIMITS,
    Faults,
    Labelled,
    LabelledRow,
    Row,
    Text,
    labelled_files,
    left_out,
    read_blocks,
)
from qa_pipeline.settings.generation import PairsFileSettings
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.parquet import appended_parquet
from qa_pipeline.storage.row_files import Fault
from qa_pipeline.text.language import languages_of
from qa_pipeline.text.refusals import is_refusal

CONTEXT = pl.Struct(
    {
        "text": pl.String(),
        "document": pl.String(),
        "rank": pl.Int64(),
        "score": pl.Float64(),
        "date": pl.String(),
        "authority": pl.Float64(),
        "headings": pl.List(pl.String()),
    }
)
CITATION = pl.Struct({"raw": pl.String(), "document": pl.String(), "quote": pl.String()})
TRUE_CLAIM = pl.Struct({"claim": pl.String(), "source": pl.String()})
RAG_ROWS = pl.Schema(
    {
        "file": pl.String(),
        "id": pl.String(),
        "dataset": pl.String(),
        "group": pl.String(),
        "query": pl.String(),
        "answer": pl.String(),
        "language": pl.String(),
        "contexts": pl.List(CONTEXT),
        "citations": pl.List(CITATION),
        "reference": pl.String(),
        "relevant_documents": pl.List(pl.String()),
        "relevance_grades": pl.List(pl.Int64()),
        "true_claims": pl.List(TRUE_CLAIM),
        "must_refuse": pl.Boolean(),
        "samples": pl.List(pl.String()),
        "confidences": pl.List(pl.Float64()),
        "category": pl.String(),
        "difficulty": pl.String(),
        "seconds": pl.Float64(),
    }
)
"""One row for each answered question; all but id, group, query and language may be null, which is unknown.

`group` is the document a row is about, the unit of resampling: the one named, else the first relevant one,
else that of the first context, else the row itself. `contexts` stand in the order of their ranks. `samples`
are further answers to the same question, `relevance_grades` the gains of `relevant_documents`
(1 each where they are null), `confidences` those of the steps of a chain of evidence.
"""
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
_MOST_TEXTS = 1000
_MOST_HEADINGS = 20
_HEADING_LINE = re.compile(r"^\[\d+\] (.*)$", re.MULTILINE)
"""The line above a passage that a released row shows (`curation.training.marked_passage`)."""
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_PYTHON_LIST = re.compile(rf"\[\s*+(?:(?:{_QUOTED})[\s,]*+)*+\]", re.DOTALL)
"""A list of texts as Python and NumPy write it into a cell; NumPy sets no commas."""
_DEEPEVAL_SEPARATOR = re.compile(r"(?<! )\|(?! )")
"""What DeepEval joins contexts by in CSV and JSONL; the sign among spaces is one of a table in a context."""


def _number(value: object) -> object:
    """Return a score, or unknown for what is no number; a cell of a CSV file is read as a number."""
    if isinstance(value, str):
        value = float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _yes_or_no(value: object) -> object:
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _listed(value: object) -> object:
    """Return the list in a cell of CSV, as JSON, Python or NumPy write it; other texts stay texts.

    Raises:
        ValueError: it begins like such a list and does not go on like one.
    """
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


Number = Annotated[float | None, BeforeValidator(_number)]
_LIST = BeforeValidator(_listed)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Context(_Part):
    """A passage the answer could rest on; one that is only a text has no document.

    `headings` are those above it in its document, the title first.
    """

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


def _texts_as(name: str) -> BeforeValidator:
    """Return a validator that turns texts in place of objects into objects with this field."""

    def read(value: object) -> object:
        value = _listed(value)
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list):
            return [{name: item} if isinstance(item, str) else item for item in value]
        return value

    return BeforeValidator(read)


class RagRow(LabelledRow):
    """An answered question."""

    other_names = True
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
    def columns(cls) -> pl.Schema:
        """Return the columns of all answered questions."""
        return RAG_ROWS

    @classmethod
    def from_values(cls, values: Row) -> Row:
        """Return the fields under our names, those of ground_truth beside the others."""
        fields = dict(values)
        if _is_released(fields):
            fields |= _of_release(fields)
        truth = fields.pop("ground_truth", None)
        if isinstance(truth, Mapping):
            fields |= of_ground_truth(truth, fields)
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
        return super().from_values(_with_documents(fields))

    def row(self) -> Row | Fault:
        """Return the row; contexts in the order of their ranks."""
        row = self.model_dump()
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return Fault("broken_text", "a text contains half a character (a lone surrogate)")
        if row["id"] is None:
            del row["id"]
        contexts = row["contexts"] or []
        ranks = [context["rank"] for context in contexts if context["rank"] is not None]
        if len(set(ranks)) < len(ranks):
            return Fault("repeated_rank", "two contexts have the same rank; give each its own")
        if ranks and len(ranks) < len(contexts):
            return Fault("missing_rank", "some contexts have a rank and others have none; rank all or none")
        if ranks:
            contexts.sort(key=lambda context: context["rank"])
        for place, passage in enumerate(contexts, start=1):
            passage["rank"] = place
        row["language"] = row["language"] or _language(f"{row['query']} {row['answer'] or ''}")
        row["must_refuse"] = _must_refuse(row)
        documents = [*(row["relevant_documents"] or []), *(context["document"] for context in contexts)]
        query_hash = hash_text(row["query"])[:16]
        row["group"] = row["group"] or next((document for document in documents if document), query_hash)
        return row


def _language(text: str) -> str:
    return next((language.language for language in languages_of(text)), "en")


def _must_refuse(row: Row) -> bool | None:
    """Return whether the right answer is none, by the row or its reference; None if unknown."""
    if row["must_refuse"] is not None or not row["reference"]:
        return row["must_refuse"]  # type: ignore[no-any-return]
    return is_refusal(row["reference"], row["language"])


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
    quotes = {(piece["path"], piece["quote"]): None for piece in evidence}
    passages = _shown_passages(values.get("messages_with_context"))
    return {
        "contexts": [
            {"text": quote, "document": path, "headings": _headings_of(quote, passages)}
            for path, quote in quotes
        ],
        "citations": [
            {"raw": piece["path"], "document": piece["path"], "quote": piece["quote"]} for piece in evidence
        ],
        "reference": values["answer"],
        "relevant_documents": list(dict.fromkeys(piece["path"] for piece in evidence)),
        "true_claims": [{"claim": piece["claim"], "source": piece["path"]} for piece in evidence],
    }


def _shown_passages(messages: object) -> str:
    """Return what a released row shows before the question: passages, each under its line of headings."""
    if not isinstance(messages, list):
        return ""
    user_texts = [
        message.get("content")
        for message in messages
        if isinstance(message, Mapping) and message.get("role") == "user"
    ]
    return next((text for text in user_texts if isinstance(text, str)), "")


def _headings_of(quote: str, passage: str) -> list[str] | None:
    """Return the headings above a quote; None where the passages do not show it."""
    at = passage.find(quote)
    lines = _HEADING_LINE.findall(passage, 0, at) if at > 0 else []
    return lines[-1].split(HEADING_JOINT)[:_MOST_HEADINGS] if lines else None


def of_ground_truth(truth: Mapping[str, object], row: Row) -> Row:
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
        for name, value in ((name, _listed(value)) for name, value in joined.items())
    }
    return {
        **{name: value for name, value in values.items() if name != "context"},
        "retrieval_context": parts["retrieval_context"],
        "reference_contexts": values.get("reference_contexts") or parts["context"],
    }


def _with_documents(values: Row) -> Row:
    """Return the contexts with the ids that Ragas gives them, or else with their texts as ids."""
    contexts = _listed(values.get("contexts"))
    if not isinstance(contexts, list) or not all(isinstance(context, str) for context in contexts):
        return values
    ids, relevant, references = (
        _listed(values.get(name))
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


def read_rag_rows(places: Sequence[Path], limits: PairsFileSettings = LIMITS) -> Labelled:
    """Read answered questions (`RAG_ROWS`) from files, folders of files, or folders of releases.

    Raises:
        InputError: as of `rag_blocks`.
    """
    faults: Faults = {}
    return Labelled(pl.concat(list(rag_blocks(places, faults, limits))), left_out(faults))


def rag_blocks(
    places: Sequence[Path], faults: Faults, limits: PairsFileSettings = LIMITS
) -> Iterator[pl.DataFrame]:
    """Yield answered questions (`RAG_ROWS`), a block at a time.

    Of a release the files of the format `evaluation` are read where it has them, else its rows, whose
    contexts are then the quotes of the proof.

    Args:
        places: files, folders of files, or folders of releases.
        faults: rows that cannot be used are counted here.
        limits: bytes and rows of a file, bytes of a line.

    Raises:
        InputError: a file cannot be read as a whole or holds no row that can be used, or two files use one
            id.
    """
    seen: set[str] = set()
    for path in labelled_files([part for place in places for part in _parts(place)]):
        own_ids: set[str] = set()
        for block in read_blocks(path, lambda _: RagRow, faults, limits):
            ids = block["id"].to_list()
            if twice := next((row_id for row_id in ids if row_id in seen), None):
                raise InputError(f"id {twice!r} is in {path.name} and in another file; make ids unique")
            own_ids.update(ids)
            yield block
        seen |= own_ids


def store_rag_rows(path: Path, blocks: Iterable[pl.DataFrame]) -> pl.LazyFrame:
    """Write rows to a Parquet file block by block; the rows there, of which none is in memory.

    Raises:
        OSError: it cannot be written.
    """
    with appended_parquet(path, RAG_ROWS, group=1) as write:
        for block in blocks:
            write(block)
    return pl.scan_parquet(path)


def _parts(place: Path) -> list[Path]:
    if not (place / "manifest.json").is_file():
        return [place]
    inner = next((folder for folder in (place / "evaluation", place / "data") if folder.is_dir()), place)
    files = sorted(inner.iterdir())
    return [path for path in files if _holds_rows(path)] or files


def _holds_rows(path: Path) -> bool:
    """Return whether a file of a release has rows (a split may have none), or is damaged."""
    if path.suffix != ".parquet":
        return path.stat().st_size > 0
    try:
        return bool(pl.scan_parquet(path).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError):
        return True
