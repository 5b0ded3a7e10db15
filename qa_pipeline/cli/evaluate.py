"""The commands `eval`: reports of answered questions, comparisons, gates, and measures against labels."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from qa_pipeline import errors
from qa_pipeline.cli import console, exit_codes, options
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.files import write_bytes

if TYPE_CHECKING:
    from qa_pipeline.evaluation.metrics.base import Setup

Scorer = Literal["local", "model"]
Undecided = Literal["similarity", "unknown"]
_SPLIT_BY_RULES = {"verification.split_claims": "rules"}
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
    laws: Annotated[bool, typer.Option("--laws", help="Check categorical correctness too.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier report.")] = False,
    data: Data = Path("data"),
    abilities: Annotated[
        int | None,
        typer.Option(min=1, metavar="PAIRS", help="Write a suite from the output folder DATASET to --out."),
    ] = None,
    change: options.Change = None,
    max_calls: options.MaxCalls = None,
    max_cost: options.MaxCost = None,
    as_json: options.Json = False,
) -> None:
    """Measure faithfulness, citations, retrieval and answers of answered questions.

    Rows that lack the fields of a metric have null there and are counted. Equal input gives equal files.
    --abilities measures nothing: it writes a suite of questions, made from PAIRS pairs, to the file --out.
    """
    options.check_exists(*datasets)
    from qa_pipeline.evaluation import report, report_folder, running
    from qa_pipeline.evaluation.abilities import suite_as_json_lines
    from qa_pipeline.evaluation.answered_questions import read_rag_rows
    from qa_pipeline.evaluation.labelled_files import draw
    from qa_pipeline.evaluation.metrics.registry import chosen_metrics

    if abilities is not None:  # then DATASET is an output folder of `qa-pipeline run`, and --out a file
        write_bytes(out, suite_as_json_lines(datasets[0], abilities))
        console.print_line(f"Suite: {out}; answer its rows, then name the file with the answers as DATASET")
        return
    metrics = chosen_metrics(metric or [])
    overrides = options.model_options(max_calls=max_calls, max_cost=max_cost)
    settings = _settings_of(data, change, overrides, scorer)
    setup = _setup_of(settings, scorer, undecided="similarity")
    read = read_rag_rows(datasets)
    drawn = draw(read.items.select("dataset", "id", group_id="group"), limit)
    rows = read.items.join(drawn, on="id", how="semi", maintain_order="left")
    with report_folder.new_report(out, replace=replace) as folder, console.watching(quiet=as_json) as watch:
        counts = running.evaluate_into(folder, rows, metrics, setup, watch("evaluation", "rows"))
        law_shares = running.reproducibility_shares(rows, metrics, setup) if laws else None
        unsplit = running.count_unsplit(rows, setup) or None
        about = report.About(
            dataset=report.dataset_name(rows, name),
            dataset_sha256=report_folder.dataset_sha256(read.items),  # of all rows, also with --limit
            left_out=read.left_out,
            settings=_settings_shown(setup) | {"limit": limit, "unsplit": unsplit},
            laws=law_shares,
        )
        document = report_folder.write_report(folder, metrics, counts, about)
    _show(document, out, all_metrics=bool(metric), as_json=as_json)  # chosen metrics are all shown


def _settings_of(data: Path, change: list[str] | None, overrides: dict[str, Any], scorer: Scorer) -> Settings:
    """Load settings; without a model, rules split answers into claims."""
    settings = options.settings_at(data, change, overrides)
    if scorer == "model" or settings.verification.split_claims == "model":
        return settings
    return options.settings_at(data, change, overrides | _SPLIT_BY_RULES)


def _setup_of(settings: Settings, scorer: Scorer, *, undecided: Undecided) -> "Setup":
    """Return the models and settings that decide about answers; refuse a missing model.

    `undecided` says if similarity decides the statements that all steps leave open, or if they stay unknown.
    """
    from qa_pipeline.evaluation.metrics.base import Setup
    from qa_pipeline.pipeline.resources import Resources

    resources, split_by = Resources(settings), settings.verification.split_claims
    model_decides = scorer == "model"
    model_may_split = split_by != "rules"  # "model" needs a splitter, "auto" uses one if it is configured
    reviewer = resources.reviewer("verifier") if model_decides or model_may_split else None
    judge = resources.reviewer("judge") if model_decides else None
    if model_decides and reviewer is None and judge is None:
        raise errors.SettingsError(
            "--scorer model needs a model: set llm.provider, llm.verifier.provider or llm.judge.provider"
        )
    if reviewer is None and split_by == "model":
        raise errors.SettingsError("verification.split_claims=model needs a model: set llm.verifier.provider")
    verifier = reviewer if model_decides else None
    splitter = reviewer if model_may_split else None
    return Setup(resources, verifier, judge, undecided=undecided, splitter=splitter)


def _settings_shown(setup: "Setup") -> dict[str, Any]:
    """Return the settings and models that a report names."""
    settings = setup.resources.settings
    models = {"verifier": setup.verifier, "judge": setup.judge, "splitter": setup.splitter}
    return {
        "thresholds_id": settings.verification.thresholds_id,
        "embedding": _without_folder(settings.embedding.model),
        "entailment": _without_folder(settings.verification.entailment.model),
        "undecided": setup.undecided,  # "similarity" or "unknown": how undecided statements count
        "split_claims": "rules" if setup.splitter is None else settings.verification.split_claims,
        **{role: None if model is None else model.name for role, model in models.items()},
    }


def _without_folder(model: str | None) -> str | None:
    """Return the name of a model, without the path of a local folder."""
    return Path(model).name if model is not None and Path(model).is_dir() else model


def _show(document: dict[str, Any], out: Path, *, all_metrics: bool, as_json: bool) -> None:
    """Print a report: all metrics, or the metrics of the summary."""
    from qa_pipeline.evaluation import report
    from qa_pipeline.evaluation.metrics.registry import SUMMARY
    from qa_pipeline.evaluation.summaries import describe_deciders

    metrics = {name: metric for name, metric in document["metrics"].items() if all_metrics or name in SUMMARY}
    rows = [
        {
            "metric": name,
            "mean (95 %)": report.with_bounds(metric),
            **{column: metric[column] for column in ("known", "unknown")},
            "better": metric["direction"],
            "decided by": describe_deciders(metric["decided_by"]) if metric["known"] else "–",
        }
        for name, metric in metrics.items()
    ]
    screen = {
        f"{document['dataset']}, {document['total_queries']:,} rows": rows,
        "of all rows together": [f"{name} {value:.3f}" for name, value in document["of_all_rows"].items()],
        "unknown": [f"{', '.join(names)}: {why}" for why, names in report.reasons(metrics)],
        "note": report.cautions(document),
        "report": str(out / "report.html"),
    }
    console.show({"report": str(out), **document}, as_json=as_json, screen=screen, all_rows=True)


def compare(
    baseline: Annotated[Path, typer.Argument(help="Report folder of the earlier run.")],
    current: Annotated[Path, typer.Argument(help="Report folder of the new run.")],
    unpaired: Annotated[bool, typer.Option(help="Compare runs over different rows.")] = False,
    decide: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Recommend deployment by this metric: p < 0.05 and d > 0.1."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare two evaluations row by row: differences, intervals, tests and effect sizes.

    Intervals and tests treat rows of a document as dependent. Metrics of different versions are not
    compared. Different data sets need --unpaired.
    """
    options.check_exists(baseline, current)
    from qa_pipeline.evaluation import comparison, report_folder, summaries

    reports = report_folder.read_report(baseline), report_folder.read_report(current)
    compare_reports = comparison.compare_unpaired if unpaired else comparison.compare_paired
    document = compare_reports(*reports)
    if decide is not None:
        if decide not in document["metrics"]:
            raise errors.InputError(
                f"--decide {decide}: this metric was not compared; "
                f"choose from {', '.join(document['metrics'])}"
            )
        decision = comparison.ab_decision(document["metrics"][decide])
        document["decision"] = {"metric": decide, **decision}
    screen = comparison.comparison_screen(document)
    console.show(summaries.rounded(document), as_json=as_json, screen=screen, all_rows=True)


def gate(
    current: Annotated[Path, typer.Option(help="Report folder to check.")],
    baseline: Annotated[Path | None, typer.Option(help="Report folder of the earlier run.")] = None,
    threshold: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Worst allowed mean; repeatable.")
    ] = None,
    golden: Annotated[Path | None, typer.Option(help="Golden set: rows with their own criteria.")] = None,
    accept_likeness: Annotated[
        bool, typer.Option("--accept-likeness", help="Accept likeness alone on critical checks.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Fail if an evaluation is worse than an earlier one, misses a threshold or fails a golden row.

    A loss must be significant (95 %, paired, by document). Exit codes: 0 passed; 1 failed; 2 undecided,
    because likeness alone decided a critical check.
    """
    options.check_exists(current, baseline, golden)
    from qa_pipeline.evaluation import gate as gates
    from qa_pipeline.evaluation import report_folder, summaries

    limits = gates.Limits(thresholds=_thresholds(threshold or []), accept_likeness=accept_likeness)
    earlier = report_folder.read_report(baseline) if baseline else None
    golden_rows = gates.read_golden(golden) if golden else None
    document = gates.gate(report_folder.read_report(current), earlier, limits, golden_rows)
    screen = gates.gate_screen(document)
    console.show(summaries.rounded(document), as_json=as_json, screen=screen, all_rows=True)
    codes = {"passed": exit_codes.OK, "failed": exit_codes.FAILED}
    raise typer.Exit(codes.get(document["outcome"], exit_codes.BAD_INPUT))  # 2: undecided


def _thresholds(texts: list[str]) -> dict[str, float]:
    """Return the bound of each metric, such as {"faithfulness": 0.85}."""
    thresholds: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            bound = float(value)
        except ValueError:
            bound = math.nan
        if not name or not math.isfinite(bound):
            raise errors.InputError(f"--threshold {text} should be NAME=NUMBER, such as faithfulness=0.85")
        thresholds[name] = bound
    return thresholds


evaluation = typer.Typer(name="eval", no_args_is_help=True, help="Measure answered questions of any system.")
for command in (run, compare, gate):
    evaluation.command()(command)


@evaluation.command()
def raters(
    files: Annotated[
        list[Path], typer.Argument(help="Files or folders of ratings: .parquet, .jsonl, .json or .csv.")
    ],
    min_kappa: Annotated[
        float, typer.Option(min=-1, max=1, help="Label items only if Fleiss' kappa is above this.")
    ] = 0.6,
    out: Annotated[Path | None, typer.Option(help="JSONL file for the label of each item.")] = None,
    as_json: options.Json = False,
) -> None:
    """Measure agreement between raters (Fleiss' kappa), and label items by majority.

    A row is a rating: id of the item, annotator and rating. Items without a majority get null.
    """
    options.check_exists(*files)
    from qa_pipeline.evaluation.raters import rating_figures, read_ratings
    from qa_pipeline.evaluation.summaries import rounded

    read = read_ratings(files)
    figures, agreed = rating_figures(read.items, least_kappa=min_kappa)
    if out is not None:
        write_bytes(out, agreed.write_ndjson().encode())  # without labels if agreement is too low
    console.show({"left_out": read.left_out, **rounded(figures)}, as_json=as_json)
    if not figures["is_used"]:
        typer.echo(
            f"Not used: Fleiss' kappa is unknown or not above {min_kappa:g}; agree on the meaning of the "
            "categories and rate again, or choose another --min-kappa",
            err=True,
        )


@evaluation.command()
def validation(
    files: Annotated[
        list[Path], typer.Argument(help="Files or folders of labelled answers, as calibrate reads them.")
    ],
    limit: Annotated[int | None, typer.Option(min=1, help="Rows of each file, spread over groups.")] = None,
    scorer: Annotated[
        Scorer, typer.Option(help="local: rules and local models. model: also verifier and judge.")
    ] = "local",
    data: Data = Path("data"),
    change: options.Change = None,
    max_calls: options.MaxCalls = None,
    max_cost: options.MaxCost = None,
    as_json: options.Json = False,
) -> None:
    """Compare hallucinations and tokens with and without validation.

    An answer passes if all its claims are supported and the judge accepts it. Verification and judge are
    also compared with the labels. Tokens are those of drafting and validating each answer.
    """
    options.check_exists(*files)
    import polars as pl

    from qa_pipeline.calibration.fitting import read_all_rows
    from qa_pipeline.evaluation import labelled_files
    from qa_pipeline.evaluation.summaries import rounded
    from qa_pipeline.evaluation.validation import measure_validation

    paths = labelled_files.labelled_files(files)
    items = pl.concat([labelled_files.draw(read_all_rows(path).items, limit) for path in paths])
    overrides = options.model_options(max_calls=max_calls, max_cost=max_cost) | _SPLIT_BY_RULES
    settings = _settings_of(data, change, overrides, scorer)
    setup = _setup_of(settings, scorer, undecided="unknown")
    document = rounded(measure_validation(items, setup.resources, setup.verifier, setup.judge))
    console.show(document, as_json=as_json)
