import polars as pl

from qa_pipeline.curation.measures import (
    cover_sections,
)
from qa_pipeline.storage.tables import QUESTIONS
from qa_pipeline_tests.curation import rows

CHUNKS = rows.chunks(
    rows.chunk("c", "one", section_start=0, section_path=["One"]),
    rows.chunk("d", "two", section_start=0, section_path=["One"]),
    rows.chunk("e", "three", section_start=50, section_path=["Two"]),
    rows.chunk("f", "four", section_start=90, section_path=["Three"]),
)


def question(question_id: str, chunk_id: str, status: str = "kept", **values: object) -> rows.Row:
    chunk_ids = {"target_chunk_ids": [chunk_id], "passage_ids": [chunk_id]}
    asked = {"question": f"Question {question_id}?", "question_type": "fact_single", "place": 0}
    return rows.question(
        question_id, status, **{**chunk_ids, **asked, "planned_type": "fact_single", **values}
    )


QUESTIONS_ASKED = rows.questions(
    question("1", "c"),
    question("2", "d", "dropped", reason="round_trip_failed"),
    question("3", "e", question_type="summary"),
    question("4", "f", "dropped", reason="not_written", question=None, question_type=None),
)
PAIRS = rows.pairs(rows.pair("p", question_id="1"), rows.pair("q", question_id="3", question_type="summary"))
DECIDED = rows.verdicts(rows.verdict("p"), rows.verdict("q", "rejected", reason="numbers_differ"))


def test_a_section_is_covered_by_an_accepted_pair_and_else_says_what_stopped_its_questions() -> None:
    found = cover_sections(CHUNKS, QUESTIONS_ASKED, PAIRS, DECIDED)
    assert found.select("section_path", "accepted", "status", "reason").rows() == [
        (["One"], 1, "covered", None),
        (["Two"], 0, "uncovered", "numbers_differ"),
        (["Three"], 0, "uncovered", "not_written"),
    ]


def test_a_section_that_only_repeats_others_is_neither_missing_nor_counted() -> None:
    chunks = CHUNKS.with_columns(
        passed_over=pl.when(pl.col("chunk_id") == "f").then(pl.lit("repeated_block"))
    )
    found = cover_sections(chunks, QUESTIONS_ASKED, PAIRS, DECIDED)
    assert found["status"].to_list() == ["covered", "uncovered", "repeated"]


def test_an_imported_pair_covers_the_sections_that_it_cites_and_a_known_answer_none() -> None:
    imported = rows.pair("i", origin="imported", used_chunk_ids=["e", "f"])
    known = rows.pair("k", origin="imported", used_chunk_ids=["c"], expected_verdict="accepted")
    decided = rows.verdicts(rows.verdict("i"), rows.verdict("k"))
    found = cover_sections(CHUNKS, QUESTIONS.empty(), rows.pairs(imported, known), decided)
    assert found["status"].to_list() == ["uncovered", "covered", "covered"]
    assert found["reason"].to_list() == [None, None, None]
