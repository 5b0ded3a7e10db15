from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.sandbox.process import OutcomeQueue


@given(st.permutations(range(20)))
def test_outcomes_leave_in_the_order_of_their_files_as_soon_as_they_can(arrived: list[int]) -> None:
    queue = OutcomeQueue()
    left: list[str] = []
    for count, number in enumerate(arrived, start=1):
        queue.add(number, DocumentFailure(f"file {number}", ""), size=1)
        left += [outcome.reason for outcome in queue.in_order() if isinstance(outcome, DocumentFailure)]
        so_far = set(arrived[:count])
        assert len(left) == next(number for number in range(21) if number not in so_far)
    assert left == [f"file {number}" for number in range(20)]


def test_it_is_full_of_many_outcomes_or_of_large_ones_until_they_leave() -> None:
    for count, size in ((1000, 1), (2, 50_000_000)):
        queue = OutcomeQueue()
        for number in range(count):
            assert not queue.full
            queue.add(number, DocumentFailure("any", ""), size)
        assert queue.full
        list(queue.in_order())
        assert not queue.full
