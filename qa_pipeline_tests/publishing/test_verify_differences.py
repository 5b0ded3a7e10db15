import json
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.publishing.verify import compare_releases
from qa_pipeline_tests.end_to_end import Workspace, invoke, new_workspace
from qa_pipeline_tests.publishing.plants import NAMES, guide, release


@pytest.fixture(scope="module")
def two(published: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases of which the second lacks a batch, and has rows of another document."""
    folder = tmp_path_factory.mktemp("two")
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(folder, patch).fill_from(published)
        made.write({f"b2/{NAMES[15]}.md": guide(NAMES[15]), "b2/pzrt.md": guide("pzrt")})
        assert made.run().code == OK
        (made.out / "tables" / "claims" / "b1.parquet").write_bytes(b"damaged")
        assert release(made).code == OK
    return made.out / "releases"


def test_rows_came_or_went_and_none_has_moved(two: Path) -> None:
    found = compare_releases(two / "1", two / "2")
    assert set(found.select("change", "batch").unique().rows()) == {("came", "b2"), ("went", "b1")}
    back = compare_releases(two / "2", two / "1")
    assert sorted(back.filter(pl.col("change") == "came")["pair_id"]) == sorted(
        found.filter(pl.col("change") == "went")["pair_id"]
    )
    assert compare_releases(two / "1", two / "1").is_empty()


def test_verify_shows_the_differences(two: Path, tmp_path: Path) -> None:
    ran = invoke("verify", two, "--against", two / "1", "--json")
    changes = json.loads(ran.stdout)["changes"]
    assert (ran.code, len(changes)) == (OK, compare_releases(two / "1", two / "2").height)
    assert "went" in invoke("verify", two, "--against", two / "1").stdout
    assert "went" not in invoke("verify", two, "--against", two).stdout
    assert invoke("verify", two, "--against", tmp_path).code == BAD_INPUT
