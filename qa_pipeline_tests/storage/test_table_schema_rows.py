from typing import TypedDict

import polars as pl
import pytest

from qa_pipeline.errors import TableError
from qa_pipeline.storage.table_schema import DraftedPairRow, PairRow, typed_rows
from qa_pipeline.storage.tables import CHUNKS, PAIRS
from qa_pipeline_tests.curation.rows import pair

UNANSWERED = PAIRS.frame([pair("p", answer=None)])


class CutRow(TypedDict):
    chunk_id: str
    document_id: str


class WeighedRow(CutRow):
    share: float


def test_a_null_column_is_none_in_rows_that_allow_it_and_refused_in_those_that_do_not() -> None:
    assert [row["answer"] for row in typed_rows(UNANSWERED, PairRow)] == [None]
    with pytest.raises(TableError, match=r"DraftedPairRow .*answer"):
        typed_rows(UNANSWERED, DraftedPairRow)


def test_a_frame_without_a_column_of_its_type_is_refused_and_further_columns_are_not() -> None:
    assert list(typed_rows(CHUNKS.empty().with_columns(more=pl.lit(1)), CutRow)) == []
    with pytest.raises(TableError, match=r"WeighedRow .*share"):
        typed_rows(CHUNKS.empty(), WeighedRow)
