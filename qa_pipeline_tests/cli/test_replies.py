import json
from contextlib import closing
from pathlib import Path

import pytest

from qa_pipeline.cli.common import BAD_INPUT, OK
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.store import Outcome, Round, SqlReplyStore
from qa_pipeline.storage import Layout
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Road, invoke, walk
from qa_pipeline_tests.llm.store.asking import paid


@pytest.fixture
def road(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Road:
    walked = walk(tmp_path, monkeypatch)
    walked.write({"one/guide.md": GUIDE, "one/other.md": "# Other\n\nThe pump runs at 40 bar at most.\n"})
    walked.run()
    return walked


def ask(road: Road, *arguments: str) -> Ran:
    return invoke("replies", *arguments, "--out", road.out)


def replies_of(road: Road) -> int:
    told = json.loads(ask(road, "size", "--json").stdout)
    return sum(share["rows"] for share in told["replies"])


def add_failure(road: Road) -> None:
    store = SqlReplyStore(Database(Layout(road.out).replies))
    store.write(Round(paid=[paid(("gemini/[x]", "f" * 64), Outcome("truncated", "cut", detail="cut"))]))
    store.close()


def test_the_size_is_told_by_model_role_and_age(road: Road) -> None:
    add_failure(road)
    shown = ask(road, "size")
    assert shown.code == OK
    for part in ("extractive/", "gemini/[x]", "questions", "failures", "a day", "replies.sqlite", "on disk"):
        assert part in shown.stdout


def test_a_model_is_shown_by_its_whole_name_which_prune_takes(road: Road) -> None:
    add_failure(road)
    name = "gemini/" + "x" * 50
    with closing(Database(Layout(road.out).replies)) as database:
        store = SqlReplyStore(database)
        store.write(Round(paid=[paid((name, "k"), Outcome("replied", "r", '"x"'))]))
        store.close()
    assert name in ask(road, "size").stdout
    assert ask(road, "prune", "--model", name).code == OK


def test_pruning_says_what_would_go_and_goes_only_when_told(road: Road) -> None:
    add_failure(road)
    before = replies_of(road)
    shown = ask(road, "prune", "--failures")
    assert (shown.code, replies_of(road)) == (OK, before)
    assert "1 replies would be deleted; add --yes to do it" in shown.stdout
    assert "1 replies are deleted" in ask(road, "prune", "--failures", "--yes").stdout
    assert replies_of(road) == before - 1
    assert "0 replies would be deleted" in ask(road, "prune", "--older-than", "90d").stdout


def test_failures_are_asked_again_after_retry_failures(road: Road) -> None:
    add_failure(road)
    assert "1 replies are deleted" in ask(road, "retry-failures", "--yes").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("prune",), "say which replies to prune: --older-than, --model or --failures"),
        (("prune", "--older-than", "soon"), "write hours, days or weeks as 12h, 90d or 4w"),
        (("forget", "nothing.md"), "no document is called 'nothing.md'"),
    ],
)
def test_what_cannot_be_done_is_told(road: Road, arguments: tuple[str, ...], told: str) -> None:
    shown = ask(road, *arguments)
    assert shown.code == BAD_INPUT
    assert told in shown.stderr


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    shown = invoke("replies", "size", "--out", tmp_path / "none")
    assert shown.code == BAD_INPUT
    assert "name the folder of a run with --out, or set llm.store.url" in shown.stderr


def test_forgetting_a_document_takes_its_replies_and_those_of_its_earlier_versions(road: Road) -> None:
    first = replies_of(road)
    road.write({"one/guide.md": GUIDE.replace("10 minutes", "20 minutes")})
    road.run()
    assert replies_of(road) > first
    shown = ask(road, "forget", "guide.md")
    assert shown.code == OK
    assert "guide.md (known versions: 2)" in shown.stdout
    left = replies_of(road)
    ask(road, "forget", "one/other.md")
    assert 0 < left < first
    assert replies_of(road) == 0


def test_forgetting_a_document_names_the_decisions_that_may_repeat_it(road: Road) -> None:
    replies_of(road)
    assert "decisions" not in ask(road, "forget", "guide.md").stdout
    (road.out / "decisions").mkdir()
    (road.out / "decisions" / "one.jsonl").touch()

    shown = ask(road, "forget", "guide.md")

    assert "People's decisions about one stay in" in shown.stdout


def test_a_document_that_is_gone_can_still_be_forgotten(road: Road) -> None:
    (road.corpus / "one" / "guide.md").unlink()
    road.run()
    before = replies_of(road)
    shown = ask(road, "forget", "one/guide.md")
    assert (shown.code, "(known versions: 1)" in shown.stdout) == (OK, True)
    assert replies_of(road) < before
