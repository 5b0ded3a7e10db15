from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.formats import odt
from qa_pipeline.records import ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, refusal, source
from qa_pipeline_tests.documents.corpus.archives import zip_bytes

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
    for name, long in {
        "office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing",
        "meta": "meta", "manifest": "manifest", "form": "form", "fo": "xsl-fo-compatible",
    }.items()
)  # fmt: skip
STYLES = """<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>
<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"
text:start-value="3" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a"
style:num-suffix=")"/><text:list-level-style-number text:level="3" style:num-format="1" style:num-prefix="("
text:display-levels="3" style:num-suffix=")"/></text:list-style>"""

OUTLINE = """<text:outline-style><text:outline-level-style
text:level="1" style:num-format="I" style:num-prefix="§ "/><text:outline-level-style text:level="2"
style:num-format="1" text:display-levels="2"/></text:outline-style>"""


def content(body: str) -> str:
    return (
        f'<office:document-content {NAMESPACES} xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<office:automatic-styles>{STYLES}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )


def read(body: str, settings: DocumentSettings = SETTINGS, **parts: str) -> ParsedFile:
    members = {"content.xml": content(body), **{f"{name}.xml": text for name, text in parts.items()}}
    return odt.parse(source(zip_bytes(members)), settings)


def text_of(body: str) -> str:
    return assemble(read(body).blocks).text


def item(text: str, more: str = "") -> str:
    return f"<text:list-item><text:p>{text}</text:p>{more}</text:list-item>"


def test_headings_paragraphs_code_and_tables_are_read() -> None:
    table = (
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Part</text:p>"
        "</table:table-cell><table:table-cell><text:p>Bar</text:p></table:table-cell></table:table-row>"
        "</table:table-header-rows><table:table-row><table:table-cell><text:p>valve</text:p>"
        "</table:table-cell><table:table-cell><text:p>3</text:p></table:table-cell></table:table-row>"
        "</table:table>"
    )
    body = (
        '<text:p text:style-name="Title">Pumps</text:p><text:h text:outline-level="2">Care &amp; use</text:h>'
        '<text:p>A <text:span>pump</text:span><text:s text:c="2"/>moves<text:line-break/>'
        "water &lt;b&gt;.</text:p>"
        f'<text:p text:style-name="P1">run it</text:p>{table}'
    )
    assert text_of(body) == (
        "# Pumps\n\n## Care & use\n\nA pump moves\nwater <b>.\n\n```\nrun it\n```\n\nPart: valve | Bar: 3"
    )


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
    )
    numbered = content(body).replace("</office:automatic-styles>", f"{OUTLINE}</office:automatic-styles>")
    text = assemble(odt.parse(source(numbered), SETTINGS).blocks).text
    assert [line for line in text.split("\n") if line] == [
        "# § I Fee", "## I.1 Sum", "- 3. three", "  - a) x", "  - b) y", "    - (3.b.1) z", "# Aside",
        "# § II End", "## II.1 Term", "  - a) w", "- 4. four",
    ]  # fmt: skip


HIDDEN = {
    "display": '<style:text-properties text:display="none"/>',
    "white": '<style:text-properties fo:color="#ffffff"/>',
    "on its own ground": '<style:text-properties fo:color="#000000" fo:background-color="#000000"/>',
    "tiny": '<style:text-properties fo:font-size="0.5pt"/>',
}


@pytest.mark.parametrize("way", HIDDEN)
def test_hidden_text_is_left_out_and_counted(way: str) -> None:
    styles = f'<style:style style:name="Way">{HIDDEN[way]}</style:style></office:automatic-styles>'
    inside = '<text:p>Seen. <text:span text:style-name="Way">Secret.</text:span></text:p>'
    inside += '<text:p text:style-name="Way">Secret.</text:p>'
    styled = content(inside).replace("</office:automatic-styles>", styles)
    parsed = odt.parse(source(styled), SETTINGS)
    assert assemble(parsed.blocks).text == "Seen."
    assert [(part.what, part.pieces, part.characters) for part in parsed.left_out] == [("hidden", 2, 14)]


def test_hidden_sections_and_conditions_are_left_out_and_white_text_on_dark_stays() -> None:
    styles = (
        '<style:style style:name="White"><style:text-properties fo:color="#ffffff"/></style:style>'
        '<style:style style:name="Dark"><style:table-cell-properties fo:background-color="#000000"/>'
        "</style:style></office:automatic-styles>"
    )
    body = (
        '<text:section text:display="none"><text:p>one</text:p></text:section>'
        '<text:p>a<text:hidden-text text:is-hidden="true">two</text:hidden-text></text:p>'
        '<text:p><text:hidden-paragraph text:is-hidden="true"/>three</text:p>'
        "<text:tracked-changes><text:p>old</text:p></text:tracked-changes>"
        '<table:table><table:table-row><table:table-cell table:style-name="Dark">'
        '<text:p text:style-name="White">b</text:p></table:table-cell></table:table-row></table:table>'
    )
    parsed = odt.parse(source(content(body).replace("</office:automatic-styles>", styles)), SETTINGS)
    assert assemble(parsed.blocks).text == "a\n\nb"
    assert [(part.what, part.characters) for part in parsed.left_out] == [("deleted_text", 3), ("hidden", 11)]


def test_fields_of_forms_show_their_state() -> None:
    forms = (
        '<office:forms><form:form><form:checkbox form:id="c1" form:label="Parking" '
        'form:current-state="checked"/>'
        '<form:checkbox form:id="c2" form:label="Breakfast"/><form:listbox form:id="c3"><form:option'
        ' form:label="Monthly"/><form:option form:label="Yearly" form:current-selected="true"/>'
        "</form:listbox>"
        '<form:text form:id="c4" form:current-value="Ada"/></form:form></office:forms>'
    )
    shown = " ".join(f'<draw:control draw:control="c{number}"/>' for number in range(1, 6))
    assert text_of(f"{forms}<text:p>{shown}</text:p>") == "☒ Parking ☐ Breakfast Yearly Ada"


def test_notes_stand_at_the_end_of_their_section_and_comments_and_indexes_are_counted() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>A note.</text:p></text:note-body></text:note>"
    )
    body = (
        f"<text:table-of-content><text:p>Care 1</text:p></text:table-of-content><text:p>First{note}.</text:p>"
        "<text:p>Second<office:annotation><text:p>why?</text:p></office:annotation>.</text:p>"
        '<text:h text:outline-level="1">Next</text:h>'
    )
    assert text_of(body) == "First.\n\nSecond.\n\nA note.\n\n# Next"
    counted = {part.what: part.characters for part in read(body).left_out}
    assert counted == {"navigation": 5, "comment": 4, "footnote_mark": 1}


def test_title_and_language_are_taken_from_the_metadata() -> None:
    said = "<dc:title>Pumpar</dc:title><dc:language>sv-SE</dc:language>"
    meta = (
        f'<office:document-meta {NAMESPACES} xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<office:meta>{said}</office:meta></office:document-meta>"
    )
    parsed = read("<text:p>Text.</text:p>", meta=meta)
    assert (parsed.title, parsed.language) == ("Pumpar", "sv")
    flat = odt.parse(source(content("<text:p>Text.</text:p>")), SETTINGS)
    assert flat.blocks[0].text == "Text."


@given(st.lists(st.sampled_from(["p", "h", "item", "cell", "note", "comment", "box", "index"]), max_size=6))
def test_every_word_is_in_the_text_or_counted_as_left_out(places: list[str]) -> None:
    shapes = {
        "p": "<text:p>{}</text:p>",
        "h": "<text:h>{}</text:h>",
        "item": "<text:list><text:list-item><text:p>{}</text:p></text:list-item></text:list>",
        "cell": "<table:table><table:table-row><table:table-cell><text:p>{}</text:p></table:table-cell>"
        "</table:table-row></table:table>",
        "note": "<text:p>.<text:note><text:note-body><text:p>{}</text:p></text:note-body></text:note>"
        "</text:p>",
        "comment": "<text:p>.<office:annotation><text:p>{}</text:p></office:annotation></text:p>",
        "box": "<text:p>.<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
        "</text:p>",
        "index": "<text:alphabetical-index><text:p>{}</text:p></text:alphabetical-index>",
    }
    words = [f"word{number}x" for number in range(len(places))]
    parsed = read("".join(shapes[place].format(word) for place, word in zip(places, words, strict=True)))
    text = assemble(parsed.blocks).text
    lost = [word for place, word in zip(places, words, strict=True) if place in ("comment", "index")]
    assert Counter(word for word in words if word in text) == Counter(words) - Counter(lost)
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
        ({"content.xml": content(f"<text:p>{'x' * 500}</text:p>")}, "too_long"),
    ],
)
def test_what_is_no_readable_text_is_refused(members: dict[str, str], reason: str) -> None:
    few = DocumentSettings(max_characters=100)
    assert refusal(lambda: odt.parse(source(zip_bytes(members)), few)) == reason


LOOKS = "".join(
    f'<style:style style:name="{name}" style:parent-style-name="{parent}">{inside}</style:style>'
    for name, parent, inside in (
        ("Up", "", '<style:text-properties style:text-position="super 58%"/>'),
        ("High", "", '<style:text-properties style:text-position="33% 58%"/>'),
        ("Down", "", '<style:text-properties style:text-position="sub 58%"/>'),
        ("Struck", "", '<style:text-properties style:text-line-through-style="solid"/>'),
        ("Child", "Struck", ""),
        ("Plain", "Struck", '<style:text-properties style:text-line-through-type="none"/>'),
    )
)


def span(style: str, text: str) -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def looking(body: str, **members: str) -> ParsedFile:
    styled = content(body).replace("</office:automatic-styles>", f"{LOOKS}</office:automatic-styles>")
    return odt.parse(source(zip_bytes({"content.xml": styled, **members})), SETTINGS)


def test_raised_lowered_and_struck_out_text_is_read_by_its_style() -> None:
    body = f"<text:p>10{span('Up', '9')} m{span('High', '3')} of CO{span('Down', '2')}{span('Up', '*')}, "
    body += f"fee {span('Struck', '30')} {span('Plain', '45')}{span('Child', ' net')}.</text:p>"
    parsed = looking(body)
    assert assemble(parsed.blocks).text == "10^9 m^3 of CO2, fee 45."
    assert [(part.what, part.characters) for part in parsed.left_out] == [
        ("deleted_text", 5),
        ("footnote_mark", 1),
    ]


def test_formulas_in_and_beside_the_text_are_read() -> None:
    ratio = "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac>"
    maths = f'<math xmlns="http://www.w3.org/1998/Math/MathML">{ratio}</math>'
    link = 'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="./Object 1"'
    body = f"<text:p>In <draw:object>{maths}</draw:object>, beside <draw:object {link}/>.</text:p>"
    members = {"Object 1/content.xml": maths}
    assert assemble(looking(body, **members).blocks).text == "In (a+b)/c, beside (a+b)/c."
