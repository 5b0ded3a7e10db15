"""`qa-pipeline fit-combined`: coefficients of the combined score from labelled statements.

What belongs here: the command's arguments and what it prints. What does not: reading the files
(`labelled.py`) and fitting (`fitting.py`).
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:  # heavy: imported where the command needs them, so that --help answers at once
    from qa_pipeline.verification.combined.model import CombinedModel


def fit_combined(
    data: Annotated[
        list[Path],
        typer.Option(help="Parquet file of labelled items, or a folder of them; repeatable."),
    ],
    out: Annotated[Path, typer.Option(help="The file of coefficients to write.")],
    name: Annotated[str, typer.Option(help="Name of the model, stored beside each score.")] = "combined",
    licence_note: Annotated[str, typer.Option(help="What the data's licences allow, kept in the file.")] = "",
) -> None:
    """Fit the combined score on labelled statements, for the embedding model of the settings.

    Each item needs id, language, question, context (a list of passages), answer, label (1 is supported) and
    group_id. Name the file written in the setting verification.combined_model to use it.
    """
    from qa_pipeline.storage import write_bytes

    with errors_as_exit_codes():
        model = _fitted(data, name, licence_note)
        write_bytes(out, as_file(model))
        summary = {"out": str(out), "version": model.version, "terms": len(model.terms)}
        typer.echo(json.dumps({**summary, "sets": {one.file: one.items for one in model.data}}))


def as_file(model: "CombinedModel") -> bytes:
    """The model as a file that people can read."""
    return (json.dumps(model.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()


def _fitted(data: list[Path], name: str, licence_note: str) -> "CombinedModel":
    from datetime import UTC, datetime

    from qa_pipeline.parts import Parts
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.verification.combined.fitting import fit_model
    from qa_pipeline.verification.combined.labelled import labelled_files, labelled_set, read_items

    files = [(path, read_items(path)) for path in labelled_files(data)]
    settings = load_settings()
    embedder = Parts(settings).embedder
    sets = [labelled_set(path, items, embedder, settings.verification) for path, items in files]
    today = datetime.now(tz=UTC).date()
    return fit_model(
        sets, embedder.model, embedder.revision, name=name, fitted_on=today, licence_note=licence_note
    )
