"""Markdown and HTML from templates, in which texts of documents stay texts.

Templates are files of the package: `*.md.j2` and `*.html.j2`, beside the module that fills them. Every value
is escaped where it is filled in, and none is read as a template. `Markup` marks what is escaped already.
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
"""Style of all pages: colours, light, dark and on paper, tables and pictures."""
_MARKUP = re.compile(r"([\\|`*_\[\]<>#~@])")
_NUMBER = re.compile(r"–|too few|[\d.,]+(%| MB)?( \(.*\))?")


def render_markdown(template: str, **values: Any) -> str:
    """Return a template of the package, filled in as Markdown."""
    return MARKDOWN.get_template(template).render(values)


def render_html(template: str, **values: Any) -> str:
    """Return a template of the package, filled in as HTML whose style and script are files beside it."""
    return HTML.get_template(template).render(values)


def render_page(template: str, **values: Any) -> str:
    """Return an HTML page, from a template that extends `text/page.html.j2`; it runs and fetches nothing."""
    style = resources.files("qa_pipeline").joinpath(STYLE).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return render_html(template, policy=policy, style=Markup(style), **values)  # noqa: S704


def escape_markdown(value: object, longest: int | None = None) -> Markup:
    """Return a value as one line of Markdown without markup, links and mentions; `Markup` stays."""
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
    """Return a text on one line, cut at a length."""
    line = " ".join(visible(text).split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def code_span(value: object, longest: int = 160) -> Markup:
    """Return a value as a code span that fits a cell of a table.

    Markdown reads nothing inside it. The two characters that end span and cell become look-alikes.
    """
    if value is None:
        return Markup("–")
    # Ten times the length is enough to find so many visible characters in all but hostile texts.
    text = shorten(str(value)[: longest * 10], longest).replace("`", "ˋ").replace("|", "¦")
    return Markup(f"`{text}`" if text else "(empty)")  # noqa: S704


def markdown_table(
    rows: Iterable[Mapping[str, Any] | Sequence[Any]],
    columns: Sequence[str] | Mapping[str, str],
    longest: int = LONGEST_CELL,
) -> Markup:
    """Return a Markdown table with escaped cells; columns of numbers are on the right.

    Args:
        rows: cells in the order of the columns, or by their names.
        columns: titles, or titles by name; they are not escaped.
        longest: characters from which on a cell is cut.
    """
    lines: list[list[str]] = []
    for row in rows:
        cells = [row[name] for name in columns] if isinstance(row, Mapping) else row
        lines.append([escape_markdown(cell, longest) for cell in cells])
    titles = list(columns.values() if isinstance(columns, Mapping) else columns)
    rules = []
    for place in range(len(titles)):
        column = {line[place] for line in lines}
        is_number = all(map(_NUMBER.fullmatch, column)) and column - {"–"}
        rules.append("---:" if is_number else "---")
    return Markup("\n".join(f"| {' | '.join(line)} |" for line in [titles, rules, *lines]))  # noqa: S704


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first names of many, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def figure(value: float | None) -> str:
    """Return a figure with three places, a dash where it is unknown."""
    return "–" if value is None else f"{value:.3f}"


def share(count: int, total: int) -> str:
    """Return a share in percent, a dash where it is one of nothing."""
    return f"{count / total:.1%}" if total else "–"


def ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return names and counts, the most first; the order in a file does not matter."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def words(name: str) -> str:
    """Return a name of a column or setting as words."""
    return name.replace("_", " ")


# The sandbox keeps templates from attributes that begin with an underscore, and from changing what they show.
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
# What `finalize` returns is `Markup`, which the escaping of HTML leaves as it is.
MARKDOWN = HTML.overlay(finalize=escape_markdown, keep_trailing_newline=True)
