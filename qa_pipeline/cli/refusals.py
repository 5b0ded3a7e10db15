"""`qa-pipeline refusals`: refusals weighed against the whole corpus."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from qa_pipeline.cli.arguments import Json, Out
from qa_pipeline.cli.exit_codes import errors_as_exit_codes


def refusals(
    out: Out = Path("data"),
    nearest: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Look only into so many chunks for each refusal, by an index of all batches that is kept up "
            "to date in the cache. This finds answers, and proves no absence.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask for each refusal whether any batch of the corpus holds an answer; no table is changed.

    A run judges a refusal by its own batch only, so that no batch changes another's verdicts. Every chunk is
    read, but with --nearest.
    """
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.corpus_refusals import (
        judge_by_index,
        judge_over_corpus,
        stored_batches,
        stored_refusals,
        updated_index,
    )
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.retrieval.corpus_index import index_snapshot
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.files import locked

    with errors_as_exit_codes():
        resources = Resources(load_settings(out=out))
        layout = resources.layout
        if not layout.tables("pairs"):
            raise InputError(f"{out} holds no pairs; run qa-pipeline run CORPUS --out {out} first")
        embedder, settings = resources.embedder, resources.settings.verification
        pairs = stored_refusals(layout)
        searched: dict[str, Any]
        if nearest is None:
            judged, shards = judge_over_corpus(
                pairs, stored_batches(layout), embedder, settings, model=embedder.model
            )
            searched = {"by": "every chunk"}
        else:
            with locked(layout.corpus_index):
                index = updated_index(layout)
                judged = judge_by_index(
                    pairs, index, layout, embedder, settings, model=embedder.model, nearest=nearest
                )
            manifest = index.manifest
            shards = {batch: part.hash for batch, part in manifest.parts.items()}
            searched = {
                "by": "every vector" if manifest.lists is None else "inverted lists",
                "recall_in_trial": manifest.lists and manifest.lists.recall,
                "note": manifest.note,
            }
        document = {
            "index_snapshot": index_snapshot(shards),
            "shards": shards,
            "searched": searched,
            "outcomes": dict(judged.group_by("outcome").len().sort("outcome").iter_rows()),
            "refusals": judged.to_dicts(),
        }
        if as_json:
            print_document(document)
        else:
            _show(document)


def _show(document: dict[str, Any]) -> None:
    """Print a line for each refusal, with the place of the answer where some batch has it."""
    searched = document["searched"]
    count, snapshot = len(document["shards"]), document["index_snapshot"][:12]
    lines = [f"{count} batches searched by {searched['by']}, index snapshot {snapshot}"]
    if searched.get("note"):
        lines.append(searched["note"])
    for row in document["refusals"]:
        where = ""
        if row["outcome"] != "correct_refusal" and row["found_path"]:
            where = f"; nearest in {row['found_batch']}/{row['found_path']}: {row['found_sentence']!r}"
        lines.append(f"{row['outcome']} {row['pair_id'][:12]} {row['question']!r}{where}")
    sys.stdout.write("\n".join(lines) + "\n")
