"""The plan: drawn the same every time, in the shares it names, and read from YAML."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline_tests.fake_server.chat import ChatAbilities
from qa_pipeline_tests.fake_server.plan import Fault, ServerPlan, load_plan

SHARES: dict[Fault, float] = {"server_error": 0.2, "reset": 0.1, "cut_json": 0.3}


@given(st.integers(), st.binary(), st.integers(0, 5))
def test_the_same_seed_request_and_arrival_draw_the_same(seed: int, request: bytes, arrival: int) -> None:
    one, other = (ServerPlan(seed=seed, faults=SHARES) for _ in range(2))
    assert one.draw(request, arrival) == other.draw(request, arrival)


def test_seeds_requests_and_arrivals_draw_apart() -> None:
    draws = {
        (seed, arrival): [
            ServerPlan(seed=seed, faults=SHARES).draw(b"%d" % request, arrival) for request in range(50)
        ]
        for seed in (0, 1)
        for arrival in (0, 1)
    }
    assert len({tuple(drawn) for drawn in draws.values()}) == 4
    assert all(len(set(drawn)) == 4 for drawn in draws.values())


def test_faults_come_in_their_shares() -> None:
    plan = ServerPlan(faults=SHARES)
    drawn = [plan.draw(b"%d" % number, 0) for number in range(5000)]
    for fault, share in SHARES.items():
        assert drawn.count(fault) / 5000 == pytest.approx(share, abs=0.03)
    assert drawn.count(None) / 5000 == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize("shares", [{"fire": 0.1}, {"reset": -0.1}, {"reset": 0.6, "drip": 0.6}])
def test_shares_that_are_none_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="fault"):
        ServerPlan(faults=shares)  # type: ignore[arg-type]


def test_a_plan_is_read_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "seed: 7\nlatency: 1.5\nfaults: {reset: 0.05, cut_json: 0.05}\n"
        "requests_per_minute: 600\nburst: 10\nmodels: {m: 8192}\n"
        "chat: {json_schema: false, lacking: [seed]}\n"
    )
    assert load_plan(path) == ServerPlan(
        seed=7,
        latency=1.5,
        faults={"reset": 0.05, "cut_json": 0.05},
        requests_per_minute=600,
        burst=10,
        models={"m": 8192},
        chat=ChatAbilities(json_schema=False, lacking=frozenset({"seed"})),
    )


def test_an_empty_plan_is_the_plan_without_faults(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("")
    assert load_plan(path) == ServerPlan()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("faults: {fire: 0.1}", "faults"),
        ("faults: {reset: 2}", "at most 1"),
        ("speed: 3", "speed"),
        ("latency: slow", "latency"),
        ("[1, 2]", "plan"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_file_that_is_no_plan_is_refused_by_name(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        load_plan(path)
    assert str(path) in str(caught.value)


def test_a_missing_plan_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.yaml: cannot be read"):
        load_plan(tmp_path / "nothing.yaml")
