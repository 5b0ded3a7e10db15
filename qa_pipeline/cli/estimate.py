"""`qa-pipeline estimate`: what a run would ask and cost."""

from dataclasses import asdict, astuple
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qa_pipeline.cli.arguments import (
    Change,
    Json,
    Model,
    OnlyBatch,
    Out,
    batches_at,
    chosen_batches,
    located,
    named_settings,
    overrides,
    uncapped_settings,
)
from qa_pipeline.cli.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:
    from qa_pipeline.pipeline.estimate import Estimate

_COLUMNS = ("batch", "stage", "calls", "tokens in", "tokens out", "cost")


def estimate(
    corpus: Annotated[str, typer.Argument(help="Folder or address of a corpus, as for run.")],
    out: Out = Path("data"),
    batch: OnlyBatch = None,
    provider: Annotated[str | None, typer.Option(help="gemini, openai, or another as for run.")] = None,
    model: Model = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Estimate the requests and cost of a run, by batch and stage, without sending any request.

    Documents are read and cut as in a run. Questions that the output folder has are not counted again.
    Nothing is written.
    """
    import time

    from qa_pipeline.pipeline.estimate import estimate_run
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.tree import check_model

    with errors_as_exit_codes():
        location, single = located(corpus)
        settings = uncapped_settings(overrides(location, out, change, named_settings(provider, model)))
        check_model(settings, model)
        batches = chosen_batches(batch, batches_at(settings, single), settings.corpus)
        made = estimate_run(Resources(settings), batches, now=time.time())
        if as_json:
            _print_json(made)
        else:
            _print(made)


def _print(made: "Estimate") -> None:
    from qa_pipeline.cli.console import print_line, show_table
    from qa_pipeline.llm.budget.prices import CURRENCY

    def row(batch: str, stage: str, calls: int, read: int, written: int, cost: Decimal | None) -> list[str]:
        money = "not known" if cost is None else f"{cost:.4f} {CURRENCY}"
        return [batch, stage, f"{calls:,}", f"{read:,}", f"{written:,}", money]

    if not made.stages:
        print_line("llm.provider names no hosted model: nothing is asked that costs money.")
        return
    read, written = (sum(map(attrgetter(name), made.stages)) for name in ("input_tokens", "output_tokens"))
    total = row("all", "", sum(stage.calls for stage in made.stages), read, written, made.cost)
    show_table("Estimate", _COLUMNS, [*(row(*astuple(stage)) for stage in made.stages), total])
    print_line("Counts follow the plan of questions; tokens and shares are means, on the high side.")
    if made.cost is None:
        print_line("The price of a model is not known.")


def _print_json(made: "Estimate") -> None:
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.llm.budget.prices import CURRENCY

    def number(cost: Decimal | None) -> float | None:
        return None if cost is None else float(cost)

    document = {
        "stages": [{**asdict(stage), "cost": number(stage.cost)} for stage in made.stages],
        "currency": CURRENCY,
        "calls": sum(stage.calls for stage in made.stages),
        "tokens": sum(stage.input_tokens + stage.output_tokens for stage in made.stages),
        "cost": number(made.cost),
    }
    print_document(document)
