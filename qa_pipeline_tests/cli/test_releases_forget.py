import json
from contextlib import closing

import pytest
import sqlalchemy as sa

from qa_pipeline.cli.exit_codes import BAD_INPUT, OK
from qa_pipeline.llm.reply_database import REPLIES, Database
from qa_pipeline.llm.reply_store import documents_named
from qa_pipeline.storage.files import locked
from qa_pipeline.storage.layout import Layout
from qa_pipeline_tests.end_to_end import GUIDE, Workspace, invoke

OTHER = "# Other\n\nThe pump runs at 40 bar at most.\n"


@pytest.fixture
def workspace(finished_workspace: Workspace) -> Workspace:
    return finished_workspace


def replies_of(workspace: Workspace) -> int:
    with closing(Database(Layout(workspace.out).replies)) as database:
        return database.read(lambda connection: len(connection.execute(sa.select(REPLIES)).all()))


def test_replies_about_a_document_and_its_earlier_versions_are_deleted(workspace: Workspace) -> None:
    first = replies_of(workspace)
    workspace.write({"b/guide.md": GUIDE.replace("10 minutes", "20 minutes"), "b/other.md": OTHER})
    workspace.run()
    assert replies_of(workspace) > first
    assert invoke("forget", "guide.md", "--out", workspace.out, "--yes").code == OK
    assert 0 < replies_of(workspace) <= first
    invoke("forget", "b/other.md", "--out", workspace.out, "--yes")
    assert replies_of(workspace) == 0
    with closing(Database(Layout(workspace.out).replies)) as database:
        assert documents_named(database, "guide.md") == []


def test_replies_about_a_document_that_no_table_has_any_more_are_deleted(workspace: Workspace) -> None:
    workspace.write({"b/other.md": OTHER})
    (workspace.corpus / "b" / "guide.md").unlink()
    workspace.run()
    before = replies_of(workspace)
    ran = invoke("forget", "b/guide.md", "--out", workspace.out, "--yes", "--json")
    assert (ran.code, json.loads(ran.stdout)["documents"]) == (OK, [])
    assert json.loads(ran.stdout)["replies"] == before - replies_of(workspace) > 0


def test_a_document_nobody_knows_is_reported(workspace: Workspace) -> None:
    ran = invoke("forget", "giude.md", "--out", workspace.out, "--yes")
    assert (ran.code, "giude.md" in ran.stderr) == (BAD_INPUT, True)
    assert invoke("forget", "x", "--out", workspace.out / "none").code == BAD_INPUT
    assert not (workspace.out / "none").exists()


def test_a_folder_without_stored_replies_can_forget_too(workspace: Workspace) -> None:
    Layout(workspace.out).replies.unlink()
    ran = invoke("forget", "guide.md", "--out", workspace.out, "--yes")
    assert (ran.code, "replies: 0" in ran.stdout) == (OK, True)
    assert not Layout(workspace.out).table("documents", "b").exists()


def test_nothing_is_forgotten_while_a_run_works_on_the_folder_and_could_bring_it_back(
    workspace: Workspace,
) -> None:
    before = workspace.contents()
    with locked(workspace.out, shared=True):
        ran = invoke("forget", "b/guide.md", "--out", workspace.out, "--yes")
    assert (ran.code, str(workspace.out) in ran.stderr) == (BAD_INPUT, True)
    assert workspace.contents() == before
    with locked(workspace.out):
        assert workspace.run().code == BAD_INPUT
    assert invoke("forget", "b/guide.md", "--out", workspace.out, "--yes").code == OK
