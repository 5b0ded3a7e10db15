"""Text of inline nodes of reStructuredText.

What belongs here: what marks, roles, substitutions and references say. What does not: blocks (`blocks`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from docutils import nodes

from qa_pipeline.documents.omissions import Omissions

_LONGEST_SUBSTITUTION = 2_000


@dataclass(slots=True)
class InlineText:
    """Reads inline nodes of one document.

    Args:
        left: counts what has no place in the text.
        substitutions: definitions by name.
        labels: titles of the sections a reference may name, by label.
    """

    left: Omissions
    substitutions: Mapping[str, nodes.Element] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    _resolved: dict[str, str] = field(default_factory=dict)
    _used: set[int] = field(default_factory=set)

    def of(self, node: nodes.Element) -> str:
        """Text of a node's children."""
        parts: list[str] = []
        for child in node.children:
            text = self._text(child, parts)
            if text is None:
                # A mark that goes takes the blanks before it along.
                parts[-1:] = [parts[-1].rstrip()] if parts else []
            else:
                parts.append(text)
        return "".join(parts)

    def _text(self, node: nodes.Node, before: list[str]) -> str | None:
        """Text of one node; None for the mark of a footnote."""
        if isinstance(node, nodes.Text):
            return node.astext()
        if not isinstance(node, nodes.Element):
            return ""
        if isinstance(node, nodes.footnote_reference):
            self.left.add("footnote_mark", node.rawsource.rstrip("_"))
            return None
        if isinstance(node, nodes.substitution_reference):
            return self._substituted(node)
        return self._special(node, before)

    def _special(self, node: nodes.Element, before: list[str]) -> str:
        if isinstance(node, nodes.image):
            self.left.add("image", node.get("alt", ""))
            return ""
        if isinstance(node, nodes.raw):
            self.left.add("raw", node.astext())
            return ""
        if isinstance(node, nodes.system_message):
            return ""
        if isinstance(node, nodes.citation_reference):
            return f"[{node.astext()}]"
        text = self.of(node)
        if isinstance(node, nodes.reference) and node.get("refuri", text) != text:
            self.left.add("link_target", node["refuri"])
        if "target" in node.attributes:
            self.left.add("link_target", node["target"])
        if isinstance(node, nodes.superscript):
            return _raised(text, "".join(before[-1:]))
        title = self.labels.get(node.get("label", ""))
        if title is not None:
            self.left.add("link_target", text)
        return text if title is None else title

    def _substituted(self, node: nodes.Element) -> str:
        """What a substitution stands for; one that is not defined, or explodes, stays as it is written."""
        name = " ".join(node.astext().split())
        if name not in self._resolved:
            # While it is being read it stands for itself, so that a circle ends.
            self._resolved[name] = f"|{name}|"
            found = self.substitutions.get(name) or self.substitutions.get(name.lower())
            self._used.add(id(found))
            text = self.of(found) if found is not None else ""
            if found is not None and len(text) <= _LONGEST_SUBSTITUTION:
                self._resolved[name] = text
        return self._resolved[name]

    def count_unused(self, definitions: Iterable[nodes.Element]) -> None:
        """Count definitions of substitutions that nothing in the text refers to."""
        for node in definitions:
            if id(node) not in self._used:
                self.left.add("substitution", node.astext())


def _raised(text: str, before: str) -> str:
    """A power is written with a caret, lest 10 to the sixth become 106."""
    power = before.rstrip()[-1:].isalnum() and text.lstrip("+-−").isdigit()
    return f"^{text}" if power else text
