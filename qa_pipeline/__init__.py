"""Turn documents into question-answer training data, with every sentence proved from its source."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qa_pipeline.monitoring.observing import Observer

if TYPE_CHECKING:
    from qa_pipeline.api import Claim, Evidence, Report, Verification, evaluate, generate, verify
    from qa_pipeline.monitoring.streaming import stream_verdicts
    from qa_pipeline.publishing.manifest import load_release

__all__ = [
    "Claim",
    "Evidence",
    "Observer",
    "Report",
    "Verification",
    "evaluate",
    "generate",
    "load_release",
    "stream_verdicts",
    "verify",
]


_MODULES = {
    "load_release": "qa_pipeline.publishing.manifest",
    "stream_verdicts": "qa_pipeline.monitoring.streaming",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, since each module takes about a second to load."""
    if name not in __all__:
        raise AttributeError(f"module 'qa_pipeline' has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "qa_pipeline.api")), name)
