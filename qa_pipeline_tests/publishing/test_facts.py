import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import SecretStr

from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.publishing.facts import (
    BINS,
    SHOWN_SOURCES,
    CardFacts,
    changed_settings,
    row_facts,
    source_facts,
)
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import LLM_CALLS
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.verification.canaries.rows import judge_canaries

Frames = dict[str, pl.DataFrame]
Files = tuple[list[pl.DataFrame], list[pl.DataFrame]]


def rows_of(folder: Path) -> pl.LazyFrame:
    return pl.concat(pl.scan_parquet(one) for one in sorted((folder / "data").glob("*.parquet")))


@pytest.fixture
def frames(published: Workspace) -> dict[str, Frames]:
    return {name: read_tables(Layout(published.out), name) for name in ("b0", "b1")}


@pytest.fixture
def files(published: Workspace) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """Rows and sources of the release, some rows at a time."""
    folder = published.out / "releases" / "1"
    rows, sources = rows_of(folder).collect(), pl.read_parquet(folder / "sources.parquet")
    return [*rows.iter_slices(3)], [*sources.iter_slices(3)]


def document(files: Files, *batches: Frames) -> dict[str, Any]:
    facts = CardFacts(load_settings())
    for tables in batches:
        facts.add(tables, tables["training_examples"])
    return facts.document(*files)


def test_counts_and_lengths_are_those_of_the_rows(files: Files) -> None:
    rows = pl.concat(files[0]).to_dicts()
    found = row_facts(files[0])
    assert found["rows"] == len(rows)
    for name in ("language", "question_type", "coverage"):
        assert found[name] == {one: sum(row[name] == one for row in rows) for one in found[name]}
        assert sum(found[name].values()) == len(rows)
    words = sorted(len(row["answer"].split()) for row in rows)
    of_words = found["lengths"]["words of the answer"]
    assert (of_words["least"], of_words["most"], of_words["rows"]) == (words[0], words[-1], len(rows))
    assert words[len(words) // 2 - 1] <= of_words["median"] <= words[len(words) // 2 + 1]


def test_what_is_not_known_is_counted_as_unknown(files: Files) -> None:
    rows = pl.concat(files[0]).with_columns(
        memorised=pl.lit(None, pl.Boolean()),
        tokens=pl.struct(
            closed_book=pl.lit(None, pl.Int32()),
            with_context=pl.lit(None, pl.Int32()),
            with_distractors=pl.lit(None, pl.Int32()),
        ),
    )
    found = row_facts([rows])
    assert found["memorised"] == {"unknown": found["rows"]}
    assert found["judge"] == {"unknown": found["rows"]}
    assert found["lengths"]["tokens, with_context"] == {
        "rows": 0, "least": None, "median": None, "95 %": None, "most": None,
    }  # fmt: skip


def test_the_first_documents_are_shown_and_all_are_counted() -> None:
    names = ("batch", "path", "content_sha256", "licence", "source_uri")
    many = [("b", f"{n:03}.md", f"{n}", "MIT" if n else None, None) for n in range(SHOWN_SOURCES + 5)]
    frame = pl.DataFrame(many[::-1], schema=dict.fromkeys(names, pl.String()), orient="row")
    found = source_facts(frame.iter_slices(20))
    assert (found["documents"], found["batches"]) == (SHOWN_SOURCES + 5, {"b": SHOWN_SOURCES + 5})
    assert found["licences"] == {"MIT": SHOWN_SOURCES + 4, "unknown": 1}
    assert [one["path"] for one in found["first"]] == [f"{n:03}.md" for n in range(SHOWN_SOURCES)]


def test_batches_add_up_in_any_order_and_a_batch_more_holds_no_more_counts(
    frames: dict[str, Frames], files: Files
) -> None:
    first, second = frames.values()
    both, other_way = document(files, first, second), document(files, second, first)
    assert {name for name in both if both[name] != other_way[name]} <= {"funnel"}
    alone, twice = document(files, first), document(files, first, first)
    for name in ("funnel", "sections", "claims", "made_by"):
        assert [{**one, "count": 2 * one["count"]} for one in alone[name]] == twice[name]
        assert sum(one["count"] for one in both[name]) > sum(one["count"] for one in alone[name]) > 0
    assert json.loads(json.dumps(both)) == both


def test_each_known_score_is_in_one_bin(frames: dict[str, Frames], files: Files) -> None:
    first = frames["b0"]
    scored = first["verdicts"].with_columns(composite=pl.lit(1.0), relevance=pl.lit(0.0))
    found = document(files, {**first, "verdicts": scored})["scores"]
    assert found["composite"]["all"] == [0] * (BINS - 1) + [scored.height]
    assert found["relevance"]["all"] == [scored.height] + [0] * (BINS - 1)
    assert sum(found["composite"]["released"]) == first["training_examples"].height
    assert "correctness" not in found


def test_pairs_whose_verdict_was_known_before_have_no_part_in_scores_and_claims(
    frames: dict[str, Frames], files: Files
) -> None:
    known = frames["b0"]["verdicts"].with_columns(expected_verdict=pl.lit("rejected"))
    found = document(files, {**frames["b0"], "verdicts": known})
    assert (found["scores"], found["claims"]) == ({}, [])


def test_canaries_are_counted_by_kind_and_over_all_with_exact_intervals(
    frames: dict[str, Frames], files: Files
) -> None:
    found = document(files, *frames.values())["canaries"]
    canaries = pl.concat(one["canaries"] for one in frames.values())
    every = [one for one in found if one["kind"] is None]
    assert sum(one["canaries"] for one in every) == canaries.height > 0
    assert sum(one["canaries"] for one in found) == 2 * canaries.height
    for one in found:
        assert one["rejected_share"]["low"] <= one["rejected_share"]["value"] <= one["rejected_share"]["high"]


def test_canaries_of_the_judge_are_counted_apart_and_only_where_it_replied(
    frames: dict[str, Frames], files: Files
) -> None:
    judged = judge_canaries(fragment=["rejected", "accepted", "failed"], good=["accepted"])
    found = document(files, {**frames["b0"], "judge_canaries": judged})
    assert document(files, frames["b0"]) == {**found, "judge_canaries": []}
    names = ("expected", "kind", "canaries", "rejected", "accepted")
    assert [tuple(one[name] for name in names) for one in found["judge_canaries"]] == [
        ("accepted", None, 1, 0, 1),
        ("accepted", "good", 1, 0, 1),
        ("rejected", None, 2, 1, 1),
        ("rejected", "fragment", 2, 1, 1),
    ]


def calls(*costs: tuple[float | None, str | None]) -> pl.DataFrame:
    rows = [
        {"call_id": f"{n}", "run": "r", "batch": "b", "role": "answer", "asked_model": "m",
            "request_key": "k", "seconds": 1.0, "tries": 1, "outcome": "replied", "repair": "none",
            "input_tokens": 10, "output_tokens": 5, "cost": cost, "currency": currency}
        for n, (cost, currency) in enumerate(costs)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=LLM_CALLS.schema)


@pytest.mark.parametrize(
    ("made", "each", "why"),
    [
        ([], None, "no hosted model was asked"),
        ([(None, None)], None, "no call has a price that is known"),
        ([(1.0, "USD"), (1.0, "EUR")], None, "the costs are in several currencies"),
        ([(1.0, "USD"), (0.5, "USD"), (None, None)], 3.0, None),
    ],
)
def test_the_cost_of_an_accepted_pair_is_null_with_the_reason_where_it_is_not_known(
    frames: dict[str, Frames],
    files: Files,
    made: list[tuple[float | None, str | None]],
    each: float | None,
    why: str | None,
) -> None:
    one = {**frames["b0"], "llm_calls": calls(*made)}
    cost = document(files, one, one)["cost"]
    accepted = 2 * frames["b0"]["verdicts"].filter(pl.col("verdict") == "accepted").height
    assert cost["accepted"] == accepted
    assert cost["cost_per_accepted_pair"] == (None if each is None else pytest.approx(each / accepted))
    assert (cost["why"], cost["calls"], cost["tokens"]) == (why, 2 * len(made), 30 * len(made))


def test_settings_that_differ_are_told_but_for_secrets_and_places(tmp_path: Path) -> None:
    masking = {"action": "mask", "key": SecretStr("s3cret-s3cret-s3cret")}
    settings = load_settings(
        out=tmp_path,
        documents={"masking": masking},
        chunking={"max_tokens": 200},
        release={"formats": ["alpaca"], "evaluation": [tmp_path / "x.jsonl"], "splits": {"train": 1}},
        llm={"workers": 9, "base_url": "http://internal:1/v1", "seed": 4},
        verification={"entailment": {"model": str(tmp_path / "model")}},
    )
    told, untold = changed_settings(settings)
    assert told["chunking.max_tokens"] == "200"
    assert told["release.splits"] == '{"train": 1.0}'
    assert told["release.formats"] == '["alpaca"]'
    assert (told["llm.seed"], "llm.workers" in told) == ("4", False)
    assert untold == ["documents.masking.key", "llm.base_url", "release.evaluation",
        "verification.entailment.model"]  # fmt: skip
    assert "s3cret" not in json.dumps([told, untold])
    assert str(tmp_path) not in json.dumps([told, untold])


def test_settings_of_the_profile_are_no_difference() -> None:
    told, untold = changed_settings(Settings())
    assert not [name for name in told if name.startswith(("generation", "embedding"))]
    assert untold == []
