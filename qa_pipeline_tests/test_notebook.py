"""The notebook runs from its first cell to its last, and shows what its text says."""

import json
import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "examples" / "first_look.ipynb"


def outputs(cell: nbformat.NotebookNode) -> str:
    """What a cell printed and shows, as text and as HTML."""
    shown = [output.get("text", "") for output in cell.outputs]
    shown += [text for output in cell.outputs for text in output.get("data", {}).values()]
    return "\n".join(shown)


@pytest.mark.timeout(3600)
def test_the_notebook_runs_and_shows_what_its_text_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = tmp_path / "docs" / "examples"
    examples.mkdir(parents=True)
    shutil.copytree(ROOT / "data" / "corpora", tmp_path / "data" / "corpora")
    for name, value in {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_OFFLINE": "1",
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.reads(NOTEBOOK.read_text("utf-8"), as_version=4)
    NotebookClient(notebook, timeout=3000, resources={"metadata": {"path": str(examples)}}).execute()
    verified, report, statements, pairs, release, train = (
        outputs(cell) for cell in notebook.cells if cell.cell_type == "code"
    )
    assert "rejected" in verified
    assert "Service is due every two years." in verified
    assert "faithfulness" in report
    assert "contradicted" in statements or "unsupported" in statements
    assert "R290" in pairs or "Fjell" in pairs
    assert "published: mydata/releases/" in release
    assert "shape: (5, 3)" in train
    assert [path.name for path in examples.iterdir()] == ["mydata"]


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in cells] == [([], None)] * len(cells)
