"""A blocked batch, and one that waits for people, rest until something changes that could help."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from qa_pipeline.curation.decisions import content_hashes
from qa_pipeline.curation.withdrawals import note_gate, withdrawn_batches
from qa_pipeline.defs import checks
from qa_pipeline.defs.base import PARTITIONS_NAME
from qa_pipeline.pipeline import versions
from qa_pipeline.review.decision_files import read_decision_file, take_decisions
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline_tests.curation.withdrawal_corpus import published
from qa_pipeline_tests.defs.project import GUIDE, Project
from qa_pipeline_tests.defs.test_automation import Automation
from qa_pipeline_tests.defs.test_schedules import requested, tick

STRICT: dict[str, Any] = {"quality": {"min_pass_rate": 1.01}}

Change = Callable[[Project, pytest.MonkeyPatch], Project]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose one batch is blocked by its pass rate; every test leaves it so."""
    folder = tmp_path_factory.mktemp("project")
    project = Project(folder, **STRICT)
    project.write("b1")
    project.report("b1")
    assert not project.build("b1").success
    return project


@pytest.fixture
def blocked(strict: Project) -> Iterator[Project]:
    """The blocked project, whose files and decisions are put back afterwards."""
    yield strict
    shutil.rmtree(Path(strict.settings.corpus) / "b2", ignore_errors=True)
    strict.instance.delete_dynamic_partition(PARTITIONS_NAME, "b2")
    strict.write("b1")
    strict.report("b1")
    strict.resources.layout.decisions("b1").unlink(missing_ok=True)
    strict.resources.layout.added_pairs("b1").unlink(missing_ok=True)
    assert requested(strict) == {}


def decide(project: Project, decision: str, pairs: pl.DataFrame) -> None:
    """Record a person's decision over each pair, as `qa-pipeline decide` does."""
    content = content_hashes(project.table("pairs", "b1"), project.table("claims", "b1"))
    rows = [
        {"pair_id": pair, "content_sha256": content[pair], "who": "anna", "decision": decision}
        for pair in pairs["pair_id"]
    ]
    file = project.folder / "decisions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    take_decisions(project.resources.layout, read_decision_file(file))


def with_settings(settings: Mapping[str, Any]) -> Change:
    return lambda project, patch: project.with_settings(**{**STRICT, **settings})


def with_another_prompt(project: Project, patch: pytest.MonkeyPatch) -> Project:
    prompts = versions._wording
    patch.setattr(
        versions,
        "_wording",
        lambda of, name, settings: prompts(of, name, settings) + " changed" * (name == "answer"),
    )
    return project


def with_another_release(project: Project, patch: pytest.MonkeyPatch) -> Project:
    patch.setattr(versions, "_package_version", lambda: "9.9.9")
    return project


def with_decisions(project: Project, patch: pytest.MonkeyPatch) -> Project:
    decide(project, "rejected", project.table("verdicts", "b1").head(1))
    return project


def with_added_pairs(project: Project, patch: pytest.MonkeyPatch) -> Project:
    file = project.resources.layout.added_pairs("b1")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"id": "1", "question": "How long?", "answer": "10 minutes."}\n')
    return project


def with_another_text(project: Project, patch: pytest.MonkeyPatch) -> Project:
    project.write("b1", GUIDE.format(name="other"))
    project.report("b1")
    return project


def touched(project: Project, patch: pytest.MonkeyPatch) -> Project:
    for file in (
        Path(project.settings.corpus) / "b1" / "guide.md",
        project.resources.layout.table(PAIRS.name, "b1"),
    ):
        os.utime(file, (1, 1))
    return project


CHANGES: Mapping[str, tuple[Change, str]] = {
    "the limit of its gate": (with_settings({"quality": {"min_pass_rate": 0.99}}), "coverage"),
    "a setting of a step before its gate": (
        with_settings({"generation": {"questions_per_chunk": 2}}),
        "questions",
    ),
    "a prompt": (with_another_prompt, "pairs"),
    "the code": (with_another_release, "coverage"),
    "decisions of people": (with_decisions, "decisions"),
    "pairs that people added": (with_added_pairs, "pairs"),
    "its files": (with_another_text, "corpus"),
}
NO_CHANGES: Mapping[str, Change] = {
    "nothing": lambda project, patch: project,
    "times of files": touched,
    "pace and caps": with_settings({"llm": {"workers": 50, "budget": {"max_calls": 9}}}),
    "a setting of the step that its gate stops": with_settings({"training": {"distractors": 3}}),
    "settings of a release": with_settings({"release": {"min_grounding": 0.5}}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_blocked_batch_is_due_again_once_something_changed_that_could_help_it(
    blocked: Project, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, reason = CHANGES[what]
    project = change(blocked, monkeypatch)
    assert str(project.reason("b1", compare_code=False)).startswith(reason)
    assert list(requested(project)) == ["b1"]
    assert Automation(project).tick() == ["b1"]


@pytest.mark.parametrize("what", NO_CHANGES)
def test_a_blocked_batch_rests_by_night_and_by_sensor_while_nothing_changes_that_could_help_it(
    blocked: Project, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = NO_CHANGES[what](blocked, monkeypatch)
    assert requested(project) == {}
    assert Automation(project).rests()


def test_ticks_that_request_nothing_name_the_blocked_batch_and_its_gate(blocked: Project) -> None:
    assert "b1 (pass_rate: " in str(tick(blocked).skip_message)
    assert "b1 (pass_rate: " in str(Automation(blocked).message())


def test_making_the_tables_before_a_gate_again_with_equal_content_leaves_the_batch_blocked(
    blocked: Project,
) -> None:
    assert blocked.build("b1", "documents", "chunks").success
    assert requested(blocked) == {}
    assert Automation(blocked).rests()


@pytest.mark.slow
def test_a_blocked_batch_that_decisions_did_not_help_rests_again(tmp_path: Path) -> None:
    project = Project(tmp_path, **STRICT)
    project.write("b1")
    project.report("b1")
    assert not project.build("b1").success
    decide(project, "rejected", project.table("verdicts", "b1").head(1))
    assert list(requested(project)) == ["b1"]
    assert not project.build("b1").success
    assert project.table("verdicts", "b1").filter(pl.col("decided_by") == "person").height == 1
    assert requested(project) == {}
    assert Automation(project).rests()


@pytest.mark.slow
def test_a_gate_that_failed_on_other_tables_than_the_present_ones_blocks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def note(layout: Layout, batch: str, gate: str, problem: str | None, basis: str) -> None:
        if gate == "pass_rate":
            raise OSError("the disk is full")
        note_gate(layout, batch, gate, problem, basis)

    project = Project(tmp_path, **STRICT)
    project.write("b1")
    project.report("b1")
    assert not project.build("b1").success
    project.write("b1", GUIDE.format(name="b1").replace("10 minutes", "20 minutes"))
    project.report("b1")
    monkeypatch.setattr(checks, "note_gate", note)
    assert not project.build("b1").success
    assert list(requested(project)) == ["b1"]


@pytest.mark.slow
def test_a_batch_whose_judges_are_people_passes_and_rests_until_they_have_decided(tmp_path: Path) -> None:
    project = Project(tmp_path, judging={"accept_unjudged": False})
    project.write("b1")
    project.report("b1")
    automation = Automation(project)
    assert automation.tick() == ["b1"]
    result = project.build("b1")
    assert result.success
    failed = [found for found in result.get_asset_check_evaluations() if not found.passed]
    assert {found.severity for found in failed} == {dg.AssetCheckSeverity.WARN}
    waiting = project.table("verdicts", "b1").filter(pl.col("verdict") == "needs_review")
    assert set(waiting["reason"]) == {"not_judged"}
    assert (published(project.resources.layout), withdrawn_batches(project.resources.layout)) == (
        {"b1": 0},
        {},
    )
    assert requested(project) == {}
    assert automation.rests()
    assert Automation(project).rests()

    decide(project, "accepted", waiting.head(1))

    assert "decisions" in str(project.reason("b1", compare_code=False))
    assert project.build("b1").success
    assert published(project.resources.layout) == {"b1": 1}
    assert requested(project) == {}
