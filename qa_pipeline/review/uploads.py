"""Uploads: a document becomes a batch of its own, a file of questions or pairs is gone through.

All of it lies in the folder `asked` of the output folder, under hashes of contents. No name of an upload
becomes part of a path, and nothing is written where the documents of batches are.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from qa_pipeline.curation.exports import LEDGER_FILES
from qa_pipeline.curation.forgetting import forgotten_documents
from qa_pipeline.curation.reasons import in_words
from qa_pipeline.documents.formats.registry import SUFFIXES, format_of
from qa_pipeline.errors import InputError
from qa_pipeline.generation.pairs_file import SUFFIXES as ROW_SUFFIXES
from qa_pipeline.models.base import Embedder
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import validate_pairs
from qa_pipeline.pipeline.stages import STAGES, StageRun, run_stage
from qa_pipeline.records import ProgressCallback
from qa_pipeline.retrieval.shard import dump_shard
from qa_pipeline.review.asking import (
    Asking,
    OpenBatches,
    Place,
    answer_question,
    checked_question,
    pair_line,
)
from qa_pipeline.review.jobs import Job
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.review.queue import Queue
from qa_pipeline.storage.files import locked, write_bytes
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.row_files import Limits, open_rows
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, STORED
from qa_pipeline.text.rendering import shorten, words

DOCUMENT = "document"
"""The batch of every upload, and the name of its file."""
_MOST_UPLOADS = 500
"""Uploads in the output folder; more are a corpus, for which `run` is made."""
_MOST_QUESTIONS = 1_000
"""Questions of a file: some hours of a hosted model at worst."""
_OF_QUESTIONS = frozenset({"question", "id", "language"})
"""Columns of a file of questions; one with any other is a file of pairs."""
_MOST_NAME = 120
"""Characters of the name of an upload that are shown."""
_FOLDER = re.compile(r"[0-9a-f]{64}\.[a-z0-9_+-]{1,16}")
"""Hash of the content and suffix of its format."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Questions or pairs of a file, as far as they were gone through.

    Args:
        rows: question, answer, verdict, reason and grounding of each.
        lines: the same as JSON lines, to be downloaded.
    """

    rows: list[dict[str, Any]]
    lines: bytes


def places(layout: Layout) -> list[Place]:
    """Return what can be asked: batches by name, then uploads, the latest first."""
    batches = sorted(path.stem for path in (layout.out / "indexes").glob("*.faiss"))
    uploads = sorted(_uploads(layout).glob("*/name.txt"), key=lambda path: -path.stat().st_mtime_ns)
    return [
        *(Place(f"batch:{name}", name, layout, name) for name in batches),
        *(upload for path in uploads if (upload := _upload(path.parent)) is not None),
    ]


def place_of(layout: Layout, key: str) -> Place:
    """Return the batch or upload of a form or address.

    Raises:
        InputError: there is none.
    """
    kind, _, name = key.partition(":")
    if kind == "batch" and layout.index(name).is_file():
        return Place(key, name, layout, name)
    if kind == "upload" and _FOLDER.fullmatch(name):
        upload = _upload(_uploads(layout) / name)
        if upload is not None:
            return upload
    raise PhrasedError(
        "%(name)s cannot be searched: run qa-pipeline run CORPUS --out %(out)s first, or upload a document",
        name=shorten(name) or "–",
        out=layout.out,
    )


def _uploads(layout: Layout) -> Path:
    return layout.asked / "documents"


def _upload(folder: Path) -> Place | None:
    """Return the upload of a folder; None where it was not read to its end."""
    layout = Layout(folder)
    try:
        title = (folder / "name.txt").read_text("utf-8")
    except FileNotFoundError:
        return None
    return (
        Place(f"upload:{folder.name}", DOCUMENT, layout, title) if layout.index(DOCUMENT).is_file() else None
    )


def read_document(
    batches: OpenBatches, layout: Layout, name: str, content: bytes, job: Job[Place]
) -> Iterator[Place]:
    """Make a batch of an uploaded document, and yield it once it can be asked.

    Args:
        batches: settings and models.
        layout: the output folder.
        name: what the browser calls the file; it is shown, and its suffix tells the format.
        content: of the file.
        job: hears what is being done.

    Raises:
        InputError: the file cannot be read, or there are too many uploads.
    """
    resources = batches.resources
    suffix = PurePosixPath(name.lower()).suffix
    if format_of(f"a{suffix}", readers=resources.settings.documents.readers) is None:
        raise PhrasedError(
            "no format ends in %(suffix)s; upload one of %(suffixes)s",
            suffix=shorten(suffix) or "–",
            suffixes=" ".join(SUFFIXES),
        )
    content_sha256 = sha256(content).hexdigest()
    if content_sha256 in forgotten_documents(layout):
        raise PhrasedError("this document was forgotten with qa-pipeline forget, and is not read again")
    folder = _uploads(layout) / f"{content_sha256}{suffix}"
    done = _upload(folder)
    if done is not None:
        yield done
        return
    if _uploads(layout).is_dir() and sum(1 for _ in _uploads(layout).iterdir()) >= _MOST_UPLOADS:
        raise PhrasedError(
            "%(most)s documents were uploaded; delete folders in %(folder)s that nobody needs",
            most=_MOST_UPLOADS,
            folder=_uploads(layout),
        )
    with locked(layout.out, shared=True):
        write_bytes(folder / "corpus" / DOCUMENT / f"{DOCUMENT}{suffix}", content)
        write_bytes(
            folder / "name.txt", shorten(name.replace("\\", "/").rpartition("/")[2], _MOST_NAME).encode()
        )
        alone = _resources(resources, folder, folder / "corpus", resources.embedder)
        made: dict[str, Any] = {}
        for stage in (STAGES[name] for name in (DOCUMENTS.name, CHUNKS.name, "embeddings", "index")):
            inputs = {needed: made[needed] for needed in stage.inputs}
            run = StageRun(alone, DOCUMENT, inputs, notify=_progress(job, stage.name))
            made[stage.name] = run_stage(stage, run)
            if stage.name == DOCUMENTS.name:
                _check_document(made[stage.name].row(0, named=True))
            if stage.name == CHUNKS.name and not made[stage.name].height:
                raise PhrasedError("the document holds no text that could be searched; is it a scan?")
            if stage.is_table:
                write_table(alone.layout.table(stage.name, DOCUMENT), made[stage.name], STORED[stage.name])
        write_bytes(alone.layout.index(DOCUMENT), dump_shard(made["index"]))
    upload = _upload(folder)
    if upload is not None:
        yield upload


def _check_document(document: dict[str, Any]) -> None:
    if document["status"] != "parsed":
        reason = in_words(document["reason"], document["detail"])
        raise PhrasedError("the document cannot be read: %(reason)s", reason=reason)


def _progress(job: Job[Any], stage: str) -> ProgressCallback:
    job.report(words(stage))

    def notify(done: int, total: int) -> None:
        job.report(f"{words(stage)}: {done} / {total}")

    return notify


def _resources(resources: Resources, out: Path, corpus: Path | str, embedder: Embedder | None) -> Resources:
    """Return the same settings and models for another output folder, with the same stores and caps."""
    settings = resources.settings.model_copy(update={"corpus": str(corpus), "out": out})
    shared = resources.layout.shared or resources.layout.out
    return Resources(settings, embedder=embedder, shared=shared, run=resources.run)


def read_questions(name: str, content: bytes, limits: Limits) -> list[str] | None:
    """Return the questions of a file in which nothing has an answer; None for a file of pairs.

    Args:
        name: what the browser calls the file; its suffix tells the format.
        content: of the file.
        limits: sizes above which it is refused.

    Raises:
        InputError: the file cannot be read, or holds no question that can be answered, or too many.
    """
    suffix = _row_suffix(name)
    if suffix == ".txt":
        questions = [line for line in content.decode("utf-8", "replace").splitlines() if line.strip()]
    else:
        path = Path(f"file{suffix}")
        rows = open_rows(path, limits, ROW_SUFFIXES, content=content, columns_known=_OF_QUESTIONS).rows()
        values = [row.value for row in rows]
        if not all(isinstance(value, dict) and "question" in value for value in values):
            return None
        if any(set(value) - _OF_QUESTIONS for value in values):
            return None
        questions = [str(value["question"] or "") for value in values]
    if not questions:
        raise PhrasedError("the file holds no question; upload one with at least one")
    if len(questions) > _MOST_QUESTIONS:
        raise PhrasedError(
            "the file holds %(count)s questions; at most %(most)s are answered",
            count=len(questions),
            most=_MOST_QUESTIONS,
        )
    return [checked_question(question) for question in questions]


def _row_suffix(name: str) -> str:
    suffix = PurePosixPath(name.lower()).suffix
    if suffix not in (*ROW_SUFFIXES, ".txt"):
        raise PhrasedError(
            "no file of questions or pairs ends in %(suffix)s; upload .txt with a question a line, or one of "
            "%(suffixes)s",
            suffix=shorten(suffix) or "–",
            suffixes=" ".join(ROW_SUFFIXES),
        )
    return suffix


def answer_questions(
    batches: OpenBatches, place: Place, questions: Sequence[str], job: Job[Checked]
) -> Iterator[Checked]:
    """Answer questions one after the other, and yield what has been answered.

    Raises:
        QAPipelineError: the batch cannot be searched, or the model can answer no further question.
    """
    rows: list[dict[str, Any]] = []
    lines = b""
    for number, question in enumerate(questions, start=1):
        job.report(f"{number} / {len(questions)}")
        *_, answer = answer_question(batches, place, question)
        ledger = answer.verdict or {}
        level = "refusal" if answer.is_refusal else ledger.get("support_level") or "failed"
        row = {
            "question": question,
            "answer": answer.pair["answer"],
            "verdict": level,
            "reason": answer.problem,
        }
        rows.append({**row, "grounding": ledger.get("grounding")})
        lines += (
            json.dumps({**pair_line(answer), "support_level": level}, ensure_ascii=False).encode() + b"\n"
        )
        yield Checked(list(rows), lines)


def verify_pairs(
    asking: Asking, layout: Layout, place: Place, name: str, content: bytes, job: Job[Checked]
) -> Iterator[Checked]:
    """Verify the pairs of a file as `validate` does, in a folder of their own, and yield them.

    Args:
        asking: settings and models.
        layout: the output folder.
        place: the batch whose documents the pairs cite.
        name: what the browser calls the file; its suffix tells the format.
        content: of the file.
        job: hears what is being done.

    Raises:
        InputError: the file cannot be read, or the documents are not known.
        QAPipelineError: the pairs cannot be verified.
    """
    suffix = _row_suffix(name)
    try:
        corpus = place.layout.origin(place.batch).read_text("utf-8")
    except FileNotFoundError:
        raise PhrasedError(
            "it is not known where the documents of %(title)s are; use qa-pipeline validate",
            title=place.title,
        ) from None
    folder = layout.asked / "pairs" / hash_parts(place.key, sha256(content).hexdigest())[:32]
    of_file = _resources(asking.resources, folder, corpus, None)
    with locked(layout.out, shared=True):
        write_bytes(folder / f"pairs{suffix}", content)
        documents, copy = (of.table(DOCUMENTS.name, place.batch) for of in (place.layout, of_file.layout))
        if documents.is_file():  # files of unchanged bytes are not parsed again
            write_bytes(copy, documents.read_bytes())
        outcome = validate_pairs(
            of_file, place.batch, folder / f"pairs{suffix}", lambda _, stage: _progress(job, stage)
        )
    rows = Queue(of_file.layout).rows()
    if not rows.height and outcome.error:
        raise InputError(outcome.error)
    files = [of_file.layout.export(kind, place.batch) for kind in LEDGER_FILES]
    grounding = pl.when(pl.col("claims") > 0).then(pl.col("supported_claims") / pl.col("claims"))
    columns = ("question", "answer", "verdict", "reason", grounding.alias("grounding"))
    lines = b"".join(file.read_bytes() for file in files if file.is_file())
    yield Checked(rows.select(columns).to_dicts(), lines)
