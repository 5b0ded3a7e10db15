"""Names of files: masked like a text, and still names of files.

What belongs here: masking a path name by name, so that its suffix stays. What does not: texts (`replacing`).
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from qa_pipeline.documents.assembly import Mask
from qa_pipeline.documents.characters import clean
from qa_pipeline.documents.compressed import UNPACKERS
from qa_pipeline.documents.formats import SUFFIXES

_BORDER = re.compile(r"([/\\;|#\[\]])")
_SUFFIXES = frozenset({*SUFFIXES, *UNPACKERS, ".parquet", ".zip"})


@dataclass(frozen=True, slots=True)
class ShownPath:
    """A path as it may be stored and told, and how many items of each kind it holds."""

    path: str
    found: Mapping[str, int]


def mask_path(path: str, mask: Mask) -> ShownPath:
    """A path with forward slashes, or a reference such as `[source:a/b.md#c]`, each name masked by itself.

    Args:
        path: the path.
        mask: writes tokens without brackets (`replacing.bare_mask`).
    """
    counts: Counter[str] = Counter()
    names = []
    for name in _BORDER.split(path):
        stem, suffixes = _parted(name)
        masked, found = mask(clean(stem))
        counts.update(found)
        names.append(masked + suffixes if found else name)
    return ShownPath("".join(names), counts)


def _parted(name: str) -> tuple[str, str]:
    """A file name and its suffixes: `a@b.se.md` is not an address in Moldova."""
    end = len(name)
    while (dot := name.rfind(".", 0, end)) > 0 and name[dot:end].lower() in _SUFFIXES:
        end = dot
    return name[:end], name[end:]
