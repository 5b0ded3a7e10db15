"""The loopback server as a process of its own: a benchmark must not share its interpreter with the server."""

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_COMMAND = (sys.executable, "-m", "qa_pipeline_tests.fake_server")


@dataclass(frozen=True)
class Served:
    """A running server; `process` is its number."""

    url: str
    key: str
    process: int

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def stats(self) -> dict[str, Any]:
        """What it counted."""
        with urllib.request.urlopen(f"{self.url}/stats", timeout=10) as reply:
            counted: dict[str, Any] = json.load(reply)
        return counted


@contextmanager
def serving(port: int = 0, **plan: Any) -> Iterator[Served]:
    """Start a server with this plan, and end it; port 0 takes a free one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.yaml"
        file.write_text(yaml.safe_dump(plan))
        command = (*_COMMAND, "--plan", str(file), "--port", str(port))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            shown = dict(process.stdout.readline().split() for _ in range(3))
            yield Served(shown["url"], shown["key"], process.pid)
        finally:
            process.terminate()
            process.communicate()
