"""Programs ask a batch over HTTP, and get what the page shows as JSON."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from qa_pipeline.llm.base import LanguageModel, TransientModelError
from qa_pipeline.review import pages
from qa_pipeline.review.app import Access
from qa_pipeline.review.asking import Asking
from qa_pipeline.review.server import build_app
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.review.conftest import ADDRESS
from qa_pipeline_tests.review.test_pages_ask import (
    BATCH,
    PROVED,
    QUESTION,
    drafted,
    with_model,
)
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding

__all__ = ["with_model"]


def ask(client: TestClient, question: str = QUESTION, place: str = BATCH) -> str:
    """Ask, and return the address of the answer."""
    token = client.get("/ask.json").json()["form_token"]
    reply = client.post("/ask.json", data={"form_token": token, "question": question, "place": place})
    assert reply.status_code == 202, reply.text
    assert reply.headers["location"] == reply.json()["answer"]
    return str(reply.json()["answer"])


def answered(client: TestClient, question: str = QUESTION) -> dict[str, Any]:
    reply = client.get(ask(client, question))
    assert reply.headers["content-type"] == "application/json"
    document: dict[str, Any] = reply.json()
    assert document["is_done"]
    return document


def test_an_answer_has_draft_proved_sentences_badge_and_sources(client: TestClient) -> None:
    document = answered(client)
    assert document["question"] == QUESTION
    assert document["draft"] == PROVED
    (sentence,) = document["sentences"]
    assert (sentence["text"], sentence["verdict"], sentence["sources"]) == (PROVED, "supported", [1])
    assert document["badge"] == {"level": "unjudged", "supported": 1, "claims": 1}
    assert document["unsupported_spans"] == []
    assert 0 < document["confidence"] <= 1
    (source,) = document["sources"]
    assert PROVED in source["text"]
    assert {type(source[name]) for name in ("chunk_id", "document_id")} == {str}
    assert isinstance(source["score"], float)
    assert source["page"] is None
    assert (source["path"], source["section"], source["quote"]) == ("guide.md", "Guide › Safety", PROVED)
    assert document["problem"] is None


def test_a_sentence_without_proof_is_marked(
    with_model: Callable[[LanguageModel], TestClient],
) -> None:
    answer = f"{PROVED} It was made in Sweden."

    def reply(request: Any) -> Any:
        if request.role == "verify":
            return deciding("reject")(request)
        return drafted(answer, PROVED) if request.role == "answer" else TransientModelError("busy")

    document = answered(with_model(ScriptedModel(reply)))
    assert [sentence["verdict"] for sentence in document["sentences"]] == ["supported", "unsupported"]
    assert document["badge"] == {"level": "partial", "supported": 1, "claims": 2}
    assert [span["text"] for span in document["unsupported_spans"]] == ["It was made in Sweden."]
    assert all(span["reason"] for span in document["unsupported_spans"])
    assert document["confidence"] <= 0.5


def test_an_off_topic_question_is_refused_with_no_confidence(client: TestClient) -> None:
    document = answered(client, "Who won the football cup in 1998?")
    assert (document["is_refusal"], document["confidence"], document["sources"]) == (True, 0.0, [])
    assert document["badge"]["level"] == "refused"


def test_nobody_asks_without_a_session_or_its_form_token(client: TestClient, workspace: Workspace) -> None:
    fields = {"question": QUESTION, "place": BATCH}
    assert client.post("/ask.json", data=fields).status_code == 403
    assert client.post("/ask.json", data={**fields, "form_token": "forged"}).status_code == 403
    token = client.get("/ask.json").json()["form_token"]
    elsewhere = {"Origin": "https://evil.example"}
    assert (
        client.post("/ask.json", data={**fields, "form_token": token}, headers=elsewhere).status_code == 403
    )
    stranger = TestClient(build_app(Layout(workspace.out), Access("Ben")), base_url=ADDRESS)
    assert stranger.get("/ask.json").status_code == 401
    assert stranger.get("/ask/answer/x.json").status_code == 401


def test_an_answer_that_is_no_longer_in_memory_is_not_there(client: TestClient) -> None:
    reply = client.get("/ask/answer/gone.json")
    assert reply.status_code == 404
    assert "Ask again" in reply.json()["problem"]


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_a_number_of_steps_that_is_too_long_is_no_fault(client: TestClient, suffix: str) -> None:
    address = ask(client).removesuffix(".json")
    client.get(f"{address}.json")
    assert client.get(f"{address}{suffix}?seen={'9' * 5000}").status_code == 200


def test_a_draft_is_null_while_the_documents_are_searched(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PATIENCE", 0.0)
    is_released = threading.Event()

    def wait(*_: Any) -> Any:
        is_released.wait(30)
        raise TransientModelError("released")

    monkeypatch.setattr(Asking, "open", wait)
    document = client.get(ask(client)).json()
    is_released.set()
    assert (document["draft"], document["sources"], document["is_done"]) == (None, [], False)
