"""People ask a batch or a document of their own, and see what of the answer is proved."""

import re
import time
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from qa_pipeline.errors import BudgetExhaustedError, ModelError
from qa_pipeline.llm.base import LanguageModel, TransientModelError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.records import AnswerReply, DraftCitation, JudgeReply
from qa_pipeline.review.app import Access
from qa_pipeline.review.server import build_app
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import MANUAL, Workspace, invoke
from qa_pipeline_tests.review.conftest import ADDRESS
from qa_pipeline_tests.review.test_server import hidden
from qa_pipeline_tests.support.scripted import ScriptedModel

QUESTION = "When does the safety valve open?"
BATCH = "batch:b"


def token(client: TestClient) -> str:
    return hidden(client.get("/ask").text, "form_token")


def post(client: TestClient, path: str, upload: tuple[str, bytes] | None = None, **fields: str) -> str:
    """Send a form; the address it leads to."""
    files = {"file": upload} if upload else None
    reply = client.post(
        path, data={"form_token": token(client), **fields}, files=files, follow_redirects=False
    )
    assert reply.status_code == 303, reply.text
    return str(reply.headers["location"])


def last_page(client: TestClient, address: str) -> str:
    """The page of a job once nothing more comes."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        page = client.get(address).text
        if "data-more" not in page:
            return page
        time.sleep(0.02)
    raise AssertionError(page)


def answered(client: TestClient, question: str = QUESTION, place: str = BATCH) -> str:
    return last_page(client, post(client, "/ask", question=question, place=place))


@pytest.fixture
def with_model(workspace: Workspace) -> Callable[[LanguageModel], TestClient]:
    """Open the app with a model that answers."""

    def opened(model: LanguageModel) -> TestClient:
        access = Access("Ada")
        resources = Resources(load_settings(out=workspace.out), model=model)
        app = build_app(Layout(workspace.out), access, resources=resources)
        client = TestClient(app, base_url=ADDRESS)
        client.get(f"/enter?token={access.token}")
        return client

    return opened


def drafted(answer: str, quote: str) -> AnswerReply:
    citations = [DraftCitation(passage=1, quote=quote)]
    return AnswerReply(coverage="full", answer=answer, used_chunks=[1], citations=citations)


def test_an_answer_is_a_proved_sentence_with_its_source(client: TestClient) -> None:
    page = answered(client)
    assert "The safety valve opens at 3 bar." in page
    assert re.search(r"\[c1<span", page)
    assert re.search(r'role="tooltip"[^>]*><span[^>]*>[^<]*The safety valve opens at 3 bar\.', page)
    link = re.search(r'href="(/document/b/[^"#]+)', page)
    assert link
    assert "The safety valve opens at 3 bar.</mark>" in client.get(link[1].replace("&amp;", "&")).text


def test_an_answer_comes_step_by_step_without_the_rest_of_the_page(client: TestClient) -> None:
    address = post(client, "/ask", question=QUESTION, place=BATCH)
    parts: list[str] = []
    seen = 0
    while not parts or "data-more" in parts[-1]:
        parts.append(client.get(f"{address}?seen={seen}").text)
        seen = int(re.findall(r'data-steps="(\d+)"', parts[-1])[0])
    assert all("<html" not in part for part in parts)
    assert "1 of 1 claim" in parts[-1]


def test_an_answer_is_green_only_where_a_judge_says_that_it_answers(
    with_model: Callable[[LanguageModel], TestClient], client: TestClient
) -> None:
    assert 'class="badge unjudged"' in answered(client)
    model = ScriptedModel(lambda request: SCORES if request.role == "judge" else drafted(PROVED, PROVED))
    assert 'class="badge well_supported"' in answered(with_model(model))
    low = SCORES.model_copy(update={"relevance": 0.1})
    model = ScriptedModel(lambda request: low if request.role == "judge" else drafted(PROVED, PROVED))
    assert 'class="badge weak"' in answered(with_model(model))


@pytest.mark.parametrize(
    ("question", "place"),
    [
        (" \n ", BATCH),
        ("why " * 1250, BATCH),
        (QUESTION, "batch:nowhere"),
        (QUESTION, "batch:../../etc"),
        (QUESTION, "upload:../../etc"),
        (QUESTION, ""),
    ],
)
def test_what_cannot_be_asked_is_refused_beside_the_form(
    client: TestClient, question: str, place: str
) -> None:
    fields = {"form_token": token(client), "question": question, "place": place}
    reply = client.post("/ask", data=fields)
    assert reply.status_code == 422
    assert question.strip() in reply.text


def test_a_batch_without_index_is_not_offered_and_an_empty_folder_says_the_next_step(
    client: TestClient, workspace: Workspace
) -> None:
    Layout(workspace.out).index("b").unlink()
    page = client.get("/ask").text
    assert "qa-pipeline run" in page
    assert 'name="question"' not in page


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TransientModelError("the stream ended early"), "the stream ended early"),
        (BudgetExhaustedError("max_calls=1 is reached"), "max_calls=1 is reached"),
    ],
)
def test_a_model_that_stops_is_said_and_the_page_ends(
    with_model: Callable[[LanguageModel], TestClient], error: ModelError, words: str
) -> None:
    page = answered(with_model(ScriptedModel(lambda _: error)))
    assert words in page
    assert 'role="alert"' in page


PROVED = "The safety valve opens at 3 bar."
SCORES = JudgeReply(
    question_quality_reason="Clear.",
    question_quality=1.0,
    relevance_reason="It says when.",
    relevance=0.9,
    correctness_reason="As the guide has it.",
    correctness=1.0,
    completeness_reason="Nothing is left out.",
    completeness=0.8,
)


@pytest.mark.parametrize(
    ("suffix", "words"),
    [
        ("md", "## Sources"),
        ("bib", "@misc{source1,"),
    ],
)
def test_an_answer_is_exported_with_its_sources(client: TestClient, suffix: str, words: str) -> None:
    address = post(client, "/ask", question=QUESTION, place=BATCH)
    last_page(client, address)
    reply = client.get(f"/ask/download/{address.rpartition('/')[2]}.{suffix}")
    assert words in reply.text
    assert "The safety valve opens at 3 bar." in reply.text
    assert reply.headers["content-disposition"] == f'attachment; filename="answer.{suffix}"'


def test_an_uploaded_document_is_asked_and_leaves_the_corpus_alone(
    client: TestClient, workspace: Workspace
) -> None:
    before = sorted(workspace.corpus.rglob("*"))
    name = "../../<b>evil</b>\\..\\manual.md"
    page = last_page(client, post(client, "/ask/document", (name, MANUAL.replace("3 bar", "4 bar").encode())))
    link = re.search(r'href="/ask\?place=(upload%3A[^"]+)"', page)
    assert link
    place = link[1].replace("%3A", ":")
    answer = answered(client, place=place)
    assert "The safety valve opens at 4 bar." in answer
    assert "<b>evil" not in page + answer
    assert sorted(workspace.corpus.rglob("*")) == before
    files = [path for path in (workspace.out / "asked").rglob("*.md") if path.is_file()]
    assert [path.name for path in files] == ["document.md"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (workspace.out / "asked").rglob("*"))
    assert "manual.md" in client.get("/ask").text


@pytest.mark.parametrize(
    "upload",
    [("virus.exe", b"MZ"), ("noname", b"text"), ("broken.pdf", b"%PDF-1.7 broken"), ("blank.txt", b"   \n")],
)
def test_a_document_that_cannot_be_read_is_not_offered(client: TestClient, upload: tuple[str, bytes]) -> None:
    assert 'role="alert"' in last_page(client, post(client, "/ask/document", upload))
    assert "upload:" not in client.get("/ask").text


def test_an_empty_upload_and_one_that_is_too_large_are_refused(client: TestClient) -> None:
    form = {"form_token": token(client)}
    assert client.post("/ask/document", data=form, files={"file": ("a.md", b"")}).status_code == 422
    large = client.post(
        "/ask/document",
        headers={"Content-Length": "300000000", "Content-Type": "multipart/form-data; boundary=x"},
    )
    assert large.status_code == 413


def test_a_forgotten_document_goes_with_its_upload(client: TestClient, workspace: Workspace) -> None:
    last_page(client, post(client, "/ask/document", ("mine.md", MANUAL.encode())))
    assert invoke("forget", "b/guide.md", "--out", workspace.out, "--yes").code == 0
    assert [path for path in (workspace.out / "asked" / "documents").rglob("*") if path.is_file()] == []
    page = last_page(client, post(client, "/ask/document", ("mine.md", MANUAL.encode())))
    assert 'role="alert"' in page


def test_a_refusal_has_a_red_badge(client: TestClient) -> None:
    assert 'class="badge refused"' in answered(client, "Who won the football cup in 1998?")
