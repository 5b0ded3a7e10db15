"""`qa-pipeline refusals`: refusals weighed against the whole corpus."""

import sys
from pathlib import Path
from typing import Any

from qa_pipeline.cli.arguments import Json, Out
from qa_pipeline.cli.common import errors_as_exit_codes


def refusals(
    out: Out = Path("data"),
    as_json: Json = False,
) -> None:
    """Ask for each refusal whether any batch of the corpus holds an answer; nothing is changed.

    A run judges a refusal by its own batch only, so that no batch changes another's verdicts.
    """
    from qa_pipeline.cli.console import print_document
    from qa_pipeline.errors import InputError
    from qa_pipeline.evaluation.corpus_refusals import (
        index_snapshot,
        judge_over_corpus,
        stored_batches,
        stored_refusals,
    )
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.settings.tree import load_settings
    from qa_pipeline.storage.layout import Layout

    with errors_as_exit_codes():
        layout = Layout(out)
        if not layout.tables("pairs"):
            raise InputError(f"{out} holds no pairs; run qa-pipeline run CORPUS --out {out} first")
        resources = Resources(load_settings(out=out))
        judged, shards = judge_over_corpus(
            stored_refusals(layout),
            stored_batches(layout),
            resources.embedder,
            resources.settings.verification,
            model=resources.embedder.model,
        )
        document = {
            "index_snapshot": index_snapshot(shards),
            "shards": shards,
            "outcomes": dict(judged.group_by("outcome").len().sort("outcome").iter_rows()),
            "refusals": judged.to_dicts(),
        }
        if as_json:
            print_document(document)
        else:
            _show(document)


def _show(document: dict[str, Any]) -> None:
    """Print a line for each refusal, with the place of the answer where some batch has it."""
    lines = [f"{len(document['shards'])} batches searched, index snapshot {document['index_snapshot'][:12]}"]
    for row in document["refusals"]:
        where = ""
        if row["outcome"] != "correct_refusal" and row["found_path"]:
            where = f"; nearest in {row['found_batch']}/{row['found_path']}: {row['found_sentence']!r}"
        lines.append(f"{row['outcome']} {row['pair_id'][:12]} {row['question']!r}{where}")
    sys.stdout.write("\n".join(lines) + "\n")
