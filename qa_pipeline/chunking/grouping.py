"""Groups of sentences as pieces.

What belongs here: what strategies that gather sentences have in common. What does not: how they gather them.
"""

from collections.abc import Sequence
from itertools import pairwise

from qa_pipeline.chunking.borders import Borders
from qa_pipeline.chunking.sections import Cuts
from qa_pipeline.chunking.structure import even_cuts


def cut_groups(borders: Borders, starts: Sequence[int]) -> Cuts:
    """Cut at the start of each group but the first, and groups that do not fit along their structure."""
    at = borders.section.scale.at
    places = [0, *starts, len(borders.section.text)]
    inner = (cut for begin, end in pairwise(places) for cut in even_cuts(borders, begin, at(end)))
    return sorted({*starts, *inner})
