"""`qa-pipeline triples`: a knowledge graph of the chunks of a run, each triple with its proof."""

from pathlib import Path
from typing import Annotated

import typer

from qa_pipeline.cli.arguments import (
    Change,
    MaxCalls,
    MaxCost,
    Model,
    OnlyBatch,
    Out,
    Provider,
    named_settings,
)
from qa_pipeline.cli.exit_codes import errors_as_exit_codes


def triples(
    to: Annotated[Path, typer.Option(help="File for the triples, .jsonl.")],
    out: Out = Path("data"),
    batch: OnlyBatch = None,
    provider: Provider = None,
    model: Model = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    change: Change = None,
) -> None:
    """Have a model read subject, predicate and object from each chunk, and keep what its words prove.

    An accepted triple has the quote and its place in the document; subject and object stand in it. Others
    stay in the file with a reason. Nothing of the pipeline rests on them. Replies are stored and paid once.
    """
    import polars as pl

    from qa_pipeline.cli.console import print_line, show_table
    from qa_pipeline.errors import InputError, SettingsError
    from qa_pipeline.generation.triples import write_triples
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.files import write_bytes
    from qa_pipeline.storage.layout import Layout
    from qa_pipeline.storage.parquet import read_table
    from qa_pipeline.storage.tables import CHUNKS
    from qa_pipeline.text.rendering import plural

    with errors_as_exit_codes():
        paths = [path for path in Layout(out).tables(CHUNKS.name) if not batch or path.stem in batch]
        if not paths:
            raise InputError(f"{out} holds no such chunks; run qa-pipeline run CORPUS --out {out} first")
        named_values = named_settings(provider, model, max_calls, max_cost)
        resources = Resources(load_settings(**{**read_assignments(change or [], named_values), "out": out}))
        reader = resources.reviewer("verifier")
        if reader is None:
            raise SettingsError(
                "triples need a model, and the offline rules are none; name one with --provider"
            )
        chunks = pl.concat([read_table(path, CHUNKS) for path in paths])
        rows = write_triples(chunks, reader, resources.settings.llm)
        write_bytes(to, rows.write_ndjson().encode())
        counts = rows.group_by("status", "reason").len().sort("status", "reason")
        show_table("Triples", ["status", "reason", "count"], counts.rows())
        print_line(f"{to}: {plural(rows.height, 'row')} of {plural(chunks.height, 'chunk')}")
