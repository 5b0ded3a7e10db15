"""The runs that build batches: which go on, which are requested, and those whose process is gone.

A run of `build_batch` builds one batch, its partition. A run of `build_batches` builds those that its
configuration lists, one after the other in one process, and records each as a run of `build_batch` of its own
in that process. So a batch is spoken for while it is listed, long before a run of its own begins.
"""

import os
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import dagster as dg

from qa_pipeline.defs.base import PARTITION, PARTITIONS_NAME
from qa_pipeline.storage.hashes import hash_json
from qa_pipeline.text.rendering import first_names

BUILD_BATCH, BUILD_BATCHES = "build_batch", "build_batches"
LISTING_OP = "batches"
"""The op of `build_batches`, whose configuration lists the batches."""

REASON_TAG = "qa_pipeline/reason"
NIGHT_TAG = "qa_pipeline/night"
"""On a run that the schedule `nightly` requested, and on those it makes: the date of the night."""
BUILT_BY_TAG = "qa_pipeline/built_by"
"""On a run that a run of `build_batches` made in its own process: the latter's id."""
HOST_TAG, PROCESS_TAG = "qa_pipeline/host", "qa_pipeline/process"
"""On a run that Dagster did not launch, but `build_batches` or the command line: where it runs."""
UNANNOUNCED = {"dagster/defer_asset_events": "true"}
"""On a run of a batch: Dagster does not record every asset and check that the run is to make, 62 events."""
NOT_RETRIED = {"dagster/max_retries": "0"}
"""On a run that the daemon could not launch again."""
NIGHT_PRIORITY = {"dagster/priority": "-10"}
"""On a run that nobody waits for: those that people launch, at 0, leave the queue first."""
MOST_LISTED = 3
"""How often a night lists a batch whose turn never comes, since each time the process is killed before: the
run requested and the two times that Dagster starts it anew."""

_UNENDED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def running_runs(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Return the runs that are queued, starting or in progress."""
    return list(instance.get_runs(dg.RunsFilter(statuses=_UNENDED)))


def builds_batches(run: dg.DagsterRun) -> bool:
    """Return whether a run builds one batch, or several."""
    return PARTITION in run.tags or run.job_name == BUILD_BATCHES


def batches_of(run: dg.DagsterRun) -> list[str]:
    """Return the batches that a run builds; empty too for a run of `build_batches` that builds all."""
    if PARTITION in run.tags:
        return [run.tags[PARTITION]]
    if run.job_name != BUILD_BATCHES:
        return []
    config: Mapping[str, Any] = run.run_config
    listed: list[str] = config.get("ops", {}).get(LISTING_OP, {}).get("config", {}).get("batches", [])
    return listed


def running_batches(instance: dg.DagsterInstance) -> set[str]:
    """Return the batches that a run builds or is to build which is queued, starting or in progress."""
    runs = running_runs(instance)
    if any(builds_batches(run) and not batches_of(run) for run in runs):
        return set(instance.get_dynamic_partitions(PARTITIONS_NAME))
    return {batch for run in runs for batch in batches_of(run)}


def has_run_since(instance: dg.DagsterInstance, batch: str, since: datetime) -> bool:
    """Return whether a run of the batch's own goes on, or was created after a time."""
    last = next(iter(instance.get_run_records(dg.RunsFilter(tags={PARTITION: batch}), limit=1)), None)
    return last is not None and (not last.dagster_run.is_finished or last.create_timestamp > since)


def batches_of_night(instance: dg.DagsterInstance, night: str) -> set[str]:
    """Return the batches that a night need not request again, whatever became of their runs.

    That a batch was listed is not enough: the process may have been killed before its turn.
    """
    runs = instance.get_runs(dg.RunsFilter(tags={NIGHT_TAG: night}))
    listed = Counter(batch for run in runs if PARTITION not in run.tags for batch in batches_of(run))
    return {run.tags[PARTITION] for run in runs if PARTITION in run.tags} | {
        batch for batch, times in listed.items() if times >= MOST_LISTED
    }


def job_requested(batches_per_run: int) -> str:
    """Return the job of which `run_requests` are."""
    return BUILD_BATCH if batches_per_run == 1 else BUILD_BATCHES


def run_requests(
    reasons: Mapping[str, str],
    batches_per_run: int,
    key_of: Callable[[str], str],
    tags: Mapping[str, str] | None = None,
) -> list[dg.RunRequest]:
    """Return requests of runs that build batches, as few as may be and of about the same number of them.

    Args:
        reasons: why each batch is due; runs come in the order of these.
        batches_per_run: the most that one run builds.
        key_of: what tells the request of a batch from an earlier one of the same batch.
        tags: further tags of the runs.
    """
    tags = {**NIGHT_PRIORITY, **(tags or {})}
    if batches_per_run == 1:
        return [
            dg.RunRequest(run_key=key_of(batch), partition_key=batch, tags={REASON_TAG: reason, **tags})
            for batch, reason in reasons.items()
        ]
    names = list(reasons)
    count = -(-len(names) // batches_per_run)
    parts = [names[part * len(names) // count : (part + 1) * len(names) // count] for part in range(count)]
    return [
        dg.RunRequest(
            run_key=hash_json([key_of(batch) for batch in part]),
            run_config=config_of(part),
            tags={REASON_TAG: f"{first_names(part)}: {_common([reasons[name] for name in part])}", **tags},
        )
        for part in parts
    ]


def config_of(batches: Sequence[str]) -> dict[str, object]:
    """Return the configuration of a run of `build_batches` that builds these."""
    return {"ops": {LISTING_OP: {"config": {"batches": list(batches)}}}}


def _common(reasons: Sequence[str]) -> str:
    return first_names(list(dict.fromkeys(reasons)), most=1)


def fail_orphaned_runs(instance: dg.DagsterInstance) -> None:
    """Mark runs as failed that a process on this machine began and did not live to end.

    Nothing else would where runs are not monitored, nor after the command line: Dagster watches only runs it
    launched itself, and a run that seems in progress keeps the automation from ever requesting its batch
    again. The run of `build_batches` that such a run belongs to died with it, and the other way round.
    """
    going = {run.run_id: run for run in running_runs(instance)}
    for run in list(going.values()):
        builder = run.tags.get(BUILT_BY_TAG)
        here = run.tags.get(HOST_TAG) == socket.gethostname()
        if here and not _alive(int(run.tags[PROCESS_TAG])):
            ended = [run, *([going[builder]] if builder in going else [])]
        else:
            ended = [run] if builder is not None and builder not in going else []
        for orphan in ended:
            if going.pop(orphan.run_id, None) is not None:
                instance.report_run_failed(orphan, "The process that ran it is gone.")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
