"""Personal data and Dagster: neither its storage nor a failing run tells any."""

from pathlib import Path

import pytest

from qa_pipeline_tests.defs.project import Project, instance_at
from qa_pipeline_tests.documents.builders import write_files
from qa_pipeline_tests.documents.masking.planted_files import texts_of
from qa_pipeline_tests.documents.test_masking_run import FILES, KEY, PLANTED, leaks

MASKING = {"masking": {"action": "mask", "key": KEY}}
ITEM = PLANTED[0].written
BROKEN = f"documents:\n  {ITEM}.md: {{license: {ITEM}}}\n"


def told(*folders: Path) -> set[str]:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {*(text for path in files for text in texts_of(path)), *map(str, files)}


@pytest.mark.slow
def test_no_event_log_or_table_holds_an_item_or_the_key_whatever_becomes_of_a_batch(tmp_path: Path) -> None:
    with instance_at(tmp_path / "dagster") as instance:
        project = Project(tmp_path, instance, documents=MASKING)
        write_files(tmp_path / "corpus" / "b1", FILES)
        write_files(tmp_path / "corpus" / "b2", {"batch.yaml": BROKEN, "a.md": "Text."})
        write_files(tmp_path / "corpus" / "b3", {"batch.yaml": BROKEN + "licence: [", "a.md": "Text."})
        outcomes = project.launch("b1", "b2", "b3")
    assert [outcomes[name].outcome for name in ("b1", "b2", "b3")] == ["succeeded", "failed", "failed"]
    texts = told(tmp_path / "out", tmp_path / "dagster")
    assert any("license" in text for text in texts)
    assert leaks(texts, PLANTED) == set()
    assert not [text for text in texts if KEY in text]
