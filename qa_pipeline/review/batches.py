"""Batches that can be searched: the batches of runs, and a batch for every uploaded document.

Uploads are stored in the folder `asked` of the output folder, under hashes of their contents. The name of an
upload never becomes part of a path.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from qa_pipeline.curation.ledger import in_words
from qa_pipeline.curation.withdrawals import forgotten_documents
from qa_pipeline.documents.corpus.files import SUFFIXES, format_of
from qa_pipeline.errors import InputError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.stages import StageRun, cut_documents, read_batch
from qa_pipeline.retrieval.search import build_index, dump_index, embed_chunks
from qa_pipeline.storage.files import locked, write_bytes
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import write_table
from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, EMBEDDINGS
from qa_pipeline.text.rendering import shorten

DOCUMENT = "document"
"""The batch of every upload, and the name of its file."""
_FOLDER = re.compile(r"[0-9a-f]{64}\.[a-z0-9_+-]{1,16}")
"""Hash of the content and suffix of its format."""


@dataclass(frozen=True, slots=True)
class AskedBatch:
    """A batch that can be asked; an uploaded document is a batch in an output folder of its own."""

    key: str  # in forms and addresses, such as batch:manuals
    name: str
    layout: Layout
    title: str  # name of the batch or of the uploaded file

    @property
    def is_upload(self) -> bool:
        """Return True for an uploaded document."""
        return self.key != f"batch:{self.name}"


def searchable_batches(layout: Layout) -> list[AskedBatch]:
    """Return the batches by name, then uploads, the latest first."""
    batches = sorted(path.stem for path in (layout.out / "indexes").glob("*.faiss"))
    uploads = sorted(_uploads_folder(layout).glob("*/name.txt"), key=lambda path: -path.stat().st_mtime_ns)
    return [
        *(AskedBatch(f"batch:{name}", name, layout, name) for name in batches),
        *filter(None, (_upload(path.parent) for path in uploads)),
    ]


def batch_of(layout: Layout, key: str) -> AskedBatch:
    """Return the batch of a key, `batch:NAME` or `upload:HASH.SUFFIX`; raises InputError if it is missing."""
    kind, _, name = key.partition(":")
    if kind == "batch" and layout.index(name).is_file():
        return AskedBatch(key, name, layout, name)
    upload = _upload(_uploads_folder(layout) / name) if kind == "upload" and _FOLDER.fullmatch(name) else None
    if upload is not None:
        return upload
    raise InputError(
        f"{shorten(name) or '–'} cannot be searched: run qa-pipeline run CORPUS --out {layout.out} first, or "
        "upload a document"
    )


def _uploads_folder(layout: Layout) -> Path:
    return layout.uploads / "documents"


def _upload(folder: Path) -> AskedBatch | None:
    """Return the upload of a folder, if it was fully read: the index is written last."""
    layout = Layout(folder)
    if not layout.index(DOCUMENT).is_file():
        return None
    title = (folder / "name.txt").read_text("utf-8")
    return AskedBatch(f"upload:{folder.name}", DOCUMENT, layout, title)


def read_document(resources: Resources, layout: Layout, name: str, content: bytes) -> Iterator[AskedBatch]:
    """Read an uploaded document and yield its batch, once, as the value of a job."""
    suffix = PurePosixPath(name.lower()).suffix
    if format_of(f"{DOCUMENT}{suffix}") is None:
        raise InputError(
            f"files ending in {shorten(suffix) or '–'} are not supported; upload one of {' '.join(SUFFIXES)}"
        )
    content_sha256 = sha256(content).hexdigest()
    if content_sha256 in forgotten_documents(layout):
        raise InputError("this document was deleted with qa-pipeline forget")
    folder = _uploads_folder(layout) / f"{content_sha256}{suffix}"
    if (earlier := _upload(folder)) is not None:
        yield earlier
        return
    title = shorten(name.replace("\\", "/").rpartition("/")[2])
    with locked(layout.out, shared=True):
        write_bytes(folder / "corpus" / DOCUMENT / f"{DOCUMENT}{suffix}", content)
        write_bytes(folder / "name.txt", title.encode())
        # an output folder of its own that shares settings, models, stores and caps
        paths = {"corpus": str(folder / "corpus"), "out": folder, "cache": resources.layout.stores}
        settings = resources.settings.model_copy(update=paths)
        upload_resources = Resources(settings, embedder=resources.embedder, run=resources.run)
        documents = read_batch(StageRun(upload_resources, DOCUMENT))
        status, reason, detail = documents.select("status", "reason", "detail").row(0)
        if status != "parsed":
            raise InputError(f"the document cannot be read: {in_words(reason, detail)}")
        chunks = cut_documents(upload_resources, documents)
        if not chunks.height:
            raise InputError("the document has no text to search; is it a scan?")
        embeddings = embed_chunks(chunks, upload_resources.embedder)
        for table, frame in ((DOCUMENTS, documents), (CHUNKS, chunks), (EMBEDDINGS, embeddings)):
            write_table(upload_resources.layout.table(table.name, DOCUMENT), frame, table)
        write_bytes(upload_resources.layout.index(DOCUMENT), dump_index(build_index(embeddings)))
    yield AskedBatch(f"upload:{folder.name}", DOCUMENT, upload_resources.layout, title)
