"""What no client sends: the service answers it all the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.testing.fake_server.plan import ServerPlan
from qa_pipeline.testing.fake_server.server import LOOPBACK_KEY
from qa_pipeline.testing.fake_server.service import Service

HEADERS = {"x-goog-api-key": LOOPBACK_KEY, "Authorization": f"Bearer {LOOPBACK_KEY}"}
PATHS = [
    "/v1/models/m:generateContent",
    "/v1/models/m:countTokens",
    "/v1/models/m:batchGenerateContent",
    "/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent",
    "/v1/chat/completions",
]
NAMES = (
    "contents parts text role systemInstruction generationConfig temperature maxOutputTokens thinkingConfig "
    "responseJsonSchema responseMimeType properties items type required anyOf enum model messages content "
    "response_format json_schema schema name strict batch inputConfig requests request metadata"
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.sampled_from(["user", "object", "json_schema", "m", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=6)
    ),
    max_leaves=25,
)


def service() -> Service:
    return Service(None, key=LOOPBACK_KEY, plan=ServerPlan())


@given(VALUES, st.sampled_from(PATHS))
def test_no_json_makes_the_service_fail(body: Any, path: str) -> None:
    play = service().answer("POST", path, HEADERS, {}, json.dumps(body).encode())
    assert play.status in (200, 400)
    json.loads(play.body or b"")


@given(st.dictionaries(st.sampled_from(NAMES.split()), VALUES, max_size=5), st.sampled_from(PATHS))
def test_no_field_beside_good_ones_makes_the_service_fail(extra: dict[str, Any], path: str) -> None:
    good = {"contents": [{"parts": [{"text": "hej"}]}]}
    chat = {"model": "m", "messages": [{"role": "user", "content": "hej"}]}
    body = (chat if path.startswith("/v1/chat") else good) | extra
    assert service().answer("POST", path, HEADERS, {}, json.dumps(body).encode()).status in (200, 400)


ITEMS = st.lists(VALUES | st.fixed_dictionaries({"request": VALUES}), max_size=3)


@given(ITEMS, st.dictionaries(st.sampled_from(NAMES.split()), VALUES, max_size=2))
def test_no_request_inside_a_batch_job_makes_the_service_fail(items: Any, extra: dict[str, Any]) -> None:
    asked = service()
    body = {"batch": {"inputConfig": {"requests": {"requests": items}}, **extra}}
    play = asked.answer("POST", PATHS[2], HEADERS, {}, json.dumps(body).encode())
    assert play.status in (200, 400)
    if play.status == 200:
        name = json.loads(play.body or b"")["name"]
        for _ in range(3):
            assert asked.answer("GET", f"/v1/{name}", HEADERS, {}, b"").status == 200


@pytest.mark.parametrize("name", ["batch", "systemInstruction", "generationConfig", "contents"])
@pytest.mark.parametrize("value", [[], [{}], [1], {}, {"parts": {}}, "x", 1, None])
@pytest.mark.parametrize("path", PATHS[:3])
def test_no_field_of_another_shape_makes_the_service_fail(name: str, value: Any, path: str) -> None:
    body = {"contents": [{"parts": [{"text": "hej"}]}], name: value}
    assert service().answer("POST", path, HEADERS, {}, json.dumps(body).encode()).status in (200, 400)


@given(st.text(), st.sampled_from(["GET", "POST", "DELETE", "PUT"]), st.binary(max_size=20))
def test_no_path_makes_the_service_fail(path: str, method: str, content: bytes) -> None:
    assert service().answer(method, f"/{path}", HEADERS, {}, content).status in (200, 400, 404)
