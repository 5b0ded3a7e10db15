"""Pages of Dagster's own UI: what a person launches there, and what they have to say.

The UI has neither test ids nor stable classes, so what is looked for is what a person reads (Dagster 1.13).
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

from qa_pipeline_tests.system.servers import Servers

BLOCKING = ("conservation", "fabricated_citations", "pass_rate", "proof")
JOBS = "locations/qa_pipeline/jobs"


@contextmanager
def opened(page: Page, address: str) -> Iterator[None]:
    """Show a page, and leave it: one that stays open asks the webserver about every asset each second."""
    page.goto(address)
    yield
    page.goto("about:blank")


def materialize(page: Page, servers: Servers, batch: str) -> None:
    """Launch the job that builds a batch, from the page of the job."""
    with opened(page, f"{servers.address}/{JOBS}/build_batch"):
        page.get_by_role("button", name="Materialize all").click()
        dialog = page.get_by_role("dialog").filter(has_text="Partition selection")
        dialog.get_by_text("Select a partition").click()
        page.get_by_role("menuitem", name=batch).click()
        page.keyboard.press("Escape")
        dialog.get_by_role("button", name=re.compile("^Launch")).click()
        page.get_by_text("Launched run").wait_for()


def expect_passed_checks(page: Page, servers: Servers) -> None:
    """Expect the blocking checks of the ledger as passed, and names that set the others apart."""
    with opened(page, f"{servers.address}/assets/verdicts?view=checks"):
        for name in BLOCKING:
            check = page.locator("span", has=page.get_by_title(name, exact=True))
            expect(check.filter(has_text="Succeeded").first).to_be_visible()
        expect(page.get_by_title("warns_yield", exact=True)).to_be_visible()


def expect_stale(page: Page, servers: Servers, batch: str) -> None:
    """Expect the page of a batch to say that what its documents were made from has changed."""
    with opened(page, f"{servers.address}/assets/documents?view=partitions&partition={batch}"):
        expect(page.get_by_text("Unsynced").first).to_be_visible()
