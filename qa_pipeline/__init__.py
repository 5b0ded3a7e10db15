"""Documents in, question-answer training data out, every sentence proved from its source."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qa_pipeline.monitoring.observing import observe, start_observing

if TYPE_CHECKING:
    from qa_pipeline.api import Claim, Evidence, Report, Verification, evaluate, generate, verify
    from qa_pipeline.publishing.manifest import load_release

__all__ = [
    "Claim",
    "Evidence",
    "Report",
    "Verification",
    "evaluate",
    "generate",
    "load_release",
    "observe",
    "start_observing",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: each part takes a second, and nobody needs them all."""
    if name not in __all__:
        raise AttributeError(f"module 'qa_pipeline' has no attribute {name!r}")
    module = "qa_pipeline.publishing.manifest" if name == "load_release" else "qa_pipeline.api"
    return getattr(import_module(module), name)
