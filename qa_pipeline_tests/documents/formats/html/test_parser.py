from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal, source
from qa_pipeline_tests.documents.formats.office.builders import left_out
from qa_pipeline_tests.support.work import lines_run

WORDS = st.text("abcdefgh", min_size=1, max_size=3)
TAGS = st.sampled_from(
    [
        "p", "div", "b", "ul", "li", "dl", "dt", "dd", "h1", "h3", "table", "tr", "td", "th", "caption",
        "pre", "code", "nav", "aside", "main", "article", "header", "blockquote", "sup", "q", "section",
        "form", "button", "svg", "a href=x", "a href='#x'", "div hidden", "div class=note", "span", "br",
        "em", "ol", "thead", "template", "html hidden", "sub", "del", "s", "math", "mfrac", "mi", "msup",
        "span style='text-decoration:line-through'", "p style='display:none'", "a class=footnote-ref",
        "th rowspan=2",
    ]
)  # fmt: skip
MARKS = TAGS.map(lambda tag: f"<{tag}>") | TAGS.map(lambda tag: f"</{tag.split()[0]}>")


def parse(markup: str) -> ParsedFile:
    return html.parse(source(markup), SETTINGS)


def blocks(markup: str) -> list[tuple[str, str]]:
    return outline(parse(markup))


def text_of(markup: str) -> str:
    return assemble(parse(markup).blocks).text


class Letters(HTMLParser):
    """Counts all letters of a page, as the standard library finds them."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.feed(markup)
        self.close()

    def handle_data(self, data: str) -> None:
        self.counts.update(filter(str.isalpha, data))


@given(st.lists(WORDS | MARKS, max_size=40).map("".join))
def test_every_letter_of_any_soup_of_tags_is_in_the_text_or_counted(markup: str) -> None:
    parsed = parse(f"<body>{markup}</body>")
    kept = Counter(letter for block in parsed.blocks for letter in block.text if letter.isalpha())
    lost = (Letters(markup).counts - kept).total()
    assert lost <= sum(part.characters for part in parsed.left_out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "unit", "count"),
    [
        ("<p>", "<!--", 20_000),
        ("", "<nav>", 4_000),
        ("<p>", "<sup>", 4_000),
        ("<p>", "<del>a</del>b", 10_000),
        ("<table><tr><th>", "<table><tr><th>", 500),
    ],
)
def test_a_page_twice_as_long_is_at_most_twice_the_work(start: str, unit: str, count: int) -> None:
    def work(units: int) -> int:
        return lines_run(lambda: parse(start + unit * units + "x"))

    work(1)  # what is done once in a process
    assert work(count) < 2.2 * work(count // 2) + 1000


def test_depth_a_browser_could_not_show_is_a_failure_and_less_is_read() -> None:
    assert refusal(lambda: parse("<div>" * 100_000 + "x")) == "nested_too_deep"
    assert blocks("<div>" * 4_000 + "deep") == [("paragraph", "deep")]


LINKS = "<ul><li><a href=a.html>mod_a</a></li><li><a href=b.html>mod_b</a></li></ul>"
PAGES = {
    "furniture around the content": (
        (
            "<header><a href=/>Site</a></header><nav>Menu</nav><div id=sidebar class=sidebar>Ads</div><main>"
            "<h1>Title</h1><p>Body text.</p><script>go()</script></main><footer>Copyright</footer>"
        ),
        "# Title\n\nBody text.",
    ),
    "a header that holds the heading": (
        "<article><header><h1>Title</h1></header><p>Text of some length.</p></article>",
        "# Title\n\nText of some length.",
    ),
    "a table used for layout": (
        "<table><tr><td><h2>News</h2><p>First.</p></td><td><p>Second.</p></td></tr></table>",
        "## News\n\nFirst.\n\nSecond.",
    ),
    "a paragraph of code": (
        "<p><code>\n   Listen 80<br />\n   &nbsp;&nbsp;Name x\n</code></p><p>Set <code>a</code> first.</p>",
        "```\nListen 80\n  Name x\n```\n\nSet a first.",
    ),
    "definitions": (
        "<dl><dt>-h</dt><dt>--help:</dt><dd>Show help.<p>More.</p></dd><dt>-v</dt><dd><pre>v</pre></dd></dl>",
        "- -h, --help: Show help.\n\nMore.\n\n- -v\n\n```\nv\n```",
    ),
    "a table as a definition": (
        "<dl><dt>Power</dt><dd><table><tr><th>Model<th>kW</tr><tr><td>A<td>8</tr></table></dd></dl>",
        "- Power\n\nModel: A | kW: 8",
    ),
    "links that a sentence announces": (
        f"<p>There are two modules:</p>{LINKS}",
        "There are two modules:\n\n- mod_a\n- mod_b",
    ),
    "nothing but links": (LINKS, "- mod_a\n- mod_b"),
    "the heading of a box": (
        "<div class=note><h3>Note</h3><p>Mind the gap.</p></div>",
        "Note: Mind the gap.",
    ),
    "powers by style": (
        (
            "<style>.up { vertical-align: super }</style><p>It has 10<span class=up>6</span> bytes, "
            "10<span style='vertical-align:super'>3</span> parts and 10^9 bits of CO"
            "<span style='vertical-align: sub'>2</span>.</p>"
        ),
        "It has 10^6 bytes, 10^3 parts and 10^9 bits of CO2.",
    ),
    "a box that opens at a click": (
        "<details><summary>Mind</summary><p>The gap.</p></details><p>After.</p>",
        "Mind: The gap.\n\nAfter.",
    ),
    "entities": ("<p>Gr&ouml;&szlig;e <img alt='logo' src=x>&lt;b&gt; &amp; more</p>", "Größe <b> & more"),
    "struck out blocks and cells": (
        "<del><p>All gone.</p></del><table><tr><th>A<th>B</tr><tr><td><s>1</s> 2</td><td>3</td></tr></table>",
        "A: 2 | B: 3",
    ),
}


@pytest.mark.parametrize(("page", "text"), PAGES.values(), ids=PAGES)
def test_a_page_is_read_as_a_person_reads_it(page: str, text: str) -> None:
    assert text_of(page).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    "box",
    [
        "<p><span>Available Languages: </span><a href=/en> en </a> | <a href=/fr> fr </a></p>",
        "<ul id=toc><li><a href='#a'>First part</a></li><li><a href='#b'>Second</a></li></ul>",
        "<h3>See also</h3><ul><li><a href=x.html>The other page</a></li></ul>",
    ],
)
def test_boxes_that_only_lead_elsewhere_are_dropped(box: str) -> None:
    before = "<h1>T</h1><table><tr><td>A <a href='a'>cell</a></td></tr></table><p>A <a href='b'>text</a>.</p>"
    page = f"<main>{before}<div>{box}</div><h2>Next</h2><p>Text stays.</p></main>"
    assert text_of(page) == "# T\n\nA cell\n\nA text.\n\n## Next\n\nText stays."


def test_a_page_says_its_language_title_source_and_licence() -> None:
    parsed = parse(
        "<html lang=sv-SE><head><title>Om \n oss</title><link rel=canonical href=https://example.se/om>"
        "<link rel=license href='CC BY 4.0'></head><body><p>Text."
    )
    assert (parsed.language, parsed.title) == ("sv", "Om oss")
    assert (parsed.source_uri, parsed.licence) == ("https://example.se/om", "CC BY 4.0")


def test_what_is_left_out_is_counted_by_kind() -> None:
    page = """<html><head><title>A page</title><style>x{}</style></head><body>
    <nav>Menu <script>go()</script></nav><main><h1>A page</h1>
    <p>Enough text<sup>[1]</sup> to be the content of it.</p><img alt="a bee" src=b><!-- secret -->
    <form><p>Name</p><select><option>one</select></form><p hidden>hid</p><svg><text>fig</text></svg>
    <template><b>tpl</b></template><ul><li><a href="#a">Alpha</a></li></ul></main><div>Aside</div>
    </body></html>"""
    assert left_out(parse(page)) == {
        "metadata": (1, 5), "script": (3, 10), "navigation": (2, 9), "footnote_mark": (1, 3), "image": (2, 7),
        "comment": (1, 6), "form": (1, 3), "hidden": (1, 3), "outside_main": (1, 5),
    }  # fmt: skip
    assert ("paragraph", "Name") in blocks(page)


@pytest.mark.parametrize(
    ("markup", "text", "characters"),
    [
        ("Jacket: <s>799 kr</s> 499 kr. <strike>Cancelled.</strike>", "Jacket: 499 kr.", 15),
        ("A <i style='TEXT-DECORATION: underline Line-Through'>799</i> 499 kr", "A 499 kr", 3),
        ("A <i class=was>799</i> <i class=now>499 kr</i>", "A 499 kr", 3),
    ],
)
def test_struck_out_text_is_left_out_and_counted(markup: str, text: str, characters: int) -> None:
    sheet = ".was { color: red; text-decoration: line-through } a:hover, .. { text-decoration: line-through }"
    parsed = parse(f"<style>{sheet}</style><body><p>{markup}</p>")
    assert outline(parsed) == [("paragraph", text)]
    assert left_out(parsed)["deleted_text"][1] == characters


@pytest.mark.parametrize(
    "shown",
    [
        "<style>@media print { .x { display: none } .x { display: none } }</style><p class=x>",
        "<style>/* .x { display: none } */</style><p class=x>",
        "<style>body { display: none }</style><p>",
    ],
)
def test_text_that_a_page_hides_on_paper_or_until_it_is_complete_is_read(shown: str) -> None:
    assert blocks(f"<body>{shown}Here.</p><p>A lake is deep.</p>")[0] == ("paragraph", "Here.")


def table_of(*rows: str) -> str:
    """A table whose cells are parted by bars; those that begin with ! are head cells."""
    lines = [
        "".join(f"<th>{cell[1:]}</th>" if cell[:1] == "!" else f"<td>{cell}</td>" for cell in row.split("|"))
        for row in rows
    ]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        (table_of("!Syntax:|<code>Check\n on</code>", "!Default:|Off"), ["Syntax: Check on", "Default: Off"]),
        (table_of("!Name|!Weight", "!|!(kg)", "Bolt|2"), ["Name: Bolt | Weight (kg): 2"]),
        (
            table_of("!Name|!Weight", "!Tools|!", "Bolt|2", "!More|!", "Nut|1"),
            ["Name: Tools", "Name: Bolt | Weight: 2", "Name: More", "Name: Nut | Weight: 1"],
        ),
        (
            table_of("!Item|!2029", "Bolt|1", "!Item|!2031", "Bolt|3"),
            ["Item: Bolt | 2029: 1", "Item: Bolt | 2031: 3"],
        ),
        (
            "<table><thead><tr><td>Item</td><td>Price</td></tr></thead><tr><td>Nail<td>2<br>kr</tr></table>",
            ["Item: Nail | Price: 2 kr"],
        ),
        (
            (
                "<table><tr><th rowspan=2>Town<th colspan=2>People</tr><tr><th>Men<th>Women</tr>"
                "<tr><td>Lund<td>4<td>5</tr></table>"
            ),
            ["Town: Lund | People Men: 4 | People Women: 5"],
        ),
        (
            (
                f"<table><tr><th>Part<th>Note</tr><tr><td>a<td rowspan=2>{'Each is checked. ' * 12}</tr>"
                "<tr><td>b</tr></table>"
            ),
            [f"Part: a | Note: {'Each is checked. ' * 12}".strip(), "Part: b"],
        ),
    ],
)
def test_each_row_of_a_table_has_the_names_of_its_columns(table: str, lines: list[str]) -> None:
    assert blocks(table) == [("table_row", line) for line in lines]


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        (table_of("Projector|2", "Chairs|40"), "Projector 2, Chairs 40"),
        (table_of("!Item|!No", "Chair|4", "Lamp|1"), "Item: Chair, No: 4; Item: Lamp, No: 1"),
        ("<section><p>One.</p></section><blockquote>Two.</blockquote>", "One. Two."),
    ],
)
def test_blocks_in_a_cell_keep_the_table(cell: str, written: str) -> None:
    page = f"<table><tr><th>Room<th>Has<th>Price</tr><tr><td>Alfa<td>{cell}<td>900 kr</tr></table>"
    assert blocks(page) == [("table_row", f"Room: Alfa | Has: {written} | Price: 900 kr")]


@pytest.mark.parametrize(
    ("markup", "what", "characters"),
    [
        ("<p>Text.<!-- no -->", "comment", 2),
        ("<?xml version='1.0'?><!DOCTYPE html><p>Text.", None, 0),
        ("<p>Text.<!-- no <p>more", "comment", 9),
        ("<p>Text.<? no", "comment", 3),
        ("<p>Text.<script><!-- no</script>", "script", 6),
    ],
)
def test_comments_are_counted_whatever_they_look_like(markup: str, what: str | None, characters: int) -> None:
    parsed = parse(markup)
    assert outline(parsed) == [("paragraph", "Text.")]
    assert left_out(parsed) == ({what: (1, characters)} if what else {})


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ol><li>one<li>two</ol><p>See step 2.</p>", "- 1. one\n- 2. two\n\nSee step 2."),
        ("<ol start=5><li>five<li value=9>nine<li>ten</ol>", "- 5. five\n- 9. nine\n- 10. ten"),
        ("<ol type=I start=4><li>x<li>y</ol>", "- IV) x\n- V) y"),
        ("<ol><li><h2>First</h2><p>x</ol>", "## 1. First\n\n- x"),
        ("<ol start=99999999999><li value=x>y</ol>", "- 999999999. y"),
    ],
)
def test_items_of_ordered_lists_keep_their_numbers(page: str, text: str) -> None:
    assert text_of(page) == text
