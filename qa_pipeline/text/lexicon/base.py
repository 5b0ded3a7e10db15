"""The name under which the offline rules import the lexicon."""

from qa_pipeline.text.lexicon.languages import Lexicon

__all__ = ["Lexicon"]
