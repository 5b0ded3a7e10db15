"""Parts of an Office file that a text shows as drawings: charts and diagrams.

What belongs here: finding the part behind a drawing, and reading it once however often it is shown. What does
not: what such a part holds (`charts`, `diagrams`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from qa_pipeline.documents.office.charts import read_chart
from qa_pipeline.documents.office.diagrams import read_diagram
from qa_pipeline.documents.office.package import Package
from qa_pipeline.documents.omissions import Omissions
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

DrawnKind = Literal["chart", "diagram"]

_READERS: "dict[DrawnKind, tuple[str, Callable[[_Element], list[Block]]]]" = {
    "chart": ("chart", read_chart),
    "diagram": ("diagramData", read_diagram),
}
"""For what a link to such a part is, and what reads it."""


class DrawnParts:
    """Reads charts and diagrams; one that is not there, or gives no text, is counted as left out."""

    def __init__(self, package: Package, omissions: Omissions) -> None:
        self._package = package
        self._omissions = omissions
        self._known: dict[tuple[str, str], list[Block]] = {}

    def read(self, kind: DrawnKind, part: str, link: str) -> list[Block]:
        """Blocks of a drawing, by the part that shows it and the id of its link."""
        key = part, link
        if key not in self._known:
            self._known[key] = self._look_up(kind, part, link)
        if not self._known[key]:
            self._omissions.add(kind)
        return self._known[key]

    def _look_up(self, kind: DrawnKind, part: str, link: str) -> list[Block]:
        purpose, read = _READERS[kind]
        named = self._package.links(part).get(link)
        if named is None or named.target is None or named.purpose != purpose:
            return []
        return read(self._package.tree(named.target)) if self._package.archive.find(named.target) else []
