"""The order of the queue, its lists and filters, and the place of a pair in it."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.pipeline.report import finished_batches, report
from qa_pipeline.review.queue import COLUMNS, LISTS, Filters, Queue, matching, queue_page
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.curation.rows import claim, pair, verdict
from qa_pipeline_tests.review.tables import decide, write_tables, write_verdicts

WORDS = ("accepted", "rejected", "needs_review", "failed")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Two batches with pairs of every verdict, some of which are known answers."""
    layout = Layout(tmp_path)
    for batch, counts in (("a", (4, 2, 3, 1)), ("b", (1, 5, 2, 2))):
        verdicts = [
            verdict(f"{batch}-{word}-{number}", word, reason=f"why_{word}")
            for word, count in zip(WORDS, counts, strict=True)
            for number in range(count)
        ]
        known = [verdict(f"{batch}-known-{word}", word, expected_verdict="rejected") for word in WORDS]
        write_verdicts(layout, batch, *verdicts, *known, language="sv" if batch == "a" else "de")
    return layout


def view(layout: Layout, **filters: str) -> dict[str, Any]:
    return queue_page(Queue(layout), Filters.from_query(filters), int(filters.get("page", "1")))


def listed(queue: Queue, **filters: str) -> list[str]:
    rows = queue.rows()
    return rows[matching(rows, Filters.from_query(filters))]["pair_id"].to_list()


def test_counts_agree_with_those_of_status(layout: Layout) -> None:
    counted = report(layout, finished_batches(layout)).batches
    every = view(layout, list="all")
    verdicts = {
        value: pairs
        for facet in every["facets"]
        if facet["name"] == "verdict"
        for value, _, pairs in facet["choices"]
    }
    assert verdicts == {word: counted[word].sum() for word in WORDS}
    assert every["total"] == counted["pairs"].sum()
    lists = {name: pairs for name, _, pairs in every["lists"]}
    assert lists["waiting"] == counted["needs_review"].sum()
    assert lists["known"] == 2 * len(WORDS)
    for row in counted.iter_rows(named=True):
        assert view(layout, list="all", batch=row["batch"])["total"] == row["pairs"]


def test_a_decision_takes_a_pair_out_of_those_that_wait_and_puts_it_into_the_decided(layout: Layout) -> None:
    queue = Queue(layout)
    before = listed(queue)
    decide(layout, "a", before[0])
    assert listed(queue) == before[1:]
    assert listed(queue, list="decided") == [before[0]]
    row = queue.rows().filter(queue.rows()["pair_id"] == before[0]).row(0, named=True)
    assert (row["decision"], row["who"]) == ("accepted", "Ada")


def test_a_pair_waits_again_once_it_is_another_than_was_decided_about(layout: Layout) -> None:
    queue = Queue(layout)
    before = listed(queue)
    decide(layout, "a", before[0])
    assert before[0] not in listed(queue)
    write_verdicts(layout, "a", verdict(before[0], "needs_review"), answer="Another answer.")
    assert listed(queue, batch="a") == [before[0]]
    assert listed(queue, list="decided") == []


def test_a_pair_that_left_its_list_keeps_its_neighbours(layout: Layout) -> None:
    queue, filters = Queue(layout), Filters(batch="a")
    decide(layout, "a", "a-needs_review-1")
    place = queue.position(filters, "a", "a-needs_review-1")
    assert (place.number, place.total) == (None, 2)
    assert place.before == filters.pair_address("a", "a-needs_review-0")
    assert place.after == filters.pair_address("a", "a-needs_review-2")


def test_pairs_of_one_id_in_two_batches_are_two(tmp_path: Path) -> None:
    layout, filters = Layout(tmp_path), Filters()
    for batch in ("a", "b"):
        write_verdicts(layout, batch, verdict("same", "needs_review"))
    queue = Queue(layout)
    assert queue.position(filters, "a", "same").after == filters.pair_address("b", "same")
    decide(layout, "a", "same")
    assert queue.rows()["decision"].to_list() == ["accepted", None]


def test_a_batch_is_read_again_once_its_tables_have_changed(layout: Layout) -> None:
    queue = Queue(layout)
    assert len(listed(queue)) == 5
    write_verdicts(layout, "a", verdict("new", "needs_review"))
    assert listed(queue, batch="a") == ["new"]
    for path in (layout.out / "tables").glob("*/b.parquet"):
        path.unlink()
    assert listed(queue, list="all") == ["new"]


def test_a_damaged_file_of_decisions_is_named_until_it_is_mended(layout: Layout) -> None:
    queue = Queue(layout)
    layout.decisions("a").parent.mkdir(parents=True, exist_ok=True)
    layout.decisions("a").write_text("{nothing")
    assert len(listed(queue)) == 5
    assert set(queue.problems) == {"a"}
    assert "repair it" in queue.problems["a"]
    layout.decisions("a").unlink()
    queue.rows()
    assert queue.problems == {}


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"language": "sv"}, 10),
        ({"verdict": "failed"}, 3),
        ({"reason": "why_rejected", "batch": "b"}, 5),
        ({"type": "fact_single"}, 20),
        ({"type": "procedure"}, 0),
        ({"search": "QUESTION B-FAILED"}, 2),
        ({"search": "answer a-"}, 10),
        ({"search": ".*"}, 0),
    ],
)
def test_filters_narrow_the_list_down(layout: Layout, filters: dict[str, str], count: int) -> None:
    assert view(layout, list="all", **filters)["total"] == count


def test_the_least_certain_pairs_come_first_and_each_batch_and_reason_has_its_turn(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    similarities = {"sure": 0.95, "open": 0.62, "low": 0.4, "other": 0.9}
    for batch in ("a", "b"):
        write_tables(
            layout,
            batch,
            pairs=[pair(name) for name in similarities],
            claims=[claim(name, similarity=value) for name, value in similarities.items()],
            verdicts=[
                verdict(name, "needs_review", reason="split" if name == "other" else "unproved")
                for name in similarities
            ],
        )
    rows = Queue(layout).rows()
    order = list(rows.select("batch", "pair_id").iter_rows())
    assert set(order[:4]) == {("a", "open"), ("a", "other"), ("b", "open"), ("b", "other")}
    assert [name for _, name in order[4:]] == ["low", "low", "sure", "sure"]


@given(
    values=st.fixed_dictionaries(
        {"list": st.sampled_from(list(LISTS))},
        optional={name: st.text(max_size=20).map(str.strip) for name in (*COLUMNS, "search")},
    )
)
def test_an_address_gives_back_its_filters(values: dict[str, str]) -> None:
    filters = Filters(**values)
    assert Filters.from_query(dict(parse_qsl(filters.address()))) == filters
