from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats import markdown
from qa_pipeline.records import LeftOut
from qa_pipeline_tests.documents.builders import SETTINGS, outline, source, unaccounted

_MARKS = st.sampled_from(
    [
        "- ", "> ", "# ", "*", "**", "`y", " `` y", "|", "\n", "\n\n", "[^1]", "[^1]: ", "<b>", "</b>",
        "<script>", "</script>", "<!-- ", " -->", "![", "](x)", "[", "    ", "\n```\n", "\n~~~\n", "$",
        "1. ", "\n:::\n", "\n!!! note\n", "\n!!! ", "\n=== ", "\n/// tip | ", "\n/// ", "\n::: ", "\n| ",
        "|-|-|\n", "---\n", "===\n", "\n: ", "<p>", "</p>\n", "<table><tr><td>", "\\", "&amp;", "~~",
        "\n- ", "\n```{note} ", "{ #x }", "<br>", "<p hidden>", "> [!NOTE]\n> ", "<?", "<![CDATA[",
        "---\na: ", "\n+--+--+\n", "| a | b |\n",
    ]
)  # fmt: skip


def blocks(text: str) -> list[tuple[str, str]]:
    return outline(markdown.parse(source(text), SETTINGS))


@given(st.lists(st.one_of(st.text("ABC ", min_size=1, max_size=4), _MARKS), max_size=14))
@example(["\n", "::: ", "A", "{ #x }", "A"])
@example(["\n- ", "<?", "A", " "])
def test_every_letter_of_any_soup_of_marks_is_in_the_text_or_counted(soup: list[str]) -> None:
    text = "x" + "".join(soup)
    parsed = None
    with suppress(DocumentFailure):
        parsed = markdown.parse(source(text), SETTINGS)
    assert parsed is None or unaccounted(text, parsed) <= 0


CODE = "x = {1}\n/// note\n{* a.py *}\n\n!!! tip"
BOXES = {
    "/// note\n\nKeep this.\n\n///": "Keep this.",
    "!!! warning\n    Keep this.": "Keep this.",
    "::: {.callout-note}\nKeep this.\n:::": "Keep this.",
    "/// note | Technical `Details`\n\nKeep this.\n\n///": "Technical Details: Keep this.",
    '!!! warning "Technical Details"\n    Keep this.': "Technical Details: Keep this.",
    '=== "Technical Details"\n\n    Keep this.': "Technical Details: Keep this.",
    ":::tip Technical Details\nKeep this.\n:::": "Technical Details: Keep this.",
    ":::: tip A\n::: note B\nInner.\n:::\n::::\n\nAfter.": "A\n\nB: Inner.\n\nAfter.",
    f"```python\n{CODE}\n```": f"```\n{CODE}\n```",
}


@pytest.mark.parametrize(("text", "written"), BOXES.items())
def test_marks_of_boxes_go_outside_code_and_their_titles_and_text_stay(text: str, written: str) -> None:
    assert assemble(markdown.parse(source(text), SETTINGS).blocks).text == written


@pytest.mark.parametrize(
    "mark",
    [
        "{* ../main.py hl[1] *}",
        "{!../a.md!}",
        '--8<-- "a.md"',
        "{% include 'a.md' %}",
        "::: package.module.Name",
    ],
)
def test_includes_are_counted_and_gone(mark: str) -> None:
    parsed = markdown.parse(source(f"Before.\n\n{mark}\n\nAfter.\n\n{mark}\n"), SETTINGS)
    assert outline(parsed) == [("paragraph", "Before."), ("paragraph", "After.")]
    assert parsed.left_out == (LeftOut("include", 2, 0),)


def test_formulas_are_kept_as_they_are_written_and_prices_are_no_formulas() -> None:
    text = r"So $a_1 * b_2 * c$ costs $5 or $10." + "\n\n$$\nx \\\\ y_1\n$$\n"
    assert blocks(text) == [("paragraph", "So a_1 * b_2 * c costs $5 or $10."), ("code", r"x \\ y_1")]


def test_what_has_no_place_in_the_text_is_counted() -> None:
    text = (
        "---\na: b\n---\n\n![a bee](i.png) [t](http://x)<!-- no -->\n\n<!-- c -->\n\n<p hidden>h</p>\n\n"
        "|a|b|\n|-|-|\n|1||"
    )
    parsed = markdown.parse(source(text), SETTINGS)
    assert {part.what: (part.pieces, part.characters) for part in parsed.left_out} == {
        "front_matter": (1, 3),
        "image": (1, 4),
        "link_target": (1, 8),
        "comment": (2, 3),
        "hidden": (1, 1),
        "empty_column": (1, 1),
    }


@pytest.mark.parametrize("text", [">" * 5000 + " x", "\n".join(" " * (2 * i) + "- a" for i in range(300))])
def test_depth_no_writer_means_is_a_failure(text: str) -> None:
    with pytest.raises(DocumentFailure) as refused:
        markdown.parse(source(text), SETTINGS)
    assert refused.value.reason == "nested_too_deep"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("1. one\n1. two\n1. three\n\nSee step 3.", "- 1. one\n- 2. two\n- 3. three\n\nSee step 3."),
        ("4. four\n6. six\n7. seven", "- 4. four\n- 6. six\n- 7. seven"),
        ("1) one\n   - inner\n     1. deep\n2) two", "- 1. one\n  - inner\n    - 1. deep\n- 2. two"),
    ],
)
def test_items_of_ordered_lists_keep_their_numbers(written: str, text: str) -> None:
    assert assemble(markdown.parse(source(written), SETTINGS).blocks).text == text


@pytest.mark.parametrize(
    "opened", ["<div hidden>", "Use the <script> element.", "<div><nav>", "A <!-- comment -->."]
)
def test_an_element_left_open_swallows_nothing_below_it(opened: str) -> None:
    assert blocks(f"{opened}\n\nKeep this.")[-1] == ("paragraph", "Keep this.")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Fee ~~30~~ 45 euros, ~~**all** `of` it~~ nothing.", "Fee 45 euros, nothing."),
        ("Fee <del>30</del> 45, <s>old</s> new, <strike>bad</strike> good.", "Fee 45, new, good."),
        ("10<sup>6</sup> J, H<sub>2</sub>O, base 1010<sub>2</sub>", "10^6 J, H2O, base 1010_2"),
        ("a ~ b ~~ c", "a ~ b ~~ c"),
    ],
)
def test_struck_out_raised_and_noted_text_keeps_its_meaning(text: str, written: str) -> None:
    assert blocks(text) == [("paragraph", written)]


def test_components_of_mdx_have_their_label_and_its_comments_are_counted() -> None:
    content = """import Tabs from '@theme/Tabs';

<Tabs>
<TabItem value="basic" label="Basic">

The fee is 40 euros.

</TabItem>
</Tabs>

{/* It was 20 euros. */}

<Card title="Refunds" icon="undo">They take 5 days.</Card>
"""
    parsed = markdown.parse(source(content), SETTINGS)
    assert outline(parsed) == [
        ("paragraph", "Basic: The fee is 40 euros."),
        ("paragraph", "Refunds: They take 5 days."),
    ]
    assert {part.what for part in parsed.left_out} == {"comment", "script"}


@pytest.mark.parametrize("text", ['export NAME="value"', "export PATH=$PATH:/opt/bin; export A='b'"])
def test_a_variable_of_a_shell_is_text_and_no_script(text: str) -> None:
    assert blocks(text) == [("paragraph", text)]


@pytest.mark.parametrize("text", ["export const a = 1;", "export default () => 'a'", "import {a} from 'a'"])
def test_what_a_module_exports_is_counted_as_script(text: str) -> None:
    parsed = markdown.parse(source(text), SETTINGS)
    assert parsed.blocks == ()
    assert [part.what for part in parsed.left_out] == ["script"]


def test_a_picture_that_is_all_of_a_cell_stands_by_its_name() -> None:
    table = "| Town | 2030 |\n|---|---|\n| Lund | ![Yes](y.png) |\n| Kiel | :x: |"
    assert [text for _, text in blocks(table)] == ["Town: Lund | 2030: Yes", "Town: Kiel | 2030: ✗"]
