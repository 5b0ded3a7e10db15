import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.labelled_files import ITEMS, Item, check, draw
from qa_pipeline.storage.row_files import Fault
from qa_pipeline_tests.evaluation.labelled_files import item, items, read_labelled, write_lines, write_parquet

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
BAD_ROWS = [
    ("broken_line", '{"id": "x"'),
    ("broken_line", "[" * 100_000),
    ("missing_field", item(50, context=None)),
    ("wrong_type", item(50, answer="  ")),
    ("wrong_type", item(50, label=2)),
    ("wrong_type", item(50, label="1")),
    ("wrong_type", item(50, context="one text")),
    ("broken_text", item(50, answer="half \ud800 a character")),
    ("duplicate_id", item(3)),
]


@given(ANY, st.sampled_from(list(Item.needed())))
def test_no_value_of_a_field_breaks_the_reader(value: Any, field: str) -> None:
    read = check(item(1, **{field: value}), Item)
    assert isinstance(read, Fault) or pl.DataFrame([{"file": "f", **read}], schema=ITEMS).height == 1


@pytest.mark.parametrize(("reason", "row"), BAD_ROWS)
def test_a_row_that_cannot_be_used_is_counted_and_the_others_go_on(
    reason: str, row: Any, tmp_path: Path
) -> None:
    read = read_labelled([write_lines(tmp_path / "pumps.jsonl", [*items(4), row, row])])
    assert read.items["id"].to_list() == ["i0", "i1", "i2", "i3"]
    told = read.left_out.row(0, named=True)
    assert (told["file"], told["reason"], told["rows"], told["first_row"]) == ("pumps.jsonl", reason, 2, 5)


def test_both_formats_hold_the_same_items(tmp_path: Path) -> None:
    rows = items(8)
    (tmp_path / "folder").mkdir()
    lines = read_labelled([write_lines(tmp_path / "pumps.jsonl", rows)])
    table = read_labelled([write_parquet(tmp_path / "pumps.parquet", rows).parent / "pumps.parquet"])
    assert lines.items.drop("file").equals(table.items.drop("file"))
    assert not lines.left_out.height


def test_files_that_cannot_be_read_as_a_whole_are_named(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    (tmp_path / "items.xml").write_text("id\n")
    write_parquet(tmp_path / "none.parquet", items(1), label=pl.col("label")).touch()
    pl.DataFrame(items(1)).clear().write_parquet(tmp_path / "none.parquet")
    (tmp_path / "nothing").mkdir()
    for name in (
        "broken.parquet", "empty.jsonl", "none.parquet", "items.xml", "absent.jsonl", "nothing",
    ):  # fmt: skip
        with pytest.raises(InputError, match=name):
            read_labelled([tmp_path / name])


@given(st.integers(1, 40), st.integers(0, 40))
def test_a_smaller_draw_is_part_of_a_larger_one(limit: int, more: int) -> None:
    frame = pl.DataFrame(items(36), schema=ITEMS)
    small, large = (draw(frame, size)["id"].to_list() for size in (limit, limit + more))
    assert set(small) <= set(large)
    assert len(small) == min(limit, 36)
    assert [one for one in frame["id"] if one in large] == large


def test_a_draw_spreads_over_groups_and_is_made_in_each_data_set() -> None:
    rows = [item(n, id=f"{name}{n}", dataset=name) for name, n in itertools.product(("a", "b"), range(20))]
    drawn = draw(pl.DataFrame(rows, schema=ITEMS), 10)
    sizes = drawn.group_by("dataset").agg(pl.len(), groups=pl.col("group_id").n_unique()).sort("dataset")
    assert sizes.rows() == [("a", 10, 10), ("b", 10, 10)]
