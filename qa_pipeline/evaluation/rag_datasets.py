"""Answered questions to evaluate: our own layout, exports of Ragas, DeepEval and TruLens, and releases."""

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
    Fault,
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
from qa_pipeline.storage import appended_parquet
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
are further answers to the same question, `confidences` those of the steps of a chain of evidence.
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
0.2, question, contexts, ground_truth), DeepEval (input, actual_output, retrieval_context, expected_output),
TruLens (record_id, input, output)."""
_MOST_TEXTS = 1000
_MOST_HEADINGS = 20
_HEADING_LINE = re.compile(r"^\[\d+\] (.*)$", re.MULTILINE)
"""The line above a passage that a released row shows (`curation.training.marked_passage`)."""


def _number(value: object) -> object:
    """A score that is no number is unknown."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_number)]


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
    """What an answer says it rests on."""

    raw: str | None = None
    document: str | None = None
    quote: str | None = None


class TrueClaim(_Part):
    """A statement of the right answer, and the document that states it."""

    claim: str
    source: str | None = None


def _texts_as(name: str) -> BeforeValidator:
    """Texts in place of objects become objects with this field."""

    def read(value: object) -> object:
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list):
            return [{name: one} if isinstance(one, str) else one for one in value]
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
    relevant_documents: list[str] | None = None
    true_claims: Annotated[list[TrueClaim], _texts_as("claim")] | None = None
    must_refuse: bool | None = None
    samples: list[str] | None = None
    confidences: list[float] | None = None
    category: str | None = None
    difficulty: str | None = None
    seconds: Number = None

    @classmethod
    def columns(cls) -> pl.Schema:
        """Those of all answered questions."""
        return RAG_ROWS

    @classmethod
    def given(cls, values: Row) -> Row:
        """The fields under our names, those of ground_truth beside the others."""
        found = dict(values)
        if _is_released(found):
            found |= _of_release(found)
        truth = found.pop("ground_truth", None)
        if isinstance(truth, Mapping):
            found |= {
                "reference": truth.get("answer"),
                "relevant_documents": truth.get("relevant_documents"),
                "true_claims": truth.get("claims"),
                "must_refuse": truth.get("must_refuse", found.get("must_refuse")),
            }
        elif truth is not None:
            found.setdefault("reference", truth)
        for name, others in OTHER_NAMES.items():
            if found.get(name) is None:
                found[name] = next((found[one] for one in others if found.get(one) is not None), None)
        if isinstance(found["reference"], list) and found["reference"]:
            found["reference"] = found["reference"][0]
        return super().given(_with_documents(found))

    def row(self) -> Row | Fault:
        """The row; contexts in the order of their ranks."""
        row = self.model_dump()
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return Fault("broken_text", "a text contains half a character (a lone surrogate)")
        if row["id"] is None:
            del row["id"]
        contexts = row["contexts"] or []
        ranks = [one["rank"] for one in contexts if one["rank"] is not None]
        if len(set(ranks)) < len(ranks):
            return Fault("repeated_rank", "two contexts have the same rank; give each its own")
        if ranks and len(ranks) < len(contexts):
            return Fault("missing_rank", "some contexts have a rank and others have none; rank all or none")
        if ranks:
            contexts.sort(key=lambda one: one["rank"])
        for place, one in enumerate(contexts, start=1):
            one["rank"] = place
        row["language"] = row["language"] or _language(f"{row['query']} {row['answer'] or ''}")
        row["must_refuse"] = _must_refuse(row)
        documents = [*(row["relevant_documents"] or []), *(one["document"] for one in contexts)]
        own = hashlib.sha256(row["query"].encode()).hexdigest()[:16]
        row["group"] = row["group"] or next((one for one in documents if one), own)
        return row


def _language(text: str) -> str:
    return next((one.language for one in languages_of(text)), "en")


def _must_refuse(row: Row) -> bool | None:
    """Whether the right answer is none: as the row says, or as its reference reads; None if unknown."""
    if row["must_refuse"] is not None or not row["reference"]:
        return row["must_refuse"]  # type: ignore[no-any-return]
    return is_refusal(row["reference"], row["language"])


def _is_released(values: Row) -> bool:
    evidence = values.get("evidence")
    return (
        {"messages", "answer"} <= values.keys()
        and isinstance(evidence, list)
        and all(isinstance(one, Mapping) and {"claim", "path", "quote"} <= one.keys() for one in evidence)
        and all(isinstance(one[name], str) for one in evidence for name in ("path", "quote"))
    )


def _of_release(values: Row) -> Row:
    """A released row: its quotes are the contexts, each once, and its claims are true."""
    evidence: list[Row] = values["evidence"]
    quotes = {(one["path"], one["quote"]): None for one in evidence}
    shown = _shown_passages(values.get("messages_with_context"))
    return {
        "contexts": [
            {"text": quote, "document": path, "headings": _headings_of(quote, shown)}
            for path, quote in quotes
        ],
        "citations": [
            {"raw": one["path"], "document": one["path"], "quote": one["quote"]} for one in evidence
        ],
        "reference": values["answer"],
        "relevant_documents": list(dict.fromkeys(one["path"] for one in evidence)),
        "true_claims": [{"claim": one["claim"], "source": one["path"]} for one in evidence],
    }


def _shown_passages(messages: object) -> str:
    """What a released row shows its reader before the question: passages, each under its line of headings."""
    if not isinstance(messages, list):
        return ""
    said = [one.get("content") for one in messages if isinstance(one, Mapping) and one.get("role") == "user"]
    return next((text for text in said if isinstance(text, str)), "")


def _headings_of(quote: str, shown: str) -> list[str] | None:
    """The headings above a quote; None where the passages do not show it."""
    at = shown.find(quote)
    lines = _HEADING_LINE.findall(shown, 0, at) if at > 0 else []
    return lines[-1].split(HEADING_JOINT)[:_MOST_HEADINGS] if lines else None


def _with_documents(values: Row) -> Row:
    """Contexts with the ids that Ragas gives them; without ids they are named by their texts."""
    contexts = values.get("contexts")
    if not isinstance(contexts, list) or not all(isinstance(one, str) for one in contexts):
        return values
    ids, relevant = values.get("retrieved_context_ids"), values.get("reference_context_ids")
    references = values.get("reference_contexts")
    if isinstance(ids, list) and len(ids) == len(contexts):
        named = [str(one) for one in ids]
        wanted = [str(one) for one in relevant] if isinstance(relevant, list) else []
    elif isinstance(references, list):
        named, wanted = _text_ids(contexts), _text_ids(references)
    else:
        return values
    placed = [{"text": text, "document": name} for text, name in zip(contexts, named, strict=True)]
    return {**values, "contexts": placed, "relevant_documents": values.get("relevant_documents") or wanted}


def _text_ids(texts: Iterable[object]) -> list[str]:
    return [hashlib.sha256(str(one).encode(errors="replace")).hexdigest()[:16] for one in texts]


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
    """Answered questions (`RAG_ROWS`), a block at a time.

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
        own: set[str] = set()
        for block in read_blocks(path, lambda _: RagRow, faults, limits):
            ids = block["id"].to_list()
            if twice := next((one for one in ids if one in seen), None):
                raise InputError(f"id {twice!r} is in {path.name} and in another file; make ids unique")
            own.update(ids)
            yield block
        seen |= own


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
    inner = next((one for one in (place / "evaluation", place / "data") if one.is_dir()), place)
    files = sorted(inner.iterdir())
    return [path for path in files if _holds_rows(path)] or files


def _holds_rows(path: Path) -> bool:
    """Whether a file of a release has rows: a split may have none. What is damaged is left to the reader."""
    if path.suffix != ".parquet":
        return path.stat().st_size > 0
    try:
        return bool(pl.scan_parquet(path).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError):
        return True
