"""What holds for the files of every format: whose rows they hold, and how they are written."""

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline import load_release
from qa_pipeline.cli.common import OK
from qa_pipeline.publishing.formats import FORMATS, format_writer
from qa_pipeline.publishing.manifest import read_manifest, release_folder
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.hostile_batch import rows, tables, write_all
from qa_pipeline_tests.publishing.plants import release
from qa_pipeline_tests.publishing.test_release import reseal

LEAVING_OUT = {"squad": "proved in one place", "beir": "answered", "preference": "with a rejected draft"}
"""Formats that have no place for every row, and the rows they have one for."""


@pytest.fixture(scope="module")
def everything(published: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with every format."""
    copy = Path(shutil.copytree(published.out, tmp_path_factory.mktemp("every") / "out"))
    names = json.dumps(list(FORMATS))
    assert release(Workspace(published.corpus, copy), "--set", f"release.formats={names}").code == OK
    return release_folder(copy / "releases")


def pair_ids(folder: Path, name: str, split: str) -> set[str]:
    """The pairs whose rows a file of a format holds."""
    if name == "squad":
        content = json.loads((folder / name / f"{split}.json").read_bytes())
        paragraphs = [paragraph for one in content["data"] for paragraph in one["paragraphs"]]
        return {asked["pair_id"] for paragraph in paragraphs for asked in paragraph["qas"]}
    if name == "beir":
        triples = (folder / name / "triples" / f"{split}.jsonl").read_bytes().splitlines()
        qrels = (folder / name / "qrels" / f"{split}.tsv").read_text().splitlines()
        judged = {line.split("\t")[0] for line in qrels[1:]}
        assert {json.loads(line)["pair_id"] for line in triples} <= judged
        return judged
    lines = (folder / name / f"{split}.jsonl").read_bytes().splitlines()
    return {json.loads(line)["pair_id"] for line in lines}


@pytest.mark.parametrize("name", FORMATS)
def test_every_row_is_a_released_row_of_its_split(everything: Path, name: str) -> None:
    counts = read_manifest(everything).splits
    assert len(counts) == 3
    seen = 0
    for split in counts:
        released = set(load_release(everything, split).collect()["pair_id"])
        found = pair_ids(everything, name, split)
        assert found <= released if name in LEAVING_OUT else found == released
        seen += len(found)
    assert seen > sum(counts.values()) / 2 or name == "preference"  # whose drafts the rules write alike


def test_no_text_of_a_document_of_another_split_is_a_negative(everything: Path) -> None:
    corpus = [json.loads(line) for line in (everything / "beir" / "corpus.jsonl").read_bytes().splitlines()]
    documents = {one["text"]: one["documents"][0] for one in corpus}
    splits = {split: load_release(everything, split).collect() for split in read_manifest(everything).splits}
    rests_on = {
        split: set(frame["evidence"].explode().struct.field("content_sha256"))
        for split, frame in splits.items()
    }
    seen = 0
    for split in splits:
        elsewhere = set().union(*(rests_on[one] for one in splits if one != split))
        for line in (everything / "beir" / "triples" / f"{split}.jsonl").read_bytes().splitlines():
            assert documents[json.loads(line)["negative"]] not in elsewhere
            seen += 1
    assert seen


def test_a_release_with_every_format_verifies(everything: Path) -> None:
    assert invoke("verify", everything).code == OK


def other_message(folder: Path) -> None:
    for path in (folder / "gemini").iterdir():
        path.write_bytes(path.read_bytes().replace(b"bar", b"bat"))


def question_of_another_split(folder: Path) -> None:
    """A SQuAD file holds the documents of another split."""
    shutil.copy(folder / "squad" / "train.json", folder / "squad" / "test.json")


def judgement_of_another_split(folder: Path) -> None:
    line = (folder / "beir" / "qrels" / "train.tsv").read_bytes().splitlines(keepends=True)[1]
    with (folder / "beir" / "qrels" / "test.tsv").open("ab") as file:
        file.write(line)


def query_of_no_split(folder: Path) -> None:
    with (folder / "beir" / "queries.jsonl").open("ab") as file:
        file.write(b'{"_id":"x","pair_id":"x","text":"What?"}\n')


def row_of_another_split(folder: Path) -> None:
    line = (folder / "evaluation" / "train.jsonl").read_bytes().splitlines(keepends=True)[0]
    with (folder / "evaluation" / "test.jsonl").open("ab") as file:
        file.write(line)


def further_file(folder: Path) -> None:
    (folder / "chat" / "more.txt").write_text("More.")
    path = folder / "manifest.json"
    said = json.loads(path.read_bytes())
    said["files"]["chat/more.txt"] = {"sha256": "0" * 64, "size": 5}
    path.write_text(json.dumps(said))


TAMPERED = {
    "chat/more.txt": further_file,
    "gemini/train.jsonl": other_message,
    "squad/test.json": question_of_another_split,
    "beir/qrels/test.tsv": judgement_of_another_split,
    "beir/queries.jsonl": query_of_no_split,
    "evaluation/test.jsonl": row_of_another_split,
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_file_of_a_format_that_was_tampered_with_is_named(
    everything: Path, tmp_path: Path, name: str
) -> None:
    copy = Path(shutil.copytree(everything, tmp_path / "copy"))
    TAMPERED[name](copy)
    reseal(copy)
    said = {one.name: one.problems for one in verify_release(copy)}
    assert name in " ".join(said["formats"])


def test_a_split_may_be_called_like_a_file_of_a_format(published: Workspace, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(published.out, tmp_path / "out"))
    shutil.rmtree(copy / "releases")
    splits = '{"train": 1, "queries": 1, "corpus": 1}'
    options = ("--set", f"release.splits={splits}", "--set", 'release.formats=["beir"]')
    assert release(Workspace(published.corpus, copy), *options).code == OK


@pytest.mark.parametrize("name", ["evaluation/train.jsonl", "squad/train.json", "beir/qrels/train.tsv"])
def test_a_file_of_a_format_that_is_none_is_named(everything: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(everything, tmp_path / "copy"))
    (copy / name).write_bytes(b"\xff{\n" * 3)
    reseal(copy)
    said = {one.name: one.problems for one in verify_release(copy)}
    assert name in " ".join(said["formats"])


@pytest.mark.parametrize("name", FORMATS)
def test_a_split_without_rows_has_readable_files(tmp_path: Path, name: str) -> None:
    write_all(tmp_path)
    assert pair_ids(tmp_path, name, "empty") == set()


def test_equal_rows_give_equal_bytes_whatever_the_order_of_the_tables(tmp_path: Path) -> None:
    def hashes(folder: Path) -> dict[str, str]:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}

    write_all(tmp_path / "first")
    write_all(tmp_path / "second")
    assert hashes(tmp_path / "first") == hashes(tmp_path / "second")
    for seed in range(3):
        apart = tables() | {
            name: frame.sample(fraction=1.0, shuffle=True, seed=seed)
            for name, frame in tables().items()
            if name != "chunks"  # the corpus has their order
        }
        for name in set(FORMATS) - {"preference"}:  # drafts have the order of `pairs`
            with format_writer(
                tmp_path / str(seed), name, ("train", "test", "empty"), "closed_book"
            ) as write:
                write(apart, rows())
        shuffled = hashes(tmp_path / str(seed))
        assert shuffled.items() <= hashes(tmp_path / "first").items()


def test_batches_are_written_one_after_another_and_a_passage_once(tmp_path: Path) -> None:
    rest = ("apart", "refused", "held")
    for name in FORMATS:
        with format_writer(tmp_path, name, ("train", "test"), "closed_book") as write:
            write(tables(), rows().filter(pl.col("pair_id") == "p"))
            write(tables(), rows().filter(pl.col("pair_id").is_in(rest)))
            write(tables(), rows().clear())
    assert pair_ids(tmp_path, "squad", "train") == {"p", "refused"}
    corpus = (tmp_path / "beir" / "corpus.jsonl").read_bytes().splitlines()
    ids = [json.loads(line)["_id"] for line in corpus]
    assert ids == tables()["chunks"]["chunk_id"].to_list()


def test_files_that_are_there_are_not_written_over(tmp_path: Path) -> None:
    write_all(tmp_path)
    for name in FORMATS:
        with pytest.raises(FileExistsError), format_writer(tmp_path, name, ("train",), "closed_book"):
            pass


def test_an_error_between_batches_comes_through_and_leaves_no_file_open(tmp_path: Path) -> None:
    files = format_writer(tmp_path, "squad", ("train",), "closed_book")
    with pytest.raises(KeyError, match="chunks"), files as write:
        write({}, rows())
    assert not (tmp_path / "squad" / "train.json").read_bytes().endswith(b"]}\n")
