import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.errors import InputError
from qa_pipeline.evaluation.abilities import (
    CONTEXTS,
    COUNTERFACTUAL,
    INTEGRATION,
    NOISE,
    REJECTION,
    Passage,
    Proof,
    ProvedPair,
    Source,
    build_suite,
    workspace_source,
)
from qa_pipeline_tests.end_to_end import GUIDE, invoke, new_workspace

Row = dict[str, Any]
NAMES = ("Kestrel", "Merlin", "Osprey", "Harrier", "Falcon", "Buzzard", "Goshawk")


def boilers() -> Source:
    """A page on each of a few boilers, every fact of which is asked for."""
    pairs: list[ProvedPair] = []
    for place, name in enumerate(NAMES):
        said = f"The {name} boiler holds {340 + 10 * place} litres of clean water in its tank."
        asked = f"How many litres of clean water does the tank of the {name} boiler hold?"
        text = Passage(f"{name}.md", f"It is painted in grey. {said} It stands in the cellar.")
        pairs.append(ProvedPair(name, asked, said, "en", (Proof(said, said, text),)))
    beside = [
        Passage(f"{name}.md", f"The warranty of the {name} ends after a while. Keep the bill.")
        for name in NAMES
    ]
    return Source("boilers", pairs, {"en": [*beside, *(pair.passages[0] for pair in pairs)]})


SOURCE = boilers()
PROOFS = {pair.question: pair.proofs[0].quote for pair in SOURCE.pairs}
ROWS = build_suite(SOURCE, 7)


def of(ability: str) -> list[Row]:
    return [row for row in ROWS if row["category"] == ability]


def holding(row: Row, text: str) -> int:
    return sum(text in one["text"] for one in row["contexts"])


def test_every_pair_gives_rows_of_every_ability_and_equal_pairs_equal_ones() -> None:
    assert [len(of(ability)) for ability in (NOISE, REJECTION, INTEGRATION, COUNTERFACTUAL)] == [28, 7, 7, 14]
    assert build_suite(boilers(), 7) == ROWS
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert len(build_suite(SOURCE, 2)) == 2 * (4 + 1 + 1 + 2)


def test_noise_holds_no_proof_and_the_proof_is_asked_with_every_share_of_it() -> None:
    asked: dict[str, list[int]] = defaultdict(list)
    for row in of(NOISE):
        assert holding(row, PROOFS[row["query"]]) == 1
        asked[row["query"]].append(len(row["contexts"]))
    assert all(counts == [1, 2, 3, 5] for counts in asked.values())
    for row in of(REJECTION):
        assert (holding(row, PROOFS[row["query"]]), len(row["contexts"])) == (0, CONTEXTS)
        assert row["ground_truth"] == {"must_refuse": True}


def test_a_joined_question_has_a_proof_in_each_of_two_documents() -> None:
    for row in of(INTEGRATION):
        claims = row["ground_truth"]["claims"]
        assert len({claim["source"] for claim in claims}) == 2
        assert [holding(row, claim["claim"]) for claim in claims] == [1, 1]


def test_a_planted_document_ranks_first_and_denies_the_answer_alone() -> None:
    for row in of(COUNTERFACTUAL):
        planted = row["planted"]
        assert planted["false"] in row["contexts"][0]["text"]
        assert row["contexts"][0]["document"] not in row["ground_truth"]["relevant_documents"]
        assert holding(row, planted["true"]) == (row["difficulty"] == "planted_beside_truth")
        assert holding(row, planted["false"]) == 1
        changed = set(planted["true"].split()) - set(planted["false"].split())
        assert changed <= set(row["ground_truth"]["answer"].split()) - set(row["query"].split())


def test_pairs_that_cannot_be_asked_so_give_no_row() -> None:
    text = SOURCE.pairs[0].passages[0]
    alone = Source("one", SOURCE.pairs[:1], {"en": [text]})
    assert build_suite(alone, 7) == []
    refused = ProvedPair("r", "Who painted the Kestrel boiler grey?", "Unknown.", "en", ())
    (row,) = build_suite(Source("r", [refused], SOURCE.passages), 1)
    assert (row["category"], row["difficulty"]) == (REJECTION, "unanswerable")


def test_an_output_folder_gives_its_pairs_and_all_of_its_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = new_workspace(tmp_path, monkeypatch)
    workspace.write({"boilers/guide.md": GUIDE})
    assert workspace.run().code == OK
    source = workspace_source(workspace.out)
    assert {pair.pair_id for pair in source.pairs} == {
        *workspace.table("training_examples", "boilers")["pair_id"]
    }
    assert all(proof.quote in proof.passage.text for pair in source.pairs for proof in pair.proofs)
    shown = [text.text for text in source.passages["en"]]
    assert sorted(shown) == sorted(workspace.table("chunks", "boilers")["text"])
    with pytest.raises(InputError):
        workspace_source(tmp_path)


def test_answers_to_a_suite_are_measured_by_ability_and_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_workspace(tmp_path, monkeypatch)
    answered = [{**row, "answer": row["contexts"][0]["text"]} for row in of(COUNTERFACTUAL) + of(REJECTION)]
    suite, report = tmp_path / "suite.jsonl", tmp_path / "report"
    suite.write_text("\n".join(map(json.dumps, answered)), encoding="utf-8")
    names = ("--metric", "refusal_correct", "--metric", "context_diversity")
    ran = invoke("eval", "run", suite, "--out", report, "--data", tmp_path / "data", *names)
    assert ran.code == OK, ran.stderr
    found = json.loads((report / "report.json").read_text())
    assert set(found["per_difficulty"]) == {"converted", "planted_alone", "planted_beside_truth"}
    assert found["per_category"][REJECTION]["refusal_correct"]["mean"] == 0.0
    assert invoke("eval", "run", tmp_path, "--out", suite, "--abilities", "5").code == BAD_INPUT
