from typing import Any

import polars as pl
import pytest
import yaml
from markdown_it import MarkdownIt

from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.publishing.card import data_card
from qa_pipeline.publishing.facts import SHOWN_SOURCES, CardFacts, row_facts, source_facts
from qa_pipeline.publishing.manifest import CARD, Manifest, read_manifest
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.verification.canary_rows import canaries, judged

Facts = dict[str, Any]
Frames = dict[str, pl.DataFrame]


@pytest.fixture
def frames(published: Workspace) -> dict[str, Frames]:
    return {name: read_tables(Layout(published.out), name) for name in ("b0", "b1")}


@pytest.fixture
def files(published: Workspace) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """Rows and sources of the release, some rows at a time."""
    folder = published.out / "releases" / "1"
    rows = pl.concat(pl.read_parquet(one) for one in sorted((folder / "data").glob("*.parquet")))
    return [*rows.iter_slices(3)], [*pl.read_parquet(folder / "sources.parquet").iter_slices(3)]


@pytest.fixture
def facts(frames: dict[str, Frames], files: Any) -> Facts:
    return document(files, *frames.values())


@pytest.fixture
def manifest(published: Workspace) -> Manifest:
    return read_manifest(published.out / "releases" / "1")


def document(files: Any, *batches: Frames) -> Facts:
    facts = CardFacts()
    for tables in batches:
        facts.add(tables, tables["training_examples"])
    return facts.document(*files)


def front_matter(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


def test_counts_and_lengths_are_those_of_the_rows(files: Any) -> None:
    rows = pl.concat(files[0]).to_dicts()
    found = row_facts(files[0])
    assert found["rows"] == len(rows)
    for name in ("language", "question_type", "coverage"):
        assert found[name] == {one: sum(row[name] == one for row in rows) for one in found[name]}
    words = sorted(len(row["answer"].split()) for row in rows)
    of_words = found["lengths"]["words of the answer"]
    assert (of_words["least"], of_words["most"], of_words["rows"]) == (words[0], words[-1], len(rows))
    assert found["judge"] == {"unknown": len(rows)}


def test_the_first_documents_are_shown_and_all_are_counted() -> None:
    names = ("batch", "path", "content_sha256", "licence", "source_uri")
    many = [("b", f"{n:03}.md", f"{n}", "MIT" if n else None, None) for n in range(SHOWN_SOURCES + 5)]
    frame = pl.DataFrame(many[::-1], schema=dict.fromkeys(names, pl.String()), orient="row")
    found = source_facts(frame.iter_slices(20))
    assert (found["documents"], found["batches"]) == (SHOWN_SOURCES + 5, {"b": SHOWN_SOURCES + 5})
    assert found["licences"] == {"MIT": SHOWN_SOURCES + 4, "unknown": 1}
    assert [one["path"] for one in found["first"]] == [f"{n:03}.md" for n in range(SHOWN_SOURCES)]


def test_batches_add_up(frames: dict[str, Frames], files: Any) -> None:
    first, second = frames.values()
    alone, twice, both = (document(files, *one) for one in ((first,), (first, first), (first, second)))
    for name in ("funnel", "sections", "claims", "made_by", "scores"):
        assert [2 * one["count"] for one in alone[name]] == [one["count"] for one in twice[name]]
        assert sum(one["count"] for one in both[name]) > sum(one["count"] for one in alone[name]) > 0


def test_known_scores_are_counted_by_their_height(frames: dict[str, Frames], files: Any) -> None:
    first = frames["b0"]
    scored = first["verdicts"].with_columns(composite=pl.lit(0.7), relevance=pl.lit(0.95))
    found = {one.pop("score"): one for one in document(files, {**first, "verdicts": scored})["scores"]}
    every, released = scored.height, first["training_examples"].height
    assert found["composite"] == {"count": every, "released": released, "half": every, "most": 0}
    assert found["relevance"]["most"] == every
    assert "correctness" not in found
    known = first["verdicts"].with_columns(expected_verdict=pl.lit("rejected"))
    found_of_known = document(files, {**first, "verdicts": known})
    assert (found_of_known["scores"], found_of_known["claims"]) == ([], [])


def test_canaries_are_counted_by_whom_they_test_and_what_was_right(
    frames: dict[str, Frames], files: Any
) -> None:
    assert frames["b0"]["canaries"].height > 0
    rows = [
        canaries(edited=["rejected"] * 3),
        judged(cut=["rejected", "accepted", "failed"], good=["accepted"]),
    ]
    found = document(files, {**frames["b0"], "canaries": pl.concat(rows)})["canaries"]
    names = ("asks", "expected", "canaries", "rejected", "accepted")
    assert [tuple(one[name] for name in names) for one in found] == [
        ("judge", "accepted", 1, 0, 1),
        ("judge", "rejected", 2, 1, 1),
        ("verifier", "rejected", 3, 3, 0),
    ]


def test_the_front_matter_names_files_language_size_and_licence(facts: Facts, manifest: Manifest) -> None:
    facts["rows"]["rows"], facts["sources"]["licences"] = 1000, {"CC0-1.0": 16}
    splits = manifest.model_copy(update={"splits": {"train": 4, "test": 0}})
    head = front_matter(data_card(facts, splits))
    assert head["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "data/train.parquet"}]}
    ]
    assert (head["language"], head["size_categories"], head["license"]) == (["en"], ["1K<n<10K"], "cc0-1.0")
    facts["sources"]["licences"] = {"MIT": 8, "unknown": 8}
    assert "license" not in front_matter(data_card(facts, manifest))


def test_a_card_names_its_limits(facts: Facts, manifest: Manifest) -> None:
    text, rows = data_card(facts, manifest), facts["rows"]["rows"]
    assert f"{rows:,} of {rows:,} rows" in text
    assert "None" not in text
    assert "1,200" not in text
    facts["claims"].append({"verdict": "supported", "decided_by": "llm", "released": True, "count": 1200})
    facts["made_by"][0]["model"] = "fake-gemini/m@http://127.0.0.1:8765"
    left_out = {"batches_left_out": {"b2": "pass_rate: 1 of 9"}, "rows_left_out": {"joins_splits": 3}}
    text = data_card(facts, manifest.model_copy(update=left_out))
    assert "1,200" in text
    assert "fake server" in text
    assert "| b2 | pass\\_rate: 1 of 9 |" in text


HOSTILE = "x | y\n# [a](http://b) <img src=c> `c` ![d](e) ~~f~~ **g**"


def test_a_name_from_outside_ends_no_cell_and_makes_no_markup(facts: Facts, manifest: Manifest) -> None:
    sources = facts["sources"]
    sources["first"][0] |= {"path": HOSTILE, "licence": HOSTILE, "source_uri": HOSTILE}
    sources["licences"] = sources["batches"] = {HOSTILE: 1}
    facts["made_by"][0]["model"] = HOSTILE
    facts["rows"]["question_type"] = {HOSTILE: facts["rows"]["rows"]}
    facts["funnel"][-1]["reason"] = HOSTILE
    text = data_card(facts, manifest.model_copy(update={"batches_left_out": {HOSTILE: HOSTILE}}))
    html = str(MarkdownIt("commonmark").enable("table").render(text.split("---\n", 2)[2]))
    for mark in ("<a ", "<img ", "<strong>g", "<del>", "<code>c<"):
        assert mark not in html
    assert html.count("<h1>") == 1


def test_the_card_of_a_release_names_its_files_and_the_content_that_is_cited(
    published: Workspace, manifest: Manifest
) -> None:
    text = (published.out / "releases" / "1" / CARD).read_text()
    size = manifest.files["messages/train.jsonl"].size / 1e6
    assert f"| messages/train.jsonl | {size:.2f} MB |" in text
    assert manifest.content in text
