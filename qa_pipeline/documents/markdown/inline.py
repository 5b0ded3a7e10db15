"""Text of inline Markdown.

What belongs here: what inline tokens say. What does not: blocks (`blocks`).
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qa_pipeline.documents.omissions import Omissions

if TYPE_CHECKING:
    from markdown_it.token import Token

_ATTRIBUTES_AHEAD = re.compile(r"^\{\s{0,20}:?\s{0,20}[#.][^{}\n]*\}")
_LINE_BREAK = re.compile(r"<br\b", re.IGNORECASE)
_VERBATIM = frozenset({"code_inline", "math_inline", "math_inline_double"})
_BEFORE_ATTRIBUTES = frozenset({"link_close", "image", "code_inline"})


def inline_text(tokens: Sequence["Token"], left: Omissions) -> str:
    """Plain text of inline tokens: links, code and formulas give their text, images and markup nothing."""
    parts: list[str] = []
    after_mark = False
    for token in tokens:
        kind = token.type
        if kind in ("text", "text_special"):
            parts.append(_ATTRIBUTES_AHEAD.sub("", token.content) if after_mark else token.content)
        elif kind in _VERBATIM:
            parts.append(token.content)
        elif kind == "softbreak":
            parts.append(" ")
        elif kind == "hardbreak" or (kind == "html_inline" and _LINE_BREAK.match(token.content)):
            parts.append("\n")
        else:
            _count(token, left)
        after_mark = kind in _BEFORE_ATTRIBUTES
    return "".join(parts)


def _count(token: "Token", left: Omissions) -> None:
    """Count what has no place in the text."""
    if token.type == "image":
        left.add("image", token.content)
    elif token.type == "footnote_ref":
        left.add("footnote_mark", f"[^{token.meta['label']}]")
    elif token.type == "link_open":
        left.add("link_target", str(token.attrGet("href") or ""))
    elif token.type == "html_inline" and token.content.startswith("<!--"):
        left.add("comment", token.content[4:].removesuffix("-->"))
