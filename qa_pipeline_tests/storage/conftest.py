"""Object stores for tests: one in memory, and a server that speaks S3 on loopback."""

import hashlib
from pathlib import Path

import fsspec
import pytest

from qa_pipeline_tests.documents.corpus.test_corpora_remote import s3_server as s3_server
from qa_pipeline_tests.support.object_store import access


@pytest.fixture
def bucket(tmp_path: Path) -> str:
    """A name that no other test has."""
    return hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]


@pytest.fixture
def s3_access(s3_server: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names the server, and the bucket is there."""
    for name, value in access(s3_server).items():
        monkeypatch.setenv(name, value)
    # a client that another test made without credentials would serve this one, too
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    fsspec.filesystem("s3").mkdir(bucket)
