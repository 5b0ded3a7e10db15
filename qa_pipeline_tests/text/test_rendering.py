import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import Environment, UndefinedError
from jinja2.exceptions import SecurityError
from markdown_it import MarkdownIt

from qa_pipeline.text.rendering import (
    HTML,
    MARKDOWN,
    code_span,
    escape_markdown,
    markdown_table,
)

PACKAGE = Path(__file__).parents[2] / "qa_pipeline"
LETTERS = "`|\n\r\\<>[]()@*_#~!a{}% \u202e\u200b\x00\x1b"
HOSTILE = st.text(st.sampled_from(LETTERS), max_size=30)
TEMPLATE = "{{ 7 * 7 }}{% raw %}<script>|`"


def filled(environment: Environment, source: str, **values: object) -> str:
    return environment.from_string(source).render(values)


@given(HOSTILE)
@example(TEMPLATE)
def test_what_a_markdown_template_shows_is_one_line_without_markup(text: str) -> None:
    output = filled(MARKDOWN, "{{ text }}", text=text)
    assert not re.search(r"(?<!\\)(\\\\)*[`|*_\[\]<>#~@]", output)
    assert output.isprintable()
    assert output == escape_markdown(text)


@given(HOSTILE)
@example(TEMPLATE)
def test_no_text_ends_its_code_span_or_cell(text: str) -> None:
    span = code_span(text)
    assert re.fullmatch(r"`[^`|\n\r\u202e\u200b\x00\x1b]+`|\(empty\)", span)
    assert markdown_table([[text]], ["a"]).count("\n") == 2
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown_table([[text, span]], ["a", "b"]))
    assert [token.type for token in tokens].count("td_open") == 2
    assert tokens[-1].type == "table_close"


@pytest.mark.parametrize("environment", [HTML, MARKDOWN])
def test_a_text_that_looks_like_a_template_is_not_read_as_one(environment: Environment) -> None:
    output = filled(environment, "{{ text }} {{ text | shorten }}", text=TEMPLATE)
    assert output.count("{{ 7 ") == output.count("{% raw %}") == 2
    assert "49" not in output
    assert "<script" not in output.replace("\\<", "")


@pytest.mark.parametrize("environment", [HTML, MARKDOWN])
@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("{{ text.__class__ }}", SecurityError),
        ("{{ rows._append(1) }}", UndefinedError),
        ("{{ rows.append(1) }}", SecurityError),
        ("{{ missing }}", UndefinedError),
    ],
)
def test_a_template_cannot_reach_behind_values_change_them_or_show_missing_ones(
    environment: Environment, source: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        filled(environment, source, text="a", rows=[])


def test_every_template_of_the_package_compiles() -> None:
    names = [file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.j2")]
    assert names
    for name in names:
        assert (HTML if name.endswith(".html.j2") else MARKDOWN).get_template(name).name == name
