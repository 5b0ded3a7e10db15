import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from qa_pipeline.cli.app import app
from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline.models import encoder as embedding_model
from qa_pipeline.storage.parquet import read_table
from qa_pipeline.storage.tables import VERDICTS
from qa_pipeline_tests.end_to_end import GUIDE, Workspace
from qa_pipeline_tests.end_to_end import invoke as invoke_all
from qa_pipeline_tests.fakes import HashEmbedder

SAMPLE = Path(__file__).parents[2] / "data" / "corpora"
SampleRun = tuple[Path, dict[str, Any]]
PUMPS = """# Pumps

The pump of the Kestrel 4 weighs 12 kg. The filter of the pump is changed every 6 months.

## Pressure

The pressure of the circuit is 2 bar. A surge tank is a closed steel vessel that takes up sudden pressure.
"""
HEAVY = ("torch", "sentence_transformers", "faiss", "google.genai", "dagster", "polars")


def invoke(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def sample_run(tmp_path_factory: pytest.TempPathFactory) -> SampleRun:
    """The German sample batch, run once with the real embedded model."""
    out = tmp_path_factory.mktemp("out")
    code, stdout, stderr = invoke(
        "run", SAMPLE, "--out", out, "--batch", "bibliothek-de", "--accept-unjudged", "--json"
    )
    assert code == OK, stderr
    return out, json.loads(stdout)


def test_the_sample_batch_runs_offline_and_reports_as_json(
    sample_run: SampleRun,
) -> None:
    out, document = sample_run
    (outcome,) = document["outcomes"]
    assert (outcome["batch"], outcome["outcome"], outcome["error"]) == ("bibliothek-de", "succeeded", None)
    assert (out / "tables" / "training_examples" / "bibliothek-de.parquet").is_file()
    assert (out / "exports" / "passed" / "bibliothek-de.jsonl").is_file()


def test_a_run_shows_a_planted_error_with_the_reason_of_its_rejection(sample_run: SampleRun) -> None:
    _, stdout, _ = invoke(
        "run", SAMPLE, "--out", sample_run[0], "--batch", "bibliothek-de", "--accept-unjudged"
    )
    assert "rejected: " in stdout


def test_no_sample_pair_known_to_be_wrong_is_accepted(sample_run: SampleRun) -> None:
    known = sample_run[1]["known_answers"]
    assert isinstance(known, list)
    assert sum(row["pairs"] for row in known) == 37
    assert {row["expected_verdict"] for row in known if row["verdict"] == "accepted"} == {"accepted"}


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["run", "no-such-folder"], BAD_INPUT, "no-such-folder"),
        (["run", str(SAMPLE), "--batch", "../x"], BAD_INPUT, "'../x'"),
        (["run", str(SAMPLE), "--provider", "oracle"], BAD_INPUT, "llm.provider"),
        (["run", str(SAMPLE), "--provider", "gemini"], BAD_INPUT, "--max-calls"),
        (["run", str(SAMPLE), "--dagster"], BAD_INPUT, "DAGSTER_HOME"),
        (["status", "--out", "no-such-folder"], BAD_INPUT, "qa-pipeline run"),
        (["monitor", "--set", "out=x"], BAD_INPUT, "--set out"),
        (["forget", "a.md", "--out", str(SAMPLE), "--set", "out=x"], BAD_INPUT, "--set out"),
    ],
)
def test_unusable_arguments_exit_with_two_and_say_what_to_do(
    arguments: list[str], code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-that-is-sent-nowhere")
    found, _, stderr = invoke(*arguments)
    assert found == code
    assert told in stderr


def test_a_name_that_no_document_has_is_refused_with_the_next_step(
    finished_workspace: Workspace,
) -> None:
    none = invoke_all("show", "guide.md", "--out", finished_workspace.corpus)
    assert (none.code, "qa-pipeline run" in none.stderr) == (BAD_INPUT, True)


def test_a_run_ends_with_pairs_in_full_and_the_commands_that_come_next(workspace: Workspace) -> None:
    hostile = {
        "question": "Is [bold]it\x1b[31m red\u202e?",
        "answer": "It is 9 bar.\x07 " + "very " * 500,
        "citations": ["[source:guide.md]"],
    }
    workspace.write({"boilers/pairs.jsonl": json.dumps(hostile)})
    out = workspace.out.with_name("my out")
    shown = invoke_all("run", workspace.corpus, "--out", out).stdout
    accepted, refused, rest = re.split(r"Not accepted, 1 of 1\n|\nboilers succeeded", shown)
    for row in read_table(out / "tables" / "verdicts" / "boilers.parquet", VERDICTS).iter_rows(named=True):
        assert (row["verdict"] == "accepted") == (row["reason"] == "unjudged")
    assert "boilers/guide.md › Kestrel 4 guide › Filling" in accepted
    assert "is a boiler that holds 36 litres of water" in accepted
    assert "Is [bold]it\ufffd[31m red\ufffd?" in refused
    assert refused.count("very") < 500
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    for command in ("release", "review", "status"):
        assert f"qa-pipeline {command} --out '{out}'" in rest
    assert "2 of 2 documents" in rest
    assert "Canaries" in invoke_all("status", "--out", out).stdout


def test_a_run_that_found_no_question_says_why_and_where_to_look(workspace: Workspace) -> None:
    workspace.write({"flat/boats.md": "# Boats\n\nBoats float upon the water by day and by night.\n"})
    ran = invoke_all("run", workspace.corpus / "flat", "--out", workspace.out, "--provider", "extractive")
    shown = " ".join(ran.stdout.split())
    assert ran.code == FAILED
    assert "flat empty" in shown
    assert shown.rpartition("# ")[2].find("0 rows: ") > 0
    assert "--provider" in shown.rpartition("0 rows: ")[2]
    assert "status --coverage" in shown
    assert "# see why 1 section gave no accepted pair" in shown


def commands_of(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands_of(command, (*path, name))


COMMANDS = list(commands_of(typer.main.get_command(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_fits_one_screen(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, shown, _ = invoke(*path, "--help")
    assert code == OK
    assert len(shown.splitlines()) <= 40
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.slow
def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from typer.testing import CliRunner; from qa_pipeline.cli.app import app;"
        "assert CliRunner().invoke(app, ['run', '--help']).exit_code == 0;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert found.stdout.strip() == "[]"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A corpus of one batch, run without a heavy model and with the gates as they are by default."""
    monkeypatch.setattr(embedding_model, "load_embedder", lambda *_: HashEmbedder())
    workspace = Workspace(tmp_path / "corpus", tmp_path / "out")
    workspace.write({"boilers/guide.md": GUIDE, "boilers/pumps.md": PUMPS})
    return workspace


def test_a_folder_without_sub_folders_is_one_batch_whose_rows_are_said_to_be_judged_by_nobody(
    workspace: Workspace,
) -> None:
    flat = workspace.corpus / "boilers"
    ran = invoke_all("run", flat, "--out", workspace.out)
    assert ran.code == OK, ran.stdout
    assert "boilers succeeded" in ran.stdout
    assert "llm.judge.provider" in ran.stdout
    assert workspace.table("documents", "boilers")["path"].to_list() == ["guide.md", "pumps.md"]
    assert set(workspace.table("verdicts", "boilers")["reason"]) == {"unjudged"}
    document = json.loads(invoke_all("status", "--out", workspace.out, "--json").stdout)
    pairs = workspace.table("training_examples", "boilers").height
    assert [row["accepted_not_judged"] for row in document["batches"]] == [pairs]
    assert pairs > 0
    assert invoke_all("run", flat, "--out", workspace.out, "--batch", "boilers").code == OK
    assert "boilers" in invoke_all("run", flat, "--out", workspace.out, "--batch", "pumps").stderr
    estimated = invoke_all("estimate", flat, "--out", workspace.out, "--provider", "gemini", "--json")
    assert {stage["batch"] for stage in json.loads(estimated.stdout)["stages"]} == {"boilers"}


def test_settings_are_given_on_the_command_line_and_options_win(workspace: Workspace) -> None:
    options = ("--set", "generation.questions_per_chunk=1", "--set", 'documents.masking.kinds=["email"]')
    more = ("--set", "llm.provider=none", "--set", "llm.model=none", "--provider", "extractive")
    ran = invoke_all("run", workspace.corpus, "--out", workspace.out, *options, *more)
    assert (ran.code, "llm.model" in ran.stderr) == (BAD_INPUT, True)
    assert invoke_all("run", workspace.corpus, "--out", workspace.out, *options).code == OK
    assert workspace.table("questions", "boilers")["target_chunk_ids"].is_unique().all()


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (("--set", "llm.workers"), "--set 'llm.workers'"),
        (("--set", "llm.worker=3"), "llm.worker "),
        (("--set", "llm..workers=3"), "PATH=VALUE"),
        (("--set", "llm=3"), "setting llm"),
        (("--set", "llm=3", "--set", "llm.workers=3"), "llm "),
        (("--set", "documents.masking.kinds=[email"), "JSON"),
        (("--set", "out=elsewhere"), "--set out"),
        (("--model", "gpt-5"), "--model gpt-5"),
    ],
)
def test_a_setting_on_the_command_line_that_cannot_be_used_is_named(
    workspace: Workspace, option: tuple[str, ...], told: str
) -> None:
    ran = invoke_all("run", workspace.corpus, *option)
    assert (ran.code, told in ran.stderr) == (BAD_INPUT, True), ran.stderr


@pytest.mark.parametrize("setting", ["llm.prompts", "verification.entailment.model"])
def test_prompts_and_local_models_are_looked_for_before_the_first_document(
    workspace: Workspace, setting: str
) -> None:
    ran = workspace.run("--set", f"{setting}=./none")
    assert (ran.code, setting in ran.stderr) == (BAD_INPUT, True), ran.stderr
    assert not workspace.out.exists()
