from random import Random

from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.formats.office.pptx import Box, reading_order

BOXES = st.one_of(st.none(), st.builds(Box, *[st.integers(-50, 300)] * 2, *[st.integers(0, 200)] * 2))


@given(st.lists(BOXES, max_size=12))
def test_every_shape_is_read_once_wherever_it_lies(boxes: list[Box | None]) -> None:
    assert sorted(reading_order(boxes)) == list(range(len(boxes)))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9, unique=True),
    st.randoms(),
)
def test_columns_and_rows_are_read_alike_however_they_are_listed(
    places: list[tuple[int, int]], random: Random
) -> None:
    random.shuffle(places)
    boxes = [Box(100 * column, 100 * row, 90, 90) for column, row in places]
    order = [places[place] for place in reading_order(boxes)]
    for position, (column, row) in enumerate(order):
        later = order[position + 1 :]
        assert not any(
            (one == column and other < row) or (other == row and one < column) for one, other in later
        )


def test_a_listed_order_that_can_be_right_is_kept() -> None:
    by_column = [Box(0, 0, 9, 9), Box(0, 10, 9, 9), Box(10, 0, 9, 9), Box(10, 10, 9, 9)]
    assert reading_order(by_column) == [0, 1, 2, 3]


def test_very_many_shapes_are_read_from_top_to_bottom() -> None:
    assert reading_order([Box(0, -place, 9, 1) for place in range(1_000)]) == list(range(999, -1, -1))
