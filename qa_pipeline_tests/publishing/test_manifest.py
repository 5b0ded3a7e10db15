import json
from pathlib import Path

from qa_pipeline.publishing.manifest import highest_version, point_to


def test_the_number_of_a_deleted_release_is_not_used_again(tmp_path: Path) -> None:
    for version in (1, 2):
        (tmp_path / str(version)).mkdir()
        point_to(tmp_path, version)
    (tmp_path / "2").rmdir()
    point_to(tmp_path, 1)
    assert json.loads((tmp_path / "latest.json").read_bytes())["version"] == 1
    assert highest_version(tmp_path) == 2
