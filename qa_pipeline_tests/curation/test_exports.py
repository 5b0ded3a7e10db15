"""The files part the ledger, each line is one JSON object, and nothing is lost on the way."""

import json
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.curation.exports import LEDGER_FILES, ledger_files, ledger_rows
from qa_pipeline_tests.curation.rows import (
    TEXT,
    Row,
    assessments,
    claim,
    claim_verdict,
    claim_verdicts,
    claims,
    document,
    documents,
    pair,
    pairs,
    verdict,
    verdicts,
)

WORDS = st.sampled_from(["accepted", "rejected", "needs_review", "failed"])
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


def files(pairs_frame: pl.DataFrame, ledger: pl.DataFrame, *judged: Row) -> dict[str, pl.DataFrame]:
    """The rows of each file; every pair has one supported claim."""
    ids = pairs_frame["pair_id"].to_list()
    rows = ledger_rows(
        pairs=pairs_frame,
        verdicts=ledger,
        claims=claims(*(claim(i, similarity=0.25) for i in ids)),
        claim_verdicts=claim_verdicts(*(claim_verdict(i, "supported") for i in ids)),
        assessments=assessments(*judged),
        documents=documents(document("d")),
    )
    return ledger_files(rows)


def passed(pairs_frame: pl.DataFrame, ledger: pl.DataFrame) -> pl.DataFrame:
    return files(pairs_frame, ledger)["passed"]


def read(rows: pl.DataFrame) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows.write_ndjson().split("\n")[:-1]]


@given(rows=st.lists(st.tuples(WORDS, st.none() | WORDS), max_size=8))
def test_every_pair_is_in_exactly_one_file(rows: list[tuple[str, str | None]]) -> None:
    everything = pairs(*(pair(f"p{n}", expected_verdict=known) for n, (_, known) in enumerate(rows)))
    ledger = verdicts(
        *(verdict(f"p{n}", word, expected_verdict=known) for n, (word, known) in enumerate(rows))
    )
    parts = files(everything, ledger)
    assert tuple(parts) == LEDGER_FILES
    ids = [pair_id for part in parts.values() for pair_id in part["pair_id"]]
    assert sorted(ids) == everything["pair_id"].to_list()
    verdict_of = {"passed": "accepted", "rejected": "rejected", "needs_review": "needs_review"}
    for name, word in (verdict_of | {"failed": "failed"}).items():
        assert set(parts[name]["verdict"]) <= {word}
    assert parts["known_answers"]["expected_verdict"].null_count() == 0


@given(texts=st.lists(TEXTS, max_size=5))
def test_a_line_is_a_row_whatever_the_text(texts: list[str]) -> None:
    everything = pairs(*(pair(f"p{n}", question=text) for n, text in enumerate(texts)))
    ledger = verdicts(*(verdict(f"p{n}") for n in range(len(texts))))
    assert [row["question"] for row in read(passed(everything, ledger))] == texts


def test_a_passed_row_carries_its_proof() -> None:
    row = read(passed(pairs(pair("p")), verdicts(verdict("p", composite=0.9))))[0]
    assert (row["verdict"], row["reason"], row["composite"]) == ("accepted", "passed", 0.9)
    assert (row["evidence"][0]["path"], row["evidence"][0]["quote"]) == ("d.md", TEXT)


def test_a_rejected_row_shows_reason_and_words_of_its_unsupported_spans() -> None:
    spans = [{"start": 3, "end": 8, "reason": "number_conflict"}, {"start": 9, "end": 99, "reason": "low"}]
    parts = files(
        pairs(pair("p", answer="År 2019 öppnar"), pair("q", answer=None)),
        verdicts(
            verdict("p", "rejected", reason="number_conflict", unsupported_spans=spans),
            verdict("q", "failed", reason="not_json"),
        ),
    )
    first, second = read(parts["rejected"])[0], read(parts["failed"])[0]
    assert first["reason"] == "number_conflict"
    assert [span["text"] for span in first["unsupported_spans"]] == ["2019 ", "ppnar"]
    assert (second["answer"], second["unsupported_spans"]) == (None, [])
