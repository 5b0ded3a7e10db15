"""What interpreted text of reStructuredText says, by its role.

What belongs here: roles of docutils, Sphinx and the collections that use them, as text. What does not:
finding them (`machine`). A role nobody knows gives its text.
"""

import re
from collections.abc import Set as AbstractSet

from docutils import nodes

_LITERAL = frozenset(
    {
        None, "code", "command", "dfn", "emphasis", "file", "guilabel", "kbd", "literal", "mailheader",
        "mimetype", "program", "regexp", "samp", "strong", "sub", "subscript", "title-reference", "title",
    }
)  # fmt: skip
"""Roles whose text is all there is to it; in others `Text <target>` names what is linked to."""
_NUMBERED = {"pep": "PEP", "pep-reference": "PEP", "rfc": "RFC", "rfc-reference": "RFC"}
_TITLED = re.compile(r"(?P<title>.*\S)\s*<(?P<target>[^<>]+)>\Z", re.DOTALL)


def role_node(role: str | None, text: str, raw_roles: AbstractSet[str]) -> nodes.Node:
    """The node for a piece of interpreted text.

    Args:
        role: its name as written; None where the writer gave none.
        text: what stands between the backquotes.
        raw_roles: names that the document defined for output of another format.
    """
    name = role.lower().rpartition(":")[2] if role else None
    if name in raw_roles or name == "raw":
        return nodes.raw("", text, format="")
    if name in ("sup", "superscript"):
        return nodes.superscript("", text)
    if name == "math":
        return nodes.math("", text)
    if name in _LITERAL:
        return nodes.inline("", text)
    titled = _TITLED.match(text)
    if titled:
        return nodes.inline("", titled["title"], target=titled["target"])
    if name in _NUMBERED:
        return nodes.inline("", f"{_NUMBERED[name]} {text.partition('#')[0].strip()}")
    if name == "ref":
        return nodes.inline("", text, label=" ".join(text.lower().split()))
    return nodes.inline("", text.lstrip("~!"))
