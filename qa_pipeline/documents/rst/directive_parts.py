"""A directive of reStructuredText as it is written: its line, its options, its content.

What belongs here: telling these parts. What does not: what a directive means (`directives`), and finding it
(`machine`).
"""

import re
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from docutils.parsers.rst import states
from docutils.statemachine import StringList

Nodes = list[nodes.Node]

_FIELD = re.compile(states.Body.patterns["field_marker"])
_OPTION = re.compile(r":((?:[^:\\]|\\.|:(?! |$))+):(?: +(.*))?$")


@dataclass(slots=True)
class Directive:
    """A directive as written: what stands on its line, its options, and its content.

    `body` is line and content together, without the options, for directives that tell no difference. What
    nothing takes of the options is left out of the text.
    """

    state: Any
    name: str
    line: int
    offset: int
    argument: StringList
    options: dict[str, str]
    content: StringList
    body: StringList

    def take(self, option: str) -> str:
        """The value of an option, empty without it; it is no longer there afterwards."""
        return self.options.pop(option, "")

    def title(self) -> str:
        """What stands on the directive's own line, and goes on below."""
        return " ".join(part.strip() for part in self.argument).strip()

    def paragraph(self, text: str) -> Nodes:
        """A paragraph of text with inline markup; none without text."""
        if not text.strip():
            return []
        found, _ = self.state.inline_text(text, self.line)
        return [nodes.paragraph(text, "", *found)]

    def blocks(self, content: StringList) -> Nodes:
        """Content as blocks."""
        inside = nodes.container()
        if content:
            self.state.nested_parse(content, self.offset, inside)
        return list(inside.children)


def written_directive(state: Any, name: str, block: StringList, offset: int, line: int) -> Directive:
    """Tell the parts of a directive; options follow its line at once, content a blank line or its name."""
    named = bool(block) and bool(block[0].strip())
    head = next((number for number in range(1, len(block)) if not block[number].strip()), len(block))
    first = next((number for number in range(1, head) if _FIELD.match(block[number])), head)
    end = next((n for n in range(first, head) if not _FIELD.match(block[n]) and block[n][0] != " "), head)
    options = _options(block[first:end])
    named = named or (bool(options) and first > 1)  # text above the options begins below the name
    argument = block[:first] if named else block[:0]
    content = block[1:] if not named and not options else block[end + (end == head) :]
    body = argument + block[end:] if named else content
    return Directive(state, name, line, offset, argument, options, content, body)


def _options(lines: StringList) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        option = _OPTION.match(line)
        if option:
            name = option[1].strip().lower()
            found[name] = "\n".join(filter(None, [found.get(name, ""), (option[2] or "").strip()]))
        elif name:
            found[name] = f"{found[name]}\n{line.strip()}".strip("\n")
    return found
