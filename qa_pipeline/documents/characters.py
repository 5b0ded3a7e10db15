"""Which characters may stand in canonical text, and how white space is laid out in a block.

What belongs here: rules about single characters and white space. What does not: decoding bytes
(`decoding`), and how blocks follow one another (`assembly`).
"""

import re
import unicodedata

from qa_pipeline.records import BlockKind

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Control, invisible and direction-changing characters: they hide text from a reader or let a file show
# another order of words than a program reads. Joiners and variation selectors go with them: the languages
# handled here need none. Surrogates and non-characters cannot be stored as UTF-8 text.
_INVISIBLE_CHARACTERS = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff"
)
_ODD_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_INVISIBLE = re.compile(f"[{_INVISIBLE_CHARACTERS}]")
_ODD_SPACE = re.compile(f"[{_ODD_SPACES}]")
_ANY_OF_THESE = re.compile(f"[\r\x0b\x0c\x85\u2028\u2029{_ODD_SPACES}{_INVISIBLE_CHARACTERS}]")
_ONE_LINE: frozenset[BlockKind] = frozenset({"heading", "list_item", "table_row"})


def clean(text: str) -> str:
    """Normalise to NFC with plain line ends and spaces, and drop invisible characters."""
    if text.isascii():
        # As most text is; its form is NFC, and it may hold line ends and control characters only.
        return text if text.isprintable() else _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))
    if _ANY_OF_THESE.search(text):
        text = _ODD_SPACE.sub(" ", _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text)))
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def lay_out(kind: BlockKind, text: str) -> str:
    """Lay out white space as the kind of block wants it; empty when nothing is left.

    Code keeps its lines as they are, paragraphs keep hard line breaks, all else is one line.
    """
    if kind == "code":
        lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
        return "\n".join(lines).strip("\n")
    if kind in _ONE_LINE or "\n" not in text:
        return " ".join(text.split())
    lines = [" ".join(line.split()) for line in text.split("\n")]
    return "\n".join(line for line in lines if line)
