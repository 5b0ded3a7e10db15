import json
import shutil
import subprocess
import sys
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
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import TRAINING_EXAMPLES
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.plants import NAMES, guide, release

ROOT = Path(qa_pipeline.__file__).parents[1]


def rows(folder: Path) -> pl.DataFrame:
    names = read_manifest(release_folder(folder)).splits
    return pl.concat(load_release(folder, one).with_columns(split=pl.lit(one)).collect() for one in names)


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
    assert found["version"].unique().to_list() == [1]


def test_the_library_that_trainers_use_loads_the_folder_and_its_files(
    published: Workspace, tmp_path: Path
) -> None:
    folder = release_folder(published.out / "releases")
    manifest = read_manifest(folder)
    cache = str(tmp_path / "cache")
    for split, count in manifest.splits.items():
        if count:
            assert load_dataset(str(folder), split=split, cache_dir=cache).num_rows == count
            chat = {"messages": str(folder / "messages" / f"{split}.jsonl")}
            read = load_dataset("json", data_files=chat, split="messages", cache_dir=cache)
            assert read.num_rows == count
            assert [one["role"] for one in read[0]["messages"]] == ["system", "user", "assistant"]


def test_splits_without_rows_load_as_such_and_keep_no_other_from_loading(
    republished: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(republished.out / "releases")
    shares = {"train": 1.0, "validation": 1e-9, "test": 1e-9}
    monkeypatch.setenv("QA_PIPELINE_RELEASE__SPLITS", json.dumps(shares))
    assert release(republished).code == OK
    folder, cache = republished.out / "releases" / "1", str(tmp_path / "cache")
    splits = read_manifest(folder).splits
    assert (splits["train"] > 0, splits["validation"], splits["test"]) == (True, 0, 0)
    assert load_dataset(str(folder), cache_dir=cache).num_rows == {"train": splits["train"]}
    columns = load_release(folder, "train").collect_schema().names()
    chat = str(folder / "messages" / "train.jsonl")
    features = load_dataset("json", data_files=chat, split="train", cache_dir=cache).features
    for name in ("validation", "test"):
        assert load_release(folder, name).collect().shape == (0, len(columns))
        table, chat = str(folder / "data" / f"{name}.parquet"), str(folder / "messages" / f"{name}.jsonl")
        options = {"split": "train", "streaming": True, "cache_dir": cache}
        streamed = load_dataset("parquet", data_files=table, **options)
        assert (list(streamed), streamed.column_names) == ([], columns)
        streamed = load_dataset("json", data_files=chat, features=features, **options)
        assert (list(streamed), streamed.features) == ([], features)


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
        "files", "schema", "evidence", "messages", "splits", "passages", "counts",
    ]  # fmt: skip


def test_without_sources_nobody_can_check_the_quotes(republished: Workspace) -> None:
    assert release(republished, "--without-sources").code == OK
    folder = republished.out / "releases" / "2"
    texts = pl.read_parquet(folder / "sources.parquet")
    assert texts["text"].null_count() == texts.height > 0
    ran = invoke("verify", folder, "--json")
    checks = {one["name"]: one for one in json.loads(ran.stdout)["checks"]}
    assert (ran.code, checks["evidence"]["checked"]) == (OK, None)


def test_no_row_shows_a_passage_of_a_document_of_another_split(published: Workspace) -> None:
    found = rows(published.out / "releases")
    texts = pl.read_parquet(published.out / "releases" / "1" / "passages.parquet")
    held = found.select("split", content_sha256="documents").explode("content_sha256").unique()
    shown = found.select("split", chunk_id=pl.col("passages").struct.field("with_distractors"))
    placed = shown.explode("chunk_id").drop_nulls().join(texts, on="chunk_id").join(held, on="content_sha256")
    assert placed.height > found.height
    assert (placed["split"] == placed["split_right"]).all()
    fields = [pl.col(name).struct.field("with_distractors").alias(name) for name in ("passages", "tokens")]
    assert len(set(found.select("messages_with_distractors", *fields).null_count().row(0))) == 1


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
    (folder / MANIFEST).write_text(json.dumps({**said, **more, "format": 3}))
    before = rows(republished.out / "releases").select("pair_id", "split", "version").sort("pair_id")
    assert release(republished).code == OK
    after = rows(republished.out / "releases" / "2").select("pair_id", "split", "version").sort("pair_id")
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
    assert dict(second.group_by("version").len().iter_rows()) == {
        1: first.height, 2: second.height - first.height,
    }  # fmt: skip
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


def test_a_split_that_is_wanted_no_more_keeps_its_rows(published: Workspace, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    before = rows(copy / "releases")
    ran = invoke("release", "--out", copy, "--set", 'release.splits={"train": 1, "dev": 1}')
    assert ran.code == OK, ran.stderr
    after = rows(copy / "releases")
    assert (
        after.sort("pair_id")
        .select("pair_id", "split")
        .equals(before.sort("pair_id").select("pair_id", "split"))
    )
    assert "dev has 0 of" in ran.stdout


def test_rows_of_one_document_are_in_one_split_and_what_that_cannot_satisfy_is_said(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "corpus", tmp_path / "out")
    workspace.write({"b/a.md": guide("solo")})
    assert workspace.run().code == OK
    ran = release(workspace, "--json")
    said = json.loads(ran.stdout)
    assert sorted(said["splits"].values())[:2] == [0, 0]
    assert any("a.md" in problem for problem in said["unsatisfied"])
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
    with locked(copy / "releases", across_hosts=True):
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
    from qa_pipeline.storage.hashes import hash_file

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


def other_question(folder: Path) -> None:
    train_with(folder, question=pl.col("question") + "?")


def repeated_row(folder: Path) -> None:
    train = pl.read_parquet(folder / "data/train.parquet")
    change(folder, "data/train.parquet", pl.concat([train, train.head(1)]))


def lost_row(folder: Path) -> None:
    change(folder, "data/train.parquet", pl.read_parquet(folder / "data/train.parquet").slice(1))


def other_batch(folder: Path) -> None:
    train_with(folder, batch=pl.lit("b9"))


def other_keys(folder: Path) -> None:
    keys = pl.read_parquet(folder / "keys.parquet")
    change(folder, "keys.parquet", keys.with_columns(split=pl.lit("test")))


def lost_keys(folder: Path) -> None:
    change(folder, "keys.parquet", pl.read_parquet(folder / "keys.parquet").head(0))


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


def other_passage(folder: Path) -> None:
    content = pl.element().struct.field("content").str.replace("is a part", "is no part")
    messages = pl.col("messages_with_context").list.eval(element_with(content=content))
    train_with(folder, messages_with_context=messages)


def other_verdict(folder: Path) -> None:
    train_with(folder, claims=pl.col("claims").list.eval(element_with(verdict=pl.lit("undecided"))))


def other_passage_id(folder: Path) -> None:
    passages = pl.read_parquet(folder / "passages.parquet")
    moved = passages.with_columns(section_path=pl.concat_list(pl.lit("elsewhere")))
    change(folder, "passages.parquet", moved)


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
    "passages": (other_passage_id, other_text_hash),
    "files": (flipped_bit, linked_file, unnamed_in_manifest),
    "schema": (further_column, repeated_row),
    "counts": (lost_row, moved_row, other_batch, counted_wrongly, other_card),
    "evidence": (other_text, lost_document, without_evidence, other_quote, other_documents, other_verdict),
    "messages": (other_answer, other_question, other_role, other_passage),
    "splits": (other_keys, lost_keys, moved_row, copied_document),
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
    ("place", "value"),
    [
        (("files",), {"../../etc/passwd": {"sha256": "0" * 64, "size": 1, "rows": None}}),
        (("files",), {"/etc/passwd": {"sha256": "0" * 64, "size": 1, "rows": None}}),
        (("splits",), {"../../x": 1}),
        (("splits",), {"train": 10**30}),
        (("splits",), {"train": -1}),
        (("version",), 10**400),
        (("batches",), {"b0": 2**63}),
    ],
)
def test_a_manifest_that_names_other_places_or_numbers_beyond_all_is_damaged(
    copied: Path, place: tuple[str, ...], value: object
) -> None:
    manifest_with(copied, *place, value=value)
    ran = invoke("verify", copied)
    assert (ran.code, MANIFEST in ran.stderr) == (BAD_INPUT, True), ran.stderr


TABLES = (*("data/train.parquet", "sources.parquet", "passages.parquet", "keys.parquet", "left_out.parquet"),)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_with_other_columns_is_named(copied: Path, name: str) -> None:
    frame = pl.read_parquet(copied / name)
    change(copied, name, frame.rename({frame.columns[0]: "another"}))
    ran = invoke("verify", copied)
    assert (ran.code, f"schema: {name}: " in ran.stdout) == (FAILED, True), ran.stdout


@pytest.mark.parametrize("name", TABLES[:3])
def test_a_table_whose_pages_are_damaged_is_found(copied: Path, name: str) -> None:
    path = copied / name
    content = bytearray(path.read_bytes())
    content[4:2000] = b"\xff" * 1996
    path.write_bytes(content)
    reseal(copied)
    assert invoke("verify", copied).code == FAILED


@pytest.mark.parametrize("content", [b"{", b'{"format": 9}', b'{"format": 1}', b"[" * 100_000, None])
def test_a_manifest_that_cannot_be_read_is_named(copied: Path, content: bytes | None) -> None:
    path = copied / MANIFEST
    path.unlink() if content is None else path.write_bytes(content)
    ran = invoke("verify", copied)
    assert (ran.code, MANIFEST in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_a_split_that_is_not_there_and_a_damaged_pointer_are_named(copied: Path) -> None:
    with pytest.raises(ReleaseError, match=r"'dev'.* test, train, validation"):
        load_release(copied, "dev")
    (copied.parent / LATEST).write_text("{}")
    with pytest.raises(ReleaseError, match=LATEST):
        load_release(copied.parent, "train")
