from pathlib import Path

import fsspec
import pytest

from qa_pipeline.documents.corpus.corpora import open_corpus, single_batch, split_batch
from qa_pipeline.documents.corpus.files import read_bytes
from qa_pipeline.errors import CorpusError
from qa_pipeline_tests.documents.builders import write_files


def test_batches_are_listed_from_a_path_or_its_text(tmp_path: Path) -> None:
    write_files(tmp_path, {"b/x.md": "", "a/x.md": "", ".git/x": "", "loose.md": ""})
    for location in (tmp_path, str(tmp_path), f"file://{tmp_path}"):
        assert open_corpus(location).find_batches().names == ("a", "b")


@pytest.mark.parametrize("location", ["nowhere://x", "s3://key:planted@bucket/x", "https://planted@host/x"])
def test_a_location_that_cannot_be_used_is_an_error_without_its_secrets(location: str) -> None:
    with pytest.raises(CorpusError) as shown:
        open_corpus(location)
    assert "planted" not in str(shown.value)


def test_a_file_in_place_of_a_corpus_is_a_batch_of_its_own(tmp_path: Path) -> None:
    write_files(tmp_path, {"guide.md": "x", "other.md": "y"})
    batch = single_batch(tmp_path / "guide.md")
    assert batch == (str(tmp_path), "guide.md")
    corpus = open_corpus(batch[0])
    (file,) = corpus.batch("guide.md").list()
    assert (file.path, read_bytes(file, 9)) == ("guide.md", b"x")
    assert single_batch(f"file://{tmp_path}/guide.md") == batch
    assert single_batch("memory://single") is None
    assert single_batch(tmp_path) == (str(tmp_path.parent), tmp_path.name)
    assert single_batch(tmp_path / "none.md") is None


def test_the_location_of_a_batch_is_split_into_its_corpus_and_its_name(tmp_path: Path) -> None:
    write_files(tmp_path, {"b/x.md": ""})
    assert split_batch(str(tmp_path / "b")) == (str(tmp_path), "b")
    assert split_batch("memory://corpus/b/") == ("memory://corpus", "b")
    with pytest.raises(CorpusError):
        split_batch("memory://corpus")


def test_a_corpus_of_files_alone_is_told_that_its_batches_are_folders(tmp_path: Path) -> None:
    fsspec.filesystem("memory").pipe_file("/files-alone/guide.md", b"x")
    write_files(tmp_path, {"guide.md": "x"})
    for location in ("memory://files-alone", tmp_path):
        with pytest.raises(CorpusError, match="no folders of documents"):
            open_corpus(location).find_batches()
