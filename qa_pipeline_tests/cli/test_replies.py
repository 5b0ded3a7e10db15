import json
from contextlib import closing
from pathlib import Path

import pytest

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.store import Outcome, SqlReplyStore
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import GUIDE, Ran, Workspace, invoke, new_workspace
from qa_pipeline_tests.llm.store.outcomes import paid


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    walked = new_workspace(tmp_path, monkeypatch)
    walked.write({"one/guide.md": GUIDE, "one/other.md": "# Other\n\nThe pump runs at 40 bar at most.\n"})
    walked.run()
    return walked


def ask(workspace: Workspace, *arguments: str) -> Ran:
    return invoke("replies", *arguments, "--out", workspace.out)


def replies_of(workspace: Workspace) -> int:
    told = json.loads(ask(workspace, "size", "--json").stdout)
    return sum(share["rows"] for share in told["replies"])


def add_failure(workspace: Workspace) -> None:
    store = SqlReplyStore(Database(Layout(workspace.out).replies))
    store.put(paid(("gemini/[x]", "f" * 64), Outcome("truncated", "cut", detail="cut")))
    store.close()


def test_the_size_is_reported_by_model_role_and_age(workspace: Workspace) -> None:
    add_failure(workspace)
    shown = ask(workspace, "size")
    assert shown.code == OK
    for part in ("extractive/", "gemini/[x]", "questions", "failures", "a day", "replies.sqlite", "on disk"):
        assert part in shown.stdout


def test_a_model_is_shown_by_its_whole_name_which_prune_takes(workspace: Workspace) -> None:
    add_failure(workspace)
    name = "gemini/" + "x" * 50
    with closing(Database(Layout(workspace.out).replies)) as database:
        store = SqlReplyStore(database)
        store.put(paid((name, "k"), Outcome("replied", "r", '"x"')))
        store.close()
    assert name in ask(workspace, "size").stdout
    assert ask(workspace, "prune", "--model", name).code == OK


def test_pruning_says_what_would_go_and_goes_only_when_told(workspace: Workspace) -> None:
    add_failure(workspace)
    before = replies_of(workspace)
    shown = ask(workspace, "prune", "--failures")
    assert (shown.code, replies_of(workspace)) == (OK, before)
    assert "1 replies would be deleted; add --yes to do it" in shown.stdout
    assert "1 replies are deleted" in ask(workspace, "prune", "--failures", "--yes").stdout
    assert replies_of(workspace) == before - 1
    assert "0 replies would be deleted" in ask(workspace, "prune", "--older-than", "90d").stdout


def test_failures_are_asked_again_after_retry_failures(workspace: Workspace) -> None:
    add_failure(workspace)
    assert "1 replies are deleted" in ask(workspace, "retry-failures", "--yes").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("prune",), "say which replies to prune: --older-than, --model or --failures"),
        (("prune", "--older-than", "soon"), "write hours, days or weeks as 12h, 90d or 4w"),
    ],
)
def test_what_cannot_be_done_is_reported(workspace: Workspace, arguments: tuple[str, ...], told: str) -> None:
    shown = ask(workspace, *arguments)
    assert shown.code == BAD_INPUT
    assert told in shown.stderr


def test_a_folder_without_a_run_is_reported(tmp_path: Path) -> None:
    shown = invoke("replies", "size", "--out", tmp_path / "none")
    assert shown.code == BAD_INPUT
    assert "name the folder of a run with --out, or set llm.store.url" in shown.stderr
