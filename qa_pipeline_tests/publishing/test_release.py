import fcntl
import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from datasets import load_dataset

from qa_pipeline import load_release
from qa_pipeline.cli.common import BAD_INPUT, FAILED, OK
from qa_pipeline.errors import ReleaseError
from qa_pipeline.publishing.loading import release_folder
from qa_pipeline.publishing.manifest import LATEST, MANIFEST, latest_release, read_manifest
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.plants import NAMES, guide, release


def rows(folder: Path) -> pl.DataFrame:
    names = read_manifest(release_folder(folder)).splits
    return pl.concat(load_release(folder, one).with_columns(split=pl.lit(one)).collect() for one in names)


def test_a_release_holds_the_accepted_rows_of_all_batches_each_once(published: Workspace) -> None:
    found = rows(published.out / "releases")
    accepted = pl.concat(published.table("verdicts", one) for one in ("b0", "b1"))
    accepted = accepted.filter(pl.col("verdict") == "accepted")
    assert found.height > 20
    assert sorted(found["pair_id"]) == sorted(accepted["pair_id"])
    assert {"train"} < set(found["split"])


def test_no_document_is_in_two_splits(published: Workspace) -> None:
    found = (
        rows(published.out / "releases").select("split", "evidence").explode("evidence").unnest("evidence")
    )
    assert found.group_by("path").agg(pl.col("split").n_unique())["split"].max() == 1


def test_the_library_that_trainers_use_loads_the_folder_and_its_files(
    published: Workspace, tmp_path: Path
) -> None:
    folder = release_folder(published.out / "releases")
    manifest = read_manifest(folder)
    cache = str(tmp_path / "cache")
    for split, count in manifest.splits.items():
        if count:
            assert load_dataset(str(folder), split=split, cache_dir=cache).num_rows == count
            chat = {"chat": str(folder / "chat" / f"{split}.jsonl")}
            read = load_dataset("json", data_files=chat, split="chat", cache_dir=cache)
            assert read.num_rows == count
            assert [one["role"] for one in read[0]["messages"]] == ["system", "user", "assistant"]


def test_what_has_not_changed_is_not_published_again(published: Workspace) -> None:
    before = latest_release(published.out / "releases")
    ran = release(published)
    assert (ran.code, "Nothing has changed" in ran.stdout) == (OK, True)
    assert latest_release(published.out / "releases") == before


def test_what_is_published_verifies(published: Workspace) -> None:
    ran = invoke("verify", published.out / "releases", "--json")
    assert ran.code == OK
    said = json.loads(ran.stdout)
    assert said["holds"]
    assert [one["name"] for one in said["checks"]] == [
        "files", "schema", "counts", "evidence", "splits", "left_out",
    ]  # fmt: skip


def test_growth_moves_no_row_and_equal_rows_of_two_batches_are_one(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "corpus", tmp_path / "out")
    workspace.write({f"b0/{name}.md": guide(name) for name in NAMES[:8]})
    assert workspace.run().code == OK
    assert release(workspace).code == OK
    first = rows(workspace.out / "releases" / "1")
    workspace.write({f"b1/{name}.md": guide(name) for name in NAMES[7:10]})
    assert workspace.run().code == OK
    assert release(workspace).code == OK
    second = rows(workspace.out / "releases")
    both = first.join(second, on="pair_id", suffix="_then")
    assert both.height == first.height
    assert (both["split"] == both["split_then"]).all()
    assert second.height > first.height
    manifest = read_manifest(workspace.out / "releases" / "2")
    assert manifest.previous == 1
    assert manifest.rows_left_out["duplicate_across_batches"] > 0
    assert second.select("question", "answer").is_duplicated().sum() == 0
    assert invoke("verify", workspace.out / "releases").code == OK
    assert invoke("verify", workspace.out / "releases" / "1").code == OK


def test_a_batch_whose_gates_fail_or_whose_tables_are_damaged_is_left_out_and_named(
    published: Workspace, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    (copy / "tables" / "claims" / "b1.parquet").write_bytes(b"damaged")
    said = json.loads(invoke("release", "--out", copy, "--json").stdout)
    assert (set(said["batches"]), set(said["batches_left_out"])) == ({"b0"}, {"b1"})
    assert "claims" in said["batches_left_out"]["b1"]
    ran = invoke("release", "--out", copy, "--set", "quality.min_canary_recall=1.01", "--json")
    assert "canary_recall" in ran.stderr


def test_without_an_accepted_row_there_is_no_release(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "corpus", tmp_path / "out")
    workspace.write({"b/a.md": "# Nothing\n\nNothing.\n"})
    workspace.run()
    ran = release(workspace)
    assert (ran.code, "has no accepted row to release" in ran.stderr) == (BAD_INPUT, True)
    assert not (workspace.out / "releases").exists()


def test_two_do_not_publish_at_once_and_what_a_killed_one_left_is_removed(
    published: Workspace, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    left = copy / "releases" / ".0123.tmp" / "data"
    left.mkdir(parents=True)
    other = ("--set", "release.min_grounding=0.5")
    with (copy / "releases" / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = invoke("release", "--out", copy, *other)
        assert (ran.code, "another process publishes" in ran.stderr) == (BAD_INPUT, True)
        assert left.exists()
    assert invoke("release", "--out", copy, *other).code == OK
    assert not left.parent.exists()
    assert read_manifest(copy / "releases" / "2").previous == 1


def test_splits_that_cannot_be_used_are_refused(published: Workspace) -> None:
    for splits in ("{}", '{"train": 0}', '{"../x": 1}'):
        ran = release(published, "--set", f"release.splits={splits}")
        assert (ran.code, "splits need names" in ran.stderr) == (BAD_INPUT, True), ran.stderr


@pytest.fixture
def copied(published: Workspace, tmp_path: Path) -> Path:
    """A release that may be tampered with."""
    return Path(shutil.copytree(published.out / "releases" / "1", tmp_path / "1"))


def reseal(folder: Path) -> None:
    """Make the manifest agree with the files, as somebody would who tampers with care."""
    from qa_pipeline.publishing.manifest import hash_file

    said = json.loads((folder / MANIFEST).read_bytes())
    for name, told in said["files"].items():
        path = folder / name
        told |= {"sha256": hash_file(path), "size": path.stat().st_size}
    (folder / MANIFEST).write_text(json.dumps(said))


def change(folder: Path, name: str, frame: pl.DataFrame) -> None:
    frame.write_parquet(folder / name)
    reseal(folder)


def moved_row(folder: Path) -> None:
    train, test = (pl.read_parquet(folder / "data" / f"{one}.parquet") for one in ("train", "validation"))
    change(folder, "data/validation.parquet", pl.concat([test, train.head(1)]))
    change(folder, "data/train.parquet", train.slice(1))


def other_text(folder: Path) -> None:
    texts = pl.read_parquet(folder / "sources.parquet")
    change(folder, "sources.parquet", texts.with_columns(pl.col("text").str.replace_all("bar", "bat")))


def without_evidence(folder: Path) -> None:
    train = pl.read_parquet(folder / "data/train.parquet")
    change(folder, "data/train.parquet", train.with_columns(evidence=pl.col("evidence").list.head(0)))


def repeated_row(folder: Path) -> None:
    train = pl.read_parquet(folder / "data/train.parquet")
    change(folder, "data/train.parquet", pl.concat([train, train.head(1)]))


def lost_row(folder: Path) -> None:
    change(folder, "data/train.parquet", pl.read_parquet(folder / "data/train.parquet").slice(1))


def other_keys(folder: Path) -> None:
    keys = pl.read_parquet(folder / "keys.parquet")
    change(folder, "keys.parquet", keys.with_columns(split=pl.lit("test")))


def other_column(folder: Path) -> None:
    train = pl.read_parquet(folder / "data/train.parquet")
    change(folder, "data/train.parquet", train.with_columns(language=pl.lit(None, pl.String())))


def counted_wrongly(folder: Path) -> None:
    said = json.loads((folder / MANIFEST).read_bytes())
    said["rows_left_out"]["joins_splits"] = 5
    (folder / MANIFEST).write_text(json.dumps(said))


def unnamed_file(folder: Path) -> None:
    (folder / "data" / "more.parquet").write_bytes(b"x")


def missing_file(folder: Path) -> None:
    (folder / "sources.parquet").unlink()


def flipped_bit(folder: Path) -> None:
    path = folder / "data/train.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def linked_file(folder: Path) -> None:
    path = folder / "sources.parquet"
    path.rename(folder.parent / "elsewhere.parquet")
    path.symlink_to(folder.parent / "elsewhere.parquet")


def unnamed_in_manifest(folder: Path) -> None:
    said = json.loads((folder / MANIFEST).read_bytes())
    del said["files"]["keys.parquet"]
    (folder / MANIFEST).write_text(json.dumps(said))


TAMPERED = {
    "files": (unnamed_file, missing_file, flipped_bit, linked_file, unnamed_in_manifest),
    "schema": (other_column, repeated_row),
    "counts": (lost_row, moved_row),
    "evidence": (other_text, without_evidence),
    "splits": (other_keys, moved_row),
    "left_out": (counted_wrongly,),
}


@pytest.mark.parametrize(
    ("check", "tamper"), [(name, one) for name, all_of in TAMPERED.items() for one in all_of]
)
def test_what_was_tampered_with_is_found(copied: Path, check: str, tamper: object) -> None:
    assert callable(tamper)
    tamper(copied)
    ran = invoke("verify", copied, "--json")
    assert ran.code == FAILED
    broken = {one["name"] for one in json.loads(ran.stdout)["checks"] if one["problems"]}
    assert check in broken


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is damaged"),
        (b'{"format": 9}', "has format 9"),
        (b"[]", "is damaged"),
        (None, "no whole release"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named(copied: Path, content: bytes | None, said: str) -> None:
    path = copied / MANIFEST
    path.unlink() if content is None else path.write_bytes(content)
    ran = invoke("verify", copied)
    assert (ran.code, said in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_a_split_that_is_not_there_and_a_damaged_pointer_are_named(copied: Path) -> None:
    with pytest.raises(ReleaseError, match="has no split 'dev'; it has test, train, validation"):
        load_release(copied, "dev")
    (copied.parent / LATEST).write_text("{}")
    with pytest.raises(ReleaseError, match="is damaged; write"):
        load_release(copied.parent, "train")
