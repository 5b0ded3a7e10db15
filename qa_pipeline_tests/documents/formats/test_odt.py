import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.formats import odt
from qa_pipeline.records import ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, refusal, source
from qa_pipeline_tests.documents.formats.office.archives import zip_bytes
from qa_pipeline_tests.documents.formats.office.builders import left_out

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
    for name, long in {
        "office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing",
        "meta": "meta", "manifest": "manifest", "form": "form", "fo": "xsl-fo-compatible",
    }.items()
)  # fmt: skip
NAMESPACES += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'


def content(body: str, styles: str = "") -> str:
    return (
        f"<office:document-content {NAMESPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )


def read(body: str, styles: str = "", **members: str) -> ParsedFile:
    packed = zip_bytes({"content.xml": content(body, styles), **members})
    return odt.parse(source(packed), SETTINGS)


def text_of(parsed: ParsedFile) -> str:
    return assemble(parsed.blocks).text


def row(*texts: str, style: str = "") -> str:
    cells = "".join(
        f'<table:table-cell table:style-name="{style}"><text:p>{text}</text:p></table:table-cell>'
        for text in texts
    )
    return f"<table:table-row>{cells}</table:table-row>"


SHAPES = {
    "p": "<text:p>{}</text:p>",
    "h": "<text:h>{}</text:h>",
    "item": "<text:list><text:list-item><text:p>{}</text:p></text:list-item></text:list>",
    "cell": f"<table:table>{row('{}')}</table:table>",
    "note": "<text:p>.<text:note><text:note-body><text:p>{}</text:p></text:note-body></text:note></text:p>",
    "comment": "<text:p>.<office:annotation><text:p>{}</text:p></office:annotation></text:p>",
    "box": "<text:p>.<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame></text:p>",
    "index": "<text:alphabetical-index><text:p>{}</text:p></text:alphabetical-index>",
}


@given(st.lists(st.sampled_from(sorted(SHAPES)), max_size=6))
def test_every_word_is_in_the_text_once_or_counted_as_left_out(places: list[str]) -> None:
    words = {f"word{number}x": place for number, place in enumerate(places)}
    parsed = read("".join(SHAPES[place].format(word) for word, place in words.items()))
    lost = [word for word, place in words.items() if place in ("comment", "index")]
    assert {word: text_of(parsed).count(word) for word in words} == {word: word not in lost for word in words}
    assert sum(part.characters for part in parsed.left_out) == sum(map(len, lost))


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"a.txt": "x"}, "damaged"),
        ({"content.xml": "<a>"}, "damaged"),
        ({"content.xml": "<a/>"}, "unsupported_format"),
        ({"content.xml": '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'}, "damaged"),
        ({"content.xml": "<a>" * 300 + "</a>" * 300}, "nested_too_deep"),
        ({"content.xml": content(""), "META-INF/manifest.xml": "<x><encryption-data/></x>"}, "encrypted"),
    ],
)
def test_what_is_no_readable_text_is_refused(members: dict[str, str], reason: str) -> None:
    few = DocumentSettings(max_characters=100)
    assert refusal(lambda: odt.parse(source(zip_bytes(members)), few)) == reason


def test_headings_paragraphs_code_and_tables_are_read() -> None:
    head = f"<table:table-header-rows>{row('Part', 'Bar')}</table:table-header-rows>"
    body = (
        '<text:p text:style-name="Title">Pumps</text:p><text:h text:outline-level="2">Care &amp; use</text:h>'
        '<text:p>A <text:span>pump</text:span><text:s text:c="2"/>moves<text:line-break/>it.</text:p>'
        f'<text:p text:style-name="P1">run it</text:p><table:table>{head}{row("valve", "3")}</table:table>'
    )
    code = '<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>'
    assert text_of(read(body, code)) == (
        "# Pumps\n\n## Care & use\n\nA pump moves\nit.\n\n```\nrun it\n```\n\nPart: valve | Bar: 3"
    )
    assert text_of(odt.parse(source(content("<text:p>Flat.</text:p>")), SETTINGS)) == "Flat."


NUMBERS = """<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format=
"1"
text:start-value="3" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a"
style:num-suffix=")"/><text:list-level-style-number text:level="3" style:num-format="1" style:num-prefix="("
text:display-levels="3" style:num-suffix=")"/></text:list-style><text:outline-style><text:outline-level-style
text:level="1" style:num-format="I" style:num-prefix="§ "/><text:outline-level-style text:level="2"
style:num-format="1" text:display-levels="2"/></text:outline-style>"""


def item(text: str, more: str = "") -> str:
    return f"<text:list-item><text:p>{text}</text:p>{more}</text:list-item>"


def test_clauses_and_chapters_have_the_numbers_that_the_writer_sees() -> None:
    deepest = f"<text:list>{item('z')}</text:list>"
    deep = f"<text:list>{item('x')}{item('y', deepest)}</text:list>"
    nested = f"<text:list-item><text:list>{item('w')}</text:list></text:list-item>"
    body = (
        '<text:h text:outline-level="1">Fee</text:h><text:h text:outline-level="2">Sum</text:h>'
        f'<text:list text:style-name="L1">{item("three", deep)}</text:list>'
        '<text:h text:outline-level="1" text:is-list-header="true">Aside</text:h>'
        '<text:h text:outline-level="1">End</text:h><text:h text:outline-level="2">Term</text:h>'
        f'<text:list text:style-name="L1" text:continue-numbering="true">{nested}{item("four")}</text:list>'
        f"<text:list>{item('bullet')}</text:list>"
    )
    assert [line for line in text_of(read(body, NUMBERS)).split("\n") if line] == [
        "# § I Fee", "## I.1 Sum", "- 3. three", "  - a) x", "  - b) y", "    - (3.b.1) z", "# Aside",
        "# § II End", "## II.1 Term", "  - a) w", "- 4. four", "- bullet",
    ]  # fmt: skip


def look(name: str, properties: str, parent: str = "") -> str:
    inside = f"<style:text-properties {properties}/>"
    return f'<style:style style:name="{name}" style:parent-style-name="{parent}">{inside}</style:style>'


def span(style: str, text: str) -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


@pytest.mark.parametrize(
    "way",
    [
        'text:display="none"',
        'fo:color="#ffffff"',
        'fo:color="#000000" fo:background-color="#000000"',
        'fo:font-size="0.5pt"',
    ],
)
def test_hidden_text_is_left_out_and_counted(way: str) -> None:
    body = f'<text:p>Seen. {span("Way", "Secret.")}</text:p><text:p text:style-name="Way">Secret.</text:p>'
    parsed = read(body, look("Way", way))
    assert text_of(parsed) == "Seen."
    assert left_out(parsed) == {"hidden": (2, 14)}


def test_hidden_sections_and_conditions_are_left_out_and_white_text_on_dark_stays() -> None:
    dark = '<style:table-cell-properties fo:background-color="#000000"/>'
    styles = look("White", 'fo:color="#ffffff"') + f'<style:style style:name="Dark">{dark}</style:style>'
    parsed = read(
        '<text:section text:display="none"><text:p>one</text:p></text:section>'
        '<text:p>a<text:hidden-text text:is-hidden="true">two</text:hidden-text></text:p>'
        '<text:p><text:hidden-paragraph text:is-hidden="true"/>three</text:p>'
        "<text:tracked-changes><text:p>old</text:p></text:tracked-changes>"
        f"<table:table>{row(span('White', 'b'), style='Dark')}</table:table>",
        styles,
    )
    assert text_of(parsed) == "a\n\nb"
    assert left_out(parsed) == {"deleted_text": (1, 3), "hidden": (3, 11)}


def test_white_text_in_a_shape_whose_fill_is_unknown_stays() -> None:
    styles = look("White", 'fo:color="#ffffff"') + look("Shape", 'fo:font-size="18pt"')
    words = f"<text:p>{span('White', 'b')}</text:p>"
    shape = f'<draw:custom-shape draw:style-name="Shape">{words}</draw:custom-shape>'
    parsed = read(f"<text:p>a</text:p>{shape}", styles)
    assert text_of(parsed) == "a\n\nb"
    assert left_out(parsed) == {}


def test_notes_stand_at_the_end_of_their_section_and_their_marks_and_indexes_are_counted() -> None:
    note = (
        "<text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body>"
    )
    parsed = read(
        "<text:table-of-content><text:p>Care 1</text:p></text:table-of-content>"
        f"<text:p>First<text:note>{note}</text:note>.</text:p><text:p>Second.</text:p>"
        '<text:h text:outline-level="1">Next</text:h>'
    )
    assert text_of(parsed) == "First.\n\nSecond.\n\nA note.\n\n# Next"
    assert left_out(parsed) == {"navigation": (1, 5), "footnote_mark": (1, 1)}


def test_raised_lowered_and_struck_out_text_is_read_by_its_style() -> None:
    styles = (
        look("Up", 'style:text-position="super 58%"')
        + look("High", 'style:text-position="33% 58%"')
        + look("Down", 'style:text-position="sub 58%"')
        + look("Struck", 'style:text-line-through-style="solid"')
        + look("Child", "", "Struck")
        + look("Plain", 'style:text-line-through-type="none"', "Struck")
    )
    body = f"<text:p>10{span('Up', '9')} m{span('High', '3')} of CO{span('Down', '2')}{span('Up', '*')}, "
    body += f"fee {span('Struck', '30')} {span('Plain', '45')}{span('Child', ' net')}.</text:p>"
    parsed = read(body, styles)
    assert text_of(parsed) == "10^9 m^3 of CO2, fee 45."
    assert {what: count for what, (_, count) in left_out(parsed).items()} == {
        "deleted_text": 5, "footnote_mark": 1,
    }  # fmt: skip


def test_styles_of_headers_leave_styles_of_the_text_with_the_same_name_alone() -> None:
    hidden = look("P1", 'text:display="none"')
    bullet = '<text:list-level-style-bullet text:level="1"/>'
    bullets = f'<text:list-style style:name="L1">{bullet}</text:list-style>'
    of_headers = f"<office:automatic-styles>{hidden}{bullets}</office:automatic-styles>"
    common = f"<office:styles>{hidden.replace('P1', 'Base')}</office:styles>"
    document = f"<office:document-styles {NAMESPACES}>{common}{of_headers}</office:document-styles>"
    body = '<text:p text:style-name="P1">Seen.</text:p><text:p text:style-name="P2">Secret.</text:p>'
    listed = f'<text:list text:style-name="L1">{item("three")}</text:list>'
    styles = look("P1", "") + look("P2", "", "Base") + NUMBERS
    parsed = read(body + listed, styles, **{"styles.xml": document})
    assert text_of(parsed) == "Seen.\n\n- 3. three"
    assert left_out(parsed) == {"hidden": (1, 7)}
