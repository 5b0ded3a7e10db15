"""A code location of its own that has something made anew from each new release.

    RELEASES=/data/mydata/releases dagster dev -f docs/examples/downstream.py

Put it into the workspace beside qa_pipeline, so that one daemon sees both. It reacts to the content of a
release: a night that publishes nothing new asks for no run. A release that does not verify is not used.
"""

import os
from pathlib import Path

import dagster as dg
import polars as pl

import qa_pipeline

RELEASES = Path(os.environ.get("RELEASES", "data/releases"))

release = dg.AssetSpec("release", description="One published data set, made by the location qa_pipeline.")

Condition = dg.AutomationCondition

on_new_release = (
    # `eager` would ask again after every publishing, also where nothing has changed. A condition sees changes
    # from its first tick on; what was released before is used where nothing was made of any release yet.
    (
        Condition.any_deps_match(Condition.data_version_changed()).since_last_handled()
        | (Condition.missing() & ~Condition.execution_failed())
    )
    & ~Condition.any_deps_missing()
    & ~Condition.any_deps_in_progress()
    & ~Condition.in_progress()
    & Condition.all_deps_blocking_checks_passed()
)


@dg.asset(deps=[release], automation_condition=on_new_release, group_name="training", kinds={"polars"})
def training_mix() -> dg.MaterializeResult[None]:
    """How many rows, and characters of their answers, there are to train on in each language."""
    rows = qa_pipeline.load_release(RELEASES, "train")
    mix = rows.group_by("language").agg(rows=pl.len(), characters=pl.col("answer").str.len_chars().sum())
    counts = mix.sort("language").collect()
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": counts["rows"].sum(),
            "characters": counts["characters"].sum(),
            "languages": ", ".join(counts["language"]),
        }
    )


# Off until turned on under Automation, as all that starts runs should be.
when_released = dg.AutomationConditionSensorDefinition("when_released", target=dg.AssetSelection.all())

defs = dg.Definitions(assets=[release, training_mix], sensors=[when_released])
