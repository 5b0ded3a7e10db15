import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import dagster as dg
import polars as pl
import pytest

from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.defs import running
from qa_pipeline.defs.running import run_batches
from qa_pipeline.documents.parsing import ParseOutcome, ParseRequest, parse_in_process
from qa_pipeline.errors import BudgetExhaustedError, PermanentModelError
from qa_pipeline.generation.offline.provider import ExtractiveModel
from qa_pipeline.llm.base import LanguageModel, Reply, ReplyT, Request
from qa_pipeline.llm.cached import CachedModel
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.writer import open_replies
from qa_pipeline.pipeline.outcomes import BatchOutcome
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline.settings.llm import Reviewer
from qa_pipeline.settings.tree import Settings, load_settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.calls import call, note
from qa_pipeline_tests.curation.withdrawal_corpus import Folder
from qa_pipeline_tests.defs.project import Project
from qa_pipeline_tests.fakes import HashEmbedder

GUIDE = """# Kestrel 4 guide

## Filling

The Kestrel 4 is a boiler that holds 36 litres of water.
To drain the boiler, open the lower valve and wait 10 minutes.

## Safety

A residual-current device is a switch that cuts the power when current leaks to earth.

## Night

A night setback is a mode that lowers the temperature by 3 degrees. It is switched off by default
because a cold night costs power in the morning.
"""


GUIDE_OF_TWO = """# Kestrel 4 guide

The pump of the boiler is tested each spring by the installer of the house. To drain the boiler, open the
lower valve of the tank and wait 10 minutes.
"""


class CountingRules(ExtractiveModel):
    """The offline rules, remembering what they were asked."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()
        self.asked: list[Request[Any]] = []
        self.limit = limit

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        self.asked.append(request)
        if self.limit is not None and len(self.asked) > self.limit:
            raise BudgetExhaustedError(f"{self.limit} calls made")
        return await super().complete(request)


class RememberingParser:
    """The parsers, remembering which files they were given."""

    def __init__(self) -> None:
        self.parsed: list[str] = []

    def parse(self, requests: Iterable[ParseRequest], settings: DocumentSettings) -> Iterator[ParseOutcome]:
        for request in requests:
            self.parsed.append(request.source.path)
            yield from parse_in_process([request], settings)


class OnlyGenerates(Resources):
    """Rules that generate, and nobody who verifies or judges."""

    def reviewer(self, role: Reviewer, model: str | None = None) -> None:
        return None


class VerifiesToo(Resources):
    """One model that generates and verifies."""

    def reviewer(self, role: Reviewer, model: str | None = None) -> LanguageModel | None:
        return self.generator if role == "verifier" else None


def corpus_at(folder: Path, **batches: str) -> Path:
    for name, text in batches.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "guide.md").write_text(text, encoding="utf-8")
    return folder


def settings_for(tmp_path: Path, **more: Any) -> Settings:
    defaults: dict[str, Any] = {
        "corpus": tmp_path / "corpus",
        "out": tmp_path / "out",
        "judging": {"accept_unjudged": True},
        "generation": {"questions_per_chunk": 3},
        "quality": {"min_pass_rate": 0.0},
    }
    return load_settings(**{**defaults, **more})


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("finished")
    corpus_at(place / "corpus", boilers=GUIDE)
    outcomes, _ = run(settings_for(place), ["boilers"])
    assert outcomes == [BatchOutcome("boilers", "succeeded")]
    return place


@pytest.fixture
def finished(finished_once: Path, tmp_path: Path) -> Settings:
    """Settings of a batch, boilers, that was run: a copy, to be changed at will."""
    shutil.copytree(finished_once, tmp_path, dirs_exist_ok=True)
    settings = settings_for(tmp_path)
    note_origin(Layout(settings.out), "boilers", settings.corpus)
    return settings


def run(
    settings: Settings, batches: list[str], model: CountingRules | None = None
) -> tuple[list[BatchOutcome], CountingRules]:
    """Run every stage, also of a batch in which nothing changed."""
    rules = model or CountingRules()
    stored = CachedModel(rules, open_replies(settings.out / "cache" / "replies.sqlite"))
    resources = OnlyGenerates(settings, embedder=HashEmbedder(), model=stored)
    return run_batches(resources, batches), rules


def table(settings: Settings, name: str, batch: str) -> pl.DataFrame:
    return read_table(settings.out / "tables" / name / f"{batch}.parquet", STORED[name])


def contents(settings: Settings) -> dict[str, str]:
    files = [path for path in settings.out.rglob("*") if path.is_file() and "cache" not in path.parts]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_folder_of_documents_becomes_training_examples_that_quote_it(finished: Settings) -> None:
    text = table(finished, "documents", "boilers")["text"].item()
    evidence = table(finished, "training_examples", "boilers")["evidence"].explode().to_list()
    assert len(evidence) >= 3
    assert all(text[proof["start"] : proof["end"]] == proof["quote"] for proof in evidence)


def test_an_unchanged_batch_asks_nothing_and_changes_no_byte(finished: Settings) -> None:
    before = contents(finished)
    _, rules = run(finished, ["boilers"])
    assert rules.asked == []
    assert contents(finished) == before


def test_an_edited_paragraph_asks_again_only_for_its_own_chunk(tmp_path: Path) -> None:
    corpus_at(tmp_path / "corpus", boilers=GUIDE)
    settings = settings_for(tmp_path, retrieval={"top_k": 1})
    run(settings, ["boilers"])
    before = table(settings, "pairs", "boilers")
    corpus_at(tmp_path / "corpus", boilers=GUIDE.replace("36 litres", "40 litres"))
    _, rules = run(settings, ["boilers"])
    assert all("40 litres" in request.passages[0].text for request in rules.asked)
    assert len(rules.asked) > 0
    after = table(settings, "pairs", "boilers")
    untouched = before.filter(~pl.col("answer").str.contains("Kestrel"))
    assert untouched.height > 0
    assert untouched.join(after, on="pair_id", how="anti").height == 0
    assert not after["answer"].str.contains("36 litres").any()


def test_a_renamed_file_keeps_its_pairs_and_is_neither_parsed_nor_embedded_nor_asked_again(
    finished: Settings, tmp_path: Path
) -> None:
    names = ("chunks", "embeddings", "questions", "pairs", "verdicts", "training_examples")
    before = {name: table(finished, name, "boilers") for name in names}
    folder = tmp_path / "corpus" / "boilers"
    (folder / "manuals").mkdir()
    (folder / "guide.md").rename(folder / "manuals" / "kestrel.md")
    rules, embedder, parser = CountingRules(), HashEmbedder(), RememberingParser()
    stored = CachedModel(rules, open_replies(finished.out / "cache" / "replies.sqlite"))
    resources = OnlyGenerates(finished, embedder=embedder, model=stored, parse=parser.parse)
    assert run_batches(resources, ["boilers"]) == [BatchOutcome("boilers", "succeeded")]
    assert (parser.parsed, embedder.encoded, rules.asked) == ([], [], [])
    for name, table_before in before.items():
        key = list(STORED[name].key)
        after = table(finished, name, "boilers")
        assert after.select(key).sort(key).equals(table_before.select(key).sort(key)), name


def test_a_new_batch_changes_nothing_of_the_others(finished: Settings, tmp_path: Path) -> None:
    before = contents(finished)
    corpus_at(tmp_path / "corpus", pumps=GUIDE.replace("boiler", "pump"))
    run(finished, ["pumps"])
    assert before.items() < contents(finished).items()


def test_a_run_that_was_stopped_pays_only_for_what_is_missing_and_ends_the_same(
    finished: Settings, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, out=tmp_path / "stopped")
    first = CountingRules(limit=2)
    with pytest.raises(BudgetExhaustedError):
        run(settings, ["boilers"], first)
    _, second = run(settings, ["boilers"])
    assert not {one.key for one in first.asked[:2]} & {one.key for one in second.asked}
    assert sorted(contents(settings).values()) == sorted(contents(finished).values())


def test_a_batch_behind_a_failed_gate_gets_no_training_examples(blocked_folder: Folder) -> None:
    layout = blocked_folder.layout
    assert read_table(layout.table("verdicts", "b1"), STORED["verdicts"]).height > 0
    assert not layout.table("training_examples", "b1").exists()


def test_existing_pairs_are_verified_without_generating(tmp_path: Path) -> None:
    corpus_at(tmp_path / "corpus", boilers=GUIDE)
    pairs = tmp_path / "mine.jsonl"
    pairs.write_text(
        '{"question": "How do you drain the boiler?", '
        '"answer": "To drain the boiler, open the lower valve and wait 10 minutes.", '
        '"citations": ["[source:guide.md]"]}\n'
        '{"question": "How do you drain the boiler?", '
        '"answer": "To drain the boiler, open the lower valve and wait 50 minutes.", '
        '"citations": ["[source:guide.md]"]}\n',
        encoding="utf-8",
    )
    settings = settings_for(tmp_path)
    rules = CountingRules()
    resources = OnlyGenerates(settings, embedder=HashEmbedder(), model=rules, pairs_file=pairs)
    run_batches(resources, ["boilers"])
    assert rules.asked == []
    assert table(settings, "verdicts", "boilers")["verdict"].to_list() == ["accepted", "rejected"]


def test_what_calls_took_is_kept_apart_and_unchanged_until_there_are_more(finished: Settings) -> None:
    assert table(finished, "llm_calls", "boilers").height == 0
    database = Database(finished.out / "cache" / "replies.sqlite")
    note(database, call(1, batch="boilers"), call(2, batch="other"))
    run(finished, ["boilers"])
    before = contents(finished)
    assert table(finished, "llm_calls", "boilers").height == 1
    run(finished, ["boilers"])
    assert contents(finished) == before


def test_a_run_that_is_stopped_tells_what_it_has_spent(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, corpus=corpus_at(tmp_path / "corpus", boilers=GUIDE))
    note(Database(settings.out / "cache" / "replies.sqlite"), call(1, batch="boilers"))
    with pytest.raises(BudgetExhaustedError):
        run(settings, ["boilers"], CountingRules(limit=1))
    assert table(settings, "llm_calls", "boilers").height == 1


def test_canaries_are_kept_apart_from_pairs(finished: Settings) -> None:
    canaries = table(finished, "canaries", "boilers")
    assert canaries.height > 0
    for name in ("pairs", "claims", "claim_verdicts", "verdicts", "training_examples"):
        frame = table(finished, name, "boilers")
        assert frame.height > 0
        assert frame.join(canaries, left_on="pair_id", right_on="canary_id", how="semi").height == 0, name


def test_canaries_change_nothing_else_and_can_be_left_out(finished: Settings, tmp_path: Path) -> None:
    bare = settings_for(tmp_path, out=tmp_path / "bare", canaries={"enabled": False})
    run(bare, ["boilers"])
    assert table(bare, "canaries", "boilers").height == 0
    for name in ("pairs", "claims", "claim_verdicts", "verdicts", "training_examples"):
        assert table(finished, name, "boilers").equals(table(bare, name, "boilers")), name


def test_a_model_that_verifies_is_asked_about_canaries_too_unless_there_are_none(tmp_path: Path) -> None:
    corpus_at(tmp_path / "corpus", boilers=GUIDE_OF_TWO)
    rules = CountingRules()
    asking, bare = (
        settings_for(tmp_path, verification={"split_claims": "rules"}, canaries={"enabled": enabled})
        for enabled in (True, False)
    )
    run_batches(VerifiesToo(bare, embedder=HashEmbedder(), model=rules), ["boilers"])
    assert "verify" not in {request.role for request in rules.asked}
    with pytest.raises(PermanentModelError):  # the offline rules cannot verify
        run_batches(VerifiesToo(asking, embedder=HashEmbedder(), model=rules), ["boilers"])


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


def test_a_run_that_is_interrupted_goes_no_further_in_a_process_that_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[Thread] = []
    asked, interrupted = Event(), Event()

    class Interrupted(Thread):
        def join(self, timeout: float | None = None) -> None:
            threads.append(self)
            assert asked.wait(60)
            raise KeyboardInterrupt

    project = Project(tmp_path)
    project.write("b1")

    def wait() -> None:
        asked.set()
        interrupted.wait(60)

    project.model.when_first_asked = wait
    monkeypatch.setattr(running, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_batches(project.resources, ["b1"], project.instance)
    interrupted.set()
    Thread.join(threads[0], 60)
    assert not threads[0].is_alive()
    assert not project.resources.layout.table("verdicts", "b1").exists()
    assert [run.status for run in project.instance.get_runs()] == [dg.DagsterRunStatus.FAILURE]
