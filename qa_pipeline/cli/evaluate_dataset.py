"""The command `eval run`: answered questions of any system in, a report folder out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from qa_pipeline.cli.console import print_line, show, watching
from qa_pipeline.cli.options import Change, Json, MaxCalls, MaxCost, check_exists
from qa_pipeline.cli.settings import model_options, settings_at
from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import write_bytes

if TYPE_CHECKING:
    from qa_pipeline.evaluation.metrics.means import Means

Scorer = Literal["local", "model"]
Undecided = Literal["similarity", "unknown"]
Data = Annotated[Path, typer.Option(help="Folder for caches.")]


def run(
    datasets: Annotated[
        list[Path],
        typer.Argument(metavar="DATASET...", help="Files or folders of answered questions, or a release."),
    ],
    out: Annotated[Path, typer.Option(metavar="REPORT", help="New folder for the report.")],
    name: Annotated[str | None, typer.Option(help="Name of the data set. Default: its files.")] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Only this metric; repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Rows, spread over documents.")] = None,
    scorer: Annotated[Scorer, typer.Option(help="model: verifier and judge decide the rest.")] = "local",
    undecided: Annotated[Undecided, typer.Option(help="Verdict on undecided statements.")] = "similarity",
    laws: Annotated[bool, typer.Option("--laws", help="Check categorical correctness too.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier report.")] = False,
    data: Data = Path("data"),
    abilities: Annotated[
        int | None,
        typer.Option(min=1, metavar="PAIRS", help="Write a suite from the output folder DATASET to --out."),
    ] = None,
    change: Change = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Measure faithfulness, citations, retrieval and answers of answered questions.

    Rows that lack the fields of a metric have null there and are counted. Equal input gives equal files.
    --abilities measures nothing: it writes a suite of questions, made from PAIRS pairs, to the file --out.
    """
    check_exists(*datasets)
    from qa_pipeline.evaluation.abilities import write_suite
    from qa_pipeline.evaluation.answered_questions import read_rag_rows
    from qa_pipeline.evaluation.labelled_files import draw
    from qa_pipeline.evaluation.metrics.registry import chosen_metrics
    from qa_pipeline.evaluation.report import About, dataset_name
    from qa_pipeline.evaluation.report_folder import dataset_sha256, new_report, write_report
    from qa_pipeline.evaluation.running import categorical_correctness, count_unsplit, evaluate_into

    if abilities is not None:
        write_bytes(out, write_suite(datasets[0], abilities))
        print_line(f"Suite: {out}; answer its rows, then name the file with the answers as DATASET")
        return
    metrics = chosen_metrics(metric or [])
    options = model_options(max_calls=max_calls, max_cost=max_cost)
    settings = settings_of(data, change, options, scorer)
    means = means_of(settings, scorer, undecided)
    read = read_rag_rows(datasets)
    drawn = draw(read.items.select("dataset", "id", group_id="group"), limit)
    rows = read.items.join(drawn, on="id", how="semi", maintain_order="left")
    with new_report(out, replace=replace) as folder, watching(quiet=as_json) as watch:
        counts = evaluate_into(folder, rows, metrics, means, watch("evaluation", "rows"))
        about = About(
            dataset_name(rows, name),
            dataset_sha256(read.items),
            read.left_out,
            _settings_shown(means),
            categorical_correctness(rows, metrics, means) if laws else None,
        )
        about.settings.update(limit=limit, unsplit=count_unsplit(rows, means) or None)
        document = write_report(folder, metrics, counts, about)
    _show(document, out, every=bool(metric), as_json=as_json)


def settings_of(data: Path, change: list[str] | None, options: dict[str, Any], scorer: Scorer) -> Settings:
    """Load settings; without a model, rules split answers into claims."""
    from qa_pipeline.evaluation.running import cut_by

    settings = settings_at(data, change, options)
    is_split_by_model = settings.verification.split_claims == "model"
    return settings if scorer == "model" or is_split_by_model else cut_by(settings)


def means_of(settings: Settings, scorer: Scorer, undecided: Undecided) -> "Means":
    """Return the models and settings that decide about answers; refuse a missing model."""
    from qa_pipeline.evaluation.metrics.means import Means
    from qa_pipeline.pipeline.resources import Resources

    resources, split_by = Resources(settings), settings.verification.split_claims
    asks_models = scorer == "model"
    verifier = resources.reviewer("verifier") if asks_models or split_by != "rules" else None
    judge = resources.reviewer("judge") if asks_models else None
    if asks_models and verifier is None and judge is None:
        raise SettingsError(
            "--scorer model needs a model: set llm.provider, llm.verifier.provider or llm.judge.provider"
        )
    if verifier is None and split_by == "model":
        raise SettingsError("verification.split_claims=model needs a model: set llm.verifier.provider")
    splitter = None if split_by == "rules" else verifier
    return Means(resources, verifier if asks_models else None, judge, undecided, splitter)


def _settings_shown(means: "Means") -> dict[str, Any]:
    """Return the settings and models that a report names."""
    settings = means.resources.settings
    models = {"verifier": means.verifier, "judge": means.judge, "splitter": means.splitter}
    return {
        "thresholds_id": settings.verification.thresholds_id,
        "embedding": _without_folder(settings.embedding.model),
        "entailment": _without_folder(settings.verification.entailment.model),
        "undecided": means.undecided,
        "split_claims": "rules" if means.splitter is None else settings.verification.split_claims,
        **{role: None if model is None else model.name for role, model in models.items()},
    }


def _without_folder(model: str | None) -> str | None:
    """Return the name of a model, without the path of a local folder."""
    return Path(model).name if model is not None and Path(model).is_dir() else model


def _show(document: dict[str, Any], out: Path, *, every: bool, as_json: bool) -> None:
    """Print a report: all metrics, or the metrics of the summary."""
    from qa_pipeline.evaluation.metrics.registry import SUMMARY
    from qa_pipeline.evaluation.report import reasons, what_to_know, with_bounds
    from qa_pipeline.evaluation.summaries import describe_deciders

    metrics = {name: metric for name, metric in document["metrics"].items() if every or name in SUMMARY}
    rows = [
        {
            "metric": name,
            "mean (95 %)": with_bounds(metric),
            **{column: metric[column] for column in ("known", "unknown")},
            "better": metric["direction"],
            "decided by": describe_deciders(metric["decided_by"]) if metric["known"] else "–",
        }
        for name, metric in metrics.items()
    ]
    screen = {
        f"{document['dataset']}, {document['total_queries']:,} rows": rows,
        "of all rows together": [f"{name} {value:.3f}" for name, value in document["of_all_rows"].items()],
        "unknown": [f"{', '.join(names)}: {why}" for why, names in reasons(metrics)],
        "note": what_to_know(document),
        "report": str(out / "report.html"),
    }
    show({"report": str(out), **document}, as_json=as_json, screen=screen, every=True)
