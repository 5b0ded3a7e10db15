from pathlib import Path

import pytest
from upath import UPath

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.base import is_remote, location_of
from qa_pipeline.settings.tree import load_settings


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("data/corpora", "data/corpora"),
        (Path("data/corpora"), "data/corpora"),
        (UPath("data/corpora"), "data/corpora"),
        ("a?b@c:d", "a?b@c:d"),
        ("file:///srv/corpora", "/srv/corpora"),
        ("local:///srv", "/srv"),
        ("s3://bucket/corpus/", "s3://bucket/corpus"),
        ("S3://bucket", "s3://bucket"),
        (UPath("memory://corpus/x"), "memory://corpus/x"),
        ("abfs://container@account/x", "abfs://container@account/x"),
        ("hf://datasets/o/n@main", "hf://datasets/o/n@main"),
    ],
)
def test_folders_and_known_addresses_are_kept(
    given: object, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec.get_filesystem_class", lambda scheme: object)
    assert location_of(given) == kept
    assert is_remote(kept) == ("://" in kept)


@pytest.mark.parametrize(
    "given",
    [
        "nowhere://x",
        "://x",
        "s3://key:planted@bucket/x",
        "sftp://user:planted@host/x",
        "https://planted@host/x",
        "https://host/x?token=planted",
        "zip://a.zip::s3://bucket",
    ],
)
def test_other_addresses_are_refused_without_repeating_a_secret(given: str) -> None:
    with pytest.raises(SettingsError, match="corpus") as refused:
        load_settings(corpus=given)
    assert "planted" not in str(refused.value)


def test_a_place_whose_package_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(scheme: str) -> None:
        raise ImportError(f"Install the package of {scheme}")

    monkeypatch.setattr("fsspec.get_filesystem_class", missing)
    with pytest.raises(ValueError, match="Install the package of s3"):
        location_of("s3://bucket/x")
