"""Answers that once were decided wrongly, each with its right outcome, from `cases.jsonl`."""

import json
from pathlib import Path

import pytest

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

CASES = [json.loads(line) for line in Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["answer"])[:40])
def test_the_rules_decide_the_case_right(case: dict[str, str]) -> None:
    frame = documents({"a.md": case["document"]}, case["language"])
    asked = {"question": case["question"], "language": case["language"]}
    rows = pairs(pair(case["answer"], cites="a.md", **asked))
    claims = find_claims(rows, frame, chunks(frame), None)
    verdicts = set(decide_claims(claims, rows, VerificationSettings())["verdict"])
    if case["right"] == "accepted":
        assert verdicts == {"supported"}
    elif case["right"] == "rejected":
        assert "contradicted" in verdicts
    else:
        assert verdicts != {"supported"}
