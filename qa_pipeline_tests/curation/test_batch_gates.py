"""Gates pass what is whole, catch every single breach, and say what they counted."""

from typing import Any

import hypothesis
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from qa_pipeline.curation.batch_gates import (
    GATES,
    NOT_WRONG,
    batch_gates,
    citations_gate,
    conservation_gate,
    documents_gate,
    generation_gate,
    pass_rate_gate,
    proof_gate,
    training_gate,
)
from qa_pipeline.curation.gate import Gate
from qa_pipeline.settings.verification import QualitySettings
from qa_pipeline.storage.tables import STORED, VERDICTS
from qa_pipeline_tests.curation.rows import (
    TEXT,
    Row,
    chunk,
    chunks,
    claim,
    claim_verdict,
    claim_verdicts,
    claims,
    document,
    documents,
    example,
    examples,
    pair,
    pairs,
    question,
    questions,
    sha,
    verdict,
    verdicts,
)

WORDS = st.sampled_from(["accepted", "rejected", "needs_review", "failed"])
LEDGERS = st.lists(st.tuples(WORDS, st.none() | WORDS), max_size=12)
SETTINGS = QualitySettings()


def ledger(rows: list[tuple[str, str | None]]) -> pl.DataFrame:
    return verdicts(*(verdict(f"p{n}", word, expected_verdict=known) for n, (word, known) in enumerate(rows)))


def of_words(**counts: int) -> pl.DataFrame:
    return ledger([(word, None) for word, count in counts.items() for _ in range(count)])


def asked(count: int) -> pl.DataFrame:
    return pairs(*(pair(f"p{n}") for n in range(count)))


def whole() -> dict[str, pl.DataFrame]:
    """One accepted pair with its proof, in every table."""
    frames = {name: table.empty() for name, table in STORED.items()}
    frames["documents"] = documents(document("d"))
    frames["chunks"] = chunks(chunk("c"))
    frames["pairs"] = pairs(pair("p"))
    frames["claims"] = claims(claim("p"))
    frames["claim_verdicts"] = claim_verdicts(claim_verdict("p", "supported"))
    frames["verdicts"] = verdicts(verdict("p"))
    frames["training_examples"] = examples(proved_example("p"))
    return frames


def proved_example(pair_id: str, **evidence: Any) -> Row:
    place = {"start": 0, "end": len(TEXT), "quote": TEXT, "content_sha256": sha("d"), "document_id": "d"}
    return example(pair_id, evidence=[{**place, **evidence}])


def proof(**replaced: pl.DataFrame) -> Gate:
    frames = {**whole(), **replaced}
    names = ("pairs", "verdicts", "claims", "claim_verdicts", "documents")
    return proof_gate(**{name: frames[name] for name in names})


def training(**replaced: pl.DataFrame) -> Gate:
    frames = {**whole(), **replaced}
    names = ("training_examples", "pairs", "verdicts", "documents")
    return training_gate(**{name: frames[name] for name in names})


@given(rows=LEDGERS)
def test_a_ledger_of_every_pair_conserves_and_its_counts_add_up(rows: list[tuple[str, str | None]]) -> None:
    gate = conservation_gate(pairs=asked(len(rows)), verdicts=ledger(rows))
    assert gate.passed
    assert gate.blocking
    words = ("accepted", "rejected", "needs_review", "failed")
    assert sum(gate.counts[word] for word in words) == gate.n == len(rows)


@given(rows=LEDGERS.filter(bool), place=st.integers(0, 99))
def test_one_row_lost_doubled_or_misnamed_breaks_conservation(
    rows: list[tuple[str, str | None]], place: int
) -> None:
    complete, at = ledger(rows), place % len(rows)
    without = pl.concat([complete[:at], complete[at + 1 :]])
    breaches = {
        "missing": without,
        "repeated": pl.concat([complete, complete[at : at + 1]]),
        "unknown_verdicts": pl.concat([without, complete[at : at + 1].with_columns(verdict=pl.lit("maybe"))]),
        "unknown_pairs": pl.concat(
            [complete, complete[at : at + 1].with_columns(pair_id=pl.lit("stranger"))]
        ),
    }
    for name, broken in breaches.items():
        gate = conservation_gate(pairs=asked(len(rows)), verdicts=broken)
        assert not gate.passed
        assert gate.counts[name] == 1
        assert f"1 {name}" in gate.detail


@given(text=st.text(min_size=1, max_size=30), data=st.data())
def test_a_quote_cut_from_the_text_is_a_proof_and_a_moved_one_is_not(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    moved = data.draw(st.tuples(st.integers(-5, 40), st.integers(-5, 40)))

    def held(at: int, to: int) -> Gate:
        row = claim("p", evidence_start=at, evidence_end=to, evidence_quote=text[start:end])
        return proof(claims=claims(row), documents=documents(document("d", text)))

    assert held(start, end).passed
    at, to = moved
    right = 0 <= at < to <= len(text) and text[at:to] == text[start:end]
    assert held(at, to).passed == right


@pytest.mark.parametrize(
    ("values", "breach"),
    [
        ({"evidence_quote": TEXT.replace("nine", "ten")}, "misplaced_quote"),
        ({"evidence_quote": TEXT.replace("nine", "five")}, "misplaced_quote"),
        ({"evidence_start": 1}, "misplaced_quote"),
        ({"evidence_start": -1, "evidence_end": len(TEXT) - 1}, "misplaced_quote"),
        ({"evidence_quote": None}, "misplaced_quote"),
        ({"evidence_content_sha256": sha("another")}, "changed_document"),
        ({"evidence_document_id": "gone"}, "unknown_document"),
    ],
)
def test_evidence_that_cannot_be_found_again_is_no_proof(values: Row, breach: str) -> None:
    gate = proof(claims=claims(claim("p", **values)))
    assert not gate.passed
    assert gate.counts[breach] == 1


def test_evidence_of_rejected_pairs_is_held_to_the_law_too() -> None:
    gate = proof(
        claims=claims(claim("p", evidence_quote="other")), verdicts=verdicts(verdict("p", "rejected"))
    )
    assert gate.counts["misplaced_quote"] == 1


NO_EVIDENCE: Row = {
    f"evidence_{name}": None
    for name in ("document_id", "content_sha256", "chunk_id", "start", "end", "quote")
}


def test_a_supported_claim_of_an_accepted_pair_needs_evidence() -> None:
    bare = claims(claim("p", **NO_EVIDENCE))
    assert proof(claims=bare).counts["supported_without_evidence"] == 1
    assert proof(claims=bare, verdicts=verdicts(verdict("p", "rejected"))).passed


def test_an_accepted_answer_needs_a_supported_claim_and_a_refusal_does_not() -> None:
    assert proof(claims=claims()).counts["accepted_without_proof"] == 1
    assert proof(claims=claims(), pairs=pairs(pair("p", coverage="none"))).passed


@pytest.mark.parametrize("word", ["accepted", "rejected"])
def test_fabricated_citations_count_among_accepted_pairs(word: str) -> None:
    broken = {"raw": "x.md", "resolution": "unknown_document"}
    gate = citations_gate(
        pairs=pairs(pair("p", citations=[broken])), verdicts=verdicts(verdict("p", word)), claims=claims()
    )
    assert gate.passed == (word == "rejected")
    assert gate.counts == {"fabricated": 1 if word == "accepted" else 0}
    (spec,) = (one for one in GATES if one.name == "fabricated_citations")
    assert (gate.blocking, spec.blocking, spec.function) == (True, True, citations_gate)


def test_only_accepted_pairs_with_standing_quotes_train() -> None:
    assert training().passed
    assert training(verdicts=verdicts(verdict("p", "needs_review"))).counts["not_accepted"] == 1
    assert training(pairs=pairs(pair("p", expected_verdict="accepted"))).counts["known_answers"] == 1
    assert training(training_examples=examples(proved_example("p", start=2))).counts["misplaced_quote"] == 1
    assert training(documents=documents()).counts["unknown_document"] == 1


@pytest.mark.parametrize("reason", sorted({*NOT_WRONG, "duplicate", "alternative", "same_wording"}))
def test_rows_that_nothing_proves_wrong_do_not_lower_the_pass_rate(reason: str) -> None:
    rows = [verdict(f"a{n}") for n in range(4)]
    rows += [verdict(f"b{n}", "rejected", reason=reason) for n in range(60)]
    gate = pass_rate_gate(verdicts=verdicts(*rows), settings=QualitySettings())
    assert (gate.passed, gate.counts["rejected"], gate.n) == (True, 0, 4)


@given(
    accepted=st.integers(0, 60),
    rejected=st.integers(0, 60),
    undecided=st.integers(0, 9),
    limit=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
)
@hypothesis.example(accepted=34, rejected=0, undecided=0, limit=1.0)
def test_only_an_interval_of_what_was_decided_under_the_limit_blocks(
    accepted: int, rejected: int, undecided: int, limit: float
) -> None:
    gate, outcome = pass_rate(accepted, rejected, undecided, limit=limit)
    if accepted + rejected:
        assert gate.value == accepted / (accepted + rejected)
        interval = binomtest(accepted, accepted + rejected).proportion_ci(method="wilson")
        expected = "passed" if interval.low >= limit else "blocked" if interval.high < limit else "warned"
        assert outcome == expected
    else:
        assert outcome == "warned"


def pass_rate(accepted: int, rejected: int, undecided: int, *, limit: float = 0.5) -> tuple[Gate, str]:
    """The gate over that many pairs, and what it does with the batch."""
    counts = {"accepted": accepted, "rejected": rejected, "needs_review": undecided}
    words = [word for word, count in counts.items() for _ in range(count)]
    frame = VERDICTS.empty().clear(len(words)).with_columns(verdict=pl.Series(words, dtype=pl.String()))
    gate = pass_rate_gate(verdicts=frame, settings=QualitySettings(min_pass_rate=limit))
    return gate, "passed" if gate.passed else "blocked" if gate.blocking else "warned"


@given(rows=LEDGERS)
def test_known_answer_pairs_move_no_rate(rows: list[tuple[str, str | None]]) -> None:
    everything = ledger(rows)
    alone = everything.filter(pl.col("expected_verdict").is_null())
    of_all, of_alone = (pass_rate_gate(verdicts=frame, settings=SETTINGS) for frame in (everything, alone))
    assert of_all == of_alone


@pytest.mark.parametrize(
    ("statuses", "generated"),
    [((), True), (("kept", "dropped"), True), (("kept", "failed"), True), (("failed", "failed"), False)],
)
def test_a_batch_whose_model_gave_nothing_is_not_done(statuses: tuple[str, ...], generated: bool) -> None:
    asked = questions(*(question(f"q{n}", status) for n, status in enumerate(statuses)))
    asked = asked.with_columns(target_chunk_ids=pl.concat_list("question_id"))  # a chunk for each
    gate = generation_gate(questions=asked)
    assert (gate.passed, gate.blocking) == (generated, True)
    assert generated or "2 model_unavailable: run again" in gate.detail


def test_pairs_that_only_lack_a_judge_are_told_how_to_get_on() -> None:
    waiting = verdicts(verdict("p", "needs_review", reason="not_judged"))
    gate = pass_rate_gate(verdicts=waiting, settings=SETTINGS)
    assert not gate.passed
    assert "1 wait for a judge" in gate.detail
    assert "qa-pipeline decide" in gate.detail
    assert "--accept-unjudged" in gate.detail


@pytest.mark.parametrize(
    ("waiting", "accepted", "rejected", "blocks"),
    [(9, 0, 0, False), (9, 0, 4, False), (1, 0, 40, True), (0, 0, 4, True), (0, 9, 0, False)],
)
def test_a_batch_whose_pairs_wait_for_a_judge_fails_only_if_accepting_them_all_would_not_help(
    waiting: int, accepted: int, rejected: int, blocks: bool
) -> None:
    rows = [verdict(f"w{n}", "needs_review", reason="not_judged") for n in range(waiting)]
    rows += [verdict(f"a{n}") for n in range(accepted)]
    rows += [verdict(f"r{n}", "rejected", reason="uncited") for n in range(rejected)]
    gate = pass_rate_gate(verdicts=verdicts(*rows), settings=SETTINGS)
    assert (gate.blocking and not gate.passed) == blocks


def test_all_gates_of_a_whole_batch_hold() -> None:
    gates = batch_gates(whole(), QualitySettings(min_pass_rate=0.2))
    assert [gate.name for gate in gates if not gate.passed] == []


def test_all_gates_hold_over_tables_without_rows_but_that_something_was_read() -> None:
    empty = {name: table.empty() for name, table in STORED.items()}
    assert [gate.name for gate in batch_gates(empty, SETTINGS) if not gate.passed] == [
        "documents_read",
        "pass_rate",
    ]


def test_a_batch_of_which_no_file_was_read_fails_with_the_reasons() -> None:
    pictures = [document(f"p{n}", None, status="skipped", reason="unsupported_format") for n in range(2)]
    locked = document("l", None, status="failed", reason="encrypted")
    nothing = documents_gate(documents=documents(*pictures, locked))
    assert (nothing.passed, nothing.blocking) == (False, True)
    assert nothing.detail == "nothing was read of 3 files: 2 unsupported_format, 1 encrypted"
    hollow = documents_gate(documents=documents())
    assert (hollow.passed, hollow.detail) == (
        False,
        "the batch holds no files; put documents into its folder",
    )
    assert documents_gate(documents=documents(document("d"), locked)).passed
