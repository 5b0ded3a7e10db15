"""A worker that draws pages, and does the harm that the text of a page asks for."""

import ctypes
import os
import re
import sys
import time
from collections.abc import Mapping
from typing import Any

from qa_pipeline.documents.sandbox import page_worker
from qa_pipeline.documents.sandbox.worker import serve
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.sandbox.hostile_worker import take_memory

COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", __name__)


def page_bytes(head: Mapping[str, Any], content: bytes, settings: DocumentSettings) -> bytes:
    text = head["text"]
    if "crash" in text:
        ctypes.string_at(0)
    if "fork" in text:
        os.fork()
    if "endless" in text:
        re.match(r"(a+)+$", "a" * 100 + "b")
    if "slow" in text:
        time.sleep(3600)
    if "greedy" in text:
        take_memory("")
    if "false" in text:
        return b'{"paper": [0, 0, 1, 1], "turn": 0, "boxes": [], "repeated": {}}'
    return page_worker.page_bytes(head, content, settings)


if __name__ == "__main__":
    serve(page_bytes, page_worker.load)
