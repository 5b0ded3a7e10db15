import json
import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from qa_pipeline.cli.app import app
from qa_pipeline.cli.exit_codes import BAD_INPUT, FAILED, OK
from qa_pipeline_tests.end_to_end import Ran, invoke
from qa_pipeline_tests.evaluation.stored_reports import continuous, write_report

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
GOOD = {"faithfulness": continuous(60), "grounding": continuous(60, seed=1)}
WORSE = {
    "faithfulness": [score * (0.8 + 0.01 * (row % 5)) for row, score in enumerate(GOOD["faithfulness"])],
    "grounding": GOOD["grounding"],
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_report(tmp_path / "good", GOOD)


@pytest.fixture
def worse(tmp_path: Path) -> Path:
    return write_report(tmp_path / "worse", WORSE)


def gate(current: Path, *options: str | Path) -> Ran:
    return invoke("eval", "gate", "--current", current, *options)


def test_a_gate_passes_fails_and_refuses_with_codes_of_their_own(
    good: Path, worse: Path, tmp_path: Path
) -> None:
    assert gate(good, "--baseline", good).code == OK
    ran = gate(worse, "--baseline", good)
    assert ran.code == FAILED
    assert "faithfulness (critical)" in ran.stdout
    ran = gate(tmp_path / "none", "--baseline", good)
    assert ran.code == BAD_INPUT
    assert "does not exist" in ran.stderr


def test_a_comparison_prints_its_figures(good: Path, worse: Path) -> None:
    ran = invoke("eval", "compare", good, worse, "--json")
    assert ran.code == OK
    found = json.loads(ran.stdout)
    assert found["metrics"]["faithfulness"]["better"] is False
    assert found["metrics"]["grounding"]["difference"] == 0
    assert "faithfulness" in invoke("eval", "compare", good, worse).stdout
    assert invoke("eval", "compare", good, worse, "--json").stdout == ran.stdout


def test_what_is_surely_better_is_deployed_and_else_what_is_there_is_kept(good: Path, worse: Path) -> None:
    assert "deploy: " in invoke("eval", "compare", worse, good, "--decide", "faithfulness").stdout
    assert "keep: " in invoke("eval", "compare", good, worse, "--decide", "faithfulness").stdout
    ran = invoke("eval", "compare", worse, good, "--decide", "none")
    assert ran.code == BAD_INPUT
    assert "faithfulness, grounding" in ran.stderr


def test_other_data_is_compared_only_as_independent_samples(good: Path, tmp_path: Path) -> None:
    other = write_report(tmp_path / "other", {"faithfulness": continuous(40, 0.5)}, sha256="b" * 64)
    ran = invoke("eval", "compare", good, other)
    assert ran.code == BAD_INPUT
    assert "--unpaired" in ran.stderr
    ran = invoke("eval", "compare", good, other, "--unpaired", "--decide", "faithfulness")
    assert ran.code == OK
    assert "grounding is not compared: only in baseline" in ran.stdout


def test_the_workflow_gates_with_options_that_there_are() -> None:
    workflow = yaml.safe_load((EXAMPLES / "evaluation.yml").read_text(encoding="utf-8"))
    scripts = [step.get("run", "") for step in workflow["jobs"]["evaluate"]["steps"]]
    gates = [script for script in scripts if "eval gate" in script]
    assert len(gates) == 2
    command = get_command(app).commands["eval"].commands["gate"]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {one for script in gates for one in re.findall(r"--[a-z-]+", script)} - {"--"} <= known
