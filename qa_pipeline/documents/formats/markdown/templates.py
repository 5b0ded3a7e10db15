"""Template syntax in Markdown: tags of Liquid, Jinja and Nunjucks, shortcodes of Hugo.

What belongs here: taking such tags out of Markdown before it is read. What does not: includes that stand on a
line of their own (`dialects`), and Markdown itself (`parser`).

A site generator would replace the tags; here what they stand for is unknown, so they are counted as left out.
Of a tag that links to a page the words of the link stay, of a raw block its content. Text between an opening
and a closing tag stays, but for that of comments. Code is left as it is.
"""

import re
from collections.abc import Iterator

from qa_pipeline.documents.assembly import Omissions

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})(.*)$")
_ITEM = re.compile(r"^\s{0,3}(?:[-*+]|\d{1,9}[.)])\s")
_INDENTED = re.compile(r"^(?: {4}|\t)")
_LONGEST = 500
_CODE = r"(?P<code>(?<!`)(?P<ticks>`{1,3})(?!`)[^`\n]{1,2000}(?P=ticks)(?!`))"
_COMMENT = re.compile(
    _CODE + r"|(?P<open>\{%[-+~]?\s*comment\b[^{}%]{0,200}%\}|\{::comment\}|\{\{[-<%]?\s*/\*|\{\#(?=\s))"
)
_CLOSE = {
    "{%": re.compile(r"\{%[-+~]?\s*endcomment\s*[-+~]?%\}"),
    "{:": re.compile(r"\{:/(?:comment)?\}"),
    "{{": re.compile(r"\*/\s*[->%]?\}\}"),
    "{#": re.compile(r"#\}"),
}
_TAG = re.compile(
    rf"""{_CODE}
    |\{{%[-+~]?\s*(?:raw|verbatim)\s*[-+~]?%\}}(?P<raw>.{{0,5000}}?)\{{%[-+~]?\s*end(?:raw|verbatim)\s*[-+~]?%\}}
    |\{{%[-+~]?\s*(?P<tag>[a-zA-Z_][^{{}}]{{0,{_LONGEST}}}?)[-+~]?%\}}
    |\{{\{{[<%]\s*(?P<short>/?[a-zA-Z_][^{{}}]{{0,{_LONGEST}}}?)[>%]\}}\}}
    |(?<![\w\\{{}}])\{{\{{[-~]?(?=\ |\w{{1,99}}[.|])[^{{}}\n]{{2,{_LONGEST}}}\}}\}}(?!\}})
    """,
    re.VERBOSE | re.DOTALL,
)
_LINKS = frozenset(
    {"link", "page", "pageref", "page_ref", "page-ref", "post_url", "ref", "relref", "url", "xref"}
)
_LABEL = re.compile(r"\b(?:title|text|label|name)\s*=\s*(?:\"([^\"]+)\"|'([^']+)')")
_ARGUMENT = re.compile(r"\"([^\"]+)\"|'([^']+)'|(?<![\w=])([\w./\#-]+)(?!\s*=)")
_PATH = re.compile(r"[/#]|\.\w{2,5}$")
_INCLUDES = ("include", "import", "embed", "snippet", "render")


def without_templates(text: str, left: Omissions) -> str:
    """Markdown without template tags; they are counted as left out."""
    if "{%" not in text and "{{" not in text and "{#" not in text and "{::" not in text:
        return text
    return "\n".join(_Lines(left).plain(text.split("\n")))


class _Lines:
    """One pass over lines, with the code or comment that is open."""

    def __init__(self, left: Omissions) -> None:
        self.left = left
        self.fence: str | None = None
        self.comment: re.Pattern[str] | None = None
        self.prose: list[str] = []
        self.held: list[str] = []
        self.in_list = False
        self.in_code = False

    def plain(self, lines: list[str]) -> Iterator[str]:
        before = ""
        for line in lines:
            if self.comment is not None:
                self._in_comment(line)
            elif self.fence is not None:
                yield line
                if _closes(line, self.fence):
                    self.fence = None
            elif self._is_code(line, before):
                yield from self._take_prose()
                yield line
            else:
                self._outside(line)
            before = line
        if self.held:
            self.prose[-1] += self.held[0] + self.held[1]
            self.prose += self.held[2:]
        yield from self._take_prose()

    def _is_code(self, line: str, before: str) -> bool:
        """Whether a line opens a fence, or belongs to an indented block of code."""
        mark = _FENCE.match(line)
        if mark:
            self.fence = mark[1]
            return True
        if _INDENTED.match(line):
            self.in_code = self.in_code or not (before.strip() or self.in_list)
            return self.in_code
        if line.strip():
            self.in_code, self.in_list = False, bool(_ITEM.match(line)) or (self.in_list and line[0] == " ")
        return False

    def _outside(self, line: str) -> None:
        """A line of prose up to the comment that may begin in it."""
        for found in _COMMENT.finditer(line):
            if found["open"]:
                self.prose.append(line[: found.start()])
                self.comment = _CLOSE[found["open"][:2]]
                self.held = [found["open"]]
                self._in_comment(line[found.end() :])
                return
        self.prose.append(line)

    def _in_comment(self, line: str) -> None:
        """A line is held back until the comment ends; what never ends is no comment."""
        ends = self.comment.search(line) if self.comment else None
        self.held.append(line[: ends.end()] if ends else line)
        if ends:
            self.left.add("template_comment", "".join(self.held))
            self.comment, self.held = None, []
            self._outside(line[ends.end() :])

    def _take_prose(self) -> Iterator[str]:
        prose, self.prose = self.prose, []
        if prose:
            yield _TAG.sub(self._replaced, "\n".join(prose))

    def _replaced(self, found: re.Match[str]) -> str:
        """What stays of a tag."""
        if found["code"]:
            return found[0]
        if found["raw"] is not None:
            self.left.add("template_tag", found[0].replace(found["raw"], "", 1))
            return found["raw"]
        said = (found["tag"] or found["short"] or "").strip()
        name, _, arguments = said.partition(" ")
        kept = _words_of_link(arguments) if name in _LINKS else ""
        if found.string[max(0, found.start() - 2) : found.start()] == "](":
            kept = "".join(kept.split())  # the address of a link, which Markdown wants without blanks
        self.left.add(
            "include" if name.startswith(_INCLUDES) else "template_tag", found[0].replace(kept, "", 1)
        )
        return kept


def _closes(line: str, fence: str) -> bool:
    mark = _FENCE.match(line)
    return mark is not None and mark[1].startswith(fence) and not mark[2].strip()


def _words_of_link(arguments: str) -> str:
    """The words of a link to a page: its label, else its first argument that is no path, else the path."""
    if label := _LABEL.search(arguments):
        return label[1] or label[2]
    found = [one for groups in _ARGUMENT.findall(arguments) for one in groups if one]
    return next((one for one in found if not _PATH.search(one)), found[0] if found else "")
