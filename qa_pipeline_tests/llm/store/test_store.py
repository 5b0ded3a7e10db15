from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.schema import RequestId
from qa_pipeline.llm.store.store import Outcome, SqlReplyStore
from qa_pipeline_tests.llm.postgres_server import NewPlace
from qa_pipeline_tests.llm.store.outcomes import OUTCOMES, paid

IDS = st.tuples(st.sampled_from(["one", "two"]), st.sampled_from("abc"))


@pytest.fixture
def store(place: Path | str) -> Iterator[SqlReplyStore]:
    opened = SqlReplyStore(Database(place))
    yield opened
    opened.close()


class TwoOwners(RuleBasedStateMachine):
    """Two owners of one store, against a dictionary of outcomes and one of claims."""

    new_place: NewPlace

    @initialize()
    def open(self) -> None:
        place = self.new_place()
        self.owners = [SqlReplyStore(Database(place)) for _ in range(2)]
        self.outcomes: dict[RequestId, Outcome] = {}
        self.claims: dict[RequestId, int] = {}

    @rule(owner=st.integers(0, 1), request_id=IDS, outcome=OUTCOMES)
    def put(self, owner: int, request_id: RequestId, outcome: Outcome) -> None:
        stored = self.outcomes.setdefault(request_id, outcome)
        assert self.owners[owner].put(paid(request_id, outcome)) == stored
        if self.claims.get(request_id) == owner:
            del self.claims[request_id]

    @rule(owner=st.integers(0, 1), wanted=IDS)
    def find(self, owner: int, wanted: RequestId) -> None:
        assert self.owners[owner].find(wanted) == self.outcomes.get(wanted)

    @rule(owner=st.integers(0, 1), wanted=IDS)
    def claim(self, owner: int, wanted: RequestId) -> None:
        claimed = self.owners[owner].claim(wanted)
        if wanted in self.outcomes:
            assert claimed == self.outcomes[wanted]
        else:
            assert claimed is (self.claims.setdefault(wanted, owner) == owner)

    @rule(owner=st.integers(0, 1), released=IDS)
    def release(self, owner: int, released: RequestId) -> None:
        self.owners[owner].release(released)
        if self.claims.get(released) == owner:
            del self.claims[released]

    @rule(owner=st.integers(0, 1))
    def reopen(self, owner: int) -> None:
        for one, by in self.claims.items():
            if by == owner:
                self.owners[owner].release(one)
        self.owners[owner].close()
        self.claims = {one: by for one, by in self.claims.items() if by != owner}

    def teardown(self) -> None:
        for owner in getattr(self, "owners", []):
            owner.close()


@pytest.mark.hypothesis  # which marks only tests with @given by itself
def test_a_store_is_a_map_in_which_nothing_is_replaced_and_a_claim_has_one_owner(
    new_place: NewPlace,
) -> None:
    class Machine(TwoOwners):
        pass

    Machine.new_place = staticmethod(new_place)
    run_state_machine_as_test(Machine, settings=settings(stateful_step_count=20))


@given(outcome=OUTCOMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_put_is_got(store: SqlReplyStore, outcome: Outcome) -> None:
    request_id = ("m", f"{hash(outcome)}")
    store.put(paid(request_id, outcome))
    assert store.find(request_id) == outcome
