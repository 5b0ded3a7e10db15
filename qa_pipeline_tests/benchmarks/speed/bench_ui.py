"""How long pages of the Dagster UI take to show a corpus of many batches, in Chromium.

    python -m qa_pipeline_tests.benchmarks.speed.bench_ui --batches 20000 --screenshots /tmp/pages

One small batch is run; the others get its records in the database, as if each had been run. Another two are
run of which one is blocked by a gate and one fails. Then a webserver is started, and each page is opened in a
new browser and again. A page counts as shown once it has the text that a person looks for on it.
"""

import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dagster as dg
from playwright.sync_api import Error, Page

from qa_pipeline_tests.benchmarks.speed.bench_nightly_tick import copy_batch
from qa_pipeline_tests.benchmarks.support.command_line import parser_of, print_json
from qa_pipeline_tests.defs.project import Project
from qa_pipeline_tests.system.browser import chromium, person
from qa_pipeline_tests.system.servers import LOCATION, Servers

FIRST, BLOCKED, FAILED = "b000000", "blocked", "failed"
MOST_WAITED = 120_000
"""Milliseconds until a page is given up."""


def pages(batches: int) -> dict[str, tuple[str, str]]:
    """Return path and awaited text, a regular expression, of each page."""
    job = f"/locations/{LOCATION}/jobs"
    total = f"({batches}|{batches:,})"
    return {
        "code locations": ("/locations", "Loaded"),
        "asset catalogue": ("/assets", f"{total} partitions"),
        "asset graph": ("/asset-groups", "ingestion"),
        "asset": ("/assets/verdicts", "Content hash of question"),
        "partitions": ("/assets/verdicts?view=partitions", f"{total} Partitions Selected"),
        "batch": (f"/assets/verdicts?view=partitions&partition={FIRST}", "over its runs"),
        "blocked batch": (f"/assets/verdicts?view=partitions&partition={BLOCKED}", "did not materialize"),
        "checks": ("/assets/verdicts?view=checks", "pass_rate"),
        "partitions of the job": (f"{job}/build_batch/partitions", total),
        "launchpad of many batches": (f"{job}/build_batches/playground", "force"),
        "runs": ("/runs", "build_batch"),
    }


def make_batches(project: Project, number: int) -> None:
    """Run three batches, and let the others seem to have been run."""
    names = [f"b{place:06}" for place in range(number - 2)]
    project.write(FIRST)
    project.launch(FIRST)
    copy_batch(project, FIRST, names[1], names[2:])
    project.write(BLOCKED, "no text", "photo.png")
    project.write(FAILED)
    project.write(FAILED, "this is no pair", file="pairs.parquet")
    project.launch(BLOCKED, FAILED)


def open_page(page: Page, address: str, text: str) -> float | None:
    """Return the seconds until a page shows a text; None where it does not."""
    started = time.perf_counter()
    page.goto(address)
    try:
        page.get_by_text(re.compile(text)).first.wait_for(timeout=MOST_WAITED)
    except Error:
        return None
    return round(time.perf_counter() - started, 1)


def main() -> None:
    """Print one JSON line."""
    parser = parser_of(__doc__)
    parser.add_argument("--batches", type=int, default=20_000, help="at least 4")
    parser.add_argument("--screenshots", type=Path, help="folder for a picture of each page")
    options = parser.parse_args()
    figures: dict[str, Any] = {"batches": options.batches}
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        servers = Servers(Path(name))
        with dg.DagsterInstance.from_config(str(servers.home)) as instance:
            project = Project(Path(name), instance, review={"url": "http://127.0.0.1:8787"})
            make_batches(project, options.batches)
        figures["MB of database"] = round(
            sum(file.stat().st_size for file in servers.home.rglob("*.db")) / 1e6
        )
        started = time.perf_counter()
        with servers.webserver(), chromium() as browser:
            servers.wait(lambda: len(servers.registered()) == options.batches, "the location has loaded")
            figures["webserver and code location"] = round(time.perf_counter() - started, 1)
            for what, (path, text) in pages(options.batches).items():
                with person(browser, servers.address) as page:
                    seconds = [open_page(page, servers.address + path, text) for _ in range(2)]
                    if options.screenshots:
                        page.wait_for_timeout(3000)  # what comes after the text, such as bars of partitions
                        page.screenshot(path=options.screenshots / f"{what.replace(' ', '_')}.png")
                figures[what] = seconds
                print(what, seconds, file=sys.stderr, flush=True)
    print_json(figures)


if __name__ == "__main__":
    main()
