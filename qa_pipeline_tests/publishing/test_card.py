import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from qa_pipeline.publishing.card import card_problems, data_card, write_card
from qa_pipeline.publishing.manifest import CARD, Manifest, read_manifest, write_manifest
from qa_pipeline.storage.files import write_bytes
from qa_pipeline_tests.end_to_end import Workspace

Facts = dict[str, Any]


@pytest.fixture
def facts(published: Workspace) -> Facts:
    said: Facts = json.loads((published.out / "releases" / "1" / "facts.json").read_bytes())
    return said


@pytest.fixture
def manifest(published: Workspace) -> Manifest:
    return read_manifest(published.out / "releases" / "1")


def front_matter(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


def html(text: str) -> str:
    return str(MarkdownIt("commonmark").enable("table").render(text.split("---\n", 2)[2]))


def test_the_front_matter_names_the_files_of_splits_that_have_rows(facts: Facts, manifest: Manifest) -> None:
    head = front_matter(data_card(facts, manifest.model_copy(update={"splits": {"train": 4, "test": 0}})))
    assert head["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "data/train.parquet"}]}
    ]
    assert head["language"] == ["en"]


@pytest.mark.parametrize(("rows", "size"), [(999, "n<1K"), (1000, "1K<n<10K"), (10_000, "10K<n<100K")])
def test_the_size_is_the_hubs_name_for_it(facts: Facts, manifest: Manifest, rows: int, size: str) -> None:
    facts["rows"]["rows"] = rows
    assert front_matter(data_card(facts, manifest))["size_categories"] == [size]


@pytest.mark.parametrize(
    ("licences", "named"),
    [
        ({"CC0-1.0": 16}, "cc0-1.0"),
        ({"MIT": 8, "Apache-2.0": 8}, None),
        ({"MIT": 8, "unknown": 8}, None),
        ({"our own": 16}, None),
        ({}, None),
    ],
)
def test_a_licence_is_named_where_all_documents_give_one_that_the_hub_knows(
    facts: Facts, manifest: Manifest, licences: dict[str, int], named: str | None
) -> None:
    facts["sources"]["licences"] = licences
    assert front_matter(data_card(facts, manifest)).get("license") == named


def test_a_card_says_what_is_not_known(facts: Facts, manifest: Manifest) -> None:
    text = data_card(facts, manifest)
    assert "**Not audited.** No person has looked" in text
    assert "No call was paid for: no hosted model was asked." in text
    assert "No model judged the pairs" in text
    assert "holds no fitted threshold" in text
    assert "| answered by a model without documents | unknown |" in text
    assert "None" not in text
    assert " nan" not in text


def test_a_cost_that_lacks_calls_is_a_least_one(facts: Facts, manifest: Manifest) -> None:
    facts["cost"] |= {"calls": 9, "tokens": 1200, "accepted": 4, "cost_per_accepted_pair": 0.25,
        "currency": "USD", "why": None, "calls_without_cost": 2}  # fmt: skip
    text = data_card(facts, manifest)
    assert "9 calls of hosted models, 1,200 tokens." in text
    assert "0.250000 USD, at least: 2 calls have no known price." in text


def test_thresholds_are_said_to_be_fitted_only_of_rows_that_they_decided(
    facts: Facts, manifest: Manifest
) -> None:
    fit = {"step": "entailment", "side": "accept", "threshold": 0.93, "n": 300, "right": 299,
        "precision_low": 0.981}  # fmt: skip
    data = [{"name": "labelled.jsonl", "rows": 900}]
    facts["thresholds"] |= {"fits": [fit], "data": data, "precision": None}
    text = data_card(facts, manifest)
    assert "was fitted on labelled.jsonl (900 rows), for a precision of at least 0.98 with confidence" in text
    assert "| entailment | accept | 0.9300 | 300 | 299 | 0.9810 |" in text
    facts["rows"]["thresholds_id"] = {"others-1": 5}
    assert "Nothing is known of how these were fitted" in data_card(facts, manifest)


def test_a_model_that_decided_alone_is_among_the_limits(facts: Facts, manifest: Manifest) -> None:
    assert "A language model alone" not in data_card(facts, manifest)
    facts["claims"].append({"verdict": "supported", "decided_by": "llm", "released": True, "count": 1200})
    assert "A language model alone decided 1,200 of" in data_card(facts, manifest)


def test_replies_of_a_fake_server_are_among_the_limits(facts: Facts, manifest: Manifest) -> None:
    maker = facts["made_by"][0]
    maker["model"] = "fake-pairs.jsonl"  # a file of that name is none
    assert "a fake server" not in data_card(facts, manifest)
    for name in ("fake-gemini/m@http://127.0.0.1:8765", "openai/fake-org/m"):
        maker["model"] = name
        assert "judged by a fake server" in data_card(facts, manifest)


def test_personal_data_that_was_masked_is_counted_by_kind(facts: Facts, manifest: Manifest) -> None:
    assert "`off`. Nobody searched for any." in data_card(facts, manifest)
    facts["masking"] = "mask"
    assert "`mask`. None was found." in data_card(facts, manifest)
    facts["masked"] = [{"kind": "email", "documents": 2, "items": 1500}]
    assert "| email | 2 | 1,500 |" in data_card(facts, manifest)


def test_rows_that_nobody_judged_are_among_the_limits(facts: Facts, manifest: Manifest) -> None:
    rows = facts["rows"]["rows"]
    assert f"No judge looked at {rows:,} of {rows:,} rows" in data_card(facts, manifest)
    facts["rows"]["judge"] = {"gemini/some": rows}
    assert "No judge looked at" not in data_card(facts, manifest)


def test_the_files_of_the_release_are_named_with_their_sizes(facts: Facts, manifest: Manifest) -> None:
    text = data_card(facts, manifest)
    size = manifest.files["chat/train.jsonl"].size / 1e6
    assert f"| chat/train.jsonl | {size:.2f} MB |" in text
    assert "| README.md |" not in text


def test_what_is_left_out_stands_with_its_reason(facts: Facts, manifest: Manifest) -> None:
    left_out = {"batches_left_out": {"b2": "pass_rate: 1 of 9"}, "rows_left_out": {"joins_splits": 3}}
    text = data_card(facts, manifest.model_copy(update=left_out))
    assert "| b2 | pass\\_rate: 1 of 9 |" in text
    assert "| joins\\_splits | 3 |" in text
    assert "left out: joins\\_splits lost 3" in text


HOSTILE = "x | y\n# [a](http://b) <img src=c> `c` ![d](e) ~~f~~ **g**"


def test_a_name_from_outside_ends_no_cell_and_makes_no_markup(facts: Facts, manifest: Manifest) -> None:
    before = html(data_card(facts, manifest))
    sources = facts["sources"]
    sources["first"][0] |= {"path": HOSTILE, "licence": HOSTILE, "source_uri": HOSTILE}
    sources["licences"] = {HOSTILE: 1}
    sources["batches"] = {HOSTILE: 1}
    facts["made_by"][0]["model"] = HOSTILE
    facts["rows"]["question_type"] = {HOSTILE: facts["rows"]["rows"]}
    facts["sections"][-1]["reason"] = HOSTILE
    facts["funnel"][-1]["reason"] = HOSTILE
    facts["settings"] = {"training.system_prompt": HOSTILE + "\n````\n# out"}
    manifest = manifest.model_copy(update={"batches_left_out": {HOSTILE: HOSTILE}})
    after = html(data_card(facts, manifest))
    for mark in ("<a ", "<img src=c", '<img src="e', "<strong>g", "<del>", "<h1>out", "<code>c<"):
        assert mark not in after
    assert after.count("<img ") == before.count("<img ")
    assert after.count("<h1>") == 1


def test_settings_are_options_that_a_shell_reads_and_secrets_are_not_told(
    facts: Facts, manifest: Manifest
) -> None:
    facts["settings"], facts["settings_untold"] = (
        {"release.splits": '{"train": 1}'},
        ["documents.masking.key"],
    )
    text = data_card(facts, manifest)
    assert """--set 'release.splits={"train": 1}'""" in text
    assert "`documents.masking.key`" in text


def test_each_picture_has_words_for_those_who_do_not_see_it(published: Workspace, facts: Facts) -> None:
    folder = published.out / "releases" / "1"
    text = (folder / CARD).read_text()
    assert f"rows released {facts['rows']['rows']}](images/yield.png)" in text
    assert "![Histograms of scores: grounding" in text
    assert {one.name for one in (folder / "images").iterdir()} == {"scores.png", "yield.png"}


def test_the_card_names_the_content_that_is_cited(facts: Facts, manifest: Manifest) -> None:
    text = data_card(facts, manifest)
    assert manifest.content in text
    assert "author" not in text.split("```bibtex")[1]
    other = manifest.files[CARD].model_copy(update={"size": 1})
    same = manifest.model_copy(update={"files": {**manifest.files, CARD: other}})
    assert data_card(facts, same) == text


@pytest.fixture
def folder(published: Workspace, republished: Workspace) -> Path:
    """A release that may be tampered with."""
    return republished.out / "releases" / "1"


def problems(folder: Path) -> list[str]:
    return list(card_problems(folder, read_manifest(folder)))


def rewrite(folder: Path, facts: Facts, *, card: bool = True) -> None:
    """Write facts, and a card that goes with them, as somebody would who tampers with care."""
    write_bytes(folder / "facts.json", json.dumps(facts).encode())
    if card:
        write_manifest(folder, write_card(folder, read_manifest(folder)))


def test_the_card_of_a_release_is_what_its_facts_and_files_say(folder: Path) -> None:
    assert problems(folder) == []


def test_the_card_says_what_the_judge_made_of_its_canaries_where_there_was_one(
    facts: Facts, manifest: Manifest
) -> None:
    share = {"value": 0.25, "low": 0.04, "high": 0.6}
    fragments = {
        "expected": "rejected",
        "canaries": 6,
        "rejected": 5,
        "accepted": 1,
        "rejected_share": share,
        "accepted_share": share,
    }
    kinds = [{**fragments, "kind": None}, {**fragments, "kind": "fragment"}]
    without, with_judge = (
        html(data_card({**facts, "judge_canaries": canaries}, manifest)) for canaries in ([], kinds)
    )
    assert "The judge read pairs" not in without
    assert "The judge read pairs" in with_judge
    assert "<td>fragment</td>" in with_judge


def more_rows(facts: Facts) -> None:
    facts["rows"]["rows"] += 1


def other_languages(facts: Facts) -> None:
    facts["rows"]["language"] = {"sv": facts["rows"]["rows"]}


def shorter(facts: Facts) -> None:
    facts["rows"]["lengths"]["words of the answer"]["most"] -= 1


def better_judge(facts: Facts) -> None:
    facts["rows"]["judge"] = {"gemini/best": facts["rows"]["rows"]}


def free_licence(facts: Facts) -> None:
    facts["sources"]["licences"] = {"MIT": facts["sources"]["documents"]}


def other_source(facts: Facts) -> None:
    facts["sources"]["first"][0]["path"] = "other.md"


def fewer_documents(facts: Facts) -> None:
    facts["sources"]["documents"] -= 1


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (more_rows, "says of rows another rows"),
        (other_languages, "says of rows another language"),
        (shorter, "says of rows another lengths"),
        (better_judge, "says of rows another judge"),
        (free_licence, "says of sources another licences"),
        (other_source, "says of sources another first"),
        (fewer_documents, "says of sources another documents"),
    ],
)
def test_facts_that_the_files_do_not_hold_are_found(
    folder: Path, facts: Facts, tamper: Callable[[Facts], None], said: str
) -> None:
    tamper(facts)
    rewrite(folder, facts)
    assert [said in one for one in problems(folder)] == [True]


def test_a_card_that_says_something_else_is_found(folder: Path, facts: Facts) -> None:
    path = folder / CARD
    text = path.read_text()
    path.write_text(text.replace("**Not audited.** No person has", "Ten people have"))
    assert problems(folder) == ["README.md is not what facts.json and the manifest say"]
    path.write_text(text)
    altered = copy.deepcopy(facts)
    altered["canaries"][0]["accepted"] += 5
    rewrite(folder, altered, card=False)
    assert problems(folder) == ["README.md is not what facts.json and the manifest say"]


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"form": 2}', None], ids=str)
def test_facts_that_cannot_be_read_are_named(folder: Path, content: bytes | None) -> None:
    path = folder / "facts.json"
    path.unlink() if content is None else path.write_bytes(content)
    assert problems(folder) == ["facts.json cannot be read"]


def test_facts_of_another_form_are_named(folder: Path, facts: Facts) -> None:
    rewrite(folder, {**facts, "form": 9}, card=False)
    assert problems(folder) == ["facts.json has form 9, this version checks 2; see README.md for its own"]
