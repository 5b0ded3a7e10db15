"""Commands of README and docs exist, those of the README run, and its example row is what a run writes."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main
from typer.core import TyperGroup

from qa_pipeline.cli.app import app
from qa_pipeline.cli.exit_codes import FAILED, OK
from qa_pipeline_tests.documents.builders import pdf_bytes
from qa_pipeline_tests.end_to_end import GUIDE, Files, Workspace, invoke, new_workspace
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.support.servers import GeminiServer

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [README, *(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))]


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of every fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def shell_lines(text: str) -> list[str]:
    """Lines of the blocks that are typed into a shell."""
    shells = [block for language, block in blocks(text) if language in ("", "bash")]
    return [line.strip() for block in shells for line in block.splitlines()]


LINES = [line for page in PAGES for line in shell_lines(page)]
PROSE = re.sub(r"^```.*?^```$", "", "\n".join(PAGES), flags=re.DOTALL | re.MULTILINE)
INLINE = re.findall(r"`((?:qa-pipeline|make) [^`]+)`", PROSE)
PAIR: dict[str, object] = {
    "question": "What is a residual-current device?",
    "answer": "A residual-current device is a switch that cuts the power when current leaks to earth.",
    "citations": ["[source:guide.md]"],
}
RUN_HERE = ("run", "validate", "estimate", "status", "show")
"""Commands that a small corpus is enough for; the others are only parsed."""


def words(line: str) -> list[str]:
    """A command without its comment, and without what is done with its output."""
    split = shlex.split(line, comments=True)
    end = next((place for place, word in enumerate(split) if word in (">", "|", "&")), len(split))
    return split[:end]


def commands(lines: list[str]) -> list[list[str]]:
    """The arguments of every call of qa-pipeline."""
    return [words(line)[1:] for line in lines if line.startswith("qa-pipeline ")]


COMMANDS = commands(LINES)
OF_README = commands(shell_lines(README))
MENTIONED = [words(line)[1:] for line in INLINE if line.startswith("qa-pipeline ")]
NAMED = [one if len(one) > 1 else [*one, "--help"] for one in MENTIONED]
TARGETS = [words(line)[1] for line in (*LINES, *INLINE) if line.startswith("make ")]


def parse(command: Any, arguments: list[str]) -> None:
    """Parse a command down to its last group, without running it."""
    context = command.make_context("qa-pipeline", list(arguments))
    if isinstance(command, TyperGroup):
        rest = [*context._protected_args, *context.args]
        _, below, rest = command.resolve_command(context, rest)
        assert below is not None
        parse(below, rest)


@pytest.mark.parametrize("arguments", [*COMMANDS, *NAMED], ids=" ".join)
def test_every_command_of_readme_and_docs_is_one(arguments: list[str]) -> None:
    if "--help" in arguments or "--version" in arguments:
        assert invoke(*arguments).code == OK
    else:
        parse(typer.main.get_command(app), arguments)


def test_the_readme_shows_the_commands_a_new_user_needs() -> None:
    assert {"run", "status", "show", "validate", "estimate"} <= {one[0] for one in COMMANDS}


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_of_make_in_readme_and_docs_exists(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace in the working folder."""
    monkeypatch.chdir(tmp_path)
    return new_workspace(tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_commands_of_the_readme_run_one_after_the_other(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "To drain the boiler of the Kestrel 4, open the lower valve and wait 10 minutes."
    manuals: Files = {
        "manuals/guide.md": GUIDE,
        "manuals/guide.pdf": pdf_bytes(text),
        "contracts-2024/a.md": GUIDE,
    }
    workspace.write(manuals)
    workspace.corpus.rename("mycorpus")
    Path("pairs.jsonl").write_text(json.dumps(PAIR), encoding="utf-8")
    with GeminiServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
        monkeypatch.setenv("QA_PIPELINE_LLM__BASE_URL", server.url)
        for command in [one for one in OF_README if one[0] in RUN_HERE and "ollama" not in one]:
            # in tokens: nobody knows the price of the test's own server
            capped = " ".join(command).replace("--max-cost ", "--set llm.budget.max_tokens=900000").split()
            ran = invoke(*capped)
            assert ran.code == OK, f"{' '.join(command)}: {ran.stderr}{ran.stdout}"


PREPARED: dict[str, list[dict[str, object]]] = {
    "pairs.jsonl": [PAIR],
    "answers.jsonl": [
        {
            "id": f"q{number}",
            "query": PAIR["question"],
            "answer": PAIR["answer"],
            "contexts": [PAIR["answer"]],
        }
        for number in range(3)
    ],
    "labelled.jsonl": [
        {
            "language": "en",
            "question": "When does it open?",
            "context": ["It opens at 3 bar."],
            "answer": answer,
        }
        | {"id": f"a{label}", "group_id": f"g{label}", "label": label}
        for label, answer in enumerate(("It opens at 4 bar.", "It opens at 3 bar."))
    ],
    "ratings.jsonl": [
        {"id": "q1", "annotator": annotator, "rating": "supported"} for annotator in ("anna", "ben", "eve")
    ],
    "golden.jsonl": [{"id": "q1", "query": PAIR["question"], "criteria": {"faithfulness": 0.95}}],
}
RUN_PAGES = ("documents", "questions", "review", "releases", "evaluation", "configuration", "models")
NEEDS_MORE = ("s3://", "hf://", "--provider", "--scorer model", "calibrate --data", "qa-pipeline review")
"""Parts of commands that need a store, a model or a browser, which other tests start."""


FILLED = {
    "labels.jsonl": {"rating": "good", "annotator": "anna"},
    "review.csv": {"decision": "rejected", "who": "anna"},
    "mydata/audits/1.jsonl": {"label": "right", "annotator": "anna"},
}
"""Columns that a person fills before the next command."""


def fill(file: Path, **values: str) -> None:
    """Fill empty columns of a CSV or JSON lines file, as a person would."""
    rows = pl.read_csv(file) if file.suffix == ".csv" else pl.read_ndjson(file)
    filled = rows.with_columns(pl.lit(value).alias(name) for name, value in values.items())
    filled.write_csv(file) if file.suffix == ".csv" else filled.write_ndjson(file)


@pytest.mark.slow
def test_the_commands_of_the_pages_run_one_after_the_other(workspace: Workspace) -> None:
    letter = pdf_bytes("A dog is an animal.")
    workspace.write({"manuals/guide.md": GUIDE, "hr/letter.pdf": letter, "hr/plan.md": "A plan has steps."})
    shutil.copytree(ROOT / "data" / "corpora" / "vattenverk-sv", workspace.corpus / "vattenverk-sv")
    workspace.corpus.rename("mycorpus")
    for name, rows in PREPARED.items():
        Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    Path("exports").mkdir()
    shutil.copy("answers.jsonl", "exports")
    assert invoke("run", "mycorpus", "--out", "mydata").code == OK
    for report in ("before", "after"):
        assert invoke("eval", "run", "answers.jsonl", "--out", report).code == OK
    for page in RUN_PAGES:
        for line in shell_lines((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")):
            if not line.startswith("qa-pipeline ") or any(part in line for part in NEEDS_MORE):
                continue
            command = words(line)[1:]
            for file, values in FILLED.items():
                if file in command and Path(file).exists():
                    fill(Path(file), **values)
            ran = invoke(*command)
            is_small = command[0] == "audit" and "--rows" not in command  # too few rows for the bound
            assert ran.code == (FAILED if is_small else OK), f"{line}: {ran.stderr}{ran.stdout}"


@pytest.mark.slow
def test_the_example_row_of_the_readme_is_one_that_a_run_writes(workspace: Workspace) -> None:
    (shown,) = [json.loads(block) for language, block in blocks(README) if language == "json"]
    shutil.copytree(ROOT / "data" / "corpora" / "heat-pumps-en", workspace.corpus / "heat-pumps-en")
    assert workspace.run().code == OK
    lines = (workspace.out / "exports" / "passed" / "heat-pumps-en.jsonl").read_text("utf-8").splitlines()
    (written,) = [row for row in map(json.loads, lines) if row["question"] == shown["question"]]
    assert shown == shortened(written, shown)


def shortened(written: Any, shown: Any) -> Any:
    """The parts of a row that are shown of it."""
    if isinstance(shown, dict):
        return {name: shortened(written[name], value) for name, value in shown.items()}
    if isinstance(shown, list):
        return [shortened(one, value) for one, value in zip(written, shown, strict=True)]
    return written


def test_make_says_which_python_is_needed_before_anything_is_installed(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" || exit 1\n')
    old.chmod(0o755)
    made = subprocess.run(
        ["make", "install", f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.returncode != 0
    assert "3.9.2" in made.stderr
    assert "3.11" in made.stderr
    assert not (tmp_path / ".venv").exists()
