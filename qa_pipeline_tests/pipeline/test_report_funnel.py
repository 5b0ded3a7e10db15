"""The parts of every stage add up to its total, and known answers are held against what they got."""

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.pipeline.report import (
    LEFT_OUT_COUNTS,
    known_answers,
    left_out_counts,
    masked_counts,
    summarise,
    yield_funnel,
)
from qa_pipeline.storage.tables import DOCUMENTS, TABLES
from qa_pipeline_tests.curation.rows import (
    document,
    documents,
    example,
    examples,
    pair,
    pairs,
    question,
    questions,
    verdict,
    verdicts,
)

WORDS = st.sampled_from(["accepted", "rejected", "needs_review", "failed"])
REASONS = st.sampled_from([None, "one", "other"])
MESSAGES = [{"role": "user", "content": "Q"}]


def batch(ledger: list[tuple[str, str | None]], **replaced: pl.DataFrame) -> dict[str, pl.DataFrame]:
    frames = {name: table.empty() for name, table in TABLES.items()}
    ids = [f"p{n}" for n in range(len(ledger))]
    frames["pairs"] = pairs(*(pair(i, expected_verdict=k) for i, (_, k) in zip(ids, ledger, strict=True)))
    frames["verdicts"] = verdicts(
        *(verdict(i, word, expected_verdict=known) for i, (word, known) in zip(ids, ledger, strict=True))
    )
    return {**frames, **replaced}


@given(
    statuses=st.lists(
        st.tuples(st.sampled_from(["parsed", "failed", "skipped", "duplicate"]), REASONS), max_size=8
    ),
    asked=st.lists(st.tuples(st.sampled_from(["kept", "dropped", "failed"]), REASONS), max_size=8),
    ledger=st.lists(st.tuples(WORDS, st.none() | WORDS), max_size=8),
    limit=st.integers(0, 8),
)
def test_the_parts_of_a_stage_add_up_to_its_total(
    statuses: list[tuple[str, str | None]],
    asked: list[tuple[str, str | None]],
    ledger: list[tuple[str, str | None]],
    limit: int,
) -> None:
    trained = [f"p{n}" for n, row in enumerate(ledger) if row == ("accepted", None)][:limit]
    frames = batch(
        ledger,
        documents=documents(
            *(document(f"d{n}", status=status, reason=reason) for n, (status, reason) in enumerate(statuses))
        ),
        questions=questions(
            *(question(f"q{n}", status, reason=reason) for n, (status, reason) in enumerate(asked))
        ),
        training_examples=examples(*(example(i, messages=MESSAGES) for i in trained)),
    )
    steps = yield_funnel(frames)
    totals = {
        "documents": len(statuses),
        "questions": len(asked),
        "pairs": sum(known is None for _, known in ledger),
        "verdicts": sum(known is None for _, known in ledger),
        "training_examples": ledger.count(("accepted", None)),
    }
    for stage, total in totals.items():
        first, *parts = steps.filter(pl.col("stage") == stage)["count"].to_list()
        assert first == total == sum(parts)


def test_every_loss_has_its_reason() -> None:
    ledger = [("accepted", None), ("accepted", "accepted"), ("accepted", None), ("rejected", None)]
    dropped = question("q2", "dropped", reason="round_trip")
    failed = pair("d", status="failed", reason="not_json")
    frames = batch(
        ledger,
        questions=questions(question("q1"), dropped),
        pairs=pairs(pair("a"), pair("b", origin="imported"), failed),
        training_examples=examples(example("p0", messages=MESSAGES)),
    )
    rows = yield_funnel(frames).rows()
    assert [row for row in rows if row[0] in ("questions", "pairs", "training_examples")] == [
        ("questions", "planned", None, 2),
        ("questions", "dropped", "round_trip", 1),
        ("questions", "kept", None, 1),
        ("pairs", "created", None, 3),
        ("pairs", "failed", "not_json", 1),
        ("pairs", "generated", None, 1),
        ("pairs", "imported", None, 1),
        ("training_examples", "accepted", None, 2),
        ("training_examples", "examples", None, 1),
        ("training_examples", "left_out", "too_long", 1),
    ]


@given(ledger=st.lists(st.tuples(WORDS, st.none() | WORDS), max_size=10))
def test_every_known_answer_is_counted_once_beside_what_it_got(ledger: list[tuple[str, str | None]]) -> None:
    table = known_answers(batch(ledger)["verdicts"])
    assert Counter({(right, got): pairs for right, got, pairs in table.iter_rows()}) == Counter(
        (right, got) for got, right in ledger if right is not None
    )


def test_the_summary_leaves_known_answers_out_and_divides_only_what_exists() -> None:
    ledger = verdicts(
        verdict("a", composite=0.9),
        verdict("b", "rejected", composite=0.5),
        verdict("c", "needs_review", composite=None),
        verdict("d", composite=None),
        verdict("e", "rejected", reason="alternative", duplicate_of="a", composite=0.1),  # proved as well
        verdict("k", expected_verdict="rejected", composite=0.1),
    )
    summary = summarise(ledger)
    assert list(summary.values())[:5] == [5, 2, 2, 1, 0]
    assert (summary["pass_rate"], summary["average_score"]) == (2 / 3, 0.7)
    assert (summary["pass_rate_of_all"], summary["average_score_of_passed"]) == (1 / 2, 0.9)
    empty = summarise(verdicts())
    assert (empty["pairs"], empty["pass_rate"], empty["pass_rate_of_all"]) == (0, None, None)


def test_what_files_hold_beside_their_texts_is_added_up_over_documents_and_the_most_comes_first() -> None:
    image, script = (
        {"what": "image", "pieces": 3, "characters": 10},
        {"what": "script", "pieces": 1, "characters": 500},
    )
    phone, email = {"kind": "phone", "count": 1}, {"kind": "email", "count": 2}
    rows = [{"left_out": [image, script], "masked": [phone, email]}, {"left_out": [image], "masked": [email]}]
    frame = pl.DataFrame([*rows, {"left_out": [], "masked": []}], schema=DOCUMENTS.schema)
    assert left_out_counts(frame).rows() == [("script", 1, 1, 500), ("image", 2, 6, 20)]
    assert masked_counts(frame).rows() == [("email", 2, 4), ("phone", 1, 1)]
    nothing = left_out_counts(DOCUMENTS.empty())
    assert (nothing.height, nothing.schema) == (0, LEFT_OUT_COUNTS)
