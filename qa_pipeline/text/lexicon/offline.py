"""Words of the offline rules alone."""

import functools
from importlib import import_module
from types import SimpleNamespace
from typing import Any

_MODULES = {"en": "english", "sv": "swedish", "de": "german"}


class OfflineWords:
    """Fields of a lexicon that only the offline rules read."""

    code: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(_words(self.code), name)


@functools.cache
def _words(code: str) -> SimpleNamespace:
    module = import_module(f"qa_pipeline.text.lexicon.{_MODULES[code]}")
    return SimpleNamespace(wording=module.WORDING, **module.OTHERS)
