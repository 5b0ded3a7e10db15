"""What an independent reader finds in a file, held against what became of the file.

`in the file = in our text + markup + left out + unexplained`.

The readers share no code with the parsers beyond the decoding of bytes: the source as it is written for
text formats, the text nodes, comments and `alt` texts of the standard library's parser for HTML, PDFium's
characters for PDF, the `w:t` of all parts for DOCX, all pages for EPUB. Counted are the characters of words,
runs of letters and digits folded to NFKC without case, since signs are what markup is made of. A word of the
file is in our text as often as its letters stand there in a row: what markup or a line end parts is one word
for us. What our text repeats, such as the name of a column in every row, hides a loss of the same word only.
`left_out` explains at most what its pieces hold; `spare` is what they hold beyond that, signs among it.
"""

import io
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

from qa_pipeline.documents.formats.text import decode

Words = Counter[str]

_WORD = re.compile(r"[^\W_]+")
_WORD_TEXT = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}t"
_MARKUP = {
    "markdown": re.compile(
        r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*\{?[\w+#.:-]+\}?"  # the language of code
        r"|^[ \t]{0,3}\[[^\]\n]+\]:[ \t]*\S+[^\n]*$"  # where links with a name lead
        r"|!\[[^\]\n]*\](\([^()\n]*\))"  # where a picture lies
        r"|(\{[ ]*:?[ ]*[#.][^{}\n]*\})"  # attributes
        r"|</?[a-zA-Z][^<>]*>|&\#?\w+;"  # elements and entities
        r"|^\{[*!%][^\n]*[*!%]\}[ \t]*$",  # names of included files
        re.MULTILINE,
    ),
    "rst": re.compile(
        r"^[ \t]*\.\.[ ]+(?:\|[^|\n]+\|[ ])?"
        r"(?:code|code-block|sourcecode|highlight|image|figure|include|literalinclude|auto\w+)::[^\n]*$"
        r"|^[ \t]*\.\.[ ]+(?:_[^\n:]+:|\|[^|\n]+\|[ ][\w-]+::|[\w:-]+::)"  # names of targets and directives
        r"|^[ \t]+:[\w-]+:[^\n]*$"  # options
        r"|:[\w:+-]+:(?=`)",  # roles
        re.MULTILINE,
    ),
}
_SHOWN = 12
"""Words that nothing explains and that are shown, those with the most letters first."""


@dataclass(frozen=True, slots=True)
class Account:
    """Characters of a file's words; `found` = `kept` + `markup` + `left_out` + `unexplained`."""

    found: int
    kept: int
    markup: int
    left_out: int
    spare: int
    unexplained: int
    words: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of the file that nothing explains."""
        return self.unexplained / self.found if self.found else 0.0


def account(name: str, content: bytes, row: Mapping[str, Any]) -> Account | None:
    """The account of a parsed file; None for a format without a reader of its own.

    Args:
        name: the format.
        content: the file.
        row: its row of the documents table.
    """
    if name not in READERS:
        return None
    whole = READERS[name](content)
    text = _without_markup(name, whole)
    found, said = _letters(_words(whole)), _letters(_words(text))
    rest = missing_words(text, row["text"])
    counted = sum(part["characters"] for part in row["left_out"])
    lost = _letters(rest)
    left = min(counted, lost)
    shown = sorted(rest, key=lambda word: (-rest[word] * len(word), word))[:_SHOWN] if lost > left else []
    return Account(found, said - lost, found - said, left, counted - left, lost - left, tuple(shown))


def _without_markup(name: str, text: str) -> str:
    """The text with blanks in place of markup: of what a pattern finds, or of the group in it."""
    pattern = _MARKUP.get(name)
    if pattern is None:
        return text
    parts: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        start, stop = match.span(match.lastindex or 0)
        parts += [text[end:start], " "]
        end = stop
    return "".join([*parts, text[end:]])


def missing_words(text: str, ours: str) -> Words:
    """Return the words that stand in one text more often than their letters stand in ours."""
    whole, kept = _squeezed(text), _squeezed(ours)
    short = _words(text) - _words(ours)
    lacking = {word: min(count, whole.count(word) - kept.count(word)) for word, count in short.items()}
    return Counter({word: count for word, count in lacking.items() if count > 0})


def _words(text: str) -> Words:
    return Counter(_WORD.findall(_folded(text)))


def _squeezed(text: str) -> str:
    """All letters and digits in a row."""
    return "".join(_WORD.findall(_folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _letters(words: Words) -> int:
    return sum(len(word) * count for word, count in words.items())


class _TextNodes(HTMLParser):
    """All text of a page, seen or not."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        """Take in one text node."""
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        """Take in one comment."""
        self.texts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in what stands for a picture."""
        self.texts += [value or "" for name, value in attrs if tag == "img" and name == "alt"]


def _html(content: bytes) -> str:
    nodes = _TextNodes()
    nodes.feed(decode(content, declared=True))
    nodes.close()
    return "\n".join(nodes.texts)


def _pdf(content: bytes) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(content)
    try:
        return "\n".join(page.get_textpage().get_text_range() for page in document)
    finally:
        document.close()


def _docx(content: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = [archive.read(name) for name in archive.namelist() if name.endswith(".xml")]
    trees = (ElementTree.fromstring(part) for part in parts)
    return "\n".join(element.text or "" for tree in trees for element in tree.iter(_WORD_TEXT))


def _epub(content: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.lower().endswith((".xhtml", ".html", ".htm"))]
        return "\n".join(_html(archive.read(name)) for name in names)


READERS: dict[str, Callable[[bytes], str]] = {
    "markdown": decode,
    "text": decode,
    "rst": decode,
    "table": decode,
    "html": _html,
    "pdf": _pdf,
    "docx": _docx,
    "epub": _epub,
}
