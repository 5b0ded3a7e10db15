import sys
from pathlib import Path

import pytest
from upath import UPath

from qa_pipeline.errors import SettingsError
from qa_pipeline.settings.location import is_remote, location_of
from qa_pipeline.settings.tree import Settings, load_settings


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
    monkeypatch.setattr("qa_pipeline.settings.location.find_spec", lambda name: object())
    assert location_of(given) == kept
    assert is_remote(kept) == ("://" in kept)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nowhere://x", "nowhere:// is no known kind of place"),
        ("://x", "no known kind"),
        ("s3://key:planted@bucket/x", "password or token"),
        ("sftp://user:planted@host/x", "password or token"),
        ("https://planted@host/x", "password or token"),
        ("https://host/x?token=planted", "a query, which may be a token"),
        ("zip://a.zip::s3://bucket", "chained"),
    ],
)
def test_other_addresses_are_refused_without_repeating_a_secret(given: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as refused:
        location_of(given)
    assert "planted" not in str(refused.value)


def test_a_place_whose_package_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qa_pipeline.settings.location.find_spec", lambda name: None)
    monkeypatch.setattr(sys.modules["fsspec.registry"], "registry", {})
    with pytest.raises(ValueError, match=r"s3:// needs the extra: pip install 'qa-pipeline\[s3\]'"):
        location_of("s3://bucket/x")
    with pytest.raises(ValueError, match=r"gs:// needs the extra: pip install 'qa-pipeline\[gs\]'"):
        location_of("gs://bucket/x")


def test_settings_take_any_of_them_and_say_what_is_wrong() -> None:
    assert Settings(corpus=Path("x")).corpus == "x"
    assert load_settings(corpus="memory://corpus/").corpus == "memory://corpus"
    with pytest.raises(SettingsError, match="setting corpus: nowhere:// is no known kind of place"):
        load_settings(corpus="nowhere://x")
    with pytest.raises(SettingsError) as told:
        load_settings(corpus="s3://key:planted@bucket")
    assert "planted" not in str(told.value)
