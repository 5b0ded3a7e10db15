"""`qa-pipeline estimate`: what a run would ask and cost.

What belongs here: the command's arguments and what it prints. What does not: estimating (`estimate.py`).
"""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import batches_at, chosen_batches, located, named_settings, overrides
from qa_pipeline.cli.common import errors_as_exit_codes

if TYPE_CHECKING:
    from qa_pipeline.reporting.estimate import Estimate, StageEstimate
    from qa_pipeline.settings.tree import Settings

_NO_CAP = 10**15
_COLUMNS = ("batch", "stage", "calls", "tokens in", "tokens out", "cost")


def estimate(
    corpus: Annotated[str, typer.Argument(help="Folder or address of a corpus, as for run.")],
    out: Annotated[
        Path, typer.Option(help="Output folder; requests it holds replies for are not counted.")
    ] = Path("data"),
    batch: Annotated[list[str] | None, typer.Option(help="Only this batch; repeat for several.")] = None,
    provider: Annotated[str | None, typer.Option(help="gemini or openai.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Model of the provider, for every role that names none of its own.")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Change a setting, such as llm.workers=20; repeatable."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of tables.")
    ] = False,
) -> None:
    """Estimate the requests and cost of a run, by batch and stage, without sending any request.

    Documents are read and cut as in a run. Nothing is written.
    """
    import time

    from qa_pipeline.reporting.estimate import estimate_run
    from qa_pipeline.resources import Resources
    from qa_pipeline.settings.tree import check_model

    with errors_as_exit_codes():
        location, single = located(corpus)
        settings = _settings(overrides(location, out, change, named_settings(provider, model)))
        check_model(settings, model)
        batches = chosen_batches(batch, batches_at(settings, single), settings.corpus)
        made = estimate_run(Resources(settings), batches, now=time.time())
        if as_json:
            _print_json(made)
        else:
            _print(made)


def _settings(values: dict[str, Any]) -> "Settings":
    """The settings of a run. One that may cost money needs a cap; an estimate needs none."""
    from qa_pipeline.errors import SettingsError
    from qa_pipeline.settings.tree import load_settings

    try:
        return load_settings(**values)
    except SettingsError:
        llm = values.get("llm", {})
        budget = llm.get("budget", {}) if isinstance(llm, dict) else None
        if not isinstance(budget, dict):  # no group of settings at all, and no cap would help
            raise
        capped = load_settings(**{**values, "llm": {**llm, "budget": {**budget, "max_calls": _NO_CAP}}})
    budget = capped.llm.budget.model_copy(update={"max_calls": None})
    return capped.model_copy(update={"llm": capped.llm.model_copy(update={"budget": budget})})


def _print(made: "Estimate") -> None:
    from qa_pipeline.cli.console import print_line, show_table

    rows = [_cells(one, made.currency) for one in made.stages]
    if rows:
        total = made.total
        read = sum(one.input_tokens for one in made.stages)
        cost = _money(made.cost, made.currency)
        rows.append(["all", "", f"{total.calls:,}", f"{read:,}", f"{total.tokens - read:,}", cost])
        show_table("Estimate", _COLUMNS, rows)
    for note in made.notes:
        print_line(note)
    for cap in made.stopped_by:
        print_line(
            f"Would stop at {cap}. A stopped run keeps every reply and continues when it is started again."
        )


def _cells(one: "StageEstimate", currency: str) -> list[str]:
    numbers = (f"{count:,}" for count in (one.calls, one.input_tokens, one.output_tokens))
    return [one.batch, one.stage, *numbers, _money(one.cost, currency)]


def _money(cost: Decimal | None, currency: str) -> str:
    return "not known" if cost is None else f"{cost:.4f} {currency}"


def _print_json(made: "Estimate") -> None:
    from dataclasses import asdict

    from qa_pipeline.cli.console import print_document

    total = made.total
    stages = [{**asdict(one), "cost": _number(one.cost)} for one in made.stages]
    print_document(
        {
            "stages": stages,
            "calls": total.calls,
            "tokens": total.tokens,
            "cost": _number(made.cost),
            "currency": made.currency,
            "notes": list(made.notes),
            "stopped_by": list(made.stopped_by),
        }
    )


def _number(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)
