"""The review app as a process of its own, as people start it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ENDS_WITHIN = 60.0
# a suite that runs in the background may ignore Ctrl-C
_START = """
import signal
from qa_pipeline.cli import start
{patch}
signal.signal(signal.SIGINT, signal.default_int_handler)
start()
"""
_HASHED = """
from qa_pipeline.models import encoder
from qa_pipeline_tests.fakes import HashEmbedder
encoder.load_embedder = lambda *_: HashEmbedder()
"""


@dataclass(frozen=True)
class ReviewServer:
    """A running `qa-pipeline review`; `address` is the one that signs in, or that of the form."""

    process: "subprocess.Popen[str]"
    address: str

    @property
    def base(self) -> str:
        """Scheme, host and port."""
        return "/".join(self.address.split("/")[:3])

    def wait(self) -> int:
        """The exit code."""
        return self.process.wait(_ENDS_WITHIN)


@contextmanager
def review_server(
    out: Path, *options: str | Path, port: int = 0, hashed: bool = False
) -> Iterator[ReviewServer]:
    """Serve an output folder until the context ends.

    Args:
        out: the output folder; need not be there.
        options: of `qa-pipeline review`.
        port: 0 for one of the system's choice.
        hashed: hash words in place of loading the embedding model, which takes twelve seconds.
    """
    start = _START.format(patch=_HASHED if hashed else "")
    command = [sys.executable, "-c", start, "review", "--out", out, "--port", str(port), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first_line = process.stdout.readline()
            address = re.search(r"https?://\S+", first_line)
            if address is None:
                raise AssertionError(f"no address in {first_line!r}: {process.communicate()}")
            yield ReviewServer(process, address[0])
        finally:
            process.kill()
