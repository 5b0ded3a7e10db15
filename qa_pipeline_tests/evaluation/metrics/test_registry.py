"""Laws that every metric keeps, whatever it measures."""

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qa_pipeline.evaluation.answered_questions import RAG_ROWS, read_rag_rows
from qa_pipeline.evaluation.metrics.base import SIGNALS, Setup, add_signals
from qa_pipeline.evaluation.metrics.registry import METRICS
from qa_pipeline.evaluation.running import evaluate
from qa_pipeline_tests.evaluation.metrics.frames import (
    NOBODY,
    Row,
    context,
    means_at,
    rows_of,
    statement,
    value,
    with_signals,
)

ALL = list(METRICS.values())
NAMES = list(SIGNALS)
SENTENCES = (
    "The Eiffel Tower is in Paris.",
    "The tower was completed in 1889.",
    "The tower is 330 metres tall.",
    "The tower is 500 metres tall.",
    "Rome is the capital of Italy.",
    "It opens at nine every day [1].",
)
sentences = st.sampled_from(SENTENCES)
texts = st.lists(sentences, min_size=1, max_size=3).map(" ".join)
documents = st.sampled_from(["a.md", "b.md", "docs/c.md"])
shares = st.floats(0, 1)
flags = st.none() | st.booleans()
verdicts = st.sampled_from(["supported", "unsupported", "contradicted", "undecided"])


@st.composite
def contexts(draw: st.DrawFn) -> list[Row]:
    dates = st.none() | st.sampled_from(["2024-01-01", "2025-06-30", "unknown"])
    return [
        context(draw(texts), draw(documents), rank=rank, date=draw(dates), authority=draw(st.none() | shares))
        for rank in range(1, draw(st.integers(1, 3)) + 1)
    ]


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """A row as a data set may hold it, with anything but the question lacking."""
    full = {
        "answer": draw(texts | st.just("I do not know.")),
        "contexts": draw(contexts()),
        "citations": draw(st.none() | st.just([{"raw": "[1]", "document": "a.md", "quote": SENTENCES[0]}])),
        "reference": draw(texts),
        "relevant_documents": draw(st.lists(documents, max_size=2)),
        "true_claims": [{"claim": draw(sentences), "source": draw(documents)}],
        "must_refuse": draw(st.booleans()),
        "samples": draw(st.lists(sentences, max_size=3)),
        "confidences": draw(st.lists(shares, max_size=4)),
    }
    lacking = draw(st.sets(st.sampled_from(list(full)), max_size=3))
    return {"query": "How tall is the tower?", **{n: None if n in lacking else v for n, v in full.items()}}


@st.composite
def scripted(draw: st.DrawFn) -> Row:
    """A row whose signals are anything that their types allow."""
    found = draw(st.lists(verdicts, max_size=5))
    shown = draw(contexts())
    cited: list[Row] = [
        {
            "document": draw(st.none() | documents),
            "contexts": [],
            "exists": draw(st.booleans()),
            "quote_found": draw(flags),
            "marks": [],
            "mentions": draw(st.integers(0, 3)),
        }
        for _ in range(draw(st.integers(0, 3)))
    ]
    held = [{"supported": draw(flags), "decided_by": "x"} for _ in range(2)]
    place = st.integers(0, len(shown) - 1)
    return {
        **draw(rows()),
        "contexts": shown,
        "refused": draw(st.booleans()),
        "statements": [
            statement(
                one,
                draw(st.none() | place),
                position,
                relevance=draw(st.floats(-1, 1)),
                score=draw(shares),
                pair_score=draw(shares),
            )
            for position, one in enumerate(found)
        ],
        "reference_statements": held,
        "reference_similarity": draw(shares),
        "contradictions": [draw(flags) for _ in shown],
        "groundedness": draw(st.lists(st.none() | shares, max_size=3)),
        "cited": cited,
        "citation_support": [
            {
                "score": draw(st.none() | shares),
                "proves": draw(st.lists(st.integers(0, len(found) - 1), unique=True)) if found else [],
                "decided_by": "quotation",
            }
            for _ in cited
        ],
        "relevant_sentences": draw(st.lists(st.lists(flags, max_size=3), max_size=3)),
        "attributed": held,
        "covered": held,
        "relevance": draw(st.floats(-1, 1)),
        "meanings": draw(st.lists(st.integers(0, 3), max_size=4)),
        "conflicts": [draw(flags)],
    }


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return means_at(tmp_path_factory.mktemp("out"))


def values_of(*given_rows: Row) -> pl.DataFrame:
    found = with_signals(*given_rows)
    values = {one.name: one.scores(found, NOBODY) for one in ALL}
    return pl.DataFrame(values, schema=dict.fromkeys(values, pl.Float64()))


def near(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Equal but for the last digits, where sums were taken in another order."""
    return one.with_columns(pl.all().round(9)).equals(other.with_columns(pl.all().round(9)))


fixture_laws = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
scripted_rows = st.lists(scripted(), min_size=1, max_size=4)


@given(scripted_rows)
def test_every_value_is_in_the_range_of_its_metric_or_unknown(given_rows: list[Row]) -> None:
    values = values_of(*given_rows)
    for metric in ALL:
        low, high = metric.range
        known = values[metric.name].drop_nulls()
        assert known.is_finite().all()
        assert (known >= low - 1e-12).all()
        assert high is None or (known <= high + 1e-12).all()


@given(scripted_rows, st.randoms())
def test_rows_may_come_in_any_order(given_rows: list[Row], random: Any) -> None:
    order = list(range(len(given_rows)))
    random.shuffle(order)
    moved = [given_rows[place] for place in order]
    assert near(values_of(*moved), values_of(*given_rows)[order])


@given(scripted())
def test_a_row_is_worth_the_same_alone_as_among_others(row: Row) -> None:
    together = values_of(row, {"query": "Why?"}, row)
    assert near(together[:1], values_of(row))
    assert near(together[2:], together[:1])


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_what_a_metric_needs_and_lacks_makes_it_unknown_and_is_explained(metric: Any) -> None:
    rows = with_signals({"query": "Who?"})
    assert metric.scores(rows, NOBODY) == [None]
    assert metric.lacking(rows[0]) == [*metric.needs]
    assert {*metric.needs} <= {*RAG_ROWS, *SIGNALS}
    assert metric.meaning.endswith(".")


@given(row=rows())
@fixture_laws
def test_writing_rows_down_and_reading_them_again_changes_nothing(row: Row, setup: Setup) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines, table = Path(folder) / "rows.jsonl", Path(folder) / "rows.parquet"
        lines.write_text(json.dumps({**row, "id": "a"}), encoding="utf-8")
        frame = read_rag_rows([lines]).items.drop("file")
        frame.write_parquet(table)
        lines.write_text(json.dumps(frame.row(0, named=True)), encoding="utf-8")
        again = [read_rag_rows([path]).items for path in (lines, table)]
    before = evaluate(frame, ALL, setup)[1]
    assert all(before.equals(evaluate(one, ALL, setup)[1]) for one in again)


RANKED = ("precision", "recall", "f1", "ndcg", "reciprocal_rank", "context_precision_ranked")


@given(row=rows(), random=st.randoms())
@fixture_laws
def test_contexts_may_come_in_any_order_where_their_rank_is_not_measured(
    row: Row, setup: Setup, random: Any
) -> None:
    """But for marks that count contexts, and evidence of equal passages, whose first one is taken."""
    unmarked = {**row, "citations": None, "answer": (row["answer"] or "").replace("[1]", "")}
    distinct = list({one["text"]: one for one in row["contexts"] or ()}.values())
    others = [one for one in distinct if not any(one is not two and _shares(one, two) for two in distinct)]
    moved = list(others)
    random.shuffle(moved)
    unranked = [one for one in ALL if not one.name.startswith(RANKED)]
    found = [
        evaluate(rows_of({**unmarked, "contexts": order}), unranked, setup)[1] for order in (others, moved)
    ]
    assert near(*found)


def _shares(one: Row, other: Row) -> bool:
    return any(sentence in other["text"] for sentence in SENTENCES if sentence in one["text"])


@given(st.lists(verdicts.filter(lambda one: one != "undecided"), min_size=1, max_size=6))
def test_a_supported_statement_never_lowers_faithfulness_and_a_false_one_never_raises_it(
    found: list[str],
) -> None:
    for name in ("faithfulness", "weighted_faithfulness_uniform", "weighted_faithfulness_position"):
        before, more, less = (
            value(name, {"statements": [statement(one, position=at) for at, one in enumerate(whole)]})
            for whole in (found, [*found, "supported"], [*found, "unsupported"])
        )
        assert before is not None
        assert more is not None
        assert less is not None
        assert less <= before + 1e-12
        assert more >= before - 1e-12


@given(row=rows(), early=st.sampled_from([["statements"], ["cited"], ["attributed"], NAMES[::-1]]))
@fixture_laws
def test_verification_at_any_stage_gives_the_scores_of_verification_at_the_end(
    row: Row, setup: Setup, early: list[str]
) -> None:
    """Signals that stand already are taken as they are, and are what would be found."""
    stepwise = rows_of(row).rows(named=True)
    add_signals(stepwise, early, setup)
    values = [one.scores(stepwise, setup)[0] for one in ALL]
    assert values == list(evaluate(rows_of(row), ALL, setup)[1].row(0))
