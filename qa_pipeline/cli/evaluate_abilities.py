"""`qa-pipeline eval abilities`: what a model that answers from passages is able to, by a generated suite."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import (
    Change,
    Json,
    MaxCalls,
    MaxCost,
    Model,
    OnlyBatch,
    Out,
    Provider,
    named_settings,
    out_folder,
)
from qa_pipeline.cli.exit_codes import FAILED, errors_as_exit_codes

if TYPE_CHECKING:
    import polars as pl

    from qa_pipeline.evaluation.abilities.sources import Source
    from qa_pipeline.pipeline.resources import Resources

abilities = typer.Typer(
    name="abilities",
    no_args_is_help=True,
    help="Noise robustness, negative rejection, information integration and counterfactual robustness "
    "(Chen et al. 2023, arXiv:2309.01431) of any model, over a batch or release.",
)


@abilities.command()
def build(
    place: Annotated[
        Path,
        typer.Argument(
            help="Output folder of runs, or folder of one release.", parser=out_folder, metavar="FOLDER"
        ),
    ],
    to: Annotated[Path, typer.Option(help="File of the suite, .jsonl.")],
    batch: OnlyBatch = None,
    pairs: Annotated[
        int, typer.Option(min=1, help="Pairs of each ability that are drawn from a batch, or a release.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Of everything drawn.")] = 0,
    as_json: Json = False,
) -> None:
    """Generate the suite from accepted pairs; no model is asked.

    Each pair gives a row for each of five noise ratios, one without an answer, one joined with another, and
    two with a planted document that denies its proof, where its words allow that. The rest is counted.
    """
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.abilities.suites import build_suite
    from qa_pipeline.storage.files import write_bytes

    with errors_as_exit_codes():
        suite = build_suite(_sources(place, batch, seed), pairs)
        counts = suite.counts()
        if not suite.rows:
            reasons = "; ".join(f"{count['ability']}: {count['what']}" for count in counts)
            raise InputError(f"{place} gives no row of a suite ({reasons or 'it has no accepted pair'})")
        write_bytes(to, suite.lines())
        if as_json:
            print_document({"suite": str(to), "rows": len(suite.rows), "counts": counts})
        else:
            columns = ["ability", "what", "rows", "not_built"]
            show_table("Rows, and pairs that gave none", columns, [list(count.values()) for count in counts])
            print_line(f"{len(suite.rows)} rows: {to}")


def _sources(place: Path, batches: list[str] | None, seed: int) -> "list[Source]":
    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.abilities.sources import batch_source, release_source
    from qa_pipeline.storage.layout import Layout
    from qa_pipeline.storage.tables import TRAINING_EXAMPLES

    if (place / "manifest.json").is_file():
        if batches:
            raise InputError("--batch chooses among the batches of an output folder, and this is a release")
        return [release_source(place, seed)]
    layout = Layout(place)
    batch_names = [path.stem for path in layout.tables(TRAINING_EXAMPLES.name)]
    unknown = sorted({*(batches or [])} - {*batch_names})
    if not batch_names or unknown:
        problem = f"no batch {unknown[0]!r} with" if unknown else "no"
        raise InputError(f"{place} has {problem} training examples; run qa-pipeline run CORPUS --out {place}")
    return [batch_source(layout, name, seed) for name in batches or batch_names]


@abilities.command()
def run(
    suite: Annotated[Path, typer.Argument(help="File that build wrote.")],
    to: Annotated[Path, typer.Option(help="File of the figures and of what became of each row, .json.")],
    answer: Annotated[
        str,
        typer.Option(
            help="model: that of the settings. function: evaluation.answer_function. given: rows that have "
            "answers already."
        ),
    ] = "model",
    verify: Annotated[
        bool, typer.Option(help="Ask the verifying model where the rules cannot say what an answer states.")
    ] = False,
    provider: Provider = None,
    model: Model = None,
    change: Change = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    out: Out = Path("data"),
    as_json: Json = False,
) -> None:
    """Have a model answer a suite, and measure its abilities.

    Rows with an answer are not asked again, so a file with answers of any system can be measured. What gave
    no answer has a reason, and is in no share. Replies are stored and never paid for twice.
    """
    import json

    from qa_pipeline.cli.console import print_document
    from qa_pipeline.evaluation.abilities.outcomes import read_suite
    from qa_pipeline.evaluation.reports.summaries import rounded
    from qa_pipeline.evaluation.running import evaluation_settings
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import check_model, load_settings
    from qa_pipeline.storage.files import write_bytes

    with errors_as_exit_codes(resumable=True):
        named_values = named_settings(provider, model, max_calls, max_cost)
        settings = load_settings(out=out, **read_assignments(change or [], named_values))
        check_model(settings, model)
        resources = Resources(evaluation_settings(settings))
        read = read_suite(suite, settings.pairs_file)
        document = _measured(suite, read.items, resources, answer, verify=verify)
        document = rounded({**document, "left_out": read.left_out.to_dicts()})
        write_bytes(to, json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n")
        if as_json:
            print_document(document)
        else:
            _show(document, to)
    if document["answered"] == 0:
        raise typer.Exit(FAILED)


def _measured(
    suite: Path, rows: "pl.DataFrame", resources: "Resources", how: str, *, verify: bool
) -> dict[str, Any]:
    import polars as pl

    from qa_pipeline.cli.console import watching
    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.abilities.outcomes import ability_figures, judge_answers
    from qa_pipeline.evaluation.answering import FAILURES, Answered, answer_rows, chosen_answerer
    from qa_pipeline.storage.hashes import hash_file

    if how.startswith("corpus"):
        raise InputError("a suite has contexts of its own; answers come from model, function or given")
    if how == "given":
        answered = Answered(rows, FAILURES.to_frame())
    else:
        with watching(quiet=False) as watch:
            answered = answer_rows(rows, chosen_answerer(how, resources), watch("abilities", "answers"))
    verifier = resources.reviewer("verifier") if verify else None
    outcomes = judge_answers(answered.rows, resources, verifier)
    outcome_rows = outcomes.join(
        answered.rows.select("id", "query", "answer", "seconds"), on="id", how="left"
    )
    outcome_rows = outcome_rows.join(answered.failures, on="id", how="left", maintain_order="left")
    by = outcomes.select("ability", pl.col("decided_by")).explode("decided_by").drop_nulls()
    return {
        "format": 1,
        "suite": suite.name,
        "suite_sha256": hash_file(suite),
        "answered_by": _name(how, resources),
        "verified_by": verifier.name if verifier else "rules",
        "rows_of_suite": rows.height,
        "answered": int(outcomes["answered"].sum()),
        "errors": dict(answered.failures["reason"].value_counts(sort=True).iter_rows()),
        "decided_by": by.group_by("ability", "decided_by").len("count").sort(pl.all()).to_dicts(),
        "figures": ability_figures(outcomes),
        "rows": outcome_rows.to_dicts(),
    }


def _name(how: str, resources: "Resources") -> str:
    if how == "model" and resources.generator is not None:
        return resources.generator.name
    return f"{how} {resources.settings.evaluation.answer_function}" if how == "function" else how


def _show(document: dict[str, Any], to: Path) -> None:
    """Print a table for each language of several, and one for all; and counts of errors."""
    from qa_pipeline.cli.console import print_line, show_table
    from qa_pipeline.cli.evaluation_tables import with_interval

    names = ("ability", "difficulty", "figure", "rows", "groups", "errors")
    languages = list(dict.fromkeys(figure["language"] for figure in document["figures"]))
    for language in languages[1:] if len(languages) == 2 else languages:
        figures = [figure for figure in document["figures"] if figure["language"] == language]
        rows = [[*(figure[name] for name in names), with_interval(figure)] for figure in figures]
        show_table(f"Abilities, language {language} (95 % intervals)", [*names, "value"], rows)
    for reason, count in document["errors"].items():
        print_line(f"{count} rows without an answer: {reason}", "yellow")
    print_line(f"answered by {document['answered_by']}; figures and rows: {to}")
