"""A browser for the tests of a file."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from qa_pipeline_tests.system.browser import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started
