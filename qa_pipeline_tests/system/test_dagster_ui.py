"""A person in Dagster's own UI: a new folder, its batch, its checks, an edit, and what the edit changed.

The UI has neither test ids nor stable classes, so what is looked for is what a person reads (Dagster 1.13).
"""

import re
from pathlib import Path

import dagster as dg
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from qa_pipeline.defs.corpus import CORPUS
from qa_pipeline.publishing.release import publish_release
from qa_pipeline_tests.defs.project import GUIDE, Project
from qa_pipeline_tests.end_to_end import invoke
from qa_pipeline_tests.system.browser import person
from qa_pipeline_tests.system.servers import LOCATION, Servers
from qa_pipeline_tests.system.test_backfill import ended

pytestmark = pytest.mark.slow

BLOCKING = ("conservation", "fabricated_citations", "pass_rate", "proof", "schema", "unique_ids")


@pytest.mark.timeout(3600)
def test_from_a_new_folder_over_its_checks_to_an_edit_that_changes_only_the_pairs_that_rest_on_it(
    browser: Browser, tmp_path: Path
) -> None:
    project, servers = Project(tmp_path, dg.DagsterInstance.ephemeral()), Servers(tmp_path)
    project.write("b1")
    project.write("b2", GUIDE.format(name="b2").replace("boiler", "tank").replace("10 minutes", "4 hours"))
    with servers.webserver(), servers.daemon(), person(browser, servers.address) as page:
        with dg.DagsterInstance.from_config(str(servers.home)) as instance:
            servers.wait(
                lambda: instance.get_materialized_partitions(CORPUS) == {"b1", "b2"},
                "ticks register the folders, and report their content once it has settled",
            )

        build_many(page, servers)
        servers.wait(
            lambda: sorted(servers.runs()) == ["b1", "b2"] and ended(servers.runs()), "both runs end"
        )
        assert servers.runs() == {"b1": ["SUCCESS"], "b2": ["SUCCESS"]}
        expect_passed_checks(page, servers)
        pairs = project.table("pairs", "b1")
        before = publish_release(project.resources).folder

        project.write("b1", GUIDE.format(name="b1").replace("10 minutes", "20 minutes"))
        servers.wait(lambda: bool(servers.stale("b1")), "the edited batch is stale")
        assert servers.stale("b2") == {}
        expect_stale(page, servers, "b1")

        materialize(page, servers, "b1")
        servers.wait(lambda: servers.runs()["b1"] == ["SUCCESS", "SUCCESS"], "the edited batch runs again")
        assert servers.runs()["b2"] == ["SUCCESS"]
        assert servers.stale("b1") == {}
        expect_rates_run_by_run(page, servers, "b1")

    after, table = publish_release(project.resources).folder, tmp_path / "differences.parquet"
    assert invoke("diff", before, after, "--table", table, "--out", tmp_path / "out").code == 0
    changed = pl.read_parquet(table)
    dependent = resting_on(pairs, "10 minutes") | resting_on(project.table("pairs", "b1"), "20 minutes")
    assert set(changed["change"]) == {"added", "retired"}
    assert set(changed["pair_id"]) <= dependent
    assert set(pairs["pair_id"]) - dependent <= set(project.table("pairs", "b1")["pair_id"])


def build_many(page: Page, servers: Servers) -> None:
    """Launch the job that builds all batches with the configuration that its launchpad shows."""
    page.goto(f"{servers.address}/locations/{LOCATION}/jobs/build_batches/playground")
    expect(page.get_by_text("force").first).to_be_visible()
    page.get_by_role("button", name="Launch Run").click()


def materialize(page: Page, servers: Servers, batch: str) -> None:
    """Launch the job that builds a batch, from the page of the job."""
    page.goto(f"{servers.address}/locations/{LOCATION}/jobs/build_batch")
    page.get_by_role("button", name="Materialize all").click()
    dialog = page.get_by_role("dialog").filter(has_text="Partition selection")
    dialog.get_by_text("Select a partition").click()
    page.get_by_role("menuitem", name=batch).click()
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name=re.compile("^Launch")).click()
    page.get_by_text("Launched run").wait_for()


def expect_passed_checks(page: Page, servers: Servers) -> None:
    """Expect the blocking checks of the ledger as passed, and names that set the others apart."""
    page.goto(f"{servers.address}/assets/verdicts?view=checks")
    for name in BLOCKING:
        check = page.locator("span", has=page.get_by_title(name, exact=True)).filter(has_text="Succeeded")
        expect(check.first).to_be_visible()
    expect(page.get_by_title("warns_yield", exact=True)).to_be_visible()


def expect_stale(page: Page, servers: Servers, batch: str) -> None:
    """Expect the page of a batch to say that what its documents were made from has changed."""
    page.goto(f"{servers.address}/assets/documents?view=partitions&partition={batch}")
    expect(page.get_by_text("Unsynced").first).to_be_visible()


def expect_rates_run_by_run(page: Page, servers: Servers, batch: str) -> None:
    """Expect the page of a batch to list its runs, this one and the one before."""
    page.goto(f"{servers.address}/assets/verdicts?view=partitions&partition={batch}")
    row = page.get_by_role("row").filter(has=page.get_by_text("over its runs", exact=True))
    expect(row.first).to_contain_text("this run")
    expect(row.first).to_contain_text("-")


def resting_on(pairs: pl.DataFrame, words: str) -> set[str]:
    """Return the pairs that use the chunk of an answer with these words."""
    used = pairs.explode("used_chunk_ids")
    chunks = used.filter(pl.col("answer").str.contains(words, literal=True))["used_chunk_ids"].unique()
    return set(used.filter(pl.col("used_chunk_ids").is_in(chunks.to_list()))["pair_id"])
