"""`qa-pipeline train-verifier`: a cross-encoder of your own, from labelled rows to a folder."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.common import errors_as_exit_codes

if TYPE_CHECKING:
    import polars as pl

    from qa_pipeline.settings.thresholds import Thresholds

_RESAMPLES = 1000


def train_verifier(
    data: Annotated[
        list[Path],
        typer.Option(help="Parquet, JSONL, JSON or CSV file of labelled rows, or a folder; repeatable."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write; it must not be there.")],
    corpus: Annotated[
        str | None, typer.Option(help="Corpus from whose documents false and true claims are made as well.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="Folder or hub name of an encoder; default: the packaged one."),
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Commit of the hub; a hub name needs it.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=2, help="Rows of each data set, drawn by group."),
    ] = None,
    per_kind: Annotated[int, typer.Option(min=1, help="Made claims of each kind and batch.")] = 100,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the rows.")] = 2,
    rate: Annotated[float, typer.Option(min=0, help="Learning rate.")] = 5e-5,
    input_tokens: Annotated[int, typer.Option(min=32, help="Most tokens of a passage and a claim.")] = 256,
    calibration_share: Annotated[
        float, typer.Option(min=0.05, max=0.5, help="Share of groups kept apart to fit thresholds on.")
    ] = 0.2,
    target_precision: Annotated[
        float, typer.Option(help="Share of accepted rows that must be right, and of rejected ones.")
    ] = 0.98,
    seed: Annotated[int, typer.Option(min=0, help="Of head, order and resamples.")] = 0,
    leave_out: Annotated[
        bool, typer.Option(help="Also train once without each data set, to measure on text never trained on.")
    ] = True,
) -> None:
    """Fine-tune a cross-encoder that says whether a passage states a claim, and fit its thresholds.

    Rows are those of `calibrate`. The folder has the model as safetensors, its tokenizer, thresholds.json,
    figures.json and a model card. Figures are by data set, each by a model that was trained without it,
    beside word overlap on the same rows.
    """
    import tempfile

    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation import verifier_training as training
    from qa_pipeline.evaluation.datasets import draw, labelled_files, read_labelled
    from qa_pipeline.models.embedding_files import find_model
    from qa_pipeline.models.files import sha256_of
    from qa_pipeline.settings.generation import EmbeddingSettings

    with errors_as_exit_codes():
        if out.exists():
            raise InputError(f"{out} is there already; name a new folder with --out")
        chosen = {"model": base, "revision": revision} if base else {}
        found = find_model(EmbeddingSettings.model_validate(chosen))
        how = training.Training(found.folder, epochs, rate, input_tokens, seed)
        items = draw(read_labelled(data).items, limit)
        labelled = training.training_rows(items)
        made = training.made_rows(_chunks(corpus), per_kind) if corpus else labelled.clear()
        measured = (
            training.left_out_figures(training.joined(labelled, made), how, _RESAMPLES, _say)
            if leave_out
            else {}
        )
        fitted, apart = training.held_out(labelled, calibration_share, seed)
        model, tokenizer = training.train(training.joined(fitted, made), how, _say)
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent) as folder:
            place = Path(folder) / out.name
            training.save(model, tokenizer, place)
            kept = items.join(apart.select("id", "dataset"), on=("id", "dataset"), how="semi")
            thresholds, note = None, "verification.thresholds names its thresholds.json"
            try:
                thresholds = _thresholds(place, kept, target_precision)
            except InputError as error:
                note = f"It has no thresholds and decides nothing: {error}"
            about: dict[str, Any] = {
                "sets": labelled["dataset"].unique().sort().to_list(),
                "base": f"{found.name} {found.revision}",
                "training": {
                    "epochs": epochs,
                    "rate": rate,
                    "input_tokens": input_tokens,
                    "seed": seed,
                    "rows": fitted.height,
                    "limit": limit,
                },
                "files": [{"name": path.name, "sha256": sha256_of(path)} for path in labelled_files(data)],
                "made": made.height,
                "thresholds": note,
                "figures": measured,
            }
            training.describe(place, about, thresholds)
            place.replace(out)
        _say(f"Written: {out}; name it as verification.entailment.model. {note}")


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")


def _chunks(corpus: str) -> "pl.DataFrame":
    """The chunks of all batches of a corpus, which is read as in a run, and nothing stored."""
    import polars as pl

    from qa_pipeline import stages
    from qa_pipeline.corpus.corpora import open_corpus
    from qa_pipeline.resources import Resources
    from qa_pipeline.settings.tree import load_settings

    resources = Resources(load_settings(corpus=corpus))
    batches = open_corpus(resources.settings.corpus).find_batches().names
    return pl.concat(
        stages.cut_documents(resources, stages.read_batch(resources, batch, None)) for batch in batches
    )


def _thresholds(model: Path, items: "pl.DataFrame", target: float) -> "Thresholds":
    """Bands for the model, fitted on rows it was not trained on.

    Raises:
        InputError: the rows are too few, or no band meets the target.
    """
    from datetime import UTC, datetime

    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.calibration.calibrating import calibrate_files
    from qa_pipeline.evaluation.calibration.rows import LabelledFile
    from qa_pipeline.resources import Resources
    from qa_pipeline.settings.thresholds import has_thresholds
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage import frame_hash

    settings = load_settings(verification={"thresholds": None, "entailment": {"model": str(model)}})
    found = calibrate_files(
        Resources(settings),
        [LabelledFile(Path("held_out.parquet"), frame_hash(items), items)],
        target=target,
        confidence=0.95,
        name="trained",
        created=datetime.now(tz=UTC).date(),
        licences={},
        watch=_say,
    )
    if not has_thresholds(found, "entailment"):
        raise InputError("; ".join(f"{fit.side}: {fit.why}" for fit in found.measured.fits))
    return found
