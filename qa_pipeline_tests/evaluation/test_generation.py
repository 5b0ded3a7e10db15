from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from qa_pipeline.evaluation.generation import (
    compare_ends,
    generation_figures,
    question_ends,
    repeat_figures,
)
from qa_pipeline.storage.tables import COVERAGE, LLM_CALLS, QUESTIONS, ROUND_TRIPS, TWINS
from qa_pipeline_tests.curation import rows

WORDS = ("accepted", "rejected", "needs_review", "failed")
Frames = dict[str, pl.DataFrame]


def run(words: Sequence[str], **changes: list[dict[str, Any]]) -> Frames:
    """One question a chunk, whose pairs have these verdicts; `changes` are rows in place of its own."""
    ids = [f"{n:02}" for n in range(len(words))]
    planned: dict[str, Any] = {
        "planned_type": "fact_single",
        "question_type": "fact_single",
        "place": 0,
    }
    made = {
        "chunks": [rows.chunk(f"c{i}", document_id=f"d{int(i) // 3}") for i in ids],
        "questions": [
            rows.question(i, question=f"Question {i}?", target_chunk_ids=[f"c{i}"], **planned) for i in ids
        ],
        "pairs": [rows.pair(f"p{i}", question_id=i) for i in ids],
        "verdicts": [
            rows.verdict(f"p{i}", word, grounding=1.0 if word == "accepted" else 0.5)
            for i, word in zip(ids, words, strict=True)
        ],
        **changes,
    }
    twin: dict[str, Any] = {"batch": "b"}
    names = ("pair_id", "exact_group", "near_group")
    twins = [{**twin, **dict.fromkeys(names, one["pair_id"])} for one in made["pairs"]]
    return {
        "chunks": rows.chunks(*made["chunks"]),
        "questions": QUESTIONS.frame(made["questions"]),
        "pairs": rows.pairs(*made["pairs"]),
        "claims": rows.claims(*made.get("claims", [])),
        "twins": TWINS.frame(made.get("twins", twins)),
        "round_trips": ROUND_TRIPS.frame(made.get("round_trips", [])),
        "coverage": COVERAGE.frame(made.get("coverage", [])),
        "verdicts": rows.verdicts(*made["verdicts"]),
        "llm_calls": LLM_CALLS.empty(),
    }


def shares(frames: Frames, **mix: float) -> dict[str, tuple[float | None, int | None, int, int]]:
    found = generation_figures(frames, mix or {"fact_single": 1.0})["shares"]
    return {one["what"]: (one["share"], one["count"], one["of"], one["unknown"]) for one in found}


words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12)


@given(words)
def test_every_pair_is_counted_under_one_verdict_and_shares_are_of_what_is_there(found: list[str]) -> None:
    counted = shares(run(found))
    assert sum(counted[word][1] or 0 for word in WORDS) == len(found)
    assert all(share is None or 0 <= share <= 1 for share, *_ in counted.values())
    assert counted["questions_accepted"][:3] == (
        found.count("accepted") / len(found),
        found.count("accepted"),
        len(found),
    )


def test_nothing_to_divide_by_is_unknown_and_never_nought() -> None:
    counted = shares(run([], pairs=[]))
    assert {share for share, *_ in counted.values()} == {None}


def test_the_mix_missed_is_the_share_of_accepted_questions_of_a_wrong_type() -> None:
    frames = run(["accepted"] * 4)
    assert shares(frames, fact_single=1, summary=1)["mix_missed"][0] == 0.5
    assert shares(frames, fact_single=3, summary=1, table=0)["mix_missed"][0] == 0.25
    assert shares(frames, fact_single=9)["mix_missed"][0] == 0
    types = generation_figures(frames, {"fact_single": 1, "summary": 1})["types"]
    assert [(one["question_type"], one["asked_share"], one["accepted_share"]) for one in types] == [
        ("fact_single", 0.5, 1.0), ("summary", 0.5, 0.0),
    ]  # fmt: skip


def test_imported_pairs_and_what_was_found_out_about_them_are_not_counted() -> None:
    frames = run(["accepted", "rejected"])
    imported = rows.pairs(rows.pair("i", origin="imported", question_type="imported"))
    both = {
        **frames,
        "pairs": pl.concat([frames["pairs"], imported]),
        "verdicts": pl.concat([frames["verdicts"], rows.verdicts(rows.verdict("i"))]),
        "claims": rows.claims(rows.claim("i", quotes=[quote("missing")])),
    }
    assert shares(both) == shares(frames)


def quote(kind: str) -> dict[str, Any]:
    return {"given": kind, "kind": kind}


def test_quotes_are_counted_by_how_they_were_found_and_those_never_looked_for_as_unknown() -> None:
    kinds = ("exact", "exact", "spelling", "ellipsis", "edited", "misplaced", "missing")
    cited: list[dict[str, Any]] = [
        {"raw": "passage 1", "quote": kind, "resolution": "chunk"} for kind in kinds
    ]
    cited += [
        {"raw": "passage 9", "quote": None, "resolution": "unknown_passage"},
    ]
    unseen = [{"raw": "passage 1", "quote": "unseen", "resolution": "chunk"}]
    frames = run(
        ["accepted", "failed"],
        pairs=[
            rows.pair("p00", question_id="00", citations=cited),
            rows.pair("p01", question_id="01", citations=unseen),
        ],
        claims=[rows.claim("p00", quotes=[quote(kind) for kind in kinds])],
    )
    counted = shares(frames)
    names = ("exact", "written_otherwise", "repaired", "failed")
    assert [counted[f"quotes_{name}"][1] for name in names] == [2, 2, 2, 1]
    assert {counted[f"quotes_{name}"][2:] for name in names} == {(7, 1)}
    assert counted["citations_resolved"][1:] == (8, 9, 0)


def test_what_guard_solver_and_memory_said_is_counted_and_silence_is_unknown() -> None:
    guards = (True, True, False, None)
    frames = run(
        ["accepted"] * 4,
        pairs=[
            rows.pair(f"p0{n}", question_id=f"0{n}", guarded_by="llm", guard_passed=one)
            for n, one in enumerate(guards)
        ],
        round_trips=[
            {
                "pair_id": f"p0{n}", "batch": "b", "status": "checked", "agrees": agrees,
                "memorised": memorised, "further_chunk_ids": [],
            }
            for n, (agrees, memorised) in enumerate(((True, False), (False, True), (None, None)))
        ],
    )  # fmt: skip
    counted = shares(frames)
    assert counted["guard_refused"] == (1 / 3, 1, 3, 1)
    assert counted["solver_agrees"] == (1 / 2, 1, 2, 1)
    assert counted["memorised"] == (1 / 2, 1, 2, 1)


def test_duplicates_are_counted_before_and_after_the_ledger_dropped_them() -> None:
    twin = {"batch": "b", "exact_group": "p00", "near_group": "p00"}
    frames = run(["accepted", "rejected", "accepted"])
    groups = [{**twin, "pair_id": "p00"}, {**twin, "pair_id": "p01"}]
    groups.append({**twin, "pair_id": "p02", "exact_group": "p02", "near_group": "p02"})
    counted = shares(run(["accepted", "rejected", "accepted"], twins=groups))
    assert counted["duplicate_pairs"] == (1 / 3, 1, 3, 0)
    assert counted["duplicates_accepted"] == (0, 0, 2, 0)
    assert shares(frames)["duplicate_pairs"][1] == 0


def test_a_section_that_repeats_others_need_not_be_covered() -> None:
    section: dict[str, Any] = {"batch": "b", "document_id": "d", "section_path": [], "reason": None}
    section |= dict.fromkeys(("chunks", "planned", "written", "kept", "pairs", "accepted"), 1)
    states = ("covered", "uncovered", "repeated")
    coverage = [{**section, "section_start": n, "status": status} for n, status in enumerate(states)]
    assert shares(run([], coverage=coverage))["sections_covered"] == (0.5, 1, 2, 0)


two_runs = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), min_size=1, max_size=15)


def ends(words: Sequence[str]) -> pl.DataFrame:
    return question_ends(run(words))


@given(two_runs)
def test_four_cells_hold_every_question_and_exchanged_runs_exchange_them(
    found: list[tuple[str, str]],
) -> None:
    first, second = (ends(side) for side in zip(*found, strict=True))
    there, back = (compare_ends(*both, resamples=20) for both in ((first, second), (second, first)))
    cells, swapped = there["accepted"], back["accepted"]
    assert sum(cells.values()) == len(found) == there["questions"]["both"]
    assert (cells["without_only"], cells["changed_only"]) == (
        swapped["changed_only"],
        swapped["without_only"],
    )
    assert there["mcnemar_p"] == pytest.approx(back["mcnemar_p"])
    for one, other in zip(there["differences"], back["differences"], strict=True):
        assert one["questions"] + one["unknown"] == len(found)
        if one["difference"]["value"] is not None:
            assert one["difference"]["value"] == pytest.approx(-other["difference"]["value"])
            assert one["difference"]["low"] == pytest.approx(-other["difference"]["high"])


@given(words)
def test_a_run_differs_in_nothing_from_itself(found: list[str]) -> None:
    one = ends(found)
    same = compare_ends(one, one, resamples=20)
    assert (same["mcnemar_p"], same["moves"]) == (None, [])
    assert {of["difference"]["value"] for of in same["differences"]} <= {None, 0.0}
    figures = generation_figures(run(found), {"fact_single": 1.0})
    repeated = repeat_figures([figures, figures], [one, one])
    assert {of["deviation"] for of in repeated["shares"]} <= {None, 0.0}
    assert repeated["questions"] == {"in_any": len(found), "in_all": len(found), "same_outcome": 1.0}


@pytest.mark.parametrize(("lost", "gained"), [(8, 1), (1, 8), (5, 5), (1, 0)])
def test_the_exact_test_is_twice_the_smaller_tail_of_a_fair_coin(lost: int, gained: int) -> None:
    without = ["accepted"] * lost + ["rejected"] * gained + ["accepted"]
    changed = ["rejected"] * lost + ["accepted"] * gained + ["accepted"]
    found = compare_ends(ends(without), ends(changed), resamples=0)
    tail = float(binom.cdf(min(lost, gained), lost + gained, 0.5))
    assert found["mcnemar_p"] == pytest.approx(min(1.0, 2 * tail))
    assert found["moves"][0]["questions"] == max(lost, gained)


def test_only_the_same_question_about_the_same_chunk_of_the_same_batch_is_paired() -> None:
    first = ends(["accepted", "accepted", "accepted", "rejected"])
    other = first.with_columns(
        batch=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("other")).otherwise("batch"),
        question=pl.when(pl.int_range(pl.len()) == 1).then(pl.lit("Something else?")).otherwise("question"),
        target_chunk_ids=pl.when(pl.int_range(pl.len()) == 2)
        .then(pl.lit("c9"))
        .otherwise("target_chunk_ids"),
    )
    found = compare_ends(first, other, resamples=0)
    assert found["questions"] == {"both": 1, "without_only": 3, "changed_only": 3}
    assert found["accepted"] == {"both": 0, "without_only": 0, "changed_only": 0, "neither": 1}


def test_a_question_without_a_pair_ends_where_it_was_dropped_and_of_drafts_the_accepted_one_counts() -> None:
    dropped = rows.question(
        "00", "dropped", question="Question 00?", target_chunk_ids=["c00"], planned_type="summary"
    )
    drafts = [rows.pair("p00", question_id="01"), rows.pair("p01", question_id="01")]
    frames = run(["rejected", "accepted"], pairs=drafts)
    frames["questions"] = pl.concat([QUESTIONS.frame([dropped]), frames["questions"].tail(1)])
    assert question_ends(frames)["outcome"].to_list() == ["question_dropped", "accepted"]


def test_repeats_tell_how_far_shares_differ_and_how_many_questions_end_the_same_way() -> None:
    runs = [run(["accepted", "accepted"]), run(["accepted", "rejected"]), run(["accepted"])]
    found = repeat_figures(
        [generation_figures(one, {"fact_single": 1.0}) for one in runs], [question_ends(one) for one in runs]
    )
    accepted = next(one for one in found["shares"] if one["what"] == "accepted")
    assert accepted == {
        "what": "accepted", "known": 3, "mean": pytest.approx(5 / 6),
        "deviation": pytest.approx(3**-0.5 / 2), "least": 0.5, "most": 1.0,
    }  # fmt: skip
    assert found["questions"] == {"in_any": 2, "in_all": 1, "same_outcome": 1.0}
