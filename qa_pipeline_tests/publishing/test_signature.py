import json
import shutil
import subprocess
from pathlib import Path

import minisign
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.publishing.manifest import MANIFEST, SIGNATURE
from qa_pipeline_tests.end_to_end import Workspace, invoke

PASSWORD = "a long one"


def write_keys(folder: Path, name: str = "key", password: str | None = None) -> tuple[Path, Path]:
    """Write a secret and a public key of minisign."""
    pair = minisign.KeyPair.generate()
    secret, public = folder / f"{name}.key", folder / f"{name}.pub"
    public.write_bytes(bytes(pair.public_key) + b"\n")
    if password is not None:
        pair.secret_key.encrypt(password, opslimit=32_768, memlimit=1_048_576)
    secret.touch(mode=0o600)
    secret.write_bytes(bytes(pair.secret_key) + b"\n")
    return secret, public


@pytest.fixture(scope="module")
def signed_once(published: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pair of keys and a release that was published unsigned, and signed afterwards."""
    folder = tmp_path_factory.mktemp("signed")
    secret, _ = write_keys(folder)
    shutil.copytree(published.out, folder / "out")
    assert invoke("release", "--out", folder / "out", "--sign", secret).code == OK
    return folder


@pytest.fixture
def keys(signed_once: Path, tmp_path: Path) -> tuple[Path, Path]:
    secret, public = (Path(shutil.copy(signed_once / name, tmp_path)) for name in ("key.key", "key.pub"))
    return secret, public


@pytest.fixture
def signed(signed_once: Path, tmp_path: Path) -> Path:
    """The signed release, to be tampered with."""
    return Path(shutil.copytree(signed_once / "out", tmp_path / "signed")) / "releases" / "1"


def signature_of(folder: Path, *options: str | Path) -> tuple[int, list[str]]:
    ran = invoke("verify", folder, "--json", *options)
    (check,) = (one for one in json.loads(ran.stdout)["checks"] if one["name"] == "signature")
    return ran.code, check["problems"]


def test_who_has_the_public_key_sees_that_a_release_is_as_it_was_signed(
    signed: Path, keys: tuple[Path, Path]
) -> None:
    assert signature_of(signed, "--public-key", keys[1]) == (OK, [])
    text = keys[1].read_text().splitlines()[1]
    assert signature_of(signed, "--public-key", text) == (OK, [])
    assert "name --public-key" in invoke("verify", signed).stdout


def test_a_new_release_has_its_signature_from_the_start(
    republished: Workspace, keys: tuple[Path, Path]
) -> None:
    other = ("--set", "release.min_grounding=0.5")
    assert invoke("release", "--out", republished.out, "--sign", keys[0], *other).code == OK
    assert signature_of(republished.out / "releases" / "2", "--public-key", keys[1]) == (OK, [])
    said = (republished.out / "releases" / "2" / MANIFEST).read_text()
    assert "signing" not in said
    assert keys[0].name not in said


def test_a_manifest_that_was_changed_is_found_whatever_its_hashes_say(
    signed: Path, keys: tuple[Path, Path]
) -> None:
    manifest = json.loads((signed / MANIFEST).read_bytes())
    (signed / MANIFEST).write_text(json.dumps(manifest))
    assert invoke("verify", signed).code == OK  # nothing else tells
    code, problems = signature_of(signed, "--public-key", keys[1])
    assert (code, problems) == (FAILED, [f"{MANIFEST} or {SIGNATURE} was changed after it was signed"])


def test_another_key_and_no_signature_are_told_apart(signed: Path, tmp_path: Path) -> None:
    _, other = write_keys(tmp_path, "other")
    code, problems = signature_of(signed, "--public-key", other)
    assert (code, "it is signed by key" in problems[0]) == (FAILED, True)
    (signed / SIGNATURE).unlink()
    assert signature_of(signed, "--public-key", other)[1] == [
        f"{SIGNATURE} is missing: the release is not signed"
    ]


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 400, b"untrusted comment: x\nAAAA\ntrusted comment: x\nAAAA\n", b"x" * 20_000]
)
def test_what_is_no_signature_is_said_to_be_none(
    signed: Path, keys: tuple[Path, Path], content: bytes
) -> None:
    (signed / SIGNATURE).write_bytes(content)
    code, problems = signature_of(signed, "--public-key", keys[1])
    assert (code, "is no signature of minisign" in problems[0]) == (FAILED, True)


@pytest.mark.parametrize("named", ["nowhere.pub", "RWQf6LRCGA9i5", ""])
def test_a_public_key_that_is_none_is_bad_input(signed: Path, named: str) -> None:
    ran = invoke("verify", signed, "--public-key", named)
    assert (ran.code, "is no public key of minisign" in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_a_key_that_others_can_read_is_refused(republished: Workspace, keys: tuple[Path, Path]) -> None:
    keys[0].chmod(0o644)
    ran = invoke("release", "--out", republished.out, "--sign", keys[0])
    assert (ran.code, "chmod 600" in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_a_key_that_is_missing_or_none_is_named(republished: Workspace, tmp_path: Path) -> None:
    ran = invoke("release", "--out", republished.out, "--sign", tmp_path / "nowhere.key")
    assert (ran.code, "nowhere.key cannot be read" in ran.stderr) == (BAD_INPUT, True), ran.stderr
    _, public = write_keys(tmp_path)
    public.chmod(0o600)
    ran = invoke("release", "--out", republished.out, "--sign", public)
    assert (ran.code, "is no secret key of minisign" in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_a_protected_key_takes_its_password_from_the_environment(
    republished: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, public = write_keys(tmp_path, password=PASSWORD)
    variable = "QA_PIPELINE_RELEASE__SIGNING_PASSWORD"
    ran = invoke("release", "--out", republished.out, "--sign", secret)
    assert (ran.code, f"set {variable}" in ran.stderr) == (BAD_INPUT, True), ran.stderr
    monkeypatch.setenv(variable, "another one")
    ran = invoke("release", "--out", republished.out, "--sign", secret)
    assert (ran.code, "is not the password" in ran.stderr) == (BAD_INPUT, True), ran.stderr
    assert "another one" not in ran.stderr
    monkeypatch.setenv(variable, PASSWORD)
    assert invoke("release", "--out", republished.out, "--sign", secret).code == OK
    assert signature_of(republished.out / "releases", "--public-key", public) == (OK, [])


def test_a_signature_is_pushed_and_stays_when_a_release_is_yanked(
    signed: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    assert invoke("push", signed, tmp_path / "target").code == OK
    assert signature_of(tmp_path / "target" / "1", "--public-key", keys[1]) == (OK, [])
    assert invoke("push", signed, tmp_path / "target").code == OK
    assert invoke("yank", signed, "--reason", "it was wrong", "--yes").code == OK
    assert (signed / SIGNATURE).is_file()


@pytest.mark.skipif(shutil.which("minisign") is None, reason="the program minisign is not installed")
def test_the_program_minisign_verifies_the_same_signature(signed: Path, keys: tuple[Path, Path]) -> None:
    command = ["minisign", "-V", "-p", str(keys[1]), "-m", str(signed / MANIFEST)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, "Signature and comment signature verified" in ran.stdout) == (0, True), ran.stderr
