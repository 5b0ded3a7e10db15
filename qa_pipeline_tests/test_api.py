"""Answers verified and evaluated, and questions generated, through the Python API."""

import asyncio
import doctest
import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.api import evaluate, generate, language_model, verify
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.metrics.registry import METRICS, SUMMARY

ROOT = Path(__file__).parents[1]
TOWER = ["The Eiffel Tower was completed in 1889. It is 330 metres tall.", "Paris is the capital of France."]
QUESTION = "When was the Eiffel Tower completed?"
VAGUE = "Eiffel's tower got finished that year."


def test_every_example_of_the_page_gives_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert results.attempted > 10
    assert results.failed == 0


def test_a_stated_sentence_is_accepted_with_its_evidence() -> None:
    verification = verify(QUESTION, "The Eiffel Tower was completed in 1889.", TOWER)
    (claim,) = verification.claims
    assert (verification.verdict, verification.grounding) == ("accepted", 1.0)
    assert claim.evidence is not None
    evidence = claim.evidence
    assert TOWER[evidence.context][evidence.start : evidence.end] == evidence.quote
    assert evidence.quote == "The Eiffel Tower was completed in 1889."
    assert json.loads(json.dumps(asdict(verification)))["claims"][0]["evidence"]["context"] == 0


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
    ("answer", "contexts"),
    [
        ("", TOWER),
        (b"bytes", TOWER),
        ("It stands.", []),
        ("It stands.", [" "]),
        ("It stands.", ["a" * 1_000_001]),
    ],
)
def test_input_that_cannot_be_verified_is_refused(answer: Any, contexts: Any) -> None:
    with pytest.raises(InputError):
        verify(QUESTION, answer, contexts)


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


def test_a_function_is_asked_where_an_event_loop_runs_as_in_a_notebook() -> None:
    prompts: list[str] = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        return "no JSON"

    async def cell() -> tuple[str, str]:
        verification = verify(QUESTION, VAGUE, TOWER, model=reply)
        return verification.verdict, verification.reason

    assert asyncio.run(cell()) == ("failed", "not_json")
    assert any(VAGUE in prompt for prompt in prompts)


def test_a_function_that_raises_or_hangs_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(prompt: str) -> str:
        raise RuntimeError("no connection")

    def hangs(prompt: str) -> str:
        time.sleep(120)
        return "{}"

    monkeypatch.setattr("qa_pipeline.llm.factory.PATIENCE", 0.05)
    started = time.monotonic()
    for function in (raises, hangs):
        verification = verify(QUESTION, VAGUE, TOWER, model=function)
        assert verification.verdict in ("needs_review", "failed")
        assert verification.reason != "undecided_without_model"
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("model", ["gpt-5", "nobody/gpt-5", "openai/", 3])
def test_what_names_no_model_is_refused(model: Any) -> None:
    with pytest.raises(InputError):
        language_model(model)


ROWS = [
    {
        "question": "When was the Eiffel Tower completed?",
        "answer": "The Eiffel Tower was completed in 1889.",
        "contexts": ["The Eiffel Tower was completed in 1889."],
        "ground_truth": "In 1889.",
    },
    {
        "question": "How tall is it?",
        "answer": "It is 340 metres tall.",
        "contexts": ["The Eiffel Tower is 330 metres tall."],
        "ground_truth": "330 metres",
    },
]
OFFLINE = ["faithfulness", "context_recall", "refusal_correct"]


def test_a_frame_and_its_file_have_equal_figures(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    of_frame, of_file = evaluate(pl.DataFrame(ROWS), metrics=OFFLINE), evaluate(path, metrics=OFFLINE)
    of_folder = evaluate(str(tmp_path), metrics=OFFLINE)
    assert of_frame.document == of_file.document == of_folder.document
    assert of_frame.scores.equals(of_file.scores)
    assert of_frame.scores["faithfulness"].to_list() == [1.0, 0.0]
    assert of_frame.statements["verdict"].to_list() == ["supported", "unsupported"]


def test_the_summary_has_the_eight_metrics_and_all_are_had_on_request() -> None:
    assert evaluate(ROWS).summary["metric"].to_list() == [name for name in METRICS if name in SUMMARY]
    assert len(SUMMARY) == 8
    assert set(evaluate(ROWS[:1], metrics="all").summary["metric"]) == set(METRICS)


@pytest.mark.parametrize("data", [[], [{"qestion": "Why?"}], "nowhere", "nowhere.jsonl"])
def test_data_without_rows_is_refused(data: Any) -> None:
    with pytest.raises(InputError):
        evaluate(data, metrics=OFFLINE)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(InputError):
        evaluate(ROWS, metrics=["faithfulnes"])


TEXT = """# Fees of the library of Auental

The library of Auental is a public house that lends books in the middle of the town.
"""


def test_texts_and_a_folder_give_proved_answers(tmp_path: Path) -> None:
    (tmp_path / "text-000001.md").write_text(TEXT, "utf-8")
    of_text = generate([TEXT])
    accepted = of_text.filter(verdict="accepted")
    assert accepted.height
    for evidence in accepted["evidence"].to_list():
        assert all(piece["quote"] in TEXT or "|" in piece["quote"] for piece in evidence)
    assert generate(tmp_path).equals(of_text)


def test_a_text_that_gives_no_pair_has_a_row_that_says_why() -> None:
    none = generate(["The garden was quiet. Birds sang in it until noon, and nobody came by."])
    assert none.select("verdict", "reason").rows() == [(None, "not_written")]
    assert none["detail"].item()


@pytest.mark.parametrize("documents", [[], [3], "nowhere", [" "]])
def test_what_holds_no_text_is_refused(documents: Any) -> None:
    with pytest.raises(InputError):
        generate(documents)
