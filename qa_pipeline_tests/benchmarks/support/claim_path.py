"""How many modules a claim, a document, a release or a request to a language model passes on its way.

    python -m qa_pipeline_tests.benchmarks.support.claim_path [--request | --document | --release OUT]

One pair with one claim is verified in a fresh process, one Markdown file read with its `batch.yaml`, or the
accepted rows of OUT published, and every function of the package that is entered is noted. As a reader
follows the code he reads each function once, where it is first entered: a run of new functions of one module
is a stop, and a stop at a module left before is a return. For claims the modules of `verification` count, but
for the single checks; for documents those of `documents`, for releases those of `publishing`; for requests
all of the package, from the call of one more request through the Gemini adapter to a server in another
process. `calls` counts every call of one of those functions, and `entries` every time one is entered out of
another module.
"""

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import qa_pipeline

_ROOT = Path(qa_pipeline.__file__).parent
_LEFT_OUT = "verification/consistency"
_TEXT = (
    "# Pump\nThe safety valve opens at 3 bar. It was built in 2019 by Nordvik.\n"
    "# Valve\nThe valve is no part of it."
)
_ANSWER = "The safety valve of the pump opens at 4 bar because it was built in 2019."
Call = tuple[str | None, str, str]
"""Module called from, module and function called."""


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--request", action="store_true")
    chosen.add_argument("--document", action="store_true")
    chosen.add_argument(
        "--release", type=Path, metavar="OUT", help="a copy of it: a release is published there"
    )
    arguments = parser.parse_args()
    if arguments.request:
        prepared, counted = _request(), ""
    elif arguments.document:
        prepared, counted = _document(), "documents/"
    elif arguments.release:
        prepared, counted = _release(arguments.release), "publishing/"
    else:
        prepared, counted = _claim(), "verification/"
    trace = Trace()
    with prepared as run:
        trace.on = True
        run()
        trace.on = False
    calls = [
        call for call in trace.calls if call[1].startswith(counted) and not call[1].startswith(_LEFT_OUT)
    ]
    json.dump(figures(calls if counted else trace.calls), sys.stdout)
    print()


def figures(calls: list[Call]) -> dict[str, Any]:
    """Modules, stops and returns, and how often a function and a module was entered."""
    first = dict.fromkeys((module, function) for _, module, function in calls)
    stops: list[str] = []
    for module, _ in first:
        if not stops or stops[-1] != module:
            stops.append(module)
    modules = sorted(set(stops))
    return {
        "modules": len(modules),
        "stops": len(stops),
        "returns": len(stops) - len(modules),
        "calls": len(calls),
        "entries": sum(caller != module for caller, module, _ in calls),
        "names": modules,
    }


class Trace:
    """Notes the calls of functions of the package, in all threads begun since, while it is on."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.on = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        module = _module(frame) if self.on and event == "call" else None
        if module is None:
            return
        caller = frame.f_back
        while caller is not None and _module(caller) is None:
            caller = caller.f_back
        self.calls.append((_module(caller), module, frame.f_code.co_qualname))


def _module(frame: FrameType | None) -> str | None:
    """The module of a frame, as its path below the package; None for one of others."""
    path = frame.f_code.co_filename if frame else ""
    return path.removeprefix(f"{_ROOT}/") if path.startswith(f"{_ROOT}/") else None


@contextmanager
def _claim() -> Iterator[Callable[[], object]]:
    from qa_pipeline.verification.claims import find_claims
    from qa_pipeline_tests.fakes import HashEmbedder
    from qa_pipeline_tests.verification import rows

    documents = rows.documents({"a.md": _TEXT})
    chunks, pairs = rows.chunks(documents), rows.pairs(rows.pair(_ANSWER, cites="a.md"))
    yield lambda: find_claims(pairs, documents, chunks, HashEmbedder())


@contextmanager
def _document() -> Iterator[Callable[[], object]]:
    from qa_pipeline.documents.reading import read_documents
    from qa_pipeline.settings.documents import DocumentSettings

    masking = {"action": "flag", "key": "a secret of the benchmark"}
    settings = DocumentSettings.model_validate({"masking": masking})
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.md").write_text(f"{_TEXT}\nWrite to anna@example.org.", encoding="utf-8")
        (Path(folder) / "batch.yaml").write_text("licence: CC0-1.0\nmasking: mask\n", encoding="utf-8")
        yield lambda: read_documents("batch", Path(folder), settings)


@contextmanager
def _release(out: Path) -> Iterator[Callable[[], object]]:
    from qa_pipeline.pipeline.resources import Resources
    from qa_pipeline.publishing.release import publish_release
    from qa_pipeline.settings.tree import load_settings

    resources = Resources(load_settings(out=out))
    yield lambda: publish_release(resources)


@contextmanager
def _request() -> Iterator[Callable[[], object]]:
    """One request, after another one that set everything up."""
    from qa_pipeline.llm.concurrency import complete_all
    from qa_pipeline.llm.factory import Models
    from qa_pipeline_tests.benchmarks.speed.bench_llm_speed import settings_for, verifications
    from qa_pipeline_tests.benchmarks.support.server_process import serving

    first, second = verifications(2)
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        settings, environ = settings_for(server, 1), {"GEMINI_API_KEY": server.key}
        models = Models(settings, place=Path(folder) / "replies.sqlite", environ=environ, run="bench")
        model = models.of(settings.generator)
        assert model is not None
        complete_all(model, [first], workers=1)
        yield lambda: complete_all(model, [second], workers=1)
        models.close()


if __name__ == "__main__":
    main()
