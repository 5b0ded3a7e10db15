"""Jobs, and what starts them: the corpus sensor and the schedules."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import dagster as dg

from qa_pipeline.curation.withdrawals import withdraw_missing, withdrawn_batches
from qa_pipeline.defs.assets import BATCH_ASSETS, release, training_examples
from qa_pipeline.defs.assets import corpus as corpus_asset
from qa_pipeline.defs.steps import ENDED, PARTITION, PARTITIONS_NAME, ResourcesParam, document_batches
from qa_pipeline.documents.corpus.corpora import Corpus, open_corpus
from qa_pipeline.errors import CorpusError
from qa_pipeline.storage.files import version_of
from qa_pipeline.storage.hashes import hash_text
from qa_pipeline.storage.layout import Layout

BATCHES_A_TICK = 200
"""Most runs requested per tick, since a tick has 60 seconds and other sensors wait."""
ITEMS_A_QUERY = 500
"""Batches or records per database query, to bound memory and SQLite's variables."""
REMOVED = "gone"
"""The version of a batch whose folder was removed. It is unlike any hash, so a returned batch has changed."""
DATA_VERSION = "dagster/data_version"
UNENDED = [status for status in dg.DagsterRunStatus if status not in ENDED]
UNENDED_BACKFILLS = ("REQUESTED", "CANCELING", "FAILING")
"""States of a backfill that has not ended; like the tag above, they lack a constant in Dagster."""
RETENTION = timedelta(days=30)
"""The time for which replaced runs are kept."""

build_batch = dg.define_asset_job(
    "build_batch",
    selection=dg.AssetSelection.assets(*BATCH_ASSETS),
    description="Builds everything of one batch, from its files to its training examples.",
)


@dg.sensor(
    job=build_batch,
    description="Registers new batches, reports changed ones and requests their runs, and removes the "
    "partitions of those that are gone. Off until turned on: runs may cost money.",
    minimum_interval_seconds=30,
)
def corpus_sensor(
    context: dg.SensorEvaluationContext, resources: ResourcesParam
) -> dg.SensorResult | dg.SkipReason:
    """Scan the corpus, and request a single run for each new version of a batch.

    A changed version waits in the cursor. If the next tick finds it again, its files are complete: its run is
    requested, and it is reported, so that later ticks find the batch unchanged.
    """
    instance, layout = context.instance, resources.layout
    try:
        corpus = open_corpus(resources.settings.corpus)
        batches = corpus.find_batches()
    except CorpusError as error:
        return dg.SkipReason(f"{error}. Nothing is withdrawn or removed")
    problems = list(batches.refused.values())
    if not batches.names:
        return dg.SkipReason(f"no usable batch, so nothing is withdrawn or removed: {'; '.join(problems)}")
    listed = {*batches.names, *batches.refused}
    withdraw_missing(layout, resources.settings.corpus, listed)
    tombstones = withdrawn_batches(layout)
    removed = {name for name, tombstone in tombstones.items() if tombstone.reason == "batch_gone"}
    gone = removed - listed  # a batch that is back keeps its tombstone until it is rebuilt

    # request runs of the changed versions, and report them and the removal of batches
    reports = last_reports(instance)
    versions = batch_versions(corpus, layout, batches.names)
    changed = {batch: version for batch, version in versions.items() if version != reports[batch].version}
    requested = _settled_versions(changed, context.cursor)
    waiting = {batch: version for batch, version in changed.items() if batch not in requested}
    events, requests = [], []
    for batch, version in requested.items():
        events += report(batch, version)
        # the id of the previous report makes restored content run again
        run_key = f"{batch}:{version}:{reports[batch].report_id}"
        requests.append(dg.RunRequest(partition_key=batch, run_key=run_key))
    for batch in sorted(gone):
        if reports[batch].version not in ("", REMOVED):  # "" if it was never reported
            events += report(batch, REMOVED)

    # add the partitions of new batches, and delete those of batches that are not listed any more
    registered = set(instance.get_dynamic_partitions(PARTITIONS_NAME))
    new = sorted(set(batches.names) - registered)
    deleted = _deletable(instance, layout, registered - listed, gone)
    for problem in problems:
        context.log.warning(problem)
    counts = f"{len(batches.names)} batches, {len(changed)} changed; removed: {', '.join(deleted) or 'none'}"
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[
            *map(document_batches.build_add_request, _query_groups(new)),
            *([document_batches.build_delete_request(deleted)] if deleted else []),
        ],
        asset_events=events,
        cursor=json.dumps(waiting),
        skip_reason=None if requests else "; ".join([counts, *problems]),
    )


def _settled_versions(changed: Mapping[str, str], cursor: str | None) -> dict[str, str]:
    """Return the changed versions that the last tick found too, by batch, at most BATCHES_A_TICK."""
    last_changed = json.loads(cursor or "{}")  # versions that waited, since a batch may still be copied
    settled = [batch for batch, version in changed.items() if version == last_changed.get(batch)]
    return {batch: changed[batch] for batch in settled[:BATCHES_A_TICK]}


def batch_versions(corpus: Corpus, layout: Layout, batches: Sequence[str]) -> dict[str, str]:
    """Return a hash per batch of the names, sizes and times of its files, and of its decisions.

    Batches that cannot be listed now are omitted.
    """
    decisions_folder = layout.decisions("batch").parent  # the same for any batch
    decision_versions = {file.stem: version_of(file) for file in decisions_folder.glob("*.jsonl")}
    return {
        batch: hash_text(f"{fingerprint} {decision_versions.get(batch)}")[:16]
        for batch, fingerprint in corpus.listing_fingerprints(batches).items()
        if fingerprint
    }


class LastReport(NamedTuple):
    """The data version and id of the latest materialization of `corpus` for a batch; "" and 0 without any."""

    version: str = ""
    report_id: int = 0


def last_reports(instance: dg.DagsterInstance) -> defaultdict[str, LastReport]:
    """Return by batch the latest materialization of the asset `corpus`, as `report` creates it."""
    latest = instance.get_latest_storage_id_by_partition(
        corpus_asset.key, dg.DagsterEventType.ASSET_MATERIALIZATION
    )
    reports: defaultdict[str, LastReport] = defaultdict(LastReport)
    for ids in _query_groups(list(latest.values())):
        wanted = dg.AssetRecordsFilter(corpus_asset.key, storage_ids=ids)
        for record in instance.fetch_materializations(wanted, limit=len(ids)).records:
            if record.asset_materialization is not None:
                version = (record.asset_materialization.tags or {}).get(DATA_VERSION, "")
                reports[str(record.partition_key)] = LastReport(version, record.storage_id)
    return reports


def report(batch: str, version: str) -> list[dg.AssetObservation | dg.AssetMaterialization]:
    """Return the events that give the asset `corpus` a new data version for a batch.

    Both are needed: Dagster 1.13 reads inputs of runs from materializations, staleness from observations.
    """
    kinds = (dg.AssetObservation, dg.AssetMaterialization)
    return [kind(corpus_asset.key, partition=batch, tags={DATA_VERSION: version}) for kind in kinds]


def _query_groups(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Split items, such as batch names, into groups that are small enough for a database query."""
    for start in range(0, len(items), ITEMS_A_QUERY):
        yield items[start : start + ITEMS_A_QUERY]


def _deletable(instance: dg.DagsterInstance, layout: Layout, unlisted: Set[str], gone: Set[str]) -> list[str]:
    """Return the partitions that may be deleted; a run fails without its partition.

    `unlisted` are the partitions without a batch in the corpus. They are deleted if no run has read them, or
    if they are `gone`, the batches that were removed from this corpus; the others are of another corpus.
    """
    if not unlisted:
        return []
    if any(backfill.status.value in UNENDED_BACKFILLS for backfill in instance.get_backfills()):
        return []  # it may still start a run of any partition
    running = {run.tags.get(PARTITION) for run in instance.get_runs(dg.RunsFilter(statuses=UNENDED))}
    never_read = {name for name in unlisted if not layout.origin(name).is_file()}  # reading records it
    return sorted((never_read | (unlisted & gone)) - running)


@dg.schedule(
    job=build_batch,
    cron_schedule="0 2 * * *",
    description="Runs each batch once a night that is missing or failed; a batch that a gate blocked waits "
    "until its files or decisions change.",
)
def nightly(
    context: dg.ScheduleEvaluationContext, resources: ResourcesParam
) -> list[dg.RunRequest] | dg.SkipReason:
    """Request a run of each missing or failed batch, with lower priority than runs of people."""
    batches = context.instance.get_dynamic_partitions(PARTITIONS_NAME)
    status = context.instance.get_status_by_partition(training_examples.key, batches, document_batches) or {}
    withdrawn = withdrawn_batches(resources.layout)
    blocked = {name for name, tombstone in withdrawn.items() if tombstone.reason == "gate_failed"}
    night = context.scheduled_execution_time.date().isoformat()
    requests = [
        dg.RunRequest(partition_key=batch, run_key=f"{batch} {night}", tags={"dagster/priority": "-10"})
        for batch in batches
        if status.get(batch) in (None, dg.AssetPartitionStatus.FAILED) and batch not in blocked
    ]
    if not requests:
        return dg.SkipReason(f"no batch is missing or failed; {len(blocked)} are blocked by a gate")
    return requests


publish_job = dg.define_asset_job(
    "publish_release",
    selection=[release],
    description="Publishes the accepted rows of all batches whose gates hold, and verifies the release.",
)
nightly_release = dg.ScheduleDefinition(name="nightly_release", job=publish_job, cron_schedule="0 5 * * *")


@dg.op
def purge_old_runs(context: dg.OpExecutionContext) -> None:
    """Delete old runs whose batch was built completely later; other runs record the origin of its tables."""
    instance = context.instance
    ended_before = dg.RunsFilter(statuses=ENDED, updated_before=datetime.now(UTC) - RETENTION)
    old_ids = set(instance.get_run_ids(ended_before))
    all_keys = {asset.key for asset in BATCH_ASSETS}
    built_later: set[str] = set()  # batches that a run built completely, of the runs visited so far
    for run in instance.get_runs(dg.RunsFilter(statuses=ENDED)):  # the latest first
        batch = run.tags.get(PARTITION)
        if batch in built_later and run.run_id in old_ids:
            instance.delete_run(run.run_id)
        if run.asset_selection:
            selects_all = run.asset_selection >= all_keys
        else:  # without a selection, a run builds all assets of its job
            selects_all = run.job_name == build_batch.name
        is_rerun = run.root_run_id is not None  # of a failed run: it builds only the rest
        if batch and selects_all and not is_rerun and run.status == dg.DagsterRunStatus.SUCCESS:
            built_later.add(batch)


@dg.job(description="Deletes runs that ended more than 30 days ago and whose batch was built whole since.")
def purge_runs() -> None:
    """Delete old runs, which Dagster keeps forever."""
    purge_old_runs()


weekly_purge = dg.ScheduleDefinition(name="weekly_purge", job=purge_runs, cron_schedule="0 6 * * 0")
