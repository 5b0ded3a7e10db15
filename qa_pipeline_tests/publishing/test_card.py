from typing import Any

import polars as pl
import pytest
import yaml
from markdown_it import MarkdownIt

from qa_pipeline.pipeline.report import read_tables
from qa_pipeline.publishing.card import CardFacts, data_card
from qa_pipeline.publishing.manifest import CARD, Manifest, read_manifest
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import Workspace

Facts = dict[str, Any]
Frames = dict[str, pl.DataFrame]


@pytest.fixture
def frames(published: Workspace) -> dict[str, Frames]:
    return {name: read_tables(Layout(published.out), name) for name in ("b0", "b1")}


@pytest.fixture
def rows(published: Workspace) -> pl.DataFrame:
    files = sorted((published.out / "releases" / "1" / "data").glob("*.parquet"))
    return pl.concat(pl.read_parquet(one) for one in files)


@pytest.fixture
def sources(published: Workspace) -> pl.DataFrame:
    return pl.read_parquet(published.out / "releases" / "1" / "sources.parquet")


@pytest.fixture
def manifest(published: Workspace) -> Manifest:
    return read_manifest(published.out / "releases" / "1")


def document(rows: pl.DataFrame, sources: pl.DataFrame, *batches: Frames) -> Facts:
    facts = CardFacts()
    for n, tables in enumerate(batches):
        batch = f"b{n}"
        own = rows.filter(pl.col("batch") == batch), sources.filter(pl.col("batch") == batch)
        facts.add(tables, *own)
    return facts.document()


def front_matter(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


def test_counts_and_lengths_are_those_of_the_rows(manifest: Manifest, rows: pl.DataFrame) -> None:
    found = manifest.facts
    assert found["rows"] == rows.height
    for name in ("language", "question_type", "coverage"):
        assert found["values"][name] == dict(rows[name].value_counts().iter_rows())
    words = sorted(len(answer.split()) for answer in rows["answer"])
    of_words = found["lengths"]["words of the answer"]
    assert (of_words["least"], of_words["most"]) == (words[0], words[-1])
    assert found["values"]["judge"] == {}


def test_documents_and_their_licences_are_counted(
    frames: dict[str, Frames], rows: pl.DataFrame, sources: pl.DataFrame
) -> None:
    licences = pl.Series("licence", [None, *["MIT"] * (sources.height - 1)])
    found = document(rows, sources.with_columns(licences, batch=pl.lit("b0")), frames["b0"])
    assert found["documents"] == sources.height
    assert found["licences"] == {"MIT": sources.height - 1, "unknown": 1}


def with_facts(manifest: Manifest, **facts: Any) -> Manifest:
    return manifest.model_copy(update={"facts": manifest.facts | facts})


def test_the_front_matter_names_files_language_size_and_licence(manifest: Manifest) -> None:
    made = with_facts(manifest, rows=1000, licences={"CC0-1.0": 16})
    head = front_matter(data_card(made.model_copy(update={"splits": {"train": 4}})))
    files = [{"split": "train", "path": "data/train.parquet"}]
    assert head["configs"] == [
        {"config_name": "default", "data_files": files, "default": True},
        {"config_name": "chat", "data_files": files, "columns": ["messages"]},
    ]
    assert (head["language"], head["size_categories"], head["license"]) == (["en"], ["1K<n<10K"], "cc0-1.0")
    assert "license" not in front_matter(data_card(with_facts(manifest, licences={"MIT": 8, "unknown": 8})))


def test_a_card_names_its_limits(manifest: Manifest) -> None:
    text = data_card(manifest)
    assert "No judge scored these rows" in text
    assert "None" not in text
    assert "1,200" not in text
    models = [
        {"role": role, "model": "fake-gemini/m@http://127.0.0.1:8765", "prompt": "p", "count": 1}
        for role in ("answers", "judged")
    ]
    values = {**manifest.facts["values"], "decided_by": {"llm and quotation": 1200, "quotation": 7}}
    more = with_facts(manifest, values=values, made_by=models)
    left_out = {"batches_left_out": {"b2": "pass_rate: 1 of 9"}, "rows_left_out": {"joins_splits": 3}}
    text = data_card(more.model_copy(update=left_out))
    assert "1,200" in text
    assert "fake server" in text
    assert "also verified or judged them" in text
    assert "| b2 | pass\\_rate: 1 of 9 |" in text
    rows = manifest.facts["rows"]
    for known in ({"m": rows}, {"m": 1, "unknown": rows - 1}):
        text = data_card(with_facts(manifest, values={**manifest.facts["values"], "judge": known}))
        assert (f"No judge scored {rows - 1} of {rows} rows" in text) == ("unknown" in known)


HOSTILE = "x | y\n# [a](http://b) <img src=c> `c` ![d](e) ~~f~~ **g**"


def test_a_name_from_outside_ends_no_cell_and_makes_no_markup(manifest: Manifest) -> None:
    facts = manifest.facts
    made = with_facts(
        manifest,
        licences={HOSTILE: 1},
        made_by=[{**facts["made_by"][0], "model": HOSTILE}],
        values={**facts["values"], "question_type": {HOSTILE: facts["rows"]}},
        masked=[{"kind": HOSTILE, "what": HOSTILE, "count": 1}],
    )
    hostile = {"batches_left_out": {HOSTILE: HOSTILE}, "batches": {HOSTILE: 1}}
    text = data_card(made.model_copy(update=hostile))
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
