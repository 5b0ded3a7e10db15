"""Documents in, question-answer training data out, every sentence proved from its source."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qa_pipeline.monitoring.observing import observe, start_observing

if TYPE_CHECKING:
    from qa_pipeline.api.documents import Document, chunk, read_document
    from qa_pipeline.api.evaluation import Report, evaluate
    from qa_pipeline.api.generation import generate
    from qa_pipeline.api.verification import Claim, Evidence, Verification, verify, verify_many
    from qa_pipeline.publishing.manifest import load_release

__all__ = [
    "Claim",
    "Document",
    "Evidence",
    "Report",
    "Verification",
    "chunk",
    "evaluate",
    "generate",
    "load_release",
    "observe",
    "read_document",
    "start_observing",
    "verify",
    "verify_many",
]

_MODULES = {
    "documents": ("Document", "chunk", "read_document"),
    "evaluation": ("Report", "evaluate"),
    "generation": ("generate",),
    "verification": ("Claim", "Evidence", "Verification", "verify", "verify_many"),
}
_PLACES = {name: f"qa_pipeline.api.{module}" for module, names in _MODULES.items() for name in names}
_PLACES["load_release"] = "qa_pipeline.publishing.manifest"


def __getattr__(name: str) -> Any:
    """Import what is asked for: each part takes a second, and nobody needs them all."""
    if name not in _PLACES:
        raise AttributeError(f"module 'qa_pipeline' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
