"""Answers verified through the Python API: texts, frames, models, and input that cannot be used."""

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import polars as pl
import pytest

from qa_pipeline.api.verification import verify, verify_many
from qa_pipeline.errors import InputError

TOWER = ["The Eiffel Tower was completed in 1889. It is 330 metres tall.", "Paris is the capital of France."]
QUESTION = "When was the Eiffel Tower completed?"


def test_a_stated_sentence_is_accepted_with_its_evidence() -> None:
    verification = verify(QUESTION, "The Eiffel Tower was completed in 1889.", TOWER)
    (claim,) = verification.claims
    assert (verification.verdict, verification.grounding) == ("accepted", 1.0)
    assert claim.evidence is not None
    evidence = claim.evidence
    assert TOWER[evidence.context][evidence.start : evidence.end] == evidence.quote
    assert evidence.quote == "The Eiffel Tower was completed in 1889."


def test_a_wrong_year_is_rejected_and_its_span_told() -> None:
    answer = "The Eiffel Tower was completed in 1899."
    verification = verify(QUESTION, answer, TOWER)
    assert verification.verdict == "rejected"
    assert verification.unsupported_spans == ((0, len(answer), "date_mismatch"),)


def test_a_stated_sentence_that_answers_something_else_is_not_accepted() -> None:
    verification = verify("What is the capital of France?", "The Eiffel Tower was completed in 1889.", TOWER)
    assert verification.verdict == "needs_review"


def test_a_refusal_is_accepted_where_the_contexts_do_not_answer() -> None:
    verification = verify(
        "How many chickens live on the moon?",
        "This information is not available in the knowledge base.",
        TOWER,
    )
    assert (verification.verdict, verification.reason) == ("accepted", "correct_refusal")
    assert verification.grounding is None


def test_claims_have_their_places_in_the_answer_as_it_was_given() -> None:
    answer = "The Eiffel Tower was completed in 1889 [1]. It was painted red [2]."
    verification = verify(QUESTION, answer, TOWER)
    assert [answer[claim.start : claim.end] for claim in verification.claims] == [
        "The Eiffel Tower was completed in 1889 [1].",
        "It was painted red [2].",
    ]


def test_headings_above_a_context_are_evidence_too() -> None:
    question, text = "What is the refrigerant of the Fjell 8?", "The refrigerant is R290."
    context: dict[str, Any] = {"text": text, "headings": ["Fjell 8 data sheet", "Heating"]}
    assert verify(question, text, [text]).verdict == "needs_review"
    assert verify(question, text, [context]).verdict == "accepted"


@pytest.mark.parametrize(
    ("language", "question", "answer", "context"),
    [
        ("sv", "När blev bron klar?", "Bron blev klar år 2000.", "Bron blev klar år 2000."),
        ("de", "Wann wurde die Brücke fertig?", "Die Brücke wurde im Jahr 2000 fertig.",
         "Die Brücke wurde im Jahr 2000 fertig."),
    ],
)  # fmt: skip
def test_the_language_is_recognised(language: str, question: str, answer: str, context: str) -> None:
    verification = verify(question, answer, [context])
    assert (verification.language, verification.verdict) == (language, "accepted")


def test_a_notebook_shows_texts_as_texts() -> None:
    verification = verify(
        "<b>When</b> was it?", "It was <script>alert(1)</script> in 1889.", ["<i>In 1889.</i>"]
    )
    page = verification._repr_html_()
    assert "<script>" not in page
    assert "<i>" not in page
    assert "&lt;script&gt;" in page


def test_what_is_found_is_json() -> None:
    found = verify(QUESTION, "The Eiffel Tower was completed in 1889.", TOWER)
    assert json.loads(json.dumps(found.to_dict()))["claims"][0]["evidence"]["context"] == 0


def test_a_function_decides_what_the_rules_leave_open() -> None:
    prompts: list[str] = []

    def accept(prompt: str) -> str:
        prompts.append(prompt)
        return "no JSON at all"

    verification = verify(QUESTION, "Eiffel's tower got finished that year.", TOWER, model=accept)
    assert (verification.verdict, verification.reason) == ("failed", "not_json")
    assert any("Eiffel's tower got finished that year." in prompt for prompt in prompts)


def test_a_function_that_raises_leaves_the_claim_open_and_says_so() -> None:
    def broken(prompt: str) -> str:
        raise RuntimeError("no connection")

    verification = verify(QUESTION, "Eiffel's tower got finished that year.", TOWER, model=broken)
    assert verification.verdict in ("needs_review", "failed")
    assert verification.reason != "undecided_without_model"


@pytest.mark.parametrize(
    ("answer", "contexts", "message"),
    [
        ("", TOWER, "answer is missing or empty"),
        (b"bytes", TOWER, "answer is bytes, which no encoding is known of; it should be a text"),
        ("It stands.", [], "no context has text"),
        ("It stands.", None, "contexts is missing"),
        ("It stands.", [" "], "no context has text"),
        ("It stands.", ["a", 3], "contexts, entry 2 is a int; it should be a text"),
        ("It stands.", ["a" * 1_000_001], "the most is 1,000,000"),
    ],
)
def test_input_that_cannot_be_verified_is_refused(answer: object, contexts: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        verify(QUESTION, answer, contexts)  # type: ignore[arg-type]


def test_long_contexts_are_verified() -> None:
    filler = "The bridge was built by many hands over the years. " * 8_000
    verification = verify(QUESTION, "The Eiffel Tower was completed in 1889.", [filler, *TOWER])
    assert verification.verdict == "accepted"


def test_rows_of_a_frame_keep_their_order_and_faulty_ones_say_why() -> None:
    rows = pl.DataFrame(
        {
            "user_input": [QUESTION, QUESTION, QUESTION],
            "response": ["The Eiffel Tower was completed in 1889.", None, "It was completed in 1899."],
            "retrieved_contexts": [TOWER, TOWER, []],
        }
    )
    results = verify_many(rows)
    assert results["verdict"].to_list() == ["accepted", "failed", "failed"]
    assert results["reason"].to_list() == ["passed", "missing_field", "no_passage"]
    assert results["id"].to_list() == ["0", "1", "2"]
    assert results["claims"].list.len().to_list() == [1, None, None]


def test_equal_rows_and_equal_questions_are_each_verified() -> None:
    row = {"question": QUESTION, "answer": "The Eiffel Tower was completed in 1889.", "contexts": TOWER}
    other = {**row, "answer": "In 1889, the Eiffel Tower was completed."}
    assert verify_many([row, row, other])["verdict"].to_list()[:2] == ["accepted", "accepted"]


def test_a_misspelt_column_is_named() -> None:
    with pytest.raises(InputError, match=r"no row has answer .*, rename anwser to answer"):
        verify_many([{"question": QUESTION, "anwser": "In 1889.", "contexts": TOWER}])


def test_one_sentence_is_verified_without_torch() -> None:
    code = (
        "import sys, qa_pipeline\n"
        "assert 'polars' not in sys.modules\n"
        "answer = 'The Eiffel Tower was completed in 1889.'\n"
        f"print(qa_pipeline.verify({QUESTION!r}, answer, {TOWER!r}).verdict)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("accepted", 0), done.stderr


def test_a_function_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qa_pipeline.api.models.PATIENCE", 0.05)
    started = time.monotonic()
    verification = verify(QUESTION, "Eiffel's tower got finished that year.", TOWER, model=_hang)
    assert verification.verdict in ("needs_review", "failed")
    assert time.monotonic() - started < 60


def _hang(prompt: str) -> str:
    time.sleep(120)
    return "{}"


def test_rows_that_cannot_be_verified_stand_beside_those_that_can() -> None:
    answer = "The Eiffel Tower was completed in 1889."
    row: dict[str, Any] = {"question": QUESTION, "answer": answer, "contexts": TOWER}
    rows = [
        row,
        {**row, "contexts": str(TOWER)},  # a list as Python writes it into a cell
        {**row, "contexts": np.array(TOWER, dtype=object)},
        {**row, "answer": float("nan")},
        {**row, "answer": answer.encode()},
        {**row, "contexts": []},
        {
            "question": "Où est la tour ?",
            "answer": "La tour est à Paris.",
            "contexts": ["La tour est à Paris."],
        },
        {**row, "contexts": ["The bridge is red. " * 21_000, *TOWER]},
        {**row, "question": float("nan")},
        None,
        {**row, "answer": "half a character: \ud800"},
        {**row, "contexts": [TOWER]},
        {**row, "contexts": str([TOWER])},
    ]
    found = verify_many(rows).select("verdict", "reason").rows()
    assert found == [
        ("accepted", "passed"),
        ("accepted", "passed"),
        ("accepted", "passed"),
        ("failed", "missing_field"),
        ("failed", "wrong_type"),
        ("failed", "no_passage"),
        ("needs_review", "undecided_without_model"),
        ("accepted", "passed"),
        ("failed", "missing_field"),
        ("failed", "wrong_type"),
        ("failed", "broken_text"),
        ("failed", "wrong_type"),
        ("failed", "wrong_type"),
    ]


def test_a_function_that_raises_for_a_row_leaves_the_others() -> None:
    def second(prompt: str) -> str:
        if "got finished" in prompt:
            raise RuntimeError("no connection")
        return "{}"

    vague = {"question": QUESTION, "answer": "Eiffel's tower got finished that year.", "contexts": TOWER}
    stated = {**vague, "answer": "The Eiffel Tower was completed in 1889."}
    assert verify_many([vague, stated], model=second)["verdict"].to_list() == ["failed", "accepted"]


def test_a_model_is_asked_where_an_event_loop_runs_as_in_a_notebook() -> None:
    prompts: list[str] = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        return "no JSON"

    async def cell() -> str:
        return verify(QUESTION, "Eiffel's tower got finished that year.", TOWER, model=reply).verdict

    assert asyncio.run(cell()) == "failed"
    assert prompts
