"""Blocks of a page of the documentation: commands, which are run, and what the page says they print."""

import os
import re
import subprocess
from pathlib import Path

BLOCK = re.compile(r"(<!-- not run: ([^\n]+) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
Block = tuple[str, str, str]
"""Why it is not run, else nothing; its language; its text."""


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page in their order."""
    return [(reason, language, text) for _, reason, language, text in BLOCK.findall(page)]


def run_block(
    language: str,
    text: str,
    folder: Path,
    python: Path,
    repository: Path | None = None,
    hiding: Path | None = None,
) -> str:
    """Run a block as a person would in a shell; return what it printed.

    Args:
        language: bash or python.
        text: the commands.
        folder: the working folder.
        python: interpreter of the environment, beside which its commands are.
        repository: a checkout to import from; None where it is installed in the environment.
        hiding: a folder of `block_extras`; None hides nothing.

    Raises:
        AssertionError: a command ended with an error.
    """
    paths = [path for path in (hiding, repository) if path]
    shell = ["bash", "-euo", "pipefail", "-c", text]
    commands = {"bash": shell, "python": [str(python), "-c", text]}
    environment = {
        **os.environ,
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "HF_HOME": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "200",
        **({"PYTHONPATH": os.pathsep.join(map(str, paths))} if paths else {}),
    }
    ran = subprocess.run(
        commands[language], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{text}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def missing_lines(quoted: str, printed: str) -> list[str]:
    """Return the quoted lines that were not printed, or not in this order; runs of spaces are alike."""
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    return [
        line for line in quoted.splitlines() if not any(" ".join(line.split()) in other for other in lines)
    ]
