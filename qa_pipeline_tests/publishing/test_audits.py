import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from qa_pipeline.cli.common import BAD_INPUT, FAILED, OK
from qa_pipeline.publishing.audits import draw_sample, still_needed, upper_bound
from qa_pipeline.publishing.loading import release_folder
from qa_pipeline_tests.end_to_end import Ran, Workspace, invoke


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_bound_is_the_exact_one_sided_limit(wrong: int, audited: int) -> None:
    wrong = min(wrong, audited)
    exact = binomtest(wrong, audited, alternative="less").proportion_ci(0.95, "exact").high
    assert upper_bound(wrong, audited) == pytest.approx(exact, abs=1e-9)


@given(st.integers(0, 20), st.integers(1, 200), st.sampled_from([0.02, 0.05, 0.2]))
def test_what_is_still_needed_is_the_least_that_settles_it(wrong: int, audited: int, most: float) -> None:
    wrong = min(wrong, audited)
    more = still_needed(wrong, audited, most)
    assert upper_bound(wrong, audited + more) <= most
    assert more == 0 or upper_bound(wrong, audited + more - 1) > most


def test_two_per_cent_take_149_rows_without_an_error() -> None:
    assert (upper_bound(0, 149) <= 0.02, upper_bound(0, 148) <= 0.02) == (True, False)


def test_a_larger_sample_holds_the_smaller_one_and_another_seed_draws_others(published: Workspace) -> None:
    release = release_folder(published.out / "releases")
    small, large, other = (
        set(draw_sample(release, count, seed)["pair_id"]) for count, seed in ((5, "0"), (20, "0"), (5, "1"))
    )
    assert (len(small), len(large)) == (5, 20)
    assert small < large
    assert small != other


def sampled(published: Workspace, folder: Path, *labels: str | None) -> Path:
    """An audit file with these labels."""
    path = folder / "audit.jsonl"
    assert invoke("audit", "sample", published.out / "releases", str(len(labels)), "--to", path).code == OK
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(row["quotes"] and row["label"] is None for row in rows)
    for row, label in zip(rows, labels, strict=True):
        row["label"] = label
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def certify(published: Workspace, path: Path, *options: str) -> Ran:
    return invoke("audit", "certify", published.out / "releases", path, *options)


def test_labels_bound_the_share_of_wrong_rows_and_unsure_ones_count_as_wrong(
    published: Workspace, tmp_path: Path
) -> None:
    path = sampled(published, tmp_path, *["right"] * 18, "wrong", "unsure", None)
    ran = certify(published, path, "--json", "--max-error", "0.02")
    assert ran.code == FAILED
    said = json.loads(ran.stdout)
    whole = said["bounds"][0]
    assert (whole["audited"], whole["wrong"], whole["unsure"]) == (20, 1, 1)
    assert whole["at_most"] == pytest.approx(upper_bound(2, 20))
    assert said["still_needed"] == still_needed(2, 20, 0.02)
    assert {one["part"] for one in said["bounds"]} >= {"all", "language en"}
    assert certify(published, path, "--max-error", "0.5").code == OK
    assert "would settle it" in certify(published, path, "--max-error", "0.02").stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [*lines, lines[0].replace('"right"', '"wrong"')], "is wrong here and right above"),
        (lambda lines: [*lines, '{"pair_id": "x", "label": "right"}'], "1 rows are not in"),
        (lambda lines: [*lines, "{"], "line 4: wanted is an object"),
        (lambda lines: [lines[0].replace('"right"', '"good"')], "line 1: wanted is an object"),
        (lambda lines: [line.replace('"right"', "null") for line in lines], "has no label"),
    ],
    ids=["conflicting", "unknown", "no JSON", "another label", "none"],
)
def test_labels_that_cannot_be_used_are_named(
    published: Workspace, tmp_path: Path, change: object, said: str
) -> None:
    path = sampled(published, tmp_path, "right", "right", "right")
    assert callable(change)
    path.write_text("\n".join(change(path.read_text().splitlines())))
    ran = certify(published, path)
    assert (ran.code, said in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_a_row_labelled_twice_alike_counts_once(published: Workspace, tmp_path: Path) -> None:
    path = sampled(published, tmp_path, "right", "right")
    path.write_text(path.read_text() * 2)
    assert json.loads(certify(published, path, "--json").stdout)["bounds"][0]["audited"] == 2


def test_a_file_that_may_hold_labels_is_not_written_over(published: Workspace, tmp_path: Path) -> None:
    path = sampled(published, tmp_path, "right")
    ran = invoke("audit", "sample", published.out / "releases", "3", "--to", path)
    assert (ran.code, "may hold labels" in ran.stderr) == (BAD_INPUT, True)
