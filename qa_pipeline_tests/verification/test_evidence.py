from collections.abc import Sequence

import polars as pl
import pytest

from qa_pipeline.curation.gates.gates import proof_gate
from qa_pipeline.curation.training import evidence_lists, find_proofs
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.storage.tables import VERDICTS
from qa_pipeline.verification.claims import ENOUGH_ALONE, find_claims
from qa_pipeline.verification.consistency.reading import read
from qa_pipeline.verification.evidence import whole_sentences
from qa_pipeline.verification.llm_verifier import verify_claims
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel
from qa_pipeline_tests.verdict_replies import deciding
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

SETTINGS = VerificationSettings()
APART = {
    "a.md": "# Valve\n\nThe safety valve was tested by Nordvik engineers.\n\n"
    "# Pressure\n\nIt opens at three bar."
}
BOTH = "The safety valve of the Nordvik engineers opens at three bar."


def found_in(texts: dict[str, str], answer: str) -> tuple[pl.DataFrame, ...]:
    frame = documents(texts)
    cut, rows = chunks(frame), pairs(pair(answer, cites="a.md"))
    return find_claims(rows, frame, cut, HashEmbedder()), rows, cut, frame


def accepted(rows: pl.DataFrame) -> pl.DataFrame:
    verdict = {
        "pair_id": "pair-0",
        "batch": "b",
        "verdict": "accepted",
        "stage": "accepted",
        "decided_by": "pipeline",
    }
    more = {"claims": 1, "supported_claims": 1, "thresholds_id": "t", "unsupported_spans": []}
    return VERDICTS.frame([{**verdict, **more, "reason": "passed"}])


def test_a_claim_that_no_passage_holds_alone_gets_a_second_piece_of_another_one() -> None:
    claims, _, _, frame = found_in(APART, BOTH)
    row = claims.row(0, named=True)
    assert row["token_recall"] < ENOUGH_ALONE
    assert {row["evidence_chunk_id"], row["second_evidence_chunk_id"]} == {"a.md:0", "a.md:1"}
    text = frame["text"][0]
    assert text[row["second_evidence_start"] : row["second_evidence_end"]] == row["second_evidence_quote"]


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (APART, "The safety valve was tested by Nordvik engineers."),
        ({"a.md": "The safety valve was tested by Nordvik engineers. It opens at three bar."}, BOTH),
        ({"a.md": "# A\n\nThe safety valve.\n\n# B\n\nThe office is closed."}, BOTH),
    ],
    ids=["one passage is enough", "there is one passage", "the other adds nothing"],
)
def test_there_is_none_where_it_is_not_needed_or_adds_nothing(texts: dict[str, str], answer: str) -> None:
    claims = found_in(texts, answer)[0]
    assert claims["second_evidence_quote"].to_list() == [None]
    assert claims["second_evidence_quote"].to_list() == [None]


def test_two_pieces_accept_nothing_without_a_model_that_reads_both() -> None:
    claims, rows, cut, frame = found_in(APART, BOTH)
    assert verify_claims(claims, rows, frame, cut, SETTINGS)["verdict"].to_list() == ["undecided"]
    model = ScriptedModel(deciding("accept"))
    decided = verify_claims(claims, rows, frame, cut, SETTINGS, model=model)
    assert decided.select("verdict", "decided_by").row(0) == ("supported", "llm")
    shown = [passage.chunk_id for passage in model.asked[0].passages]
    assert set(shown) == {"a.md:0", "a.md:1"}


def proofs(decided_by: str) -> Sequence[str]:
    claims, rows, cut, frame = found_in(APART, BOTH)
    model = ScriptedModel(deciding("accept"))
    decided = verify_claims(claims, rows, frame, cut, SETTINGS, model=model).with_columns(
        decided_by=pl.lit(decided_by)
    )
    (evidence,) = evidence_lists(find_proofs(claims, decided, frame))["evidence"].to_list()
    return [piece["quote"] for piece in evidence]


def test_the_proof_of_a_claim_has_both_pieces_only_where_the_step_that_decided_read_both() -> None:
    assert len(proofs("llm")) == 2
    assert len(proofs("consistency")) == 1


def test_a_second_piece_that_is_not_in_its_place_breaks_the_law_of_proof() -> None:
    claims, rows, cut, frame = found_in(APART, BOTH)
    decided = verify_claims(claims, rows, frame, cut, SETTINGS)
    parts = {"pairs": rows, "verdicts": accepted(rows).clear(), "claim_verdicts": decided, "documents": frame}
    assert proof_gate(claims=claims, **parts).passed
    moved = claims.with_columns(pl.col("second_evidence_start") + 1)
    gate = proof_gate(claims=moved, **parts)
    assert not gate.passed
    assert gate.counts["misplaced_quote"] == 1


def test_a_quote_of_the_mark_of_a_list_item_alone_is_evidence_of_its_own() -> None:
    chunk = read("- 6. How are masked arrays implemented?", "en")
    found = whole_sentences("c", chunk, (0, 4))
    assert (found.start, found.end) == (0, 4)
