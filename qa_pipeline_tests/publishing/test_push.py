"""A release reaches a folder, an object store and the hub whole, once, and never over anything else."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import huggingface_hub.constants
import pytest

import qa_pipeline
from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.errors import InputError, ReleaseError, StorageError
from qa_pipeline.publishing.card import write_manifest
from qa_pipeline.publishing.manifest import MANIFEST, read_manifest
from qa_pipeline.publishing.push import push_release
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline_tests.documents.corpus.test_corpora_remote import s3_server  # noqa: F401
from qa_pipeline_tests.end_to_end import Workspace
from qa_pipeline_tests.publishing.hub import READ_ONLY, TOKEN, Hub, hub_on_loopback
from qa_pipeline_tests.publishing.plants import release

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub 2.4
HUB = "hf://datasets/us/pairs"


@pytest.fixture
def first(published: Workspace) -> Path:
    return published.out / "releases" / "1"


@pytest.fixture
def second(first: Path, tmp_path: Path) -> Path:
    """The same rows as a later release."""
    made = Path(shutil.copytree(first, tmp_path / "second" / "2"))
    write_manifest(made, read_manifest(first).model_copy(update={"version": 2, "previous": 1}))
    return made


class Place:
    """A target that can be looked into."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.files, self.root = fsspec.core.url_to_fs(location)

    def contents(self) -> dict[str, bytes]:
        self.files.invalidate_cache()
        found = self.files.find(self.root) if self.files.exists(self.root) else []
        return {path[len(self.root) + 1 :]: self.files.cat_file(path) for path in found}

    def put(self, name: str, content: bytes) -> None:
        path = f"{self.root}/{name}"
        self.files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self.files.pipe_file(path, content)

    def remove(self, name: str) -> None:
        self.files.rm_file(f"{self.root}/{name}")


@pytest.fixture(params=["file", "memory", "s3"])
def place(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    bucket = hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]
    if request.param == "file":
        return Place(str(tmp_path / "target"))
    if request.param == "s3":
        monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_server"))
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "planted")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        # a client that another test made without credentials would serve this one, too
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        fsspec.filesystem("s3").mkdir(bucket)
    return Place(f"{request.param}://{bucket}/releases")


def whole(release: Path) -> dict[str, bytes]:
    return {
        f"{release.name}/{path.relative_to(release).as_posix()}": path.read_bytes()
        for path in release.rglob("*")
        if path.is_file()
    }


def test_a_release_arrives_whole_once_and_is_the_latest(first: Path, place: Place) -> None:
    assert push_release(first, place.location) == (f"{place.location}/1", True)
    assert place.contents() == whole(first) | {"latest.json": b'{"version": 1}\n'}
    assert push_release(first, place.location) == (f"{place.location}/1", False)


def test_an_interrupted_push_is_no_release_and_goes_on(first: Path, place: Place) -> None:
    push_release(first, place.location)
    for name in ("latest.json", "1/manifest.json", "1/data/train.parquet"):
        place.remove(name)
    place.put("1/README.md", b"a part")
    assert push_release(first, place.location)[1]
    assert place.contents() == whole(first) | {"latest.json": b'{"version": 1}\n'}


def test_a_push_that_fails_leaves_no_release_and_tells_no_address(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError("https://signed.example.org/?secret")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copytree", refuses)
        with pytest.raises(StorageError) as caught:
            push_release(first, str(tmp_path / "target"))
    assert "secret" not in str(caught.value)
    assert not list((tmp_path / "target").rglob("*.json"))


def test_another_release_in_its_place_is_refused_and_left_as_it_is(first: Path, place: Place) -> None:
    place.put(f"1/{MANIFEST}", b"x")
    with pytest.raises(ReleaseError, match="release 1"):
        push_release(first, place.location)
    assert place.contents() == {f"1/{MANIFEST}": b"x"}


def test_the_latest_is_the_newest_whatever_is_pushed_last(first: Path, second: Path, place: Place) -> None:
    push_release(second, place.location)
    push_release(first, place.location)
    assert json.loads(place.contents()["latest.json"]) == {"version": 2}


def test_the_command_sends_what_it_has_published(republished: Workspace, tmp_path: Path) -> None:
    ran = release(republished, "--push", str(tmp_path / "target"))
    assert ran.code == OK
    assert all(check.is_valid for check in verify_release(tmp_path / "target" / "1"))
    own = qa_pipeline.load_release(republished.out / "releases", "train").collect()
    assert qa_pipeline.load_release(tmp_path / "target", "train").collect().equals(own)
    (republished.out / "releases" / "1" / "README.md").write_text("# Better\n")
    ran = release(republished, "--push", str(tmp_path / "other"))
    assert ran.code == BAD_INPUT
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("hf://us/pairs", "hf://datasets/OWNER/NAME"),
        ("hf://datasets/us", "hf://datasets/OWNER/NAME"),
        ("nowhere://x", "nowhere://"),
        ("s3://key:planted-secret@bucket/x", "token"),
    ],
)
def test_a_target_that_is_none_is_refused(first: Path, target: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        push_release(first, target)
    assert "planted-secret" not in str(caught.value)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with hub_on_loopback() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def released(release: Path) -> dict[str, bytes]:
    return {name.partition("/")[2]: content for name, content in whole(release).items()}


def test_the_hub_gets_a_private_repository_one_commit_and_a_tag(first: Path, hub: Hub) -> None:
    assert push_release(first, HUB) == (f"{HUB}@v1", True)
    attributes = {".gitattributes": hub.files[".gitattributes"]}
    assert hub.files == released(first) | attributes
    assert (hub.private, hub.commits, list(hub.tags)) == (True, 1, ["v1"])
    assert push_release(first, HUB) == (f"{HUB}@v1", False)
    assert hub.commits == 1


def test_the_next_release_takes_the_place_of_the_last_which_keeps_its_tag(
    first: Path, second: Path, hub: Hub
) -> None:
    push_release(first, HUB)
    push_release(second, HUB)
    attributes = {".gitattributes": hub.files[".gitattributes"]}
    assert hub.files == hub.tags["v2"] == released(second) | attributes
    assert hub.tags["v1"] == released(first) | attributes
    with pytest.raises(ReleaseError, match="release 2"):
        push_release(first, HUB)


def test_a_repository_with_files_of_somebody_else_is_left_alone(first: Path, hub: Hub) -> None:
    hub.files["data.csv"] = b"a,b\n"
    with pytest.raises(ReleaseError):
        push_release(first, HUB)
    assert hub.commits == 0


@pytest.mark.parametrize("breaks_at", ["/commit/", "/tag/", "/objects/"])
def test_a_push_to_the_hub_that_was_broken_off_goes_on(first: Path, hub: Hub, breaks_at: str) -> None:
    hub.breaks_at = breaks_at
    with pytest.raises(StorageError):
        push_release(first, HUB)
    hub.breaks_at = None
    push_release(first, HUB)
    assert list(hub.tags) == ["v1"]
    assert hub.files.keys() - {".gitattributes"} == released(first).keys()


@pytest.mark.parametrize(("token", "says"), [("planted-wrong", "401"), (READ_ONLY, "403")])
def test_a_token_that_is_refused_is_one_clear_error_without_the_token(
    first: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, token: str, says: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(StorageError, match=says) as caught:
        push_release(first, HUB)
    assert token not in str(caught.value)


def test_without_a_token_nothing_is_asked(first: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(InputError, match="HF_TOKEN"):
        push_release(first, HUB)
    assert hub.private is None
