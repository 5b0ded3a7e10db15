import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.publishing.certificate import certify, draw_sample
from qa_pipeline.publishing.manifest import release_folder
from qa_pipeline_tests.end_to_end import Workspace, invoke
from qa_pipeline_tests.publishing.plants import guide, release


@pytest.fixture
def folder(published: Workspace) -> Path:
    return release_folder(published.out / "releases")


def sampled(folder: Path, path: Path, *labels: str | None) -> Path:
    """An audit file with these labels."""
    assert invoke("audit", folder, path, "--rows", str(len(labels))).code == OK
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(row["quotes"] and row["label"] is None for row in rows)
    labelled = [{**row, "label": label} for row, label in zip(rows, labels, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in labelled))
    return path


def test_a_larger_sample_holds_the_smaller_one_and_another_seed_draws_others(folder: Path) -> None:
    small, large, other = (
        set(draw_sample(folder, count, seed)["pair_id"]) for count, seed in ((5, "0"), (20, "0"), (5, "1"))
    )
    assert (len(small), len(large)) == (5, 20)
    assert small < large
    assert small != other


def test_labels_bound_the_share_of_wrong_rows_and_unsure_counts_as_wrong(
    folder: Path, tmp_path: Path
) -> None:
    path = sampled(folder, tmp_path / "a.jsonl", *["right"] * 18, "wrong", "unsure")
    ran = invoke("audit", folder, path, "--json", "--max-error", "0.02")
    found = json.loads(ran.stdout)
    assert (ran.code, found["audited"], found["wrong"], found["unsure"]) == (FAILED, 20, 1, 1)
    assert found["at_most"] == pytest.approx(beta.ppf(0.95, 3, 18))
    assert invoke("audit", folder, path, "--max-error", "0.5").code == OK


@pytest.mark.parametrize("option", [("--max-error", "0.5"), ("--json",)])
def test_an_option_about_labels_is_refused_while_the_sample_is_drawn(
    folder: Path, tmp_path: Path, option: tuple[str, ...]
) -> None:
    path = tmp_path / "a.jsonl"
    assert invoke("audit", folder, path, "--rows", "3", *option).code == BAD_INPUT
    assert not path.exists()


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_the_bound_covers_the_true_share_in_95_of_100_draws(share: float) -> None:
    random = np.random.default_rng(7)
    wrong = random.hypergeometric(int(share * 400), 400 - int(share * 400), 60, size=400)
    highs = [binomtest(int(n), 60, alternative="less").proportion_ci(0.95, "exact").high for n in wrong]
    assert np.mean(np.array(highs) >= share) >= 0.95


Change = Callable[[list[str]], list[str]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "1 of the 3"),
        (lambda lines: [line.replace('"right"', "null") for line in lines], "3 of the 3"),
        (lambda lines: [*lines, lines[0].replace('"sample": 3', '"sample": 2')], "2 samples"),
        (lambda lines: [*lines, "{"], "line 4"),
        (lambda lines: [lines[0].replace('"right"', '"good"')], "line 1: label"),
        (lambda lines: [*lines, lines[0].replace('"right"', '"wrong"')], "two labels"),
    ],
    ids=["missing", "null", "two", "no JSON", "other", "conflict"],
)  # fmt: skip
def test_labels_that_cannot_be_used_are_named(
    folder: Path, tmp_path: Path, change: Change, said: str
) -> None:
    path = sampled(folder, tmp_path / "a.jsonl", "right", "right", "right")
    path.write_text("\n".join(change(path.read_text().splitlines())))
    ran = invoke("audit", folder, path)
    assert (ran.code, said in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_the_same_label_of_two_people_is_one(folder: Path, tmp_path: Path) -> None:
    path = sampled(folder, tmp_path / "a.jsonl", "right", "wrong")
    path.write_text(path.read_text() * 2)
    assert (certify(folder, path).audited, certify(folder, path).wrong) == (2, 1)


def test_labels_of_a_release_whose_rows_have_changed_certify_no_other(
    published: Workspace, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path / "corpus", tmp_path / "out").fill_from(published)
    # of so many rows some are drawn from the new batch, whatever the ids of its rows are
    path = sampled(workspace.out / "releases", tmp_path / "a.jsonl", *["right"] * 100)
    workspace.write({"b2/zort.md": guide("zort")})
    assert workspace.run().code == OK
    assert release(workspace).code == OK
    assert invoke("audit", workspace.out / "releases", path).code == BAD_INPUT
    assert certify(workspace.out / "releases" / "1", path).audited == 100


def test_a_file_that_may_hold_labels_is_not_written_over(folder: Path, tmp_path: Path) -> None:
    path = sampled(folder, tmp_path / "a.jsonl", "right")
    assert invoke("audit", folder, path, "--rows", "3").code == BAD_INPUT
