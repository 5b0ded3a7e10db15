"""Arguments that the commands of `qa-pipeline eval` share, and the settings they become.

What belongs here: names, limits and help of shared options. What does not: the commands.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from qa_pipeline.settings.tree import Settings

Data = Annotated[
    list[Path], typer.Option(help="File or folder of labelled items, .parquet or .jsonl; repeatable.")
]
Out = Annotated[Path, typer.Option(help="Folder whose caches of vectors and replies are used.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Items of each data set, drawn by group; the same ones each time.")
]
Resampled = Annotated[int, typer.Option(min=0, max=100_000, help="Resamples of the 95 % intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the resamples.")]
MaxCalls = Annotated[int | None, typer.Option(help="Cap on model calls; a paid provider needs some cap.")]
MaxCost = Annotated[float | None, typer.Option(help="Cap on what calls cost, in the currency of the prices.")]


def settings_of(out: Path, max_calls: int | None, max_cost: float | None) -> "Settings":
    """The settings of all sources, with the output folder and caps of the command line.

    Raises:
        SettingsError: they cannot be used.
    """
    from qa_pipeline.settings.tree import load_settings

    caps = {"max_calls": max_calls, "max_cost": max_cost}
    budget = {name: cap for name, cap in caps.items() if cap is not None}
    llm: dict[str, Any] = {"budget": budget} if budget else {}
    return load_settings(out=out, llm=llm)
