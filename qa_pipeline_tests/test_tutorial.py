"""The tutorial is true: its commands run in their order, and print what it quotes."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from qa_pipeline_tests.support.page_blocks import blocks, missing_lines, run_block
from qa_pipeline_tests.support.plain_environment import block_extras, named_installs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


@pytest.mark.timeout(3600)
def test_the_tutorial_runs_in_a_plain_environment_and_prints_what_it_quotes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "data" / "corpora", tmp_path / "data" / "corpora")
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    block_extras(tmp_path / "plain", ROOT, named_installs(PAGE))
    printed, wrong, losses = "", [], []
    for reason, language, text in blocks(PAGE):
        if reason:
            continue
        if language == "text":
            wrong += missing_lines(text, printed)
        else:
            printed = run_block(
                language, text, tmp_path, Path(sys.executable), ROOT, hiding=tmp_path / "plain"
            )
            losses += re.findall(r"held-out loss before ([\d.]+), after ([\d.]+)", printed)
    assert wrong == []
    ((before, after),) = losses
    assert float(after) < float(before)


def test_each_block_that_is_not_run_says_why_to_readers_too() -> None:
    skipped = [language for reason, language, _ in blocks(PAGE) if reason]
    assert PAGE.count("(The test does not run") == 2
    assert len(skipped) == 3
    languages = [language for reason, language, _ in blocks(PAGE) if not reason]
    assert {*languages} == {"bash", "python", "text"}
    assert languages.count("text") >= 10


def test_no_other_page_quotes_an_output_that_no_test_compares() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    quoting = [
        page.name
        for page in pages
        if any(language == "text" for _, language, _ in blocks(page.read_text(encoding="utf-8")))
    ]
    assert quoting == ["tutorial.md"]
