"""A small corpus, the offline rules as a model that remembers what it was asked, and an instance."""

import asyncio
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from qa_pipeline.curation.withdrawals import note_origin
from qa_pipeline.definitions import build_definitions
from qa_pipeline.defs.running import run_batches
from qa_pipeline.defs.steps import PARTITIONS_NAME
from qa_pipeline.generation.extractive import ExtractiveModel
from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.llm.factory import CachedModel
from qa_pipeline.llm.reply_store import ReplyStore
from qa_pipeline.pipeline.fingerprint import BatchOutcome, unchanged_outcomes
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.settings.llm import Reviewer
from qa_pipeline.settings.tree import load_settings
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import STORED
from qa_pipeline_tests.fakes import HashEmbedder

DAGSTER_YAML = Path(__file__).parents[2] / "deploy" / "dagster.yaml"

GUIDE = """# {name} guide

## Filling

The {name} is a boiler that holds 36 litres of water.
To drain the boiler, open the lower valve and wait 10 minutes.

## Safety

A residual-current device is a switch that cuts the power when current leaks to earth.

## Night

A night setback is a mode that lowers the temperature by 3 degrees. It is switched off by default
because a cold night costs power in the morning.
"""


def instance_at(folder: Path) -> dg.DagsterInstance:
    """A persistent instance with the settings the project ships."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DAGSTER_YAML, folder / "dagster.yaml")
    return dg.DagsterInstance.from_config(str(folder))


class CountingRules(ExtractiveModel):
    """The offline rules, remembering what they were asked; `broken` fails calls after the first `limit`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request[Any]] = []
        self.broken: Exception | None = None
        self.limit = 0
        self.when_first_asked: Callable[[], None] | None = None

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        self.asked.append(request)
        if len(self.asked) == 1 and self.when_first_asked is not None:
            await asyncio.to_thread(self.when_first_asked)
        if self.broken is not None and len(self.asked) > self.limit:
            raise self.broken
        return await super().complete(request)


class OnlyGenerates(Resources):
    """Rules that generate, and nobody who verifies or judges."""

    def reviewer(self, role: Reviewer, model: str | None = None) -> None:
        return None


class Project:
    """Batches in a folder, an instance, and both ways to run them.

    The instance is in memory where none is passed: a run on files takes twice as long.
    """

    def __init__(self, folder: Path, instance: dg.DagsterInstance | None = None, **settings: Any) -> None:
        self.folder = folder
        self.instance = instance or dg.DagsterInstance.ephemeral(tempdir=str(folder))
        self.model = CountingRules()
        self._changes = settings
        self.settings = load_settings(
            **{
                "corpus": folder / "corpus",
                "out": folder / "out",
                "judging": {"accept_unjudged": True},
                "generation": {"questions_per_chunk": 3},
                "quality": {"min_pass_rate": 0.0},
            }
            | settings
        )

    def with_settings(self, **settings: Any) -> "Project":
        """The same folders, instance and model under other settings."""
        other = Project(self.folder, self.instance, **settings)
        other.model = self.model
        return other

    def copy(self, folder: Path) -> "Project":
        """The same batches, tables and replies, apart from these; no run is recorded."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        other = Project(folder, **self._changes)
        other.model.asked = list(self.model.asked)
        for batch in (folder / "corpus").iterdir():
            note_origin(other.resources.layout, batch.name, folder / "corpus")
        return other

    @property
    def resources(self) -> Resources:
        """Parts as a new process would build them."""
        stored = CachedModel(self.model, ReplyStore(self.settings.out / "cache" / "replies.sqlite"))
        return OnlyGenerates(self.settings, embedder=HashEmbedder(), model=stored)

    @property
    def definitions(self) -> dg.Definitions:
        return build_definitions(self.settings, resources=self.resources)

    def write(self, batch: str, text: str = "", file: str = "guide.md") -> None:
        path = Path(self.settings.corpus) / batch / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or GUIDE.format(name=batch), encoding="utf-8")

    def launch(self, *batches: str, force: bool = False) -> dict[str, BatchOutcome]:
        """Run as the command line does."""
        resources = self.resources
        unchanged = {} if force else unchanged_outcomes(resources, batches)
        due = [batch for batch in batches if batch not in unchanged]
        made = run_batches(resources, due, self.instance)
        return unchanged | {outcome.batch: outcome for outcome in made}

    def build(self, batch: str, *assets: str) -> dg.ExecuteInProcessResult:
        """Run the job, or some assets of it, as the UI does."""
        self.instance.add_dynamic_partitions(PARTITIONS_NAME, [batch])
        return self.definitions.resolve_job_def("build_batch").execute_in_process(
            instance=self.instance,
            partition_key=batch,
            asset_selection=[dg.AssetKey(name) for name in assets] or None,
            raise_on_error=False,
        )

    def table(self, name: str, batch: str) -> pl.DataFrame:
        return read_table(self.settings.out / "tables" / name / f"{batch}.parquet", STORED[name])

    def contents(self) -> dict[str, str]:
        files = [
            file
            for file in self.settings.out.rglob("*")
            if file.is_file() and not {"cache", "origins"} & {*file.parts}
        ]
        return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
