import polars as pl
import pytest

from qa_pipeline.curation.coverage import (
    count_outcomes,
    count_shortfalls,
    count_types,
    cover_sections,
    section_outcomes,
)
from qa_pipeline.storage.tables import COVERAGE, DOCUMENTS, QUESTIONS, VERDICTS
from qa_pipeline_tests.curation import rows


def question(question_id: str, chunk_id: str = "c", **values: object) -> dict[str, object]:
    return {
        "question_id": question_id,
        "batch": "b",
        "question": f"Question {question_id}?",
        "question_type": "fact_single",
        "planned_type": "fact_single",
        "target_chunk_ids": [chunk_id],
        "passage_ids": [chunk_id],
        "language": "en",
        "place": 0,
        "status": "kept",
        "prompt_hash": "p",
        "model": "m",
        **values,
    }


def verdict(pair_id: str, word: str, reason: str) -> dict[str, object]:
    return {
        **dict.fromkeys(VERDICTS.schema.names()),
        "pair_id": pair_id, "batch": "b", "verdict": word, "reason": reason,
    }  # fmt: skip


def verdicts(*found: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(list(found), schema=VERDICTS.schema)


CHUNKS = rows.chunks(
    rows.chunk("c", "one", section_start=0, section_path=["One"]),
    rows.chunk("d", "two", section_start=0, section_path=["One"]),
    rows.chunk("e", "three", section_start=50, section_path=["Two"]),
    rows.chunk("f", "four", section_start=90, section_path=["Three"]),
)
QUESTIONS_ASKED = QUESTIONS.frame(
    [
        question("1", "c"),
        question("2", "d", status="dropped", reason="round_trip_failed"),
        question("3", "e", question_type="summary"),
        question("4", "f", status="dropped", reason="not_written", question=None, question_type=None),
    ]
)
PAIRS = rows.pairs(rows.pair("p", question_id="1"), rows.pair("q", question_id="3", question_type="summary"))
DECIDED = verdicts(verdict("p", "accepted", "passed"), verdict("q", "rejected", "numbers_differ"))


def test_a_section_is_covered_by_an_accepted_pair_and_else_says_what_stopped_its_questions() -> None:
    found = cover_sections(CHUNKS, QUESTIONS_ASKED, PAIRS, DECIDED)
    wanted = ("section_path", "chunks", "planned", "written", "kept", "pairs", "accepted", "status", "reason")
    assert found.select(wanted).rows() == [
        (["One"], 2, 2, 2, 1, 1, 1, "covered", None),
        (["Two"], 1, 1, 1, 1, 1, 0, "uncovered", "numbers_differ"),
        (["Three"], 1, 1, 0, 0, 0, 0, "uncovered", "not_written"),
    ]


def test_a_section_that_only_repeats_others_is_neither_missing_nor_counted() -> None:
    chunks = CHUNKS.with_columns(repeats=pl.when(pl.col("chunk_id") == "f").then(pl.lit("repeated_block")))
    found = cover_sections(chunks, QUESTIONS_ASKED, PAIRS, DECIDED)
    assert found["status"].to_list() == ["covered", "uncovered", "repeated"]


def test_an_imported_pair_covers_the_sections_that_it_cites_and_a_known_answer_none() -> None:
    imported = rows.pair("i", origin="imported", used_chunk_ids=["e", "f"])
    known = rows.pair("k", origin="imported", used_chunk_ids=["c"], expected_verdict="accepted")
    decided = verdicts(verdict("i", "accepted", "passed"), verdict("k", "accepted", "passed"))
    found = cover_sections(CHUNKS, QUESTIONS.empty(), rows.pairs(imported, known), decided)
    assert found["status"].to_list() == ["uncovered", "covered", "covered"]
    assert found["reason"].to_list() == [None, None, None]


def test_a_batch_without_questions_has_every_section_uncovered_for_no_known_reason() -> None:
    found = cover_sections(CHUNKS, QUESTIONS.empty(), rows.pairs(), verdicts())
    assert found["status"].to_list() == ["uncovered"] * 3
    assert cover_sections(CHUNKS.clear(), QUESTIONS.empty(), rows.pairs(), verdicts()).is_empty()


def test_the_delivered_mix_is_counted_beside_the_planned_one_with_each_loss() -> None:
    counted = count_types(QUESTIONS_ASKED, PAIRS, DECIDED)
    assert counted.rows() == [("fact_single", 4, 2, 1, 1), ("summary", 0, 1, 1, 0)]
    assert count_shortfalls(QUESTIONS_ASKED, PAIRS, DECIDED).rows() == [
        ("fact_single", "not_written", 1),
        ("fact_single", "numbers_differ", 1),
        ("fact_single", "round_trip_failed", 1),
    ]


@pytest.mark.parametrize("word", ["accepted", "rejected"])
def test_what_is_lost_and_what_is_delivered_add_up_to_the_plan(word: str) -> None:
    decided = verdicts(verdict("p", word, "x"), verdict("q", word, "y"))
    lost = count_shortfalls(QUESTIONS_ASKED, PAIRS, decided)["questions"].sum()
    asked = QUESTIONS_ASKED.join(PAIRS.select("question_id", "pair_id"), on="question_id", how="left")
    right = asked.join(decided.filter(pl.col("verdict") == "accepted"), on="pair_id", how="semi")
    hits = right.filter(pl.col("question_type") == pl.col("planned_type")).height
    assert lost + hits == QUESTIONS_ASKED.height


@pytest.mark.parametrize("words", [("accepted", "rejected"), ("rejected", "accepted")])
def test_a_question_counts_once_however_many_answers_were_drafted(words: tuple[str, str]) -> None:
    asked = QUESTIONS.frame([question("1"), question("2")])
    drafted = rows.pairs(*(rows.pair(f"{q}{n}", question_id=q, draft=n) for q in ("1", "2") for n in (1, 2)))
    reasons = {"accepted": "passed", "rejected": "alternative"}
    found = verdicts(
        *(verdict(f"1{n}", word, reasons[word]) for n, word in enumerate(words, 1)),
        *(verdict(f"2{n}", "rejected", f"reason {n}") for n in (1, 2)),
    )
    assert count_types(asked, drafted, found).rows() == [("fact_single", 2, 2, 2, 1)]
    assert count_shortfalls(asked, drafted, found).rows() == [("fact_single", "reason 1", 1)]


def documents(*found: dict[str, object]) -> pl.DataFrame:
    return DOCUMENTS.frame(
        [
            {**dict.fromkeys(DOCUMENTS.schema), "batch": "b", "size": 1, "status": "parsed", **row}
            for row in found
        ]
    )


def document(document_id: str, **values: object) -> dict[str, object]:
    lists: dict[str, object] = {name: [] for name in ("sections", "pages", "languages", "left_out", "masked")}
    path = {"document_id": document_id, "path": f"{document_id}.md", "format": "markdown", "language": "en"}
    return {**lists, **path, **values}


def outcomes_of(*texts: str, language: str = "en") -> pl.DataFrame:
    """What a document gives of whose sections, with these texts, none was asked anything."""
    chunks = rows.chunks(
        *(rows.chunk(str(n), text, section_start=n, section_path=[f"S{n}"]) for n, text in enumerate(texts))
    )
    asked = QUESTIONS.frame(
        [
            question(
                str(n), str(n), status="dropped", reason="not_written", question=None, question_type=None
            )
            for n in range(len(texts))
        ]
    )
    covered = cover_sections(chunks, asked, rows.pairs(), verdicts())
    return section_outcomes(covered, documents(document("d", language=language)), chunks)


def test_each_section_is_listed_with_its_document_its_rows_and_the_reason_it_gave_none() -> None:
    covered = cover_sections(CHUNKS, QUESTIONS_ASKED, PAIRS, DECIDED)
    found = section_outcomes(covered, documents(document("d")), CHUNKS)
    assert found.select("path", "section_path", "accepted", "reason").rows() == [
        ("d.md", ["One"], 1, None),
        ("d.md", ["Two"], 0, "numbers_differ"),
        ("d.md", ["Three"], 0, "no_sentence"),
    ]


def test_a_document_without_a_text_gives_nothing_for_the_reason_it_was_not_read() -> None:
    unread = document("e", status="failed", reason="encrypted", format=None, language=None)
    found = section_outcomes(COVERAGE.empty(), documents(unread, document("f")), rows.chunks())
    assert found.select("path", "section_path", "accepted", "reason").rows() == [
        ("e.md", None, 0, "encrypted"),
        ("f.md", None, 0, "no_text"),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The pump starts at noon.", "not_written"),
        ("# Pumps\n\n1. The pump starts at noon.", "not_written"),
        ("# The pump starts at noon.", "no_sentence"),
        ("```\nthe pump starts at noon.\n```", "no_sentence"),
        ("17 | 18 | 19 | 20", "no_sentence"),
        ("Status", "no_sentence"),
    ],
)
def test_a_section_of_which_nothing_was_asked_says_whether_it_has_a_sentence(text: str, reason: str) -> None:
    assert outcomes_of(text)["reason"].to_list() == [reason]
    unhandled = "language_not_handled" if reason == "not_written" else reason
    assert outcomes_of(text, language="fi")["reason"].to_list() == [unhandled]


def test_counts_by_reason_and_by_format_add_up_to_all_sections() -> None:
    outcomes = pl.concat([outcomes_of("The pump starts at noon.", "Status"), outcomes_of("Status")])
    assert count_outcomes(outcomes, "reason").select("reason", "documents", "sections").rows() == [
        ("no_sentence", 1, 2),
        ("not_written", 1, 1),
    ]
    (whole,) = count_outcomes(outcomes, "format").rows()
    assert whole == ("markdown", 1, 3, 0, 0.0, 0)
