import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.publishing.selection import KEYS, ROWS, Candidates, Earlier, select_rows
from qa_pipeline.publishing.splits import DUPLICATE_GROUPS, KEY_SPLITS
from qa_pipeline.settings.verification import ReleaseSettings

HEAD, WITHOUT_ROWS = 5, 3
EARLIER = {1: "train", 2: "test", 4: "validation"}
"""Documents with a row each, which earlier releases put into different splits."""


@given(st.permutations(sorted(EARLIER)), st.permutations([*EARLIER, WITHOUT_ROWS]))
def test_a_near_duplicate_without_rows_gets_the_same_split_in_any_order_of_rows_and_documents(
    documents: list[int], group: list[int]
) -> None:
    rows = [{"code": key, "wording": key, "composite": 0.9, "language": "en"} for key in documents]
    candidates = Candidates(
        pl.DataFrame(rows, ROWS),
        pl.DataFrame(list(enumerate(documents)), KEYS, orient="row"),
        {},
        {},
        pl.DataFrame([(key, HEAD) for key in group], DUPLICATE_GROUPS, orient="row"),
        [],
    )
    earlier = Earlier(
        None, pl.Series([], dtype=pl.UInt64()), pl.DataFrame([*EARLIER.items()], KEY_SPLITS, orient="row")
    )
    selection = select_rows(candidates, earlier, ReleaseSettings())
    split_of_key = dict(selection.key_splits.iter_rows())
    assert split_of_key == {**EARLIER, HEAD: "test", WITHOUT_ROWS: "test"}
