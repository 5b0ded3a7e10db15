"""Tables and shards lie where `layout.py` says, hold to their schema, and appear whole or not at all."""

from pathlib import Path
from typing import cast

import dagster as dg
import numpy as np
import polars as pl
import pytest
from upath import UPath

from qa_pipeline.defs.base import PARTITIONS_NAME, document_batches
from qa_pipeline.defs.io_managers import ParquetTables, Shards
from qa_pipeline.errors import IndexMismatchError, TableError
from qa_pipeline.pipeline.resources import Resources
from qa_pipeline.retrieval.shard import Shard
from qa_pipeline.settings.location import output_folder
from qa_pipeline.settings.tree import Settings
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.tables import REFUSALS
from qa_pipeline_tests.fakes import HashEmbedder

BATCH = "2024-01.v2"


def refusal(pair_id: str = "p1") -> pl.DataFrame:
    return REFUSALS.frame(
        [{"pair_id": pair_id, "batch": BATCH, "outcome": "correct_refusal", "thresholds_id": "t"}]
    )


def shard(model: str = "hash") -> Shard:
    return Shard(("c1", "c2"), np.eye(2, 64, dtype=np.float32), model, "1", "float32")


def run_with(assets: list[dg.AssetsDefinition], resources: dict[str, object]) -> dg.ExecuteInProcessResult:
    instance = dg.DagsterInstance.ephemeral()
    instance.add_dynamic_partitions(PARTITIONS_NAME, [BATCH])
    return dg.materialize(
        assets, partition_key=BATCH, instance=instance, resources=resources, raise_on_error=False
    )


@dg.asset(partitions_def=document_batches)
def refusals() -> pl.DataFrame:
    return refusal()


def test_a_table_lies_where_the_layout_says_and_comes_back_equal(tmp_path: Path) -> None:
    seen: list[pl.DataFrame] = []

    @dg.asset(partitions_def=document_batches)
    def reader(refusals: pl.DataFrame) -> None:
        seen.append(refusals)

    tables = ParquetTables(UPath(tmp_path / "tables"))
    assert run_with([refusals, reader], {"io_manager": tables}).success
    assert seen[0].equals(refusal())
    assert Layout(tmp_path).table("refusals", BATCH).is_file()
    previous = tables.previous(REFUSALS, BATCH)
    assert previous is not None
    assert previous.equals(refusal())
    assert tables.previous(REFUSALS, "another") is None
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".")] == []


def test_a_frame_that_breaks_the_schema_leaves_the_old_file_alone(tmp_path: Path) -> None:
    @dg.asset(name="refusals", partitions_def=document_batches)
    def broken() -> pl.DataFrame:
        return refusal().drop("outcome")

    tables = ParquetTables(UPath(tmp_path / "tables"))
    assert run_with([refusals], {"io_manager": tables}).success
    before = Layout(tmp_path).table("refusals", BATCH).read_bytes()
    assert not run_with([broken], {"io_manager": tables}).success
    assert Layout(tmp_path).table("refusals", BATCH).read_bytes() == before


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    tables = ParquetTables(UPath(tmp_path / "tables"))
    file = Layout(tmp_path).table("refusals", BATCH)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"PAR1 not really")
    with pytest.raises(TableError, match=r"2024-01\.v2\.parquet"):
        tables.previous(REFUSALS, BATCH)


def test_an_object_store_gets_a_table_in_one_put() -> None:
    tables = ParquetTables(cast("UPath", output_folder("memory://bucket/tables")))
    assert run_with([refusals], {"io_manager": tables}).success
    previous = tables.previous(REFUSALS, BATCH)
    assert previous is not None
    assert previous.equals(refusal())


def shards(tmp_path: Path) -> Shards:
    settings = Settings(out=tmp_path)
    return Shards(UPath(tmp_path / "indexes"), Resources(settings, embedder=HashEmbedder()))


@dg.asset(partitions_def=document_batches, io_manager_key="shards")
def index() -> Shard:
    return shard()


def test_a_shard_lies_where_the_layout_says_and_comes_back_equal(tmp_path: Path) -> None:
    seen: list[Shard] = []

    @dg.asset(partitions_def=document_batches, io_manager_key="shards")
    def reader(index: Shard) -> dg.MaterializeResult[Shard]:
        seen.append(index)
        return dg.MaterializeResult(value=index)

    assert run_with([index], {"shards": shards(tmp_path)}).success
    assert Layout(tmp_path).index(BATCH).is_file()
    assert run_with([index, reader], {"shards": shards(tmp_path)}).success
    assert seen[0].chunk_ids == ("c1", "c2")
    assert np.array_equal(seen[0].vectors, shard().vectors)


def test_a_shard_of_another_model_is_refused(tmp_path: Path) -> None:
    @dg.asset(name="index", partitions_def=document_batches, io_manager_key="shards")
    def foreign() -> Shard:
        return shard(model="another")

    manager = shards(tmp_path)
    assert run_with([foreign], {"shards": manager}).success
    with pytest.raises(IndexMismatchError, match="another"):
        manager.load_from_path(dg.build_input_context(), UPath(Layout(tmp_path).index(BATCH)))
