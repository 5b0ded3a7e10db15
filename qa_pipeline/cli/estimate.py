"""`qa-pipeline estimate`: what a run would ask and cost."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import (
    Change,
    Json,
    Model,
    OnlyBatch,
    Out,
    choose_batches,
    named_settings,
    overrides,
    uncapped_settings,
)
from qa_pipeline.cli.exit_codes import errors_as_exit_codes


def estimate(
    corpus: Annotated[str, typer.Argument(help="Folder or address of a corpus, as for run.")],
    out: Out = Path("data"),
    batch: OnlyBatch = None,
    provider: Annotated[str | None, typer.Option(help="gemini, openai, or another as for run.")] = None,
    model: Model = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Estimate requests and cost of a run without sending any.

    Questions that the output folder has are not counted again. Nothing is written.
    """
    import time

    from qa_pipeline.cli.console import show
    from qa_pipeline.documents.corpus.corpora import single_batch
    from qa_pipeline.llm.budget import CURRENCY
    from qa_pipeline.settings.tree import check_model

    with errors_as_exit_codes():
        location, single = single_batch(corpus) or (corpus, None)
        settings = uncapped_settings(overrides(location, out, change, named_settings(provider, model)))
        check_model(settings, model)
        batches, _ = choose_batches(settings, single, batch)
        from qa_pipeline.pipeline.costs import estimate_run
        from qa_pipeline.pipeline.resources import Resources

        made = estimate_run(Resources(settings), batches, now=time.time())
        costs = [None if stage.cost is None else float(stage.cost) for stage in made.stages]
        stages = [{**asdict(stage), "cost": cost} for stage, cost in zip(made.stages, costs, strict=True)]
        whole = None if made.cost is None else float(made.cost)
        document = {
            "stages": stages,
            "currency": CURRENCY,
            "calls": sum(stage.calls for stage in made.stages),
            "tokens": sum(stage.input_tokens + stage.output_tokens for stage in made.stages),
            "cost": whole,
        }
        cost = "not known" if whole is None else f"{whole:.4f} {CURRENCY}"
        screen = {name: document[name] for name in ("stages", "calls", "tokens")} | {"cost of all": cost}
        if not stages:
            screen = {"estimate": "llm.provider names no hosted model: nothing is asked that costs money"}
        show(document, as_json=as_json, screen=screen, every=True)
