"""A real Chromium, driven as a person drives it, that reports what a page must not do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, ViewportSize, expect, sync_playwright

from qa_pipeline_tests.system.servers import LIMIT

CHROMIUM = Path("/usr/bin/chromium")
WIDE, NARROW = ViewportSize(width=1400, height=900), ViewportSize(width=360, height=740)
LONGEST_WAIT = LIMIT * 1000
"""Milliseconds after which what a page should show is given up; a busy machine never comes near."""
_SERIOUS = {"serious", "critical"}


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; a machine without it fails the tests, and skips none."""
    if not CHROMIUM.is_file():
        pytest.fail(f"{CHROMIUM} is missing: apt-get install chromium, as .ci/run does")
    expect.set_options(timeout=LONGEST_WAIT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@contextmanager
def person(browser: Browser, address: str) -> Iterator[Page]:
    """A browser of a person of their own, signed in; what a page must not do fails at the end."""
    problems: list[str] = []
    origin = "/".join(address.split("/")[:3])

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "Content-Security-Policy" in message.text:
            problems.append(message.text)

    def refuse(dialog: Dialog) -> None:
        problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    context = browser.new_context(viewport=WIDE)
    context.set_default_timeout(LONGEST_WAIT)
    page = context.new_page()
    page.on("console", note)
    page.on("dialog", refuse)
    page.on("pageerror", lambda error: problems.append(f"script: {error}"))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((origin, f"blob:{origin}", "data:"))
            else problems.append(request.url)
        ),
    )
    page.goto(address)
    yield page
    context.close()
    assert not problems


def serious_problems(page: Page) -> list[str]:
    """What axe-core finds serious on a page: rule and place."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {node['target']}: {node['html'][:200]}"
        for violation in violations
        if violation["impact"] in _SERIOUS
        for node in violation["nodes"]
    ]
