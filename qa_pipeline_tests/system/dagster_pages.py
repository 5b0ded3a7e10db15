"""Pages of Dagster's own UI: what a person launches there, and what they have to say.

The UI has neither test ids nor stable classes, so what is looked for is what a person reads (Dagster 1.13).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

from qa_pipeline_tests.system.servers import Servers


@contextmanager
def opened(page: Page, address: str) -> Iterator[None]:
    """Show a page, and leave it: one that stays open asks the webserver about every asset each second."""
    page.goto(address)
    yield
    page.goto("about:blank")


def expect_steps(page: Page, servers: Servers, run: str, number: int) -> None:
    """Expect the page of a run to list so many steps that succeeded."""
    with opened(page, f"{servers.address}/runs/{run}"):
        expect(page.get_by_text(f"Succeeded ({number})")).to_be_visible()


def expect_failed_check(page: Page, servers: Servers, batch: str, check: str) -> None:
    """Expect the page of a check to say that a batch failed it, and names that set warnings apart."""
    with opened(page, f"{servers.address}/assets/verdicts?view=checks&checkDetail={check}"):
        expect(page.get_by_text("95 % interval").first).to_be_visible()
        expect(page.get_by_text(batch, exact=True).first).to_be_visible()


def execute_from_failure(page: Page, servers: Servers, run: str) -> None:
    """Press the button on the page of a failed run."""
    with opened(page, f"{servers.address}/runs/{run}"):
        again = page.get_by_role("button", name="Re-execute all")
        again.locator("xpath=following-sibling::*").first.click()
        page.get_by_role("menuitem").filter(has_text="From failure").click()
        page.wait_for_url(lambda address: not address.endswith(run))
