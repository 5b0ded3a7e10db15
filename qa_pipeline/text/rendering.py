"""Render Markdown and HTML from templates, and escape texts of documents.

Templates are package files, `*.md.j2` and `*.html.j2`, next to their module. Every value is escaped when it
is filled in, and values are never read as templates. `Markup` marks text that is already escaped.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import PackageLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

LONGEST_CELL = 100
STYLE = "text/page.css"
"""Style of all pages: colours, light, dark and print modes, tables and pictures."""
_MARKUP = re.compile(r"([\\|`*_\[\]<>#~@])")  # signs that are escaped by a backslash
_NUMBER = re.compile(r"–|too few|[\d.,]+(%| MB)?( \(.*\))?")  # "1,234", "5%" or "12 MB (…)"


def render_markdown(template: str, **values: Any) -> str:
    """Render a template of the package as Markdown."""
    return MARKDOWN.get_template(template).render(values)


def render_html(template: str, **values: Any) -> str:
    """Render a template of the package as HTML."""
    return HTML.get_template(template).render(values)


def render_page(template: str, **values: Any) -> str:
    """Render an HTML page without scripts and external files. Its template extends `text/page.html.j2`."""
    style = resources.files("qa_pipeline").joinpath(STYLE).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # the policy allows the style sheet and forbids everything else
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return render_html(template, policy=policy, style=Markup(style), **values)  # noqa: S704


def escape_markdown(value: object, longest: int | None = None) -> Markup:
    """Return a value as a line of Markdown without markup, links and mentions. `Markup` is unchanged."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        text = f"{value:.4f}"
    elif isinstance(value, int):
        text = f"{value:,}"
    else:
        text = "–" if value is None else shorten(str(value), longest)
    return Markup(_MARKUP.sub(r"\\\1", text))  # noqa: S704


def visible(text: str) -> str:
    """Return a text without control, bidirectional and other invisible characters."""
    if text.isprintable():
        return text
    return "".join(character for character in text if character.isprintable() or character.isspace())


def shorten(text: str, longest: int | None = LONGEST_CELL) -> str:
    """Return a text on one line, cut to a maximum length."""
    line = " ".join(visible(text).split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def code_span(value: object, longest: int = 160) -> Markup:
    """Return a value as a code span that fits a table cell.

    Markdown is inactive inside it. The two characters that end span and cell become look-alikes.
    """
    if value is None:
        return Markup("–")
    # Ten times the length contains enough visible characters, except in hostile texts.
    text = shorten(str(value)[: longest * 10], longest).replace("`", "ˋ").replace("|", "¦")
    return Markup(f"`{text}`" if text else "(empty)")  # noqa: S704


def markdown_table(
    rows: Iterable[Mapping[str, Any] | Sequence[Any]],
    columns: Sequence[str] | Mapping[str, str],
    longest: int = LONGEST_CELL,
) -> Markup:
    """Return a Markdown table with escaped cells. Columns of numbers are right-aligned.

    A row has its cells in the order of the columns, or by their names. `columns` are names, or titles by
    name. Titles are not escaped.
    """
    lines: list[list[str]] = []
    for row in rows:
        cells = [row[name] for name in columns] if isinstance(row, Mapping) else row
        lines.append([escape_markdown(cell, longest) for cell in cells])
    titles = list(columns.values() if isinstance(columns, Mapping) else columns)
    alignments = []
    for index in range(len(titles)):
        column = {line[index] for line in lines}
        is_number = all(map(_NUMBER.fullmatch, column)) and not column <= {"–"}  # not only dashes
        alignments.append("---:" if is_number else "---")
    return Markup("\n".join(f"| {' | '.join(line)} |" for line in [titles, alignments, *lines]))  # noqa: S704


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first names of a list, and the number of further names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def figure(value: float | None) -> str:
    """Format a figure with three decimals, or a dash if it is unknown."""
    return "–" if value is None else f"{value:.3f}"


def share(count: int, total: int) -> str:
    """Format a share in percent, or a dash if the total is 0."""
    return f"{count / total:.1%}" if total else "–"


def ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return names and counts, largest count first, then by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def words(name: str) -> str:
    """Return a name of a column or setting as words."""
    return name.replace("_", " ")


# The sandbox denies templates attributes that begin with an underscore, and changes of their values.
HTML = ImmutableSandboxedEnvironment(
    loader=PackageLoader("qa_pipeline", ""),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
HTML.filters |= {
    "code": code_span,
    "thousands": "{:,}".format,
    "figure": figure,
    "plural": plural,
    "ranked": ranked,
    "shorten": shorten,
    "table": markdown_table,
    "words": words,
}
# `finalize` returns `Markup`, which the HTML escaping leaves unchanged.
MARKDOWN = HTML.overlay(finalize=escape_markdown, keep_trailing_newline=True)
