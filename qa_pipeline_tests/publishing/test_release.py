import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from datasets import load_dataset

import qa_pipeline
from qa_pipeline import load_release
from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.errors import ReleaseError, StorageError
from qa_pipeline.publishing.manifest import LATEST, MANIFEST, latest_release, read_manifest, release_folder
from qa_pipeline.publishing.selection import select_rows
from qa_pipeline.storage.files import locked
from qa_pipeline.storage.hashes import hash_file
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import MESSAGES, TRAINING_EXAMPLES
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace
from qa_pipeline_tests.publishing.plants import NAMES, guide, release

ROOT = Path(qa_pipeline.__file__).parents[1]


def rows(folder: Path) -> pl.DataFrame:
    names = read_manifest(release_folder(folder)).splits
    return pl.concat(load_release(folder, one).collect() for one in names)


def test_a_release_holds_the_accepted_rows_of_all_batches_each_once_and_no_document_in_two_splits(
    published: Workspace,
) -> None:
    found = rows(published.out / "releases")
    accepted = pl.concat(published.table("verdicts", one) for one in ("b0", "b1"))
    accepted = accepted.filter(pl.col("verdict") == "accepted")
    assert found.height > 20
    assert sorted(found["pair_id"]) == sorted(accepted["pair_id"])
    assert {"train"} < set(found["split"])
    placed = found.select("split", "documents").explode("documents")
    assert placed.group_by("documents").agg(pl.col("split").n_unique())["split"].max() == 1


def test_a_row_has_messages_once_and_no_column_without_a_value(published: Workspace) -> None:
    found = rows(published.out / "releases")
    assert [name for name, dtype in found.schema.items() if dtype == MESSAGES] == ["messages"]
    assert [name for name in found.columns if found[name].null_count() == found.height] == []
    assert {"question", "answer", "split", "grounding", "verdict", "evidence", "document"} < {*found.columns}


def test_the_library_that_trainers_use_loads_the_folder_and_its_files(
    published: Workspace, tmp_path: Path
) -> None:
    folder = release_folder(published.out / "releases")
    splits = read_manifest(folder).splits
    cache = str(tmp_path / "cache")
    loaded, chats = (load_dataset(str(folder), name, cache_dir=cache) for name in ("default", "chat"))
    assert loaded.num_rows == chats.num_rows == splits
    assert load_dataset(str(folder), cache_dir=cache).num_rows == splits
    assert set(chats.column_names["train"]) == {"messages"}
    assert loaded["train"].filter(lambda row: row["grounding"] >= 0.9).num_rows > 0
    for split, count in splits.items():
        chat = {"messages": str(folder / "messages" / f"{split}.jsonl")}
        read = load_dataset("json", data_files=chat, split="messages", cache_dir=cache)
        assert read.num_rows == count
        assert [one["role"] for one in read[0]["messages"]] == ["system", "user", "assistant"]


def test_what_has_not_changed_is_not_published_again(published: Workspace) -> None:
    before = latest_release(published.out / "releases")
    assert release(published).code == OK
    assert latest_release(published.out / "releases") == before


def test_what_is_published_verifies(published: Workspace) -> None:
    ran = invoke("verify", published.out / "releases", "--json")
    assert ran.code == OK
    said = json.loads(ran.stdout)
    assert said["holds"]
    assert [one["name"] for one in said["checks"]] == [
        "files", "schema", "ids", "evidence", "messages", "splits", "formats", "sources", "counts",
    ]  # fmt: skip


def test_without_sources_nobody_can_check_the_quotes(republished: Workspace) -> None:
    assert release(republished, "--set", "release.with_sources=false").code == OK
    folder = republished.out / "releases" / "2"
    texts = pl.read_parquet(folder / "sources.parquet")
    assert texts["text"].null_count() == texts.height > 0
    ran = invoke("verify", folder, "--json")
    checks = {one["name"]: one for one in json.loads(ran.stdout)["checks"]}
    assert (ran.code, checks["evidence"]["checked"]) == (OK, None)


@pytest.fixture(scope="module")
def shown(published: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release whose messages show passages."""
    out = Path(shutil.copytree(published.out, tmp_path_factory.mktemp("shown") / "out"))
    with pytest.MonkeyPatch.context() as patch:
        new_workspace(tmp_path_factory.mktemp("aside"), patch)
        layout = ("--set", "training.layout=with_distractors")
        assert Workspace(published.corpus, out).run(*layout).code == OK
        assert invoke("release", "--out", out, *layout).code == OK
    return out / "releases" / "2"


def test_no_row_shows_a_passage_of_a_document_of_another_split(shown: Path) -> None:
    found = rows(shown)
    split_of = dict(found.explode("documents").select("documents", "split").iter_rows())
    passages = found.select("split", "passages").explode("passages").unnest("passages")
    assert passages.height >= found.height
    assert [split_of[name] for name in passages["content_sha256"]] == passages["split"].to_list()


def test_messages_show_the_passages_that_the_row_names(shown: Path) -> None:
    texts = dict(pl.read_parquet(shown / "sources.parquet").select("content_sha256", "text").iter_rows())
    for messages, question, passages in rows(shown).select("messages", "question", "passages").iter_rows():
        user = messages[1]["content"]
        assert user.endswith(question)
        assert all(texts[one["content_sha256"]][one["start"] : one["end"]] in user for one in passages)
    assert invoke("verify", shown).code == OK


def test_a_passage_that_was_tampered_with_is_found(shown: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(shown, tmp_path / "1"))
    content = pl.element().struct.field("content").str.replace("is a part", "is no part")
    train_with(copy, messages=pl.col("messages").list.eval(element_with(content=content)))
    assert "messages" in broken(copy)


def test_a_release_that_was_deleted_gives_its_place_to_the_newest_that_is_left(
    republished: Workspace,
) -> None:
    releases = republished.out / "releases"
    assert release(republished, "--set", "release.min_grounding=0.5").code == OK
    assert release_folder(releases) == releases / "2"
    shutil.rmtree(releases / "2")
    assert release_folder(releases) == releases / "1"
    assert release(republished, "--set", "release.min_grounding=0.5").code == OK
    assert invoke("verify", releases).code == OK


def test_a_release_of_an_earlier_version_can_be_read_and_continued(republished: Workspace) -> None:
    folder = republished.out / "releases" / "1"
    said = json.loads((folder / MANIFEST).read_bytes())
    more = {"certificate": None, "system_prompts": {"en": ["Be brief."]}, "contents": {}}
    del said["facts"]
    (folder / MANIFEST).write_text(json.dumps({**said, **more, "format": 3}))
    before = rows(republished.out / "releases").select("pair_id", "split").sort("pair_id")
    assert release(republished).code == OK
    after = rows(republished.out / "releases" / "2").select("pair_id", "split").sort("pair_id")
    assert after.equals(before)


def test_growth_moves_no_row_and_equal_rows_of_two_batches_are_one(
    published: Workspace, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path / "corpus", tmp_path / "out").fill_from(published)
    first = rows(workspace.out / "releases" / "1")
    workspace.write({f"b2/{name}.md": guide(name) for name in (NAMES[15], "pqrt", "prrt")})
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
    assert "tables/claims/b1.parquet" in said["batches_left_out"]["b1"]
    ran = invoke("release", "--out", copy, "--set", "quality.min_pass_rate=1.01", "--json")
    assert "pass_rate" in ran.stderr


def test_the_same_tables_give_the_same_bytes_whoever_publishes_them(
    published: Workspace, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    shutil.rmtree(copy / "releases")
    assert invoke("release", "--out", copy).code == OK
    for path in sorted((published.out / "releases" / "1").rglob("*.*")):
        again = copy / "releases" / "1" / path.relative_to(published.out / "releases" / "1")
        assert again.read_bytes() == path.read_bytes(), path


def test_a_single_document_gives_rows_to_train_on_and_says_that_none_are_left_to_measure(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path / "corpus", tmp_path / "out")
    workspace.write({"b/a.md": guide("solo")})
    assert workspace.run().code == OK
    said = json.loads(release(workspace, "--json").stdout)
    assert {*said["splits"]} == {"train"}
    assert any("a.md" in problem for problem in said["unsatisfied"])
    assert "no validation and no test split" in said["unsatisfied"][0]
    assert said["unsatisfied"][0] in (workspace.out / "releases" / "1" / "README.md").read_text()
    assert invoke("verify", workspace.out / "releases").code == OK


def test_a_batch_that_changes_while_it_is_released_stops_the_release(
    published: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))

    def changing(*given: object) -> object:
        examples = copy / "tables" / "training_examples" / "b1.parquet"
        write_table(examples, read_table(examples, TRAINING_EXAMPLES).slice(1), TRAINING_EXAMPLES)
        return select_rows(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("qa_pipeline.publishing.release.select_rows", changing)
    ran = invoke("release", "--out", copy, "--set", "release.min_grounding=0.5")
    assert (ran.code, "batch b1" in ran.stderr) == (BAD_INPUT, True)
    assert sorted(path.name for path in (copy / "releases").iterdir()) == [".lock", "1", LATEST]


def test_a_release_that_would_not_verify_is_not_published(published: Workspace, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    path = copy / "tables" / "training_examples" / "b1.parquet"
    examples = read_table(path, TRAINING_EXAMPLES)
    write_table(path, examples.with_columns(answer=pl.lit("It takes nine bar.")), TRAINING_EXAMPLES)
    ran = invoke("release", "--out", copy)
    assert (ran.code, "messages: row" in ran.stderr) == (BAD_INPUT, True), ran.stderr
    assert sorted(one.name for one in (copy / "releases").iterdir()) == [".lock", "1", LATEST]


@pytest.mark.parametrize("name", ["data/train.parquet", "keys.parquet"])
def test_a_release_that_is_partly_deleted_is_named_by_readers_and_publishers(
    published: Workspace, tmp_path: Path, name: str
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    (copy / "releases" / "1" / name).unlink()
    ran = invoke("release", "--out", copy, "--set", "release.min_grounding=0.5")
    assert (ran.code, name in ran.stderr) == (BAD_INPUT, True), ran.stderr
    assert invoke("verify", copy / "releases").code == FAILED
    if name.startswith("data"):
        with pytest.raises(ReleaseError, match=r"train\.parquet"):
            load_release(copy / "releases", "train")


FULL_DISK = """
import resource, sys
from qa_pipeline.cli.app import app
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
app(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_disk_that_fills_up_leaves_the_last_release_the_latest(
    published: Workspace, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    told = ["release", "--out", str(copy), "--set", "release.min_grounding=0.5"]
    ran = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *told], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert ran.returncode == BAD_INPUT, ran.stderr
    assert "Traceback" not in ran.stderr
    assert latest_release(copy / "releases") == copy / "releases" / "1"
    assert sorted(path.name for path in (copy / "releases").iterdir()) == [".lock", "1", LATEST]


def test_without_an_accepted_row_there_is_no_release(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "corpus", tmp_path / "out")
    workspace.write({"b/a.md": "# Nothing\n\nNothing.\n"})
    workspace.run()
    assert release(workspace).code == BAD_INPUT
    assert not list((workspace.out / "releases").glob("[!.]*"))


def test_two_do_not_publish_at_once_and_what_a_killed_one_left_is_removed(
    published: Workspace, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    left = copy / "releases" / ".0123.tmp" / "data"
    left.mkdir(parents=True)
    other = ("--set", "release.min_grounding=0.5")
    with locked(copy / "releases"):
        assert invoke("release", "--out", copy, *other).code == BAD_INPUT
        assert left.exists()
    assert invoke("release", "--out", copy, *other).code == OK
    assert not left.parent.exists()
    assert read_manifest(copy / "releases" / "2").previous == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_a_release_that_was_killed_before_it_was_the_latest_is_so_after_the_next_command(
    published: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    releases = copy / "releases"
    told = ("release", "--out", copy, "--set", "release.min_grounding=0.5")
    if is_first:
        shutil.rmtree(releases)

    def ends(*_: object) -> None:
        raise StorageError("the power is gone")

    with monkeypatch.context() as patched:
        patched.setattr("qa_pipeline.publishing.release.point_to", ends)
        assert invoke(*told).code == BAD_INPUT
    before = {path: path.read_bytes() for path in releases.rglob("*.parquet")}
    assert invoke("verify", releases).code == OK
    assert invoke(*told).code == OK
    assert latest_release(releases) == releases / ("1" if is_first else "2")
    assert invoke("verify", releases).code == OK
    assert {path: path.read_bytes() for path in releases.rglob("*.parquet")} == before
    assert (releases / LATEST).is_file()


def test_splits_that_cannot_be_used_are_refused(published: Workspace) -> None:
    for splits in ("{}", '{"train": 0}', '{"../x": 1}'):
        ran = release(published, "--set", f"release.splits={splits}")
        assert (ran.code, "release.splits" in ran.stderr) == (BAD_INPUT, True), ran.stderr


@pytest.fixture
def copied(published: Workspace, tmp_path: Path) -> Path:
    """A release that may be tampered with."""
    return Path(shutil.copytree(published.out / "releases" / "1", tmp_path / "1"))


def reseal(folder: Path) -> None:
    """Make the manifest agree with the files, as somebody would who tampers with care."""
    said = json.loads((folder / MANIFEST).read_bytes())
    for name, told in said["files"].items():
        path = folder / name
        told |= {"sha256": hash_file(path), "size": path.stat().st_size}
    (folder / MANIFEST).write_text(json.dumps(said))


def change(folder: Path, name: str, frame: pl.DataFrame) -> None:
    frame.write_parquet(folder / name)
    reseal(folder)


def train_with(folder: Path, **columns: pl.Expr) -> None:
    train = pl.read_parquet(folder / "data/train.parquet")
    change(folder, "data/train.parquet", train.with_columns(**columns))


def moved_row(folder: Path) -> None:
    train, test = (pl.read_parquet(folder / "data" / f"{one}.parquet") for one in ("train", "validation"))
    change(folder, "data/validation.parquet", pl.concat([test, train.head(1)]))
    change(folder, "data/train.parquet", train.slice(1))


def other_text(folder: Path) -> None:
    texts = pl.read_parquet(folder / "sources.parquet")
    change(folder, "sources.parquet", texts.with_columns(pl.col("text").str.replace_all("bar", "bat")))


def lost_document(folder: Path) -> None:
    change(folder, "sources.parquet", pl.read_parquet(folder / "sources.parquet").slice(1))


def copied_document(folder: Path) -> None:
    """A text of the test documents stands under the name of one to train on too."""
    texts, names = (pl.read_parquet(folder / one) for one in ("sources.parquet", "data/train.parquet"))
    held = names["documents"].explode().unique()
    other = texts.filter(~pl.col("content_sha256").is_in(held.implode()))["text"][0]
    own = pl.col("content_sha256").is_in(held.implode())
    change(
        folder, "sources.parquet", texts.with_columns(text=pl.when(own).then(pl.lit(other)).otherwise("text"))
    )


def without_evidence(folder: Path) -> None:
    train_with(folder, evidence=pl.col("evidence").list.head(0))


def other_quote(folder: Path) -> None:
    longer = pl.struct(
        pl.element().struct.field("claim", "document_id", "chunk_id", "path", "content_sha256", "start"),
        pl.element().struct.field("end", "page"),
        (pl.element().struct.field("quote") + "!").alias("quote"),
    )
    train_with(folder, evidence=pl.col("evidence").list.eval(longer))


def other_documents(folder: Path) -> None:
    train_with(folder, documents=pl.col("documents").shift(1).fill_null([]))


def other_answer(folder: Path) -> None:
    train_with(folder, answer=pl.lit("It takes nine bar."))


def repeated_row(folder: Path) -> None:
    train = pl.read_parquet(folder / "data/train.parquet")
    change(folder, "data/train.parquet", pl.concat([train, train.head(1)]))


def lost_row(folder: Path) -> None:
    change(folder, "data/train.parquet", pl.read_parquet(folder / "data/train.parquet").slice(1))


def other_keys(folder: Path) -> None:
    keys = pl.read_parquet(folder / "keys.parquet")
    change(folder, "keys.parquet", keys.with_columns(split=pl.lit("test")))


def further_column(folder: Path) -> None:
    train_with(folder, further=pl.lit(1))


def counted_wrongly(folder: Path) -> None:
    said = json.loads((folder / MANIFEST).read_bytes())
    said["rows_left_out"]["joins_splits"] = 5
    (folder / MANIFEST).write_text(json.dumps(said))


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


def other_card(folder: Path) -> None:
    card = folder / "README.md"
    card.write_text(card.read_text().replace(" pairs from ", "0 pairs from "))
    reseal(folder)


def element_with(**fields: pl.Expr) -> pl.Expr:
    """A struct in a list, with other values of these fields."""
    return pl.element().struct.with_fields(**fields)


def other_role(folder: Path) -> None:
    role = pl.element().struct.field("role").replace("system", "user")
    train_with(folder, messages=pl.col("messages").list.eval(element_with(role=role)))


def other_system_prompt(folder: Path) -> None:
    said = pl.element().struct.field("content").str.replace("^You ", "Never, you ")
    train_with(folder, messages=pl.col("messages").list.eval(element_with(content=said)))


def other_score(folder: Path) -> None:
    train_with(folder, grounding=pl.lit(0.99))


def other_line(folder: Path) -> None:
    path = folder / "messages" / "train.jsonl"
    path.write_text(path.read_text().replace("bar", "bat", 1))
    reseal(folder)


def piped_table(folder: Path) -> None:
    (folder / "keys.parquet").unlink()
    os.mkfifo(folder / "keys.parquet")


def further_file(folder: Path) -> None:
    (folder / "data" / "more.parquet").write_bytes(b"PAR1")


def other_text_hash(folder: Path) -> None:
    texts = pl.read_parquet(folder / "sources.parquet")
    change(folder, "sources.parquet", texts.with_columns(text_sha256=pl.lit("0" * 64)))


def manifest_with(folder: Path, *place: str, value: object) -> None:
    said = part = json.loads((folder / MANIFEST).read_bytes())
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    (folder / MANIFEST).write_text(json.dumps(said))


TAMPERED = {
    "ids": (other_score, repeated_row, other_answer),
    "files": (flipped_bit, linked_file, unnamed_in_manifest, piped_table, further_file),
    "schema": (further_column, moved_row),
    "counts": (lost_row, counted_wrongly, other_card),
    "evidence": (other_text, lost_document, without_evidence, other_quote, other_documents),
    "messages": (other_answer, other_role, other_system_prompt),
    "formats": (other_line, lost_row),
    "sources": (other_text_hash,),
    "splits": (other_keys, moved_row, copied_document),
}


def broken(folder: Path) -> set[str]:
    """The checks that a release does not pass."""
    ran = invoke("verify", folder, "--json")
    assert ran.code == FAILED, ran.stderr
    return {one["name"] for one in json.loads(ran.stdout)["checks"] if one["problems"]}


@pytest.mark.parametrize(
    ("check", "tamper"), [(name, one) for name, all_of in TAMPERED.items() for one in all_of]
)
def test_what_was_tampered_with_is_found(copied: Path, check: str, tamper: Callable[[Path], None]) -> None:
    tamper(copied)
    assert check in broken(copied)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("files",), {"../../etc/passwd": {"sha256": "0" * 64, "size": 1, "rows": None}}),
        (("splits",), {"../../x": 1}),
        (("splits",), {"train": 10**30}),
        (("version",), 10**400),
    ],
)
def test_a_manifest_that_names_other_places_or_numbers_beyond_all_is_damaged(
    copied: Path, place: tuple[str, ...], value: object
) -> None:
    manifest_with(copied, *place, value=value)
    ran = invoke("verify", copied)
    assert (ran.code, MANIFEST in ran.stderr) == (BAD_INPUT, True), ran.stderr


@pytest.mark.parametrize(
    ("group", "name"),
    [("facts", name) for name in ("values", "lacking", "system_prompts", "rows")] + [("settings", "release")],
)
@pytest.mark.parametrize("value", [None, {"x": "y"}])
def test_a_manifest_that_lacks_what_it_should_say_is_no_release_that_holds(
    copied: Path, group: str, name: str, value: object
) -> None:
    manifest_with(copied, group, name, value=value)
    assert invoke("verify", copied).code in (BAD_INPUT, FAILED)


TABLES = ("data/train.parquet", "sources.parquet", "keys.parquet", "left_out.parquet")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_with_other_columns_is_named(copied: Path, name: str) -> None:
    frame = pl.read_parquet(copied / name)
    change(copied, name, frame.rename({frame.columns[0]: "another"}))
    ran = invoke("verify", copied)
    assert (ran.code, f"schema: {name}: " in ran.stdout) == (FAILED, True), ran.stdout


def test_a_pipe_in_place_of_the_manifest_is_not_waited_for(copied: Path) -> None:
    (copied / MANIFEST).unlink()
    os.mkfifo(copied / MANIFEST)
    for told in (("verify", copied), ("audit", copied, copied / "a.jsonl", "--rows", "3")):
        assert invoke(*told).code == BAD_INPUT
    with pytest.raises(ReleaseError):
        load_release(copied, "train")


@pytest.mark.parametrize("content", [b"{", b'{"format": 9}', b'{"format": 1}', b"[" * 100_000, None])
def test_a_manifest_that_cannot_be_read_is_named(copied: Path, content: bytes | None) -> None:
    path = copied / MANIFEST
    path.unlink() if content is None else path.write_bytes(content)
    ran = invoke("verify", copied)
    assert (ran.code, MANIFEST in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_a_split_that_is_not_there_is_named(copied: Path) -> None:
    with pytest.raises(ReleaseError, match=r"'dev'.* test, train, validation"):
        load_release(copied, "dev")
