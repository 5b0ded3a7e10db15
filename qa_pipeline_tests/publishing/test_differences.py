import json
from pathlib import Path

import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.publishing.differences import (
    MOST_ROWS,
    NOT_ACCEPTED,
    NOT_MADE,
    compare_releases,
    differences_page,
    with_verdicts,
)
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import VERDICTS
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.plants import NAMES, SUBJECTS, guide, release


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases of which the second lacks one document of the first and a batch, and has another batch."""
    folder = tmp_path_factory.mktemp("two")
    made = Workspace(folder / "corpus", folder / "out")
    made.write({f"b{n % 2}/{name}.md": guide(name, SUBJECTS[n % 5 :]) for n, name in enumerate(NAMES[:12])})
    assert made.run().code == OK
    assert release(made).code == OK
    rows = pl.read_parquet(made.out / "releases" / "1" / "data" / "*.parquet").filter(pl.col("batch") == "b0")
    (made.corpus / "b0" / rows["evidence"][0][0]["path"]).unlink()
    made.write({f"b2/{name}.md": guide(name) for name in NAMES[12:]})
    assert made.run().code == OK
    (made.out / "tables" / "claims" / "b1.parquet").write_bytes(b"damaged")
    assert release(made).code == OK
    return made.out / "releases"


def test_rows_are_added_or_retired_with_the_reason_and_none_is_moved(two: Path) -> None:
    found = compare_releases(two / "1", two / "2")
    drafted_anew = (pl.col("change") == "added") & (pl.col("batch") == "b0")  # other passages are found now
    counts = set(found.filter(~drafted_anew).select("change", "batch", "reason").unique().rows())
    assert counts == {
        ("added", "b2", None),
        ("retired", "b0", "no_longer_accepted"),
        ("retired", "b1", "batch_left_out"),
    }
    back = compare_releases(two / "2", two / "1")
    assert set(back["change"]) == {"added", "retired"}
    assert (
        found.filter(pl.col("change") == "added").height == back.filter(pl.col("change") == "retired").height
    )


def test_a_release_does_not_differ_from_itself(two: Path) -> None:
    assert compare_releases(two / "1", two / "1").is_empty()
    ran = invoke("diff", two / "1", two / "1")
    assert (ran.code, "the same rows in the same splits" in ran.stdout) == (OK, True)


def test_the_command_counts_and_writes_the_rows(two: Path, tmp_path: Path) -> None:
    ran = invoke("diff", two / "1", two, "--table", tmp_path / "rows.parquet", "--json")
    said = json.loads(ran.stdout)
    rows = pl.read_parquet(tmp_path / "rows.parquet")
    assert rows.height == len(said["rows"]) == sum(one["rows"] for one in said["counts"])
    assert "retired" in invoke("diff", two / "1", two).stdout


def test_the_page_counts_and_lists_the_rows_and_no_question_makes_markup(two: Path, tmp_path: Path) -> None:
    assert invoke("diff", two / "1", two, "--page", tmp_path / "page.md").code == OK
    page = (tmp_path / "page.md").read_text()
    rows = compare_releases(two / "1", two / "2")
    assert page.startswith("# From release 1 to 2\n")
    assert "| retired | b1 | batch\\_left\\_out |" in page
    assert all(f" {pair_id} |" in page for pair_id in rows["pair_id"])
    hostile = rows.head(1).with_columns(question=pl.lit("a | b\n# <script>"))
    assert "a \\| b \\# \\<script\\>" in differences_page(hostile, "1", "2")
    many = pl.concat([rows.head(1)] * (MOST_ROWS + 3))
    assert "3 more rows are not shown" in differences_page(many, "1", "2")
    assert "the same rows" in differences_page(rows.clear(), "1", "2")


def test_the_verdicts_of_the_output_folder_say_why_a_row_is_no_longer_accepted(two: Path) -> None:
    rows = compare_releases(two / "1", two / "2")
    layout = Layout(two.parent)
    lost = rows.filter(pl.col("reason") == NOT_ACCEPTED)
    assert set(with_verdicts(rows, layout).join(lost, on="pair_id", how="semi")["reason"]) == {NOT_MADE}
    others = rows.filter(pl.col("reason").ne_missing(NOT_ACCEPTED))
    assert with_verdicts(others, layout).equals(others)
    decided = read_table(layout.table("verdicts", "b0"), VERDICTS).row(0, named=True)
    changed = lost.head(1).with_columns(pair_id=pl.lit(decided["pair_id"]))
    assert with_verdicts(changed, layout)["reason"].to_list() == ["accepted: unjudged"]
    assert with_verdicts(lost, Layout(two / "nowhere")).equals(lost)
    ran = invoke("diff", two / "1", two, "--out", two.parent)
    assert (ran.code, NOT_MADE in ran.stdout) == (OK, True)


def test_what_is_no_release_is_named(two: Path, tmp_path: Path) -> None:
    ran = invoke("diff", two / "1", tmp_path)
    assert (ran.code, "is no whole release" in ran.stderr) == (BAD_INPUT, True)
