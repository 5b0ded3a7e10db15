from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import Omissions, assemble
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.documents.formats.html.parser import read_fragment
from qa_pipeline.records import LeftOut
from qa_pipeline_tests.documents.builders import SETTINGS, outline, source
from qa_pipeline_tests.support.work import lines_run


def blocks(markup: str) -> list[tuple[str, str]]:
    return outline(html.parse(source(markup), SETTINGS))


def test_navigation_and_furniture_of_a_page_are_left_out() -> None:
    page = """<header><a href="/">Site</a></header><nav>Menu</nav><div id="sidebar" class="sidebar">Ads</div>
    <main><h1>Title</h1><p>Body text of the page.</p><script>alert(1)</script></main>
    <footer>Copyright</footer>"""
    assert blocks(page) == [("heading", "Title"), ("paragraph", "Body text of the page.")]


def test_a_header_that_holds_the_heading_is_content() -> None:
    page = "<article><header><h1>Title</h1></header><p>Text of some length.</p></article>"
    assert blocks(page)[0] == ("heading", "Title")


def test_key_value_tables_become_key_value_lines() -> None:
    page = """<table><tr><th>Syntax:</th><td><code>CheckSpelling
    on|off</code></td></tr><tr><th>Default:</th><td>Off</td></tr></table>"""
    assert blocks(page) == [("table_row", "Syntax: CheckSpelling on|off"), ("table_row", "Default: Off")]


def test_tables_with_a_head_repeat_it_in_each_row() -> None:
    page = """<table><caption>Prices</caption><thead><tr><td>Item</td><td>Price</td></tr></thead>
    <tbody><tr><td>Nail</td><td>2<br>kr</td></tr></tbody></table>"""
    assert blocks(page) == [("paragraph", "Prices"), ("table_row", "Item: Nail | Price: 2 kr")]


def test_list_items_in_a_cell_are_distinguished() -> None:
    page = "<table><tr><th>Modules</th><td><ul><li>core</li><li>mod_alias</li></ul></td></tr></table>"
    assert blocks(page) == [("table_row", "Modules: core, mod_alias")]


def test_a_table_used_for_layout_is_read_as_text() -> None:
    page = "<table><tr><td><h2>News</h2><p>First.</p></td><td><p>Second.</p></td></tr></table>"
    assert blocks(page) == [("heading", "News"), ("paragraph", "First."), ("paragraph", "Second.")]


def test_preformatted_text_is_code_kept_as_it_is() -> None:
    parsed = html.parse(source("<pre>if x:\n    <b>go</b>()\n\ndone</pre>"), SETTINGS)
    assert [(block.kind, block.text) for block in parsed.blocks] == [("code", "if x:\n    go()\n\ndone")]


def test_a_paragraph_of_nothing_but_code_is_code() -> None:
    page = "<p><code>\n   Listen 80<br />\n   &nbsp;&nbsp;Name x\n</code></p><p>Set <code>a</code> first.</p>"
    parsed = html.parse(source(page), SETTINGS)
    assert parsed.blocks[0].kind == "code"
    assert parsed.blocks[0].text.strip().replace("\u00a0", "_") == "Listen 80\n__Name x"
    assert parsed.blocks[1].text == "Set a first."


def test_nested_lists_keep_their_depth() -> None:
    page = "<ul><li>one<ol><li>deeper<p>more</p></li></ol></li><li><p>two</p></li></ul>"
    parsed = html.parse(source(page), SETTINGS)
    assert [(block.kind, block.text, block.level) for block in parsed.blocks] == [
        ("list_item", "one", 0),
        ("list_item", "deeper", 1),
        ("paragraph", "more", 0),
        ("list_item", "two", 0),
    ]


def test_definition_lists_put_term_and_meaning_on_one_line() -> None:
    page = """<dl><dt>-h</dt><dt>--help:</dt><dd>Show help.<p>More.</p></dd><dt>-v</dt><dd><pre>v</pre></dd>
    <dt>last</dt></dl>"""
    assert blocks(page) == [
        ("list_item", "-h, --help: Show help."),
        ("paragraph", "More."),
        ("list_item", "-v"),
        ("code", "v"),
        ("list_item", "last"),
    ]


def test_permanent_links_and_links_to_the_top_are_dropped() -> None:
    page = """<h2><a id="x">Alias</a> <a name="y">Directive</a> <a class="permalink" href="#x">¶</a></h2>
    <p>Text.</p><div class="top"><a href="#page"><img alt="top" src="up.gif"></a></div>
    <p><a href="#page">Back to top</a></p>"""
    assert blocks(page) == [("heading", "Alias Directive"), ("paragraph", "Text.")]


LEADING_ON = [
    '<p><span>Available Languages: </span><a href="/en"> en </a> | <a href="/fr"> fr </a></p>',
    '<p>Sprachen: <a href="/de">&nbsp;de&nbsp;</a></p>',
    '<ul id="toc"><li><a href="#a">First part</a></li><li><a href="#b">Second</a></li></ul>',
    """<div><h3>Topics</h3><ul><li><a href="#a">A</a></li></ul><h3>See also</h3>
        <ul><li><a href="other.html">Another page</a></li></ul></div>""",
    '<h3>See also</h3><ul><li><a href="x.html">The other page</a></li></ul>',
]


@pytest.mark.parametrize("box", LEADING_ON)
def test_such_boxes_are_dropped_after_text_and_tables_too(box: str) -> None:
    before = "<h1>T</h1><table><tr><td>A <a href='a'>cell</a></td></tr></table><p>A <a href='b'>text</a>.</p>"
    page = f"<main>{before}<div>{box}</div><h2>Next</h2><p>Text stays.</p></main>"
    kept = [("heading", "T"), ("table_row", "A cell"), ("paragraph", "A text.")]
    assert blocks(page) == [*kept, ("heading", "Next"), ("paragraph", "Text stays.")]


def test_links_inside_tables_and_sentences_are_content() -> None:
    page = """<div><h2>T</h2>
    <table><tr><th><a href="#a">Alias</a></th><td><a href="#b">b</a></td></tr></table>
    <div><p>See <a href="#c">the chapter on C</a> for more on this.</p></div></div>"""
    assert [text for _, text in blocks(page)] == ["T", "Alias: b", "See the chapter on C for more on this."]


def test_a_list_of_links_that_a_sentence_announces_is_content() -> None:
    page = """<p>There are two modules:</p>
    <ul><li><a href="a.html">mod_a</a></li><li><a href="b.html">mod_b</a></li></ul>"""
    assert blocks(page)[1:] == [("list_item", "mod_a"), ("list_item", "mod_b")]


def test_a_page_of_nothing_but_links_is_still_read() -> None:
    assert blocks('<ul><li><a href="#a">Alpha</a></li><li><a href="#b">Beta</a></li></ul>') != []


def test_the_heading_of_a_box_labels_its_text_and_opens_no_section() -> None:
    page = """<div class="note"><h3>Note</h3><p>Mind the gap.</p></div>
    <div class="example"><h3>Example</h3><pre>x</pre></div>"""
    assert blocks(page) == [("paragraph", "Note: Mind the gap."), ("paragraph", "Example"), ("code", "x")]


def test_powers_keep_their_meaning_and_footnote_marks_go() -> None:
    page = "<p>About 10<sup>6</sup> bytes<sup><a href='#n'>[1]</a></sup> on the 1<sup>st</sup> of May.</p>"
    assert blocks(page) == [("paragraph", "About 10^6 bytes on the 1st of May.")]


def test_comments_images_and_entities() -> None:
    page = "<p>Gr&ouml;&szlig;e <!-- secret --><img alt='logo' src=x>&lt;b&gt; &amp; more</p>"
    assert blocks(page) == [("paragraph", "Größe <b> & more")]


def test_a_page_says_its_language_title_source_and_licence() -> None:
    parsed = html.parse(
        source(
            '<html lang="sv-SE"><head><title>Om \n oss</title><link rel=canonical href="https://example.se/om">'
            '<meta name="license" content="CC BY 4.0"></head><body><p>Text.'
        ),
        SETTINGS,
    )
    assert (parsed.language, parsed.title) == ("sv", "Om oss")
    assert (parsed.source_uri, parsed.licence) == ("https://example.se/om", "CC BY 4.0")


def test_depth_a_browser_could_not_show_is_a_failure_and_less_is_read() -> None:
    with pytest.raises(DocumentFailure) as refused:
        html.parse(source("<div>" * 100_000 + "x"), SETTINGS)
    assert refused.value.reason == "nested_too_deep"
    assert blocks("<div>" * 4_000 + "deep") == [("paragraph", "deep")]


def test_many_unclosed_paragraphs_are_not_depth() -> None:
    assert len(blocks("<p>a<br>" * 6_000)) == 6_000


def left(markup: str) -> dict[str, tuple[int, int]]:
    parsed = html.parse(source(markup), SETTINGS)
    return {part.what: (part.pieces, part.characters) for part in parsed.left_out}


def test_what_is_left_out_is_counted_by_kind() -> None:
    page = """<html><head><title>A page</title><style>x{}</style></head><body>
    <nav>Menu <script>go()</script></nav><main><h1>A page</h1>
    <p>Enough text<sup>[1]</sup> to be the content of it.</p><img alt="a bee" src=b><!-- secret -->
    <form><p>Name</p><select><option>one</select></form><p hidden>hid</p><svg><text>fig</text></svg>
    <template><b>tpl</b></template><ul><li><a href="#a">Alpha</a></li></ul></main><div>Aside</div>
    </body></html>"""
    assert left(page) == {
        "metadata": (1, 5),
        "script": (2, 6),
        "navigation": (2, 13),
        "footnote_mark": (1, 3),
        "image": (2, 7),
        "comment": (1, 6),
        "form": (1, 3),
        "hidden": (1, 3),
        "outside_main": (1, 5),
    }
    assert ("paragraph", "Name") in blocks(page)


@pytest.mark.parametrize(
    ("markup", "text", "characters"),
    [
        ("Jacket: <s>799 kr</s> 499 kr. <strike>Cancelled.</strike>", "Jacket: 499 kr.", 15),
        ("The fee is <del>30</del> <ins>45</ins> euros.", "The fee is 45 euros.", 2),
        ("A <i style='TEXT-DECORATION: underline Line-Through'>799</i> 499 kr", "A 499 kr", 3),
        ("A <i class=was>799</i> <i class=now>499 kr</i>", "A 499 kr", 3),
        ("A " + "<del>" * 4_000 + "b" + "</del>" * 4_000 + " c", "A c", 1),
    ],
)
def test_struck_out_text_is_left_out_and_counted(markup: str, text: str, characters: int) -> None:
    sheet = (
        ".x, .was { color: red; text-decoration: line-through } a:hover, .. { text-decoration: line-through }"
    )
    page = f"<body><p>{markup}</p>"
    assert blocks(f"<style>{sheet}</style>{page}") == [("paragraph", text)]
    assert left(f"<style>{sheet}</style>{page}")["deleted_text"][1] == characters


@pytest.mark.parametrize(
    "shown",
    [
        "<style>@media print { .x { display: none } .x { display: none } }</style><p class=x>",
        "<style media=print>.x { display: none }</style><p class=x>",
        "<style>/* .x { display: none } */</style><p class=x>",
        "<style>.x { display: none } .x.on { display: block }</style><p class='x on'>",
        "<style>.x { display: none } #t:checked ~ .x { display: block }</style><input id=t><p class=x>",
        "<style>.x { display: none }</style><script>$('.x').toggle()</script><p class=x>",
        "<script>function show(n) { $('answer' + n) }</script><p id=answer2 style='display:none'>",
        "<a onclick=show('answer')></a><p id=answer style='display:none'>",
        "<style>body { display: none }</style><p>",
    ],
)
def test_text_that_a_page_shows_at_a_click_or_hides_on_paper_is_read(shown: str) -> None:
    assert blocks(f"<body>{shown}Here.</p><p>A lake is deep.</p>")[0] == ("paragraph", "Here.")


def test_a_page_that_is_hidden_until_its_script_has_run_is_read() -> None:
    assert blocks("<script src=a.js></script><div style='display:none'><p>A lake is deep.</p></div>") == [
        ("paragraph", "A lake is deep.")
    ]


def test_a_hidden_title_still_names_the_page() -> None:
    page = "<style>h1.settitle { display: none }</style><body><h1 class=settitle>Lakes</h1><p>A lake is deep."
    assert blocks(page)[0] == ("heading", "Lakes")


def test_struck_out_blocks_and_cells_are_left_out() -> None:
    page = (
        "<del><p>All gone.</p></del><table><tr><th>A<th>B</tr><tr><td><s>1</s> 2</td><td>3</td></tr></table>"
    )
    assert blocks(page) == [("table_row", "A: 2 | B: 3")]


@pytest.mark.parametrize(
    "mark",
    [
        '<sup><a href="#n">1</a></sup>',
        '<a href="#n"><sup>1</sup></a>',
        '<a class="footnote-ref" href="#n" role="doc-noteref">1</a>',
        '<sup class="reference">[1]</sup>',
        '<a href="#fn:1" class="footnote">1</a>',
    ],
)
def test_marks_of_notes_never_touch_a_number(mark: str) -> None:
    assert blocks(f"<p>Paid 10{mark} euros.</p>") == [("paragraph", "Paid 10 euros.")]
    assert left(f"<p>Paid 10{mark} euros.</p>")["footnote_mark"][0] == 1


def table_of(*rows: str) -> str:
    """A table whose cells are parted by bars; those that begin with ! are head cells."""
    cells = [
        [("th", cell[1:]) if cell[:1] == "!" else ("td", cell) for cell in row.split("|")] for row in rows
    ]
    lines = ("".join(f"<{tag}>{text}</{tag}>" for tag, text in row) for row in cells)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (
            ("!Service|!Fee", "!Passport|!40 euros", "Card|37 euros"),
            ["Service: Passport | Fee: 40 euros", "Service: Card | Fee: 37 euros"],
        ),
        (("!Service|!Fee", "!Passport|!free"), ["Service: Passport | Fee: free"]),
        (
            ("!Tjänst|!Avgift", "Pass|400 kr", "!Körkort|!280 kr"),
            ["Tjänst: Pass | Avgift: 400 kr", "Tjänst: Körkort | Avgift: 280 kr"],
        ),
        (("!Name|!Weight", "!|!(kg)", "Bolt|2"), ["Name: Bolt | Weight (kg): 2"]),
        (
            ("!Item|!2029", "Bolt|1", "!Item|!2031", "Bolt|3"),
            ["Item: Bolt | 2029: 1", "Item: Bolt | 2031: 3"],
        ),
    ],
)
def test_a_row_of_head_cells_below_the_head_is_data(rows: tuple[str, ...], lines: list[str]) -> None:
    assert blocks(table_of(*rows)) == [("table_row", line) for line in lines]


def test_a_head_of_two_rows_is_one_where_it_says_so_or_has_room_for_it() -> None:
    spans = "<tr><th rowspan=2>Town</th><th colspan=2>People</th></tr><tr><th>Men</th><th>Women</th></tr>"
    rows = f"{spans}<tr><td>Lund</td><td>4</td><td>5</td></tr>"
    line = ("table_row", "Town: Lund | People Men: 4 | People Women: 5")
    assert blocks(f"<table>{rows}</table>") == [line]
    heads = "<thead><tr><th>A</th><th>B</th></tr><tr><th>C</th><th>D</th></tr></thead>"
    assert blocks(f"<table>{heads}<tr><td>1</td><td>2</td></tr></table>") == [
        ("table_row", "A C: 1 | B D: 2")
    ]


INNER = table_of("Projector|2", "Chairs|40")


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        (INNER, "Projector 2, Chairs 40"),
        (table_of("!Item|!No", "Chair|4", "Lamp|1"), "Item: Chair, No: 4; Item: Lamp, No: 1"),
        ("<pre>ls -l\nls -a</pre>", "ls -l ls -a"),
        ("<h3>Big</h3><p>Small.</p>", "Big Small."),
        ("Open<br>the<p>door.</p>", "Open the door."),
        ("<section><p>One.</p></section><blockquote>Two.</blockquote>", "One. Two."),
    ],
)
def test_blocks_in_a_cell_keep_the_table(cell: str, written: str) -> None:
    assert blocks(table_of("!Room|!Has|!Price", f"Alfa|{cell}|900 kr")) == [
        ("table_row", f"Room: Alfa | Has: {written} | Price: 900 kr")
    ]


def test_a_long_cell_over_several_rows_stands_once() -> None:
    long = "Each of them is checked by two people. " * 5
    page = f"<table><tr><th>Part<th>Note</tr><tr><td>a<td rowspan=2>{long}</tr><tr><td>b</tr></table>"
    assert blocks(page) == [("table_row", f"Part: a | Note: {long.strip()}"), ("table_row", "Part: b")]


def test_names_of_empty_columns_are_counted() -> None:
    page = "<table><tr><th>Name<th>Value<th>Note</tr><tr><td>a<td>1<td></tr></table>"
    assert blocks(page) == [("table_row", "Name: a | Value: 1")]
    assert left(page) == {"empty_column": (1, 4)}


_WORDS = st.text("abcdefgh", min_size=1, max_size=3)
_TAGS = st.sampled_from(
    [
        "p", "div", "b", "ul", "li", "dl", "dt", "dd", "h1", "h3", "table", "tr", "td", "th", "caption",
        "pre", "code", "nav", "aside", "main", "article", "header", "blockquote", "sup", "q", "section",
        "form", "button", "svg", "a href=x", "a href='#x'", "div hidden", "div class=note", "span", "br",
        "em", "ol", "thead", "template", "html hidden", "sub", "del", "s", "math", "mfrac", "mi", "msup",
        "span style='text-decoration:line-through'", "p style='display:none'", "a class=footnote-ref",
        "th rowspan=2",
    ]
)  # fmt: skip
_ENDS = _TAGS.map(lambda tag: f"</{tag.split()[0]}>")
_MARKS = st.one_of(_TAGS.map(lambda tag: f"<{tag}>"), _ENDS)
_SOUP = st.lists(st.one_of(_WORDS, _MARKS), max_size=40)


class _Texts(HTMLParser):
    """All text of a page, as the standard library finds it."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.letters: Counter[str] = Counter()
        self.feed(markup)
        self.close()

    def handle_data(self, data: str) -> None:
        self.letters.update(character for character in data if character.isalpha())


@given(_SOUP)
def test_every_letter_of_any_soup_of_tags_is_in_the_text_or_counted(soup: list[str]) -> None:
    markup = "".join(soup)
    parsed = html.parse(source(f"<body>{markup}</body>"), SETTINGS)
    out = Counter(character for block in parsed.blocks for character in block.text if character.isalpha())
    lost = sum((_Texts(markup).letters - out).values())
    assert lost <= sum(part.characters for part in parsed.left_out)


@pytest.mark.parametrize(
    ("markup", "what", "characters"),
    [
        ("<p>Text.<!-- no -->", "comment", 2),
        ("<p>Text.<![CDATA[ no ]]>", "comment", 11),
        ("<p>Text.<?php no ?>", "comment", 6),
        ("<?xml version='1.0'?><!DOCTYPE html><p>Text.", None, 0),
        ("<p>Text.<!-- no <p>more", "unclosed_comment", 9),
        ("<p>Text.</p></body></html> <!-- no <p>more", "unclosed_comment", 9),
        ("<p>Text.</p></body> <!-- no <p>more", "unclosed_comment", 9),
        ("<p>Text.<? no", "unclosed_comment", 2),
        ("<p>Text.<script><!-- no</script>", "script", 6),
        ("<!-- a --><p>Text.<script><!-- a</script>", "script", 5),
    ],
)
def test_comments_are_counted_whatever_they_look_like(markup: str, what: str | None, characters: int) -> None:
    parsed = html.parse(source(markup), SETTINGS)
    assert outline(parsed) == [("paragraph", "Text.")]
    counted = {part.what: part.characters for part in parsed.left_out}
    assert (counted.pop(what, 0) if what else 0) == characters
    assert set(counted) <= {"comment"}
    assert len(parsed.notes) == (what == "unclosed_comment")


def test_a_page_inside_an_unclosed_comment_holds_no_text_and_says_why() -> None:
    parsed = html.parse(source("<!-- <p>Text.</p>"), SETTINGS)
    assert parsed.blocks == ()
    assert parsed.left_out == (LeftOut("unclosed_comment", 1, 12),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "unit", "count"),
    [
        ("<dl>", "<dt>a", 20_000),
        ("<p>", "<!--", 20_000),
        ("", "<nav>", 4_000),
        ("<p>", "a ", 50_000),
        ("<p>", "<sup>", 4_000),
        ("<p>", "10<sup>6</sup>", 10_000),
        ("<p>", "<del>a</del>b", 10_000),
        ("<table><tr>", "<th>a</th>", 10_000),
        ("<table><tr><th>", "<table><tr><th>", 500),
    ],
)
def test_a_page_twice_as_long_is_at_most_twice_the_work(start: str, unit: str, count: int) -> None:
    def work(units: int) -> int:
        return lines_run(lambda: html.parse(source(start + unit * units + "x"), SETTINGS))

    work(1)  # what is done once in a process
    assert work(count) < 2.2 * work(count // 2) + 1000


def test_a_page_that_is_hidden_as_a_whole_is_read() -> None:
    page = "<html hidden><body class=noprint><p>Shown by a script.</p></body></html>"
    assert blocks(page) == [("paragraph", "Shown by a script.")]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ol><li>one<li>two</ol><p>See step 2.</p>", "- 1. one\n- 2. two\n\nSee step 2."),
        ("<ol start=5><li>five<li value=9>nine<li>ten</ol>", "- 5. five\n- 9. nine\n- 10. ten"),
        ("<ol reversed><li>a<li>b</ol>", "- 2. a\n- 1. b"),
        ("<ol type=a start=26><li>x<li>y</ol>", "- z) x\n- aa) y"),
        ("<ol type=I start=4><li>x<li>y</ol>", "- IV) x\n- V) y"),
        ("<ol><li>x<ol type=i><li>y</ol><li>z</ol>", "- 1. x\n  - i) y\n- 2. z"),
        ("<ol><li>x<ul><li>y</ul><li>z</ol>", "- 1. x\n  - y\n- 2. z"),
        ("<ol><li><pre>code</pre><li>two</ol>", "- 1.\n\n```\ncode\n```\n\n- 2. two"),
        ("<ol><li><h2>First</h2><p>x</ol>", "## 1. First\n\n- x"),
        ("<table><tr><td>do<td><ol><li>x<li>y</ol></table>", "do | 1. x, 2. y"),
        ("<ol style='list-style: none'><li>x</ol>", "- x"),
        ("<ol start=99999999999 reversed><li value=x>y</ol>", "- 999999999. y"),
    ],
)
def test_items_of_ordered_lists_keep_their_numbers(page: str, text: str) -> None:
    assert assemble(html.parse(source(page), SETTINGS).blocks).text == text


@pytest.mark.parametrize(
    "box",
    [
        '<aside class="admonition"><p class="admonition-title">Mind</p><p>The gap.</p></aside><p>After.</p>',
        "<details><summary>Mind</summary><p>The gap.</p></details><p>After.</p>",
    ],
)
def test_the_title_of_a_box_goes_with_its_first_paragraph(box: str) -> None:
    texts = [block.text for block in read_fragment(box, Omissions(), page=False)]
    assert texts == ["Mind: The gap.", "After."]
