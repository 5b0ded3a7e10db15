"""`qa-pipeline jobs`: the batch jobs at the provider."""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qa_pipeline.cli.arguments import Json, Out

if TYPE_CHECKING:
    from qa_pipeline.llm.batch_jobs.book import ProviderJob

COLUMNS = ("job", "batch", "role", "requests", "state", "age", "detail")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def jobs(
    out: Out = Path("data"),
    collect: Annotated[
        bool, typer.Option("--collect", help="First store the replies of the jobs that have ended.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the batch jobs at the provider (llm.delivery=batch): state, age, requests."""
    from qa_pipeline.cli.console import print_document, print_line, show_table
    from qa_pipeline.pipeline.resources import Resources, collect_replies
    from qa_pipeline.settings.tree import load_settings

    resources = Resources(load_settings(out=out))
    if collect:
        for problem in collect_replies(resources).problems:
            sys.stderr.write(f"{problem}\n")
    rows = [_row(job, time.time()) for job in resources.models.jobs.jobs()]
    if as_json:
        print_document({"jobs": rows})
    elif rows:
        show_table("Batch jobs", COLUMNS, [[row[name] for name in COLUMNS] for row in rows])
    else:
        print_line("No batch job was submitted from this store.")


def _row(job: "ProviderJob", now: float) -> dict[str, Any]:
    return {
        "job": job.job_key,
        "at_provider": job.provider_name,
        "model": job.asked_model,
        "batch": job.batch,
        "role": job.role,
        "requests": job.requests,
        "state": job.state,
        "created_at": datetime.fromtimestamp(job.created_at, UTC).isoformat(timespec="seconds"),
        "age": _age((job.ended_at or now) - job.created_at),
        "detail": job.detail,
    }


def _age(seconds: float) -> str:
    """Return how long a job has been, or was, in progress."""
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:.1f} d"
