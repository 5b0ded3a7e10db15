"""Runs from the command line: what they ask again, what they leave alone, and how they stop."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from qa_pipeline.defs.running import run_batches
from qa_pipeline.documents.parsing import ParseOutcome, ParseRequest, parse_in_process
from qa_pipeline.errors import BudgetExhaustedError
from qa_pipeline.llm.base import Request
from qa_pipeline.llm.factory import CachedModel
from qa_pipeline.llm.reply_database import Database
from qa_pipeline.llm.reply_store import ReplyStore
from qa_pipeline.pipeline.fingerprint import BatchOutcome
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.calls import call, note
from qa_pipeline_tests.defs.project import GUIDE, CountingRules, OnlyGenerates, Project
from qa_pipeline_tests.fakes import HashEmbedder

DECIDED = ("pairs", "claims", "claim_verdicts", "verdicts", "training_examples")


class RememberingParser:
    """The parsers, remembering which files they were given."""

    def __init__(self) -> None:
        self.parsed: list[str] = []

    def parse(self, requests: Iterable[ParseRequest], settings: DocumentSettings) -> Iterator[ParseOutcome]:
        for request in requests:
            self.parsed.append(request.source.path)
            yield from parse_in_process([request], settings)


def asked_by_a_run(project: Project) -> list[Request[Any]]:
    """Run every stage, also where nothing changed, and return what it asked."""
    before = len(project.model.asked)
    project.launch("b1", force=True)
    return project.model.asked[before:]


def test_an_edited_paragraph_asks_again_only_for_its_own_chunk(tmp_path: Path) -> None:
    project = Project(tmp_path, retrieval={"top_k": 1})
    project.write("b1")
    project.launch("b1")
    before = project.table("pairs", "b1")
    project.write("b1", GUIDE.format(name="b1").replace("36 litres", "40 litres"))
    asked = asked_by_a_run(project)
    assert asked
    assert all("40 litres" in request.passages[0].text for request in asked)
    after = project.table("pairs", "b1")
    untouched = before.filter(~pl.col("answer").str.contains("litres"))
    assert untouched.height > 0
    assert untouched.join(after, on="pair_id", how="anti").height == 0
    assert not after["answer"].str.contains("36 litres").any()


def test_a_renamed_file_keeps_its_pairs_and_is_neither_parsed_nor_embedded_nor_asked_again(
    finished: Project,
) -> None:
    names = ("chunks", "embeddings", "questions", "pairs", "verdicts", "training_examples")
    before = {name: finished.table(name, "b1") for name in names}
    folder = Path(finished.settings.corpus) / "b1"
    (folder / "manuals").mkdir()
    (folder / "guide.md").rename(folder / "manuals" / "kestrel.md")
    rules, embedder, parser = CountingRules(), HashEmbedder(), RememberingParser()
    stored = CachedModel(rules, ReplyStore(finished.settings.out / "cache" / "replies.sqlite"))
    resources = OnlyGenerates(finished.settings, embedder=embedder, model=stored, parse=parser.parse)
    assert run_batches(resources, ["b1"]) == [BatchOutcome("b1", "succeeded")]
    assert (parser.parsed, embedder.encoded, rules.asked) == ([], [], [])
    for name, table_before in before.items():
        key = list(STORED[name].key)
        after = finished.table(name, "b1")
        assert after.select(key).sort(key).equals(table_before.select(key).sort(key)), name


def test_a_new_batch_changes_nothing_of_the_others(finished: Project) -> None:
    before = finished.contents()
    finished.write("b2", GUIDE.format(name="b2").replace("boiler", "pump"))
    finished.launch("b2")
    assert before.items() < finished.contents().items()


def test_a_run_that_was_stopped_tells_its_cost_pays_only_for_what_is_missing_and_ends_the_same(
    finished: Project,
) -> None:
    stopped = Project(finished.folder, out=finished.folder / "stopped")
    stopped.model.broken, stopped.model.limit = BudgetExhaustedError("2 calls made"), 2
    note(Database(stopped.settings.out / "cache" / "replies.sqlite"), call(1, batch="b1"))
    with pytest.raises(BudgetExhaustedError):
        stopped.launch("b1")
    assert stopped.table("llm_calls", "b1").height == 1
    paid, stopped.model.broken = {one.key for one in stopped.model.asked[:2]}, None
    assert not paid & {one.key for one in asked_by_a_run(stopped)}
    for name in DECIDED:
        assert stopped.table(name, "b1").equals(finished.table(name, "b1")), name


def test_canaries_are_kept_apart_from_pairs_change_nothing_else_and_can_be_left_out(
    finished: Project,
) -> None:
    canaries = finished.table("canaries", "b1")
    assert canaries.height > 0
    bare = Project(finished.folder, out=finished.folder / "bare", canaries={"enabled": False})
    bare.launch("b1")
    assert bare.table("canaries", "b1").height == 0
    for name in DECIDED:
        frame = finished.table(name, "b1")
        assert frame.height > 0
        assert frame.join(canaries, left_on="pair_id", right_on="canary_id", how="semi").height == 0, name
        assert frame.equals(bare.table(name, "b1")), name


INTERRUPTED = """
import os, signal, sys, time
from pathlib import Path
from qa_pipeline.defs.running import run_batches
from qa_pipeline_tests.defs.project import Project

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(2)

signal.signal(signal.SIGINT, signal.default_int_handler)
import polars  # as in a notebook: it takes the handler over
project = Project(Path(sys.argv[1]))
project.write("b1")
project.model.when_first_asked = interrupt
resources = project.resources
polars.DataFrame({"a": [1]}).lazy().select("a").collect()
try:
    run_batches(resources, ["b1"], project.instance)
except KeyboardInterrupt:
    time.sleep(8)
    print(resources.layout.table("verdicts", "b1").exists(), project.instance.get_runs()[0].status.value)
"""


@pytest.mark.slow
def test_ctrl_c_ends_a_run_in_a_process_that_lives_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["False", "FAILURE"], done.stderr[-2000:]
