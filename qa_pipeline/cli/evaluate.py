"""`qa-pipeline eval`: its commands, each from the module of its subject."""

import typer

from qa_pipeline.cli.arguments import Commands
from qa_pipeline.cli.evaluate_dataset import run
from qa_pipeline.cli.evaluate_raters import raters
from qa_pipeline.cli.evaluate_runs import compare, gate
from qa_pipeline.cli.evaluate_validation import validation

evaluation = typer.Typer(
    name="eval",
    cls=Commands,
    no_args_is_help=True,
    help="Measure answered questions: run, compare, gate, raters, validation.",
)
evaluation.command()(run)
evaluation.command()(compare)
evaluation.command()(gate)
evaluation.command()(raters)
evaluation.command()(validation)
