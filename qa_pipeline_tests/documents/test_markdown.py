import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents import markdown
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline_tests.documents.builders import SETTINGS, outline, source


def blocks(text: str) -> list[tuple[str, str]]:
    return outline(markdown.parse(source(text), SETTINGS))


@given(st.text())
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    reasons = set()
    try:
        markdown.parse(source(text.encode("utf-8", "replace")), SETTINGS)
    except DocumentFailure as failure:
        reasons.add(failure.reason)
    assert reasons <= {"binary_content", "undecodable", "nested_too_deep"}


def test_inline_markup_gives_its_text() -> None:
    text = (
        "A **bold** [link](https://x.y), `code`, ![alt](i.png)<abbr title='t'>HTML</abbr> <!-- no --> *end*"
    )
    assert blocks(text) == [("paragraph", "A bold link, code, HTML end")]


def test_front_matter_describes_the_document_and_is_not_text() -> None:
    parsed = markdown.parse(
        source(
            "---\nrubrik: Lag om luft\nspråk: svenska\nlicens: CC0\npdf_url: https://x.se/a.pdf\n---\n\nText.\n"
        ),
        SETTINGS,
    )
    assert outline(parsed) == [("paragraph", "Text.")]
    assert (parsed.title, parsed.language) == ("Lag om luft", "sv")
    assert (parsed.licence, parsed.source_uri) == ("CC0", "https://x.se/a.pdf")


@pytest.mark.parametrize(
    "front",
    ["a: [", "date: 2024-13-45", "- just\n- a list", "!!python/object:os.system x", "a: " + "[" * 3000],
)
def test_unreadable_front_matter_says_nothing(front: str) -> None:
    parsed = markdown.parse(source(f"---\n{front}\n---\n\nText.\n"), SETTINGS)
    assert parsed.title is None
    assert outline(parsed) == [("paragraph", "Text.")]


def test_headings_lose_their_attributes() -> None:
    assert blocks("## Install it { #install-it }\n\n# Code `x` {.big}") == [
        ("heading", "Install it"),
        ("heading", "Code x"),
    ]


def test_tables_repeat_their_header() -> None:
    assert blocks("| Name | Type |\n|---|---|\n| `a` | str |\n| b | |") == [
        ("table_row", "Name: a | Type: str"),
        ("table_row", "Name: b"),
    ]


def test_fenced_code_is_verbatim_and_dialect_marks_in_it_stay() -> None:
    text = "```python\nx = {1}\n/// note\n{* a.py *}\n\n!!! tip\n```"
    parsed = markdown.parse(source(text), SETTINGS)
    assert [(block.kind, block.text) for block in parsed.blocks] == [
        ("code", "x = {1}\n/// note\n{* a.py *}\n\n!!! tip\n")
    ]


def test_coloured_console_output_loses_its_colours() -> None:
    assert blocks('```console\n$ run\n<span style="color: green;">INFO</span>: <b>ok</b>\n```') == [
        ("code", "$ run INFO: ok")
    ]


def test_lists_keep_their_depth_and_later_paragraphs() -> None:
    parsed = markdown.parse(source("1. one\n\n   more\n   - deeper\n2. two\n"), SETTINGS)
    assert [(block.kind, block.text, block.level) for block in parsed.blocks] == [
        ("list_item", "one", 0),
        ("paragraph", "more", 0),
        ("list_item", "deeper", 1),
        ("list_item", "two", 0),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "/// note | Technical Details\n\nKeep this.\n\n///",
        "/// Note | Hinweis\n\nKeep this.\n\n///",
        '!!! warning "Careful"\n    Keep this.',
        "??? tip\n    Keep this.",
        ":::info\nKeep this.\n:::",
        "::: {.callout-note}\nKeep this.\n:::",
        "{* ../../docs/main.py hl[1] *}\n\nKeep this.",
        '=== "Tab"\n\n    Keep this.',
        "<div class='box'>\n\nKeep this.\n\n</div>",
        "<!-- hidden -->\n\nKeep this.",
    ],
)
def test_marks_of_documentation_generators_go_and_their_text_stays(text: str) -> None:
    assert blocks(text) == [("paragraph", "Keep this.")]


def test_code_inside_an_indented_box_keeps_its_own_indentation() -> None:
    text = "!!! note\n    Do:\n\n    ```\n    if x:\n        y\n    ```\n\nAfter."
    parsed = markdown.parse(source(text), SETTINGS)
    assert [(block.kind, block.text) for block in parsed.blocks] == [
        ("paragraph", "Do:"),
        ("code", "if x:\n    y\n"),
        ("paragraph", "After."),
    ]


def test_html_tables_inside_markdown_are_read_as_tables() -> None:
    assert blocks("<table><tr><th>Port</th><td>80</td></tr></table>\n") == [("table_row", "Port: 80")]


def test_hard_line_breaks_stay_and_soft_ones_do_not() -> None:
    parsed = markdown.parse(source("Storgatan 1  \nLund<br>Sverige\nhela vägen"), SETTINGS)
    assert parsed.blocks[0].text == "Storgatan 1\nLund\nSverige hela vägen"


@pytest.mark.parametrize("text", [">" * 5000 + " x", "\n".join(" " * (2 * i) + "- a" for i in range(300))])
def test_depth_no_writer_means_is_a_failure(text: str) -> None:
    with pytest.raises(DocumentFailure) as refused:
        markdown.parse(source(text), SETTINGS)
    assert refused.value.reason == "nested_too_deep"
