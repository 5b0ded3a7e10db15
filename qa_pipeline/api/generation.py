"""Questions and proved answers from documents or texts, without a folder of settings."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from qa_pipeline.api.models import AnyModel, language_model
from qa_pipeline.errors import InputError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.pipeline.running import run_batches
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.parquet import read_earlier
from qa_pipeline.storage.tables import CLAIM_VERDICTS, CLAIMS, DOCUMENTS, PAIRS, VERDICTS
from qa_pipeline.verification.outcomes import evidence_pieces

BATCH = "documents"
_PLACE = ("start", "end", "page", "quote")
_TEXTS = ("question", "answer", "language", "question_type")


def generate(documents: Path | str | Sequence[str], *, model: AnyModel | None = None) -> pl.DataFrame:
    """Write questions and answers about documents, and verify and judge them as a run does.

    Args:
        documents: the path of a file or folder, or a list of texts (Markdown or plain).
        model: asks, answers, verifies and judges; None has the offline rules ask, which judge nothing. What a
            function replies is not stored; replies of named models are, as by `qa-pipeline run`.

    Returns:
        A row for each pair, the accepted ones first: question, answer, language, question_type, verdict,
        reason, detail, and evidence: claim, path, start, end, page and quote of each piece.

    Raises:
        InputError: there is no such document, or none can be read.
        ModelError: the model can answer no further request.
    """
    with TemporaryDirectory() as work:
        corpus, out = Path(work) / "corpus", Path(work) / "out"
        _gather(documents, corpus / BATCH)
        settings = load_settings(corpus=str(corpus), out=out)
        resources = Resources(settings, model=language_model(model))
        (outcome,) = run_batches(resources, [BATCH])
        tables = {
            table.name: read_earlier(resources.layout.table(table.name, BATCH), table)
            for table in (DOCUMENTS, PAIRS, CLAIMS, CLAIM_VERDICTS, VERDICTS)
        }
    read = [frame for frame in tables.values() if frame is not None]
    if len(read) < len(tables) or "parsed" not in read[0]["status"]:
        problem = outcome.error or "; ".join(read[0]["detail"].drop_nulls()) if read else outcome.error
        raise InputError(f"nothing could be generated: {problem or ', '.join(outcome.failed_gates)}")
    return _results(*read)


def _results(
    documents: pl.DataFrame,
    pairs: pl.DataFrame,
    claims: pl.DataFrame,
    claim_verdicts: pl.DataFrame,
    verdicts: pl.DataFrame,
) -> pl.DataFrame:
    texts = pairs.filter(origin="generated").select("pair_id", *_TEXTS)
    pieces = (
        evidence_pieces(claims, claim_verdicts)
        .drop_nulls("evidence_quote")
        .join(claims.select("claim_id", "pair_id", claim="text"), on="claim_id", maintain_order="left")
        .join(documents.select("path", evidence_document_id="document_id"), on="evidence_document_id")
        .select(
            "pair_id",
            evidence=pl.struct("claim", "path", *(pl.col(f"evidence_{name}").alias(name) for name in _PLACE)),
        )
        .group_by("pair_id", maintain_order=True)
        .agg("evidence")
    )
    return (
        texts.join(
            verdicts.select("pair_id", "verdict", "reason", "detail"), on="pair_id", maintain_order="left"
        )
        .join(pieces, on="pair_id", how="left", maintain_order="left")
        .sort(pl.col("verdict") != "accepted", maintain_order=True)
    )


def _gather(documents: Path | str | Sequence[str], folder: Path) -> None:
    """Copy documents, or write texts, into the folder of a batch.

    Raises:
        InputError: there is no such document, or a text is none.
    """
    if isinstance(documents, str | Path):
        place = Path(documents)
        if place.is_dir():
            shutil.copytree(place, folder)
        elif place.is_file():
            folder.mkdir(parents=True)
            shutil.copyfile(place, folder / place.name)
        else:
            raise InputError(f"{place} does not exist; name a file or folder, or give a list of texts")
        return
    folder.mkdir(parents=True)
    if not documents or not all(isinstance(text, str) for text in documents):
        raise InputError("documents should be a path or a list of texts, and is neither")
    for number, text in enumerate(documents, start=1):
        (folder / f"text-{number:06}.md").write_text(text, "utf-8")
