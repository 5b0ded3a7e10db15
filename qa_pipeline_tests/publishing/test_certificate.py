import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.errors import InputError, ReleaseError
from qa_pipeline.publishing.card import write_card
from qa_pipeline.publishing.certificate import (
    certificate_of,
    draw_sample,
    hold_to,
    in_words,
    read_audits,
    unsettled,
)
from qa_pipeline.publishing.manifest import Certificate, read_manifest, release_folder, write_manifest
from qa_pipeline.publishing.verify import verify_release
from qa_pipeline.statistics import further_trials_needed, upper_bound
from qa_pipeline_tests.end_to_end import Ran, Workspace, invoke
from qa_pipeline_tests.publishing.plants import release

Labels = dict[str, str | None]


def frame(ids: Sequence[str], thresholds: str = "t1", language: str = "en") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "pair_id": list(ids),
            "language": [language] * len(ids),
            "question_type": [("summary", "table")[n % 2] for n in range(len(ids))],
            "provenance": [{"thresholds_id": thresholds}] * len(ids),
        }
    )


IDS = [f"{n:04}" for n in range(400)]


def lots(ids: Sequence[str], seed: str) -> list[str]:
    return sorted(ids, key=lambda one: hashlib.sha256(f"{seed}\x1f{one}".encode()).hexdigest())


def audit_file(path: Path, labels: Labels, seed: str, sample: int, thresholds: str = "t1") -> Path:
    lines = [
        {"pair_id": one, "label": label, "seed": seed, "sample": sample, "thresholds": thresholds,
            "language": "en", "question_type": "summary"}
        for one, label in labels.items()
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def drawn(path: Path, sample: int, wrong: Sequence[int] = (), seed: str = "s") -> Path:
    """A file whose rows are right, but those at these places."""
    first = lots(IDS, seed)[:sample]
    return audit_file(
        path, {one: "wrong" if place in wrong else "right" for place, one in enumerate(first)}, seed, sample
    )


def certified(files: Sequence[Path], *batches: pl.DataFrame) -> Certificate:
    found = certificate_of(read_audits(files), batches or (frame(IDS[:150]), frame(IDS[150:])))
    assert found is not None
    return found


def test_a_sample_all_of_whose_rows_are_labelled_bounds_the_share_of_wrong_rows(tmp_path: Path) -> None:
    found = certified([drawn(tmp_path / "a", 149)])
    assert (found.rows, found.at_most) == (400, upper_bound(0, 149))
    assert found.confidence == pytest.approx(0.95)
    assert unsettled(found, 0.02) is None
    hold_to(found, 0.02)
    assert [one.part for one in found.parts] == [
        "all", "language en", "question_type summary", "question_type table",
    ]  # fmt: skip


def test_rows_nobody_is_sure_of_count_as_wrong(tmp_path: Path) -> None:
    first = lots(IDS, "s")[:20]
    labels: Labels = {**dict.fromkeys(first, "right"), first[3]: "unsure", first[5]: "wrong"}
    found = certified([audit_file(tmp_path / "a", labels, "s", 20)])
    assert found.at_most == upper_bound(2, 20)


def test_the_order_and_number_of_batches_does_not_matter(tmp_path: Path) -> None:
    file = drawn(tmp_path / "a", 60, wrong=[4])
    whole, parted = certified([file], frame(IDS)), certified([file], frame(IDS[300:]), frame(IDS[:300]))
    assert whole.looks == parted.looks


def test_a_row_of_the_sample_without_a_label_is_counted_and_nothing_is_certified(tmp_path: Path) -> None:
    first = lots(IDS, "s")[:149]
    labels: Labels = dict.fromkeys(first, "right") | dict.fromkeys(first[7:9])
    del labels[first[100]]
    found = certified([audit_file(tmp_path / "a", labels, "s", 149)])
    assert (found.best, found.at_most, found.parts) == (None, None, ())
    said = "3 of 149 rows of the sample have no label; qa-pipeline audit sample 149 --seed s draws them"
    assert said in " ".join(in_words(found))
    with pytest.raises(ReleaseError, match="3 of 149 rows"):
        hold_to(found, 0.5)


def test_rows_that_are_new_must_be_labelled_too_and_right_ones_that_are_gone_do_not_matter(
    tmp_path: Path,
) -> None:
    file = drawn(tmp_path / "a", 100)
    found = certified([file], frame(IDS), frame([f"n{n}" for n in range(100)]))
    look = found.looks[0]
    assert (found.best, look.removed) == (None, 0)
    assert 0 < 100 - look.labelled < 50
    less = certified([file], frame(lots(IDS, "s")[10:]))
    assert (less.best, less.looks[0].removed, less.looks[0].labelled) == (None, 10, 90)


def test_to_remove_the_wrong_rows_that_were_found_does_not_better_the_bound(tmp_path: Path) -> None:
    """Of 400 rows 10 % are wrong; the sample finds some, they are removed, and others take their places."""
    order = lots(IDS, "s")
    found_wrong = order[:100:10]
    labels: Labels = {one: "wrong" if one in found_wrong else "right" for one in order[:110]}
    file = audit_file(tmp_path / "a", labels, "s", 100)
    before = certified([audit_file(tmp_path / "b", dict(list(labels.items())[:100]), "s", 100)])
    after = certified([file], frame([one for one in IDS if one not in found_wrong]))
    assert after.looks[0].gone_wrong == len(found_wrong)
    assert after.at_most is not None
    assert after.at_most == before.at_most == upper_bound(10, 100)


def test_rows_decided_anew_need_another_sample(tmp_path: Path) -> None:
    file = drawn(tmp_path / "a", 100)
    found = certified([file], frame(IDS[:200]), frame(IDS[200:], "t2"))
    assert found.best is None
    assert "decided by other thresholds" in " ".join(in_words(found))


def test_each_look_widens_every_bound_and_the_best_is_given(tmp_path: Path) -> None:
    files = [
        drawn(tmp_path / "a", 60, [1, 2], "one"),
        drawn(tmp_path / "b", 90, [], "two"),
        drawn(tmp_path / "c", 80, [1], "two"),
    ]
    with pytest.raises(InputError, match="agree on one"):
        certified(files)
    files[2] = drawn(tmp_path / "c", 40, [], "two")
    found = certified(files)
    assert len(found.looks) == 3
    assert found.confidence == pytest.approx(1 - 0.05 / 3)
    assert found.at_most == upper_bound(0, 90, 1 - 0.05 / 3)
    assert "3 samples were looked at" in " ".join(in_words(found))


def test_a_sample_of_all_rows_leaves_nothing_to_chance(tmp_path: Path) -> None:
    ids = IDS[:30]
    labels: Labels = {**dict.fromkeys(ids, "right"), ids[4]: "wrong"}
    found = certified([audit_file(tmp_path / "a", labels, "s", 500)], frame(ids))
    assert found.at_most == pytest.approx(1 / 30)
    assert "of all 30 rows 1 are known not to be right" in str(unsettled(found, 0.02))


def test_what_would_settle_it_counts_the_further_look_and_the_rows_there_are(tmp_path: Path) -> None:
    found = certified([drawn(tmp_path / "a", 60)])
    more = further_trials_needed(0, 60, 0.02, 0.975)
    assert f"{more} more rows, all of them right, would settle it" in str(unsettled(found, 0.02))
    assert f"audit sample {60 + more} --seed s" in str(unsettled(found, 0.02))
    small = certified([audit_file(tmp_path / "b", dict.fromkeys(lots(IDS[:70], "s")[:60], "right"), "s", 60)],
        frame(IDS[:70]))  # fmt: skip
    assert "10 more rows" in str(unsettled(small, 0.02))
    with pytest.raises(ReleaseError, match=r"149 rows, all of them right, would settle it"):
        hold_to(None, 0.02)


@pytest.mark.parametrize("mended", [False, True], ids=["as it is", "wrong rows that were found removed"])
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_the_bound_covers_the_true_share_in_95_of_100_draws(
    tmp_path: Path, share: float, *, mended: bool
) -> None:
    """Also where wrong rows that an audit found are removed, and the rows in their places audited."""
    random = np.random.default_rng(7)
    covered = []
    for draw in range(200):
        ids = [f"{draw}-{n}" for n in range(400)]
        wrong = set(random.choice(ids, int(share * 400), replace=False))
        order = lots(ids, "s")
        gone = {one for one in order[:60] if one in wrong} if mended else set()
        labels: Labels = {one: "wrong" if one in wrong else "right" for one in order[: 60 + len(gone)]}
        left = frame([one for one in ids if one not in gone])
        at_most = certified([audit_file(tmp_path / "a", labels, "s", 60)], left).at_most
        assert at_most is not None
        covered.append(at_most >= len(wrong - gone) / left.height)
    assert np.mean(covered) >= 0.95


def test_a_larger_sample_holds_the_smaller_one_and_another_seed_draws_others(published: Workspace) -> None:
    folder = release_folder(published.out / "releases")
    small, large, other = (
        set(draw_sample(folder, count, seed)["pair_id"]) for count, seed in ((5, None), (20, None), (5, "1"))
    )
    assert (len(small), len(large)) == (5, 20)
    assert small < large
    assert small != other
    assert draw_sample(folder, 10**6)["sample"].unique().to_list() == [10**6]


def sampled(published: Workspace, folder: Path, *labels: str | None) -> Path:
    """An audit file with these labels."""
    path = folder / "audit.jsonl"
    assert invoke("audit", "sample", published.out / "releases", str(len(labels)), "--to", path).code == OK
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(row["quotes"] and row["label"] is None and row["release"] == 1 for row in rows)
    for row, label in zip(rows, labels, strict=True):
        row["label"] = label
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def certify(published: Workspace, *arguments: str | Path) -> Ran:
    return invoke("audit", "certify", published.out / "releases", *arguments)


def test_labels_bound_the_share_of_wrong_rows_of_a_published_release(
    published: Workspace, tmp_path: Path
) -> None:
    path = sampled(published, tmp_path, *["right"] * 18, "wrong", "unsure")
    ran = certify(published, path, "--json", "--max-error", "0.02")
    assert ran.code == FAILED
    said = json.loads(ran.stdout)
    whole = said["parts"][0]
    assert (whole["audited"], whole["wrong"], whole["unsure"]) == (20, 1, 1)
    assert whole["at_most"] == said["at_most"] == pytest.approx(upper_bound(2, 20))
    assert certify(published, path, "--max-error", "0.5").code == OK
    assert "would settle it" in certify(published, path, "--max-error", "0.02").stdout


def test_rows_that_are_labelled_are_not_drawn_again(published: Workspace, tmp_path: Path) -> None:
    path = sampled(published, tmp_path, "right", None, "right")
    assert certify(published, path).code == FAILED
    rest = tmp_path / "rest.jsonl"
    options = ("--to", rest, "--labelled", path)
    assert invoke("audit", "sample", published.out / "releases", "3", *options).code == OK
    assert len(rest.read_text().splitlines()) == 1
    rest.write_text(rest.read_text().replace('"label": null', '"label": "right"'))
    ran = certify(published, path, rest, "--json")
    assert (ran.code, json.loads(ran.stdout)["parts"][0]["audited"]) == (OK, 3)


Change = Callable[[list[str]], list[str]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [*lines, lines[0].replace('"right"', '"wrong"')], "is wrong here and right in"),
        (lambda lines: [one.replace('"pair_id": "', '"pair_id": "x') for one in lines], "is in the release"),
        (lambda lines: [*lines, "{"], "line 4: not JSON"),
        (lambda lines: [*lines, "[]"], "line 4: it cannot be used"),
        (lambda lines: [lines[0].replace('"right"', '"good"')], "line 1: label cannot be used"),
        (lambda lines: [lines[0].replace('"seed"', '"seeds"')], "line 1: seed cannot be used"),
        (lambda lines: [lines[0].replace('"sample"', '"samples"')], "line 1: sample cannot be used"),
        (lambda lines: [line.replace('"right"', "null") for line in lines], "has no label"),
        (lambda lines: [], "has no label"),
    ],
    ids=["conflict", "unknown", "no JSON", "no object", "other label", "no seed", "no size", "none", "empty"],
)  # fmt: skip
def test_labels_that_cannot_be_used_are_named(
    published: Workspace, tmp_path: Path, change: Change, said: str
) -> None:
    path = sampled(published, tmp_path, "right", "right", "right")
    path.write_text("\n".join(change(path.read_text().splitlines())))
    ran = certify(published, path)
    assert (ran.code, said in ran.stderr) == (BAD_INPUT, True), ran.stderr


def test_a_file_that_is_not_there_is_named(published: Workspace, tmp_path: Path) -> None:
    ran = certify(published, tmp_path / "no.jsonl")
    assert (ran.code, "no.jsonl cannot be read: No such file" in ran.stderr) == (BAD_INPUT, True)
    (tmp_path / "latin.jsonl").write_bytes("{å}".encode("latin-1"))
    assert "latin.jsonl is not UTF-8" in certify(published, tmp_path / "latin.jsonl").stderr


def test_labelled_rows_that_the_release_does_not_have_are_counted(
    published: Workspace, tmp_path: Path
) -> None:
    path = sampled(published, tmp_path, "right", "right")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[0].replace('"pair_id": "', '"pair_id": "x')]))
    ran = certify(published, path)
    assert (ran.code, "1 labelled rows" in ran.stdout, "are not in the release" in ran.stdout) == (
        OK, True, True,
    )  # fmt: skip


def test_a_row_labelled_twice_alike_counts_once(published: Workspace, tmp_path: Path) -> None:
    path = sampled(published, tmp_path, "right", "right")
    path.write_text(path.read_text() * 2)
    assert json.loads(certify(published, path, "--json").stdout)["parts"][0]["audited"] == 2


def test_a_file_that_may_hold_labels_is_not_written_over(published: Workspace, tmp_path: Path) -> None:
    path = sampled(published, tmp_path, "right")
    ran = invoke("audit", "sample", published.out / "releases", "3", "--to", path)
    assert (ran.code, "may hold labels" in ran.stderr) == (BAD_INPUT, True)


def test_a_release_above_its_bound_or_without_an_audit_is_not_published(republished: Workspace) -> None:
    for options, said in (
        (("--max-error", "0.02"), "nobody has audited the release; 149 rows"),
        (
            ("--max-error", "0.1", "--audit", sampled(republished, republished.out, *["right"] * 20)),
            "would settle it",
        ),
    ):
        ran = release(republished, *map(str, options))
        assert (ran.code, said in ran.stderr) == (BAD_INPUT, True), ran.stderr
        assert sorted(one.name for one in (republished.out / "releases").iterdir()) == [
            ".lock",
            "1",
            "latest.json",
        ]


def test_the_certificate_is_in_the_manifest_and_the_card(republished: Workspace) -> None:
    file = sampled(republished, republished.out, *["right"] * 29, "unsure")
    assert release(republished, "--max-error", "0.2", "--audit", str(file)).code == OK
    folder = release_folder(republished.out / "releases")
    certificate = read_manifest(folder).certificate
    assert certificate is not None
    assert certificate.at_most == upper_bound(1, 30)
    card = (folder / "README.md").read_text()
    assert f"at most {upper_bound(1, 30):.2%} of the" in card
    assert "Not audited" not in card
    assert str(file) not in card
    assert str(file) not in (folder / "manifest.json").read_text()
    assert invoke("verify", folder).code == OK
    assert "Nothing has changed" in release(republished, "--max-error", "0.2", "--audit", str(file)).stdout


def fewer_wrong(certificate: Certificate) -> Certificate:
    return certificate.model_copy(update={"looks": (certificate.looks[0].model_copy(update={"unsure": 0}),)})


def fewer_labelled(certificate: Certificate) -> Certificate:
    return certificate.model_copy(
        update={"looks": (certificate.looks[0].model_copy(update={"labelled": 28}),)}
    )


def lower_bound_of_a_part(certificate: Certificate) -> Certificate:
    return certificate.model_copy(
        update={"parts": (certificate.parts[0].model_copy(update={"at_most": 0.001}),)}
    )


def other_confidence(certificate: Certificate) -> Certificate:
    return certificate.model_copy(update={"confidence": 0.9})


@pytest.mark.parametrize("tamper", [fewer_wrong, fewer_labelled, lower_bound_of_a_part, other_confidence])
def test_a_certificate_that_does_not_follow_from_the_labels_is_found(
    republished: Workspace, tamper: Callable[[Certificate], Certificate]
) -> None:
    file = sampled(republished, republished.out, *["right"] * 29, "unsure")
    assert release(republished, "--audit", str(file)).code == OK
    folder = release_folder(republished.out / "releases")
    manifest = read_manifest(folder)
    assert manifest.certificate is not None
    altered = manifest.model_copy(update={"certificate": tamper(manifest.certificate)})
    write_manifest(folder, write_card(folder, altered))
    problems = {check.name: check.problems for check in verify_release(folder)}
    assert problems["audit"] == ("the certificate is not what the labels in audit.parquet show",)
    assert not problems["card"]


def test_a_certificate_without_labels_is_found(republished: Workspace) -> None:
    folder = release_folder(republished.out / "releases")
    manifest = read_manifest(folder)
    certificate = Certificate(rows=400, confidence=0.95, looks=(), best=None, parts=())
    altered = manifest.model_copy(update={"certificate": certificate})
    write_manifest(folder, write_card(folder, altered))
    problems = {check.name: check.problems for check in verify_release(folder)}
    assert problems["files"] == ("audit.parquet is not named in manifest.json",)
