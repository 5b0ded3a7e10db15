"""A release reaches a folder, an object store and the hub whole, once, and never over anything else."""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import huggingface_hub.constants
import pytest

import qa_pipeline
from qa_pipeline.errors import InputError, ReleaseError, StorageError
from qa_pipeline.publishing import push as pushing
from qa_pipeline.publishing.card import write_card
from qa_pipeline.publishing.manifest import read_manifest, write_manifest
from qa_pipeline.publishing.push import push_release
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline_tests.documents.corpus.test_remote import s3_server  # noqa: F401
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.hub import READ_ONLY, TOKEN, Hub, hub_on_loopback

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub 2.4
HUB = "hf://datasets/us/pairs"


@pytest.fixture
def first(published: Workspace) -> Path:
    return published.out / "releases" / "1"


@pytest.fixture
def second(first: Path, tmp_path: Path) -> Path:
    """The same rows as a later release, with a file less and another card."""
    made = tmp_path / "second" / "2"
    shutil.copytree(first, made)
    shutil.rmtree(made / "sharegpt", ignore_errors=True)
    manifest = read_manifest(first)
    files = {name: file for name, file in manifest.files.items() if not name.startswith("sharegpt/")}
    later = manifest.model_copy(update={"version": 2, "previous": 1, "files": files})
    write_manifest(made, write_card(made, later))
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


def test_a_release_arrives_whole_with_its_manifest_last_and_is_the_latest(first: Path, place: Place) -> None:
    made = push_release(first, place.location)
    assert made.sent[-1] == "manifest.json"
    assert made.latest
    assert place.contents() == whole(first) | {"latest.json": b'{"version": 1}\n'}


def test_what_is_there_is_not_sent_again(first: Path, place: Place) -> None:
    push_release(first, place.location)
    again = push_release(first, place.location)
    assert (again.sent, again.latest) == ([], True)


def test_an_interrupted_push_goes_on_where_it_ended(first: Path, place: Place) -> None:
    push_release(first, place.location)
    for name in ("latest.json", "1/manifest.json", "1/data/train.parquet"):
        place.remove(name)
    assert push_release(first, place.location).sent == ["data/train.parquet", "manifest.json"]
    assert place.contents() == whole(first) | {"latest.json": b'{"version": 1}\n'}


@pytest.mark.parametrize("name", ["manifest.json", "README.md", "notes.txt"])
def test_another_content_in_its_place_is_refused_and_left_as_it_is(
    first: Path, place: Place, name: str
) -> None:
    place.put(f"1/{name}", b"x")
    with pytest.raises(ReleaseError, match=f"holds another '{name}', and nothing is overwritten"):
        push_release(first, place.location)
    assert place.contents() == {f"1/{name}": b"x"}


def test_a_file_of_the_same_length_without_a_manifest_is_compared_by_its_content(
    first: Path, place: Place
) -> None:
    card = (first / "README.md").read_bytes()
    place.put("1/README.md", card[::-1])
    with pytest.raises(ReleaseError, match="holds another"):
        push_release(first, place.location)


def test_the_latest_is_the_newest_whatever_is_pushed_last(first: Path, second: Path, place: Place) -> None:
    assert push_release(second, place.location).latest
    assert not push_release(first, place.location).latest
    assert json.loads(place.contents()["latest.json"]) == {"version": 2}


def test_a_dry_run_lists_files_and_bytes_and_touches_nothing(first: Path, place: Place) -> None:
    made = push_release(first, place.location, dry_run=True)
    assert {f"1/{name}": size for name, size in made.files.items()} == {
        name: len(content) for name, content in whole(first).items()
    }
    assert (made.sent, made.latest) == ([], False)
    assert place.contents() == {}


def test_a_pushed_folder_is_read_and_verified_like_any(first: Path, tmp_path: Path) -> None:
    push_release(first, f"file://{tmp_path}/target")
    assert all(check.holds for check in verify_release(tmp_path / "target" / "1"))
    own = qa_pipeline.load_release(first, "train").collect()
    assert qa_pipeline.load_release(tmp_path / "target", "train").collect().equals(own)


def test_a_release_that_does_not_hold_is_not_sent(first: Path, tmp_path: Path) -> None:
    broken = tmp_path / "1"
    shutil.copytree(first, broken)
    (broken / "README.md").write_text("# Better\n")
    with pytest.raises(ReleaseError, match=r"nothing was sent: files: README\.md is not the file"):
        push_release(broken, str(tmp_path / "target"))
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("hf://us/pairs", "hf://datasets/OWNER/NAME"),
        ("hf://datasets/us", "hf://datasets/OWNER/NAME"),
        ("nowhere://x", "no known kind of place"),
        ("s3://key:planted-secret@bucket/x", "password or token"),
    ],
)
def test_a_target_that_is_none_is_named(first: Path, target: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        push_release(first, target, dry_run=True)
    assert "planted-secret" not in str(caught.value)


def test_a_missing_extra_is_named(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qa_pipeline.settings import location

    monkeypatch.setattr(location, "find_spec", lambda _: None)
    monkeypatch.setattr(sys.modules["fsspec.registry"], "registry", {})
    with pytest.raises(InputError, match=r"pip install 'qa-pipeline\[s3\]'"):
        push_release(first, "s3://bucket/releases")


def test_a_bucket_that_is_not_there_is_one_clear_error(
    first: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_server"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "planted")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    made = invoke("push", first, "s3://no-such-bucket-here/releases")
    assert made.code == 2
    assert "s3://no-such-bucket-here/releases/1 cannot be written: there is no such bucket" in made.stderr
    assert "0 of " in made.stderr
    assert "Traceback" not in made.stderr


def test_a_folder_that_cannot_be_written_is_one_clear_error(first: Path, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("a file in the way")
    made = invoke("push", first, tmp_path / "target")
    assert made.code == 2
    assert made.stderr.startswith("Error: cannot write to ")


def test_what_was_sent_before_a_target_refused_is_said_and_kept(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = pushing._send
    sent: list[str] = []

    def refusing(store: Any, source: Path, root: str, path: str) -> None:
        if len(sent) == 2:
            raise PermissionError("https://signed.example.org/?secret")
        sent.append(path)
        send(store, source, root, path)

    monkeypatch.setattr(pushing, "_send", refusing)
    with pytest.raises(StorageError, match=r"permission denied;.* 2 of \d+ files were sent") as caught:
        push_release(first, str(tmp_path / "target"))
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "target" / "latest.json").exists()
    monkeypatch.undo()
    made = push_release(first, str(tmp_path / "target"))
    assert len(made.sent) == len(made.files) - 2


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
    made = push_release(first, HUB)
    assert (len(made.sent), made.latest) == (len(made.files), True)
    attributes = {".gitattributes": hub.files[".gitattributes"]}
    assert hub.files == released(first) | attributes
    assert (hub.private, hub.commits, list(hub.tags)) == (True, 1, ["v1"])
    assert len(hub.uploads) > 0
    assert push_release(first, HUB).sent == []
    assert hub.commits == 1


def test_the_next_release_takes_the_place_of_the_last_which_keeps_its_tag(
    first: Path, second: Path, hub: Hub
) -> None:
    push_release(first, HUB)
    push_release(second, HUB)
    attributes = {".gitattributes": hub.files[".gitattributes"]}
    assert hub.files == hub.tags["v2"] == released(second) | attributes
    assert hub.tags["v1"] == released(first) | attributes


def test_an_older_release_does_not_hide_a_newer_one_on_the_hub(first: Path, second: Path, hub: Hub) -> None:
    push_release(second, HUB)
    with pytest.raises(ReleaseError, match="holds release 2, which this older one would hide"):
        push_release(first, HUB)


def test_another_release_of_the_same_number_on_the_hub_is_refused(
    first: Path, second: Path, hub: Hub
) -> None:
    push_release(first, HUB)
    hub.tags["v1"] = hub.tags["v1"] | {"manifest.json": b"{}"}
    with pytest.raises(ReleaseError, match="is another release, and none is overwritten"):
        push_release(first, HUB)


def test_a_repository_with_files_of_somebody_else_is_left_alone(first: Path, hub: Hub) -> None:
    hub.files["data.csv"] = b"a,b\n"
    with pytest.raises(ReleaseError, match="files that are no release of ours"):
        push_release(first, HUB)
    assert hub.commits == 0


@pytest.mark.parametrize("breaks_at", ["/commit/", "/tag/", "/objects/"])
def test_a_push_to_the_hub_that_was_broken_off_goes_on(first: Path, hub: Hub, breaks_at: str) -> None:
    hub.breaks_at = breaks_at
    with pytest.raises(StorageError, match=r"run again to go on"):
        push_release(first, HUB)
    hub.breaks_at = None
    uploads = len(hub.uploads)
    push_release(first, HUB)
    assert (hub.commits, list(hub.tags)) == (1, ["v1"])
    assert len(hub.uploads) == len(set(hub.uploads))
    assert uploads == 0 or uploads == len(hub.uploads)


@pytest.mark.parametrize(
    ("token", "says"), [("planted-wrong", "not accepted (401)"), (READ_ONLY, "may not write there (403)")]
)
def test_a_token_that_is_refused_is_one_clear_error_without_the_token(
    first: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, token: str, says: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    made = invoke("push", first, HUB)
    assert made.code == 2
    assert f"{HUB}@v1 cannot be written: the token" in made.stderr
    assert says in made.stderr
    assert token not in made.stderr + made.stdout


def test_without_a_token_nothing_is_asked(first: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(InputError, match="set HF_TOKEN"):
        push_release(first, HUB)
    assert hub.private is None


def test_a_hub_that_is_not_reached_is_one_clear_error(
    first: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    made = invoke("push", first, HUB)
    assert made.code == 2
    assert "cannot be written: ConnectError" in made.stderr


def test_the_command_tells_what_it_did(first: Path, tmp_path: Path) -> None:
    dry = invoke("push", first.parent, tmp_path / "target", "--dry-run")
    assert (dry.code, "train.parquet" in dry.stdout) == (0, True)
    made = invoke("push", first.parent, tmp_path / "target", "--json")
    told = json.loads(made.stdout)
    assert told["latest"] is True
    assert sorted(told["sent"]) == sorted(released(first))
    again = invoke("push", first.parent, tmp_path / "target")
    assert "0 of" in again.stdout.replace("\n", " ")
