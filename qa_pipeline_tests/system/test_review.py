"""People review and ask in a real browser, against a server process."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from qa_pipeline.curation.decisions import read_decisions
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.end_to_end import Workspace, new_workspace
from qa_pipeline_tests.support.review_server import ReviewServer, review_server
from qa_pipeline_tests.system.browser import NARROW, WIDE, person, serious_problems

pytestmark = pytest.mark.slow

PARTS = (
    "condenser", "burner", "pump", "valve", "filter", "tank", "fan", "compressor", "radiator", "pipe",
    "motor", "sensor", "gasket", "blower", "chimney", "grate", "hopper", "lever", "nozzle", "piston", "rotor",
    "shaft", "turbine", "washer",
)  # fmt: skip
SENTENCES = {part: f"The {part} weighs {30 + 7 * place} kilograms." for place, part in enumerate(PARTS)}
SAFETY = "The safety valve opens at 3 bar."
BASE = "Two people lift the boiler onto its base of concrete."
PAGES = ("The manual describes the Kestrel 4.", BASE, SAFETY)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
REVIEWED = 20
"""Pairs that a person goes through by keys alone."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A run whose pairs all wait for a person."""
    folder = tmp_path_factory.mktemp("review")
    guide = "# Weights\n\n" + "\n\n".join(f"## The {part}\n\n{text}" for part, text in SENTENCES.items())
    asked = [
        {"question": "When does the safety valve open?", "answer": SAFETY, "citations": ["manual.pdf"]},
        *(
            {"question": f"How much does the {part} weigh?", "answer": text, "citations": ["guide.md"]}
            for part, text in SENTENCES.items()
        ),
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in asked)
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(folder, patch)
        made.write({"b/guide.md": f"{guide}\n", "b/manual.pdf": pdf_bytes(*PAGES), "b/pairs.jsonl": lines})
        ran = made.run("--provider", "none", "--require-judge")
    waiting = made.table("verdicts", "b").filter(pl.col("verdict") == "needs_review")
    assert waiting.height > REVIEWED, ran
    return made


@pytest.fixture
def workspace(finished: Workspace, tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "corpus", tmp_path / "out").fill_from(finished)


@pytest.fixture
def server(workspace: Workspace) -> Iterator[ReviewServer]:
    with review_server(workspace.out, hashed=True) as started:
        yield started


@pytest.fixture
def ada(browser: Browser, server: ReviewServer) -> Iterator[Page]:
    with person(browser, server.address) as page:
        yield page


@pytest.fixture(scope="module")
def read_only(finished: Workspace) -> Iterator[ReviewServer]:
    """A server for the tests that decide nothing."""
    with review_server(finished.out) as started:
        yield started


@pytest.fixture(scope="module")
def signed_in(browser: Browser, read_only: ReviewServer) -> Iterator[Page]:
    with person(browser, read_only.address) as page:
        yield page


@pytest.fixture
def reader(signed_in: Page, read_only: ReviewServer) -> Page:
    """A person who decides nothing, before the list of pairs."""
    signed_in.goto(read_only.base)
    signed_in.mouse.move(0, 0)
    return signed_in


def decisions(workspace: Workspace) -> pl.DataFrame:
    return read_decisions(Layout(workspace.out).decisions("b"))


def open_pair(page: Page, question: str) -> None:
    page.get_by_role("searchbox").first.fill(question)
    page.keyboard.press("Enter")
    page.get_by_role("link", name=question).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(question)
    page.wait_for_load_state()  # keys are heard once the script has run


def pair_of(page: Page) -> str:
    return str(urlsplit(page.url).path.rpartition("/")[2])


def test_a_click_on_a_claim_opens_the_right_page_with_its_words_marked(
    reader: Page, finished: Workspace
) -> None:
    open_pair(reader, "When does the safety valve open?")
    reader.locator("#claims a.chip").first.click()
    picture = reader.get_by_role("img", name="Page 3 of")
    expect(picture).to_be_visible()
    address = urlsplit(str(picture.get_attribute("src")))
    start, end = (int(parse_qs(address.query)[name][0]) for name in ("start", "end"))
    text = finished.table("documents", "b").filter(pl.col("format") == "pdf")["text"][0]
    assert text[start:end] == SAFETY
    reader.wait_for_function("document.querySelector('img.sheet').naturalWidth > 0")


def test_twenty_pairs_are_reviewed_by_keys_alone(ada: Page, workspace: Workspace) -> None:
    ada.locator("ol.pairs a").first.focus()
    with ada.expect_navigation():
        ada.keyboard.press("Enter")
    seen = []
    for number in range(REVIEWED):
        expect(ada.locator("h1.question")).to_be_visible()
        seen.append(pair_of(ada))
        with ada.expect_navigation():
            ada.keyboard.press("a" if number % 2 else "1")
    assert len(set(seen)) == REVIEWED
    recorded = decisions(workspace)
    assert recorded["pair_id"].to_list() == seen
    assert recorded["decision"].to_list() == ["rejected", "accepted"] * (REVIEWED // 2)
    with ada.expect_navigation():
        ada.keyboard.press("u")
    assert decisions(workspace).height == REVIEWED + 1


def test_an_edit_is_saved_by_keys(ada: Page, workspace: Workspace) -> None:
    open_pair(ada, "How much does the pump weigh?")
    ada.keyboard.press("e")
    ada.locator("[name=edited_answer]").fill(f"{SENTENCES['pump']} {SENTENCES['fan']}")
    ada.keyboard.press("Escape")
    with ada.expect_navigation():
        ada.keyboard.press("v")
    (row,) = decisions(workspace).to_dicts()
    assert (row["decision"], row["answer"]) == ("edited", f"{SENTENCES['pump']} {SENTENCES['fan']}")


def test_no_decision_that_a_page_confirmed_is_lost_when_the_server_is_killed(
    browser: Browser, workspace: Workspace
) -> None:
    confirmed = []
    for round_number in range(2):
        with review_server(workspace.out) as server, person(browser, server.address) as ada:
            with ada.expect_navigation():
                ada.locator("ol.pairs a").first.click()
            for _ in range(5):
                pair_id = pair_of(ada)
                with ada.expect_navigation():
                    ada.keyboard.press("a" if round_number else "2")
                expect(ada.locator("#decide [role=status]")).to_contain_text("Saved as")
                confirmed.append(pair_id)
            ada.keyboard.press("a")  # whether this is recorded is open: the server dies at once
            os.kill(server.process.pid, signal.SIGKILL)
    recorded = decisions(workspace)["pair_id"].to_list()
    assert [pair_id for pair_id in recorded if pair_id in confirmed] == confirmed
    assert len(recorded) <= len(confirmed) + 2


@pytest.mark.parametrize("how", ["hover", "focus"])
def test_evidence_is_shown_when_its_chip_is_pointed_at_or_focused(reader: Page, how: str) -> None:
    open_pair(reader, "How much does the pump weigh?")
    chip = reader.locator("#claims .tip a.chip").first
    tooltip = reader.locator("#claims .tip [role=tooltip]").first
    expect(tooltip).to_be_hidden()
    if how == "hover":
        chip.hover()
    else:
        chip.focus()
    expect(tooltip).to_be_visible()
    expect(tooltip).to_contain_text(SENTENCES["pump"])
    assert chip.get_attribute("aria-describedby") == tooltip.get_attribute("id")
    reader.keyboard.press("Escape")
    expect(tooltip).to_be_hidden()


def pages_of(page: Page, origin: str) -> list[str]:
    """One address of each kind of page that links lead to, by the shape of its path."""
    waiting, kinds = ["/", "/?list=all"], {}
    while waiting:
        address = waiting.pop(0)
        kind = re.sub(r"[0-9a-f]{16,}", "*", urlsplit(address).path)
        if kind in kinds or "download" in kind or kind.endswith((".png", ".csv")):
            continue
        kinds[kind] = address
        page.goto(f"{origin}{address}")
        links = page.locator("a[href]").evaluate_all("links => links.map((link) => link.href)")
        waiting += [link.removeprefix(origin) for link in links if link.startswith(f"{origin}/")]
    return list(kinds.values())


def test_no_page_has_a_serious_problem_of_accessibility_or_is_wider_than_a_telephone(
    reader: Page, read_only: ReviewServer
) -> None:
    addresses = pages_of(reader, read_only.base)
    assert len(addresses) >= 3
    for address in addresses:
        reader.goto(f"{read_only.base}{address}")
        reader.set_viewport_size(WIDE)
        for scheme in SCHEMES:
            reader.emulate_media(color_scheme=scheme)
            assert serious_problems(reader) == [], (address, scheme)
        reader.set_viewport_size(NARROW)
        assert reader.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], address
    reader.set_viewport_size(WIDE)
