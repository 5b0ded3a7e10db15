"""What no client sends is answered all the same, and the quota lets in no more than it has."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline_tests.fake_server.plan import ServerPlan
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.fake_server.service import Quota, Service
from qa_pipeline_tests.llm.budget.fakes import Clock

HEADERS = {"x-goog-api-key": LOOPBACK_KEY, "Authorization": f"Bearer {LOOPBACK_KEY}"}
PATHS = [
    "/v1/models/m:generateContent",
    "/v1/models/m:countTokens",
    "/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent",
    "/v1/chat/completions",
]
NAMES = (
    "contents parts text role systemInstruction generationConfig temperature maxOutputTokens thinkingConfig "
    "responseJsonSchema responseMimeType properties items type required anyOf enum model messages content "
    "response_format json_schema schema name strict"
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
    response = service().answer("POST", path, HEADERS, json.dumps(body).encode())
    assert response.status in (200, 400, 404)
    json.loads(response.body or b"")


@given(VALUES, st.sampled_from(["GET", "POST", "DELETE", "PUT"]), st.text())
def test_no_path_makes_the_service_fail(body: Any, method: str, path: str) -> None:
    response = service().answer(method, f"/{path}", HEADERS, json.dumps(body).encode())
    assert response.status in (400, 404)


@given(st.lists(st.floats(0, 5), max_size=200), st.floats(1, 1000), st.integers(1, 20))
def test_never_more_than_burst_and_refill_are_let_in(steps: list[float], rate: float, burst: int) -> None:
    clock = Clock(100.0)
    quota = Quota(rate, burst, clock)
    granted = 0
    for step in steps:
        clock.now += step
        granted += quota.take() == 0
    assert granted <= burst + sum(steps) * rate / 60 + 1e-6


@given(st.floats(1, 1000), st.integers(1, 20))
def test_who_waits_as_long_as_told_is_let_in(rate: float, burst: int) -> None:
    clock = Clock(100.0)
    quota = Quota(rate, burst, clock)
    assert [quota.take() for _ in range(burst)] == [0.0] * burst
    for _ in range(50):
        wait = quota.take()
        assert 0 < wait <= 60 / rate + 1e-9
        clock.now += wait
        assert quota.take() == 0.0


def test_it_never_holds_more_than_its_burst() -> None:
    clock = Clock(100.0)
    quota = Quota(60, 3, clock)
    clock.now += 1000
    assert [quota.take() == 0 for _ in range(5)] == [True, True, True, False, False]
