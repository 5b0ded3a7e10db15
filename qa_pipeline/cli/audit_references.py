"""`qa-pipeline audit-references`: what reference validation decides of the passages of a few documents."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Change, Json, MaxCalls, Model, OnlyBatch, Out, Provider, named_settings
from qa_pipeline.cli.exit_codes import errors_as_exit_codes

if TYPE_CHECKING:
    from qa_pipeline.pipeline.resources import Resources

COLUMNS = ("document", "question", "place", "section", "similarity", "decision", "used")


def audit_references(
    out: Out = Path("data"),
    batch: OnlyBatch = None,
    documents: Annotated[int, typer.Option(min=1, help="Documents shown of each batch.")] = 5,
    strategy: Annotated[str, typer.Option(help="embedding, or llm: the verifying model.")] = "embedding",
    provider: Provider = None,
    model: Model = None,
    max_calls: MaxCalls = None,
    change: Change = None,
    as_json: Json = False,
) -> None:
    """Show which passages reference validation would accept, for a few documents; nothing is changed.

    The documents are the first ones by id that have questions, so that they are the same every time.
    """
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.errors import InputError
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.base import read_assignments
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        layout = Layout(out)
        names = [path.stem for path in layout.tables("questions") if not batch or path.stem in batch]
        if not names:
            raise InputError(f"{out} holds no such questions; run qa-pipeline run CORPUS --out {out} first")
        named_values = {
            **named_settings(provider, model, max_calls),
            "generation.enable_reference_validation": True,
            "generation.validation_strategy": strategy,
        }
        resources = Resources(load_settings(**{**read_assignments(change or [], named_values), "out": out}))
        rows = [row for name in names for row in _decided(resources, name, documents)]
        if as_json:
            print_document({"strategy": strategy, "references": rows})
            return
        printed = [{**row, "used": "yes" if row["used"] else "no"} for row in rows]
        cells = [["–" if row[column] is None else row[column] for column in COLUMNS] for row in printed]
        show_table("References", COLUMNS, cells)
        print_line(f"{sum(row['used'] for row in rows)} of {len(rows)} passages would be used")


def _decided(resources: "Resources", batch: str, documents: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each passage of each kept question about the first documents of a batch."""
    import polars as pl

    from qa_pipeline.generation.reference_validation import accepted_places
    from qa_pipeline.pipeline.stages import decide_references
    from qa_pipeline.records import passages_by_id
    from qa_pipeline.storage.parquet import read_table
    from qa_pipeline.storage.rows import KeptQuestionRow
    from qa_pipeline.storage.table_schema import typed_rows
    from qa_pipeline.storage.tables import CHUNKS, DOCUMENTS, QUESTIONS

    tables = {
        table.name: read_table(resources.layout.table(table.name, batch), table)
        for table in (CHUNKS, DOCUMENTS, QUESTIONS)
    }
    owners = tables["chunks"].select("document_id", target="chunk_id")
    replies = (
        tables["questions"]
        .filter(pl.col("status") == "kept")
        .with_columns(target=pl.col("target_chunk_ids").list.first())
        .join(owners, on="target", maintain_order="left")
        .join(tables["documents"].select("document_id", "path"), on="document_id", maintain_order="left")
    )
    document_ids = replies["document_id"].unique().sort().head(documents)
    kept = replies.filter(pl.col("document_id").is_in(document_ids.implode()))
    rows = list(typed_rows(kept, KeptQuestionRow))
    passages = passages_by_id(tables["chunks"])
    decided = decide_references(resources, rows, passages)
    for path, row, decisions in zip(kept["path"], rows, decided, strict=True):
        used = accepted_places(decisions, resources.settings.generation)
        for place, decision in enumerate(decisions):
            passage = passages[row["passage_ids"][place]]
            yield {
                "document": path,
                "question": row["question"],
                "place": place + 1,
                "section": " > ".join((passage.title, *passage.section_path)),
                "score": row["passage_scores"] and row["passage_scores"][place],
                "similarity": None if decision.similarity is None else round(decision.similarity, 2),
                "decision": str(decision.error or decision.decision),
                "used": place in used,
            }
