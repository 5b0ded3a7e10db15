"""Is a batch up to date? Asked before a run is started at night or from the command line.

The facts are those Dagster records with every materialization, plus the tables themselves, which somebody may
have deleted.
"""

from collections.abc import Iterable, Sequence

import dagster as dg
import polars as pl
import polars.selectors as cs

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.defs.base import CODE_VERSION, DATA_VERSION, INPUT_VERSION, as_input, latest_tags
from qa_pipeline.defs.corpus import CORPUS
from qa_pipeline.errors import TableError, TransientModelError
from qa_pipeline.stages import STAGES
from qa_pipeline.storage import Layout, read_table
from qa_pipeline.tables import DECISIONS, STORED

Steps = Sequence[dg.AssetSpec]


def steps_of(assets: Sequence[dg.AssetsDefinition]) -> Steps:
    """The steps of the pipeline, each after its inputs when the assets come in that order."""
    return [spec for asset in assets for spec in asset.specs]


def work_left(
    instance: dg.DagsterInstance,
    layout: Layout,
    steps: Steps,
    batch: str,
    *,
    compare_code: bool,
) -> str | None:
    """Say why a batch needs a run; None when a run would change nothing.

    Args:
        instance: where runs are recorded; the batch's present content must be reported to it.
        layout: where the tables lie.
        steps: all steps, each after its inputs.
        batch: the partition.
        compare_code: whether other code, prompts or settings count too.
    """
    return (
        _outdated(instance, steps, batch, compare_code=compare_code)
        or _lost_file(layout, batch)
        or _new_decisions(layout, batch)
        or _unanswered(layout, batch)
    )


def work_without_new_code(
    instance: dg.DagsterInstance, layout: Layout, steps: Steps, batches: Iterable[str]
) -> dict[str, str]:
    """The batches with work left, each with the reason; other code or settings are none.

    Over a whole corpus that is a decision, taken by hand.
    """
    reasons = {batch: work_left(instance, layout, steps, batch, compare_code=False) for batch in batches}
    return {batch: reason for batch, reason in reasons.items() if reason}


def _outdated(instance: dg.DagsterInstance, steps: Steps, batch: str, *, compare_code: bool) -> str | None:
    versions = {CORPUS: latest_tags(instance, CORPUS, batch).get(DATA_VERSION)}
    for step in steps:
        name = step.key.to_user_string()
        tags = latest_tags(instance, step.key, batch)
        versions[step.key] = tags.get(DATA_VERSION)
        if versions[step.key] is None:
            return f"{name} is missing"
        for made_from in (dep.asset_key for dep in step.deps):
            if tags.get(INPUT_VERSION + made_from.to_user_string()) != as_input(versions[made_from]):
                return f"{made_from.to_user_string()} changed since {name} was made"
        if compare_code and tags.get(CODE_VERSION) != step.code_version:
            return f"{name} was made with other settings, prompts or code"
    return None


def _lost_file(layout: Layout, batch: str) -> str | None:
    files = [*(layout.table(name, batch) for name in STORED), layout.index(batch)]
    return next((f"{file} is gone" for file in files if not file.is_file()), None)


def _new_decisions(layout: Layout, batch: str) -> str | None:
    """What people decided since; the file is compared itself, for nobody reports it to the instance."""
    try:
        known = read_table(layout.table(DECISIONS.name, batch), DECISIONS)
        recorded = read_decisions(layout.decisions(batch))
    except TableError as error:
        return str(error)
    new = recorded.join(known, on="decision_id", how="anti").height
    return f"decisions recorded since its last run: {new}" if new else None


def _unanswered(layout: Layout, batch: str) -> str | None:
    """Rows that failed because the model could not be reached are worth another run, other failures not.

    Every stage that asks a model counts, whichever column of its table tells the reason.
    """
    for table in (STORED[stage.name] for stage in STAGES.values() if stage.asks_a_model):
        try:
            rows = read_table(layout.table(table.name, batch), table)
        except TableError as error:
            return str(error)
        unreached = cs.matches("^(.*_)?reason$") == TransientModelError.reason
        count = rows.filter(pl.any_horizontal(unreached)).height
        if count:
            return f"{count} rows of {table.name} wait for a model that could not be reached"
    return None
