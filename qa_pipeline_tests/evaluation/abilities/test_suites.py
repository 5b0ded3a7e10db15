import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.evaluation.abilities.denials import plant_denial
from qa_pipeline.evaluation.abilities.sources import Proof, Proved, Source, Text
from qa_pipeline.evaluation.abilities.suites import (
    ABILITIES,
    CONTEXTS,
    COUNTERFACTUAL,
    INTEGRATION,
    NOISE,
    RATIOS,
    REJECTION,
    build_suite,
)
from qa_pipeline.evaluation.datasets.answered_questions import read_rag_rows
from qa_pipeline_tests.evaluation.boilers import NAMES, boiler_source

Row = dict[str, Any]
SOURCE = boiler_source()
PROOFS = {pair.pair_id: pair.proofs[0].quote for pair in SOURCE.pairs}
ROWS = build_suite([SOURCE], 14).rows


def of(ability: str, rows: list[Row] = ROWS) -> list[Row]:
    return [row for row in rows if row["category"] == ability]


def holding(row: Row, text: str) -> int:
    return sum(text in one["text"] for one in row["contexts"])


@given(st.integers(0, 2**31), st.integers(1, 14))
def test_at_every_ratio_that_share_of_the_contexts_does_not_hold_the_proof(seed: int, most: int) -> None:
    rows = of(NOISE, build_suite([boiler_source(seed=seed)], most).rows)
    assert len(rows) == most * len(RATIOS)
    for row in rows:
        noise = 1 - holding(row, PROOFS[row["pairs"][0]]) / len(row["contexts"])
        assert noise == pytest.approx(float(row["difficulty"]))


@given(st.integers(0, 2**31))
def test_the_same_pairs_and_seed_give_the_same_bytes_and_every_row_has_an_id_of_its_own(seed: int) -> None:
    one, same = (build_suite([boiler_source(seed=seed)], 3) for _ in range(2))
    assert one.lines() == same.lines()
    assert len({row["id"] for row in one.rows}) == len(one.rows)


def test_each_question_is_asked_at_all_ratios_so_that_these_can_be_compared() -> None:
    asked: dict[str, list[str]] = defaultdict(list)
    for row in of(NOISE):
        asked[row["query"]].append(row["difficulty"])
    assert all(sorted(ratios) == [str(ratio) for ratio in RATIOS] for ratios in asked.values())


def test_contexts_to_reject_hold_no_proof_and_the_right_answer_is_a_refusal() -> None:
    for row in of(REJECTION):
        assert holding(row, PROOFS[row["pairs"][0]]) == 0
        assert len(row["contexts"]) == CONTEXTS
        assert row["ground_truth"] == {"must_refuse": True}


def test_a_joined_question_has_a_proof_in_each_of_two_documents() -> None:
    for row in of(INTEGRATION):
        assert row["difficulty"] == "joined"
        assert len({claim["source"] for claim in row["ground_truth"]["claims"]}) == 2
        assert [holding(row, PROOFS[pair]) for pair in row["pairs"]] == [1, 1]
        assert len(row["contexts"]) == CONTEXTS


def test_a_planted_document_ranks_first_and_the_truth_stands_beside_it_or_nowhere() -> None:
    rows = of(COUNTERFACTUAL)
    assert {row["difficulty"] for row in rows} == {"alone", "beside"}
    for row in rows:
        planted = row["planted"]
        assert planted["false"] in row["contexts"][0]["text"]
        assert planted["true"] not in row["contexts"][0]["text"]
        assert row["contexts"][0]["document"] not in row["ground_truth"]["relevant_documents"]
        assert holding(row, planted["true"]) == (row["difficulty"] == "beside")
        assert holding(row, planted["false"]) == 1


def test_what_is_planted_changes_the_answer_and_nothing_that_the_question_says() -> None:
    for row in of(COUNTERFACTUAL):
        true, false = (set(row["planted"][side].split()) for side in ("true", "false"))
        assert true - false <= set(row["ground_truth"]["answer"].split())
        assert not (true - false) & set(row["query"].rstrip("?").split())


def test_documents_take_turns() -> None:
    rows = of(REJECTION, build_suite([SOURCE], len(NAMES)).rows)
    assert len({row["group"] for row in rows}) == len(NAMES)


def test_pairs_that_give_no_row_are_counted_with_a_reason() -> None:
    short = Proved("s", "Why?", "It is.", "en", "fact_single", (Proof("It is.", "It is.", SOURCE.texts[0]),))
    cases: list[tuple[Source, tuple[str, str]]] = [
        (boiler_source(NAMES[:1]), (INTEGRATION, "no_pair_of_another_document")),
        (boiler_source(NAMES[:1]), (REJECTION, "too_little_noise")),
        (replace(SOURCE, pairs=(short,)), (COUNTERFACTUAL, "nothing_to_change")),
        (replace(SOURCE, pairs=(short,)), (NOISE, "too_few_relevant_cuts")),
    ]
    for source, missed in cases:
        suite = build_suite([source], 14)
        assert suite.missed[missed] == len({pair.question for pair in source.pairs})
        assert {"ability": missed[0], "what": missed[1], "rows": 0, "not_built": suite.missed[missed]} in (
            suite.counts()
        )


@pytest.mark.parametrize("places", [(0, 3), (0, 3, 6)])
def test_a_question_of_two_or_three_hops_is_taken_as_it_is(places: tuple[int, ...]) -> None:
    chained = [SOURCE.pairs[place] for place in places]
    asked = f"{chained[0].question[:-1]}, and {chained[-1].question[0].lower()}{chained[-1].question[1:]}"
    proofs = tuple(proof for pair in chained for proof in pair.proofs)
    joined = Proved("joined", asked, "All.", "en", "cross_document", proofs)
    row = of(INTEGRATION, build_suite([replace(SOURCE, pairs=(joined,))], 1).rows)[0]
    assert (row["query"], row["difficulty"]) == (asked, "cross_document")
    assert [holding(row, pair.proofs[0].quote) for pair in chained] == [1] * len(places)


def test_a_question_that_was_rightly_refused_is_asked_again_and_not_joined() -> None:
    refused = Proved("r", "Who painted the Kestrel boiler grey?", "Unknown.", "en", "unanswerable", ())
    suite = build_suite([replace(SOURCE, pairs=(refused,))], 1)
    assert [row["difficulty"] for row in of(REJECTION, suite.rows)] == ["unanswerable"]
    assert suite.missed[INTEGRATION, "refusal"] == 1


def test_every_reader_of_data_sets_reads_a_suite(tmp_path: Path) -> None:
    path = tmp_path / "suite.jsonl"
    path.write_bytes(build_suite([SOURCE], 2).lines())
    read = read_rag_rows([path])
    assert read.left_out.height == 0
    assert set(read.items["category"]) == set(ABILITIES)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert read.items["id"].to_list() == [line["id"] for line in lines]
    assert read.items.filter(category=REJECTION)["must_refuse"].to_list() == [True, True]


def named(name: str, elsewhere: str, beside: str = "") -> Source:
    """A passage about a name, and one that has another name."""
    said = f"The tank of our newest boiler is made by {name} in the north of the country."
    texts = [
        Text(f"t{place}", f"{place}.md", "", (), text, "en")
        for place, text in enumerate(
            (
                f"It is grey. {said} It stands in the cellar.",
                f"Every pump in the cellar is made by {elsewhere} in the south. {beside}",
            )
        )
    ]
    return Source(
        "names",
        (Proved("p", "Who makes it?", said, "en", "fact_single", (Proof(said, said, texts[0]),)),),
        tuple(texts),
    )


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (named("Kestrelworks", "Merlinworks"), {"name", "negation"}),
        (named("Kestrelworks", "Merlinworks", "All merlinworks are far away."), {"negation"}),
    ],
)
def test_only_a_name_that_is_one_wherever_it_stands_takes_the_place_of_another(
    source: Source, kinds: set[str]
) -> None:
    found = set()
    for seed in range(12):
        planted = plant_denial(replace(source, seed=seed), source.pairs[0])
        found |= {planted[1]["kind"]} if planted else set()
    assert found == kinds
