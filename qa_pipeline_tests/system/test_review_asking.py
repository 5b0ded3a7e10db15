"""People ask documents of their own in a real browser: offline by rules, and with a model on loopback."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from qa_pipeline.records import AnswerReply, DraftCitation
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.fake_server import chat
from qa_pipeline_tests.fake_server.replies import sensible_text
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.review.tables import write_pair
from qa_pipeline_tests.support.review_server import review_server
from qa_pipeline_tests.support.servers import ChatServer
from qa_pipeline_tests.system.browser import NARROW, WIDE, person, serious_problems

pytestmark = pytest.mark.slow

VALVE = "The safety valve opens at 3 bar."
PAGES = (
    "The manual describes the Kestrel 4.",
    "Two people lift the boiler onto its base of concrete.",
    VALVE,
)
MADE_UP = "It was made in Sweden by hand."
QUESTION = "When does the safety valve open?"
REFUSAL = "This information is not available in the knowledge base."


def upload(page: Page, origin: str) -> None:
    """Upload the manual, and go to the form that asks it."""
    page.goto(f"{origin}/ask")
    manual = {"name": "manual.pdf", "mimeType": "application/pdf", "buffer": pdf_bytes(*PAGES)}
    page.get_by_label("Document", exact=True).set_input_files(manual)  # type: ignore[arg-type]
    page.get_by_role("button", name="Read it").click()
    page.get_by_role("link", name="Ask it").click()


def ask(page: Page, question: str) -> Locator:
    """Ask the document that was asked before or was just uploaded; the answer once nothing more comes."""
    if page.get_by_label("Question").count() == 0:
        page.get_by_role("link", name="Ask another question").click()
    page.get_by_label("Question").fill(question)
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(question)
    expect(page.locator("#job:not([data-more])")).to_be_visible()
    return page.locator("#job")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("asking") / "out"


@pytest.fixture(scope="module")
def ada(browser: Browser, out: Path) -> Iterator[Page]:
    """A person who has uploaded a manual, without any model."""
    with review_server(out) as server, person(browser, server.address) as page:
        upload(page, server.base)
        yield page


def test_a_question_that_the_document_answers_is_well_supported_with_its_page(ada: Page) -> None:
    answer = ask(ada, QUESTION)
    expect(answer.locator(".badge.well_supported")).to_have_text(
        re.compile(r"Well supported: 1 of 1 claim \(100 %\)")
    )
    expect(answer.locator("mark.supported")).to_have_text(VALVE)
    expect(answer.locator("#c1 cite")).to_have_text("manual.pdf, page 3")
    expect(answer).to_contain_text("Not judged: no judge is configured.")
    assert serious_problems(ada) == []


@pytest.mark.parametrize("how", ["hover", "focus"])
def test_the_mark_of_a_sentence_shows_its_evidence(ada: Page, how: str) -> None:
    answer = ask(ada, QUESTION)
    mark, tooltip = answer.locator("p.answer a.ref"), answer.get_by_role("tooltip", include_hidden=True)
    expect(tooltip).to_be_hidden()
    if how == "hover":
        mark.hover()
    else:
        mark.focus()
    expect(tooltip).to_be_visible()
    expect(tooltip).to_contain_text(VALVE)
    expect(tooltip).to_contain_text("Page 3")
    assert mark.get_attribute("aria-describedby") == tooltip.get_attribute("id")
    ada.keyboard.press("Escape")
    expect(tooltip).to_be_hidden()
    ada.mouse.move(0, 0)


def test_a_question_about_something_else_gets_the_refusal_text(ada: Page) -> None:
    answer = ask(ada, "Who won the football world cup of 1998?")
    expect(answer.locator("p.answer")).to_have_text(REFUSAL)
    expect(answer.locator(".badge.well_supported")).to_have_count(0)
    assert serious_problems(ada) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Markdown", "manual.pdf, page 3"),
        ("HTML", "manual.pdf</bdi>, page 3"),
        ("BibTeX", "pages = {3}"),
        ("CSL-JSON", '"page": "3"'),
    ],
)
def test_an_answer_is_exported_with_document_page_and_quote(ada: Page, name: str, words: str) -> None:
    answer = ask(ada, QUESTION)
    with ada.expect_download() as started:
        answer.get_by_role("link", name=name, exact=True).click()
    text = started.value.path().read_text(encoding="utf-8")
    assert words in text
    assert VALVE in text


def test_an_answer_becomes_a_pair_with_one_click(ada: Page, out: Path) -> None:
    answer = ask(ada, QUESTION)
    answer.get_by_role("button", name="Add to the pairs").click()
    expect(ada.get_by_role("status")).to_contain_text("It is added to the pairs of this batch.")
    (folder,) = (out / "asked" / "documents").iterdir()
    added = Layout(folder).added_pairs("document").read_text(encoding="utf-8")
    assert added.count("\n") == 1
    assert VALVE in added


def test_an_upload_of_300_megabytes_is_refused_in_one_sentence(ada: Page, tmp_path: Path) -> None:
    file = tmp_path / "large.pdf"
    with file.open("wb") as opened:
        opened.truncate(300_000_000)
    ada.get_by_role("link", name="Ask", exact=True).click()
    ada.get_by_label("Document", exact=True).set_input_files(file)
    ada.get_by_role("button", name="Read it").click()
    expect(ada.get_by_role("main")).to_contain_text(
        re.compile(r"What was sent has 300,\d{3},\d{3} bytes, and at most 50,000,000 are read"),
    )
    ada.go_back()


class Model:
    """A model on loopback that drafts a proved sentence and one that nothing proves.

    Attributes:
        cut: roles whose reply is broken off in the middle.
    """

    def __init__(self) -> None:
        self.cut: set[str] = set()

    def reply(self, asked: Asked) -> ServerResponse:
        fields = (asked.schema or {}).get("properties", {})
        role = "answer" if "citations" in fields else "review"
        citations = [DraftCitation(passage=1, quote=VALVE)]
        drafted = AnswerReply(
            coverage="full", answer=f"{VALVE} {MADE_UP}", used_chunks=[1], citations=citations
        )
        text = drafted.model_dump_json() if role == "answer" else sensible_text(asked)
        return replace(chat.reply(asked, text), cut=role in self.cut)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def bo(browser: Browser, model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A person whose server asks the model."""
    with pytest.MonkeyPatch.context() as patch, ChatServer(model.reply) as server:
        settings = {
            "PROVIDER": "openai",
            "BASE_URL": server.url,
            "MODEL": "m",
            "MAX_TRIES": "1",
            "WAIT_MINUTES": "0",
        }
        for name, value in settings.items():
            patch.setenv(f"QA_PIPELINE_LLM__{name}", value)
        patch.setenv("QA_PIPELINE_LLM__BUDGET__MAX_CALLS", "100")
        patch.setenv("OPENAI_API_KEY", LOOPBACK_KEY)
        with (
            review_server(tmp_path_factory.mktemp("model") / "out", hashed=True) as review,
            person(browser, review.address) as page,
        ):
            upload(page, review.base)
            yield page


@pytest.fixture(autouse=True)
def _whole_replies(model: Model) -> None:
    model.cut.clear()


def test_a_partly_covered_answer_is_yellow_and_lists_and_underlines_what_is_not_proved(bo: Page) -> None:
    answer = ask(bo, QUESTION)
    expect(answer.locator(".badge.partial")).to_have_text(
        re.compile(r"Partly supported: 1 of 2 claims \(50 %\)")
    )
    unproved = answer.locator("mark.unsupported")
    expect(unproved).to_have_text(MADE_UP)
    lines = unproved.evaluate("mark => getComputedStyle(mark).borderBottomWidth")
    assert float(lines.removesuffix("px")) >= 1
    expect(answer.locator("li.unsupported")).to_contain_text(MADE_UP)
    expect(answer.locator("li.unsupported .verdict")).to_contain_text("unsupported")
    assert serious_problems(bo) == []


def test_a_draft_that_is_broken_off_is_one_sentence_and_the_question_is_not_lost(
    bo: Page, model: Model
) -> None:
    model.cut = {"answer"}
    question = "At how many bar does the safety valve open?"
    answer = ask(bo, question)
    expect(answer.get_by_role("alert")).to_have_count(1)
    expect(answer.get_by_role("alert")).to_contain_text("No answer could be drafted")
    expect(answer.get_by_role("heading", level=1)).to_have_text(question)
    model.cut.clear()
    expect(ask(bo, question).locator("mark.supported")).to_have_text(VALVE)


def test_an_answer_stays_where_its_verifier_is_broken_off(bo: Page, model: Model) -> None:
    model.cut = {"review"}
    answer = ask(bo, "At which pressure does the safety valve open?")
    expect(answer.locator("mark.supported")).to_have_text(VALVE)
    expect(answer.locator("mark.failed")).to_have_text(MADE_UP)
    expect(answer.locator("li.failed .soft").first).not_to_be_empty()
    expect(answer.get_by_role("link", name="Markdown", exact=True)).to_be_visible()


def test_a_megabyte_of_question_and_answer_breaks_no_layout(browser: Browser, tmp_path: Path) -> None:
    with review_server(tmp_path) as server, person(browser, server.address) as page:
        for text in ("x" * 1_000_000, "many words and " * 66_000):
            write_pair(Layout(tmp_path), pair={"question": text, "answer": text})
            page.goto(f"{server.base}/pair/b/p?list=all")
            for viewport in (WIDE, NARROW):
                page.set_viewport_size(viewport)
                assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
                box = page.get_by_role("button", name="Accept").bounding_box()
                assert box
                assert box["y"] < 3 * viewport["height"]
