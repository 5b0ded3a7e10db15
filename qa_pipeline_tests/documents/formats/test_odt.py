from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble
from qa_pipeline.documents.formats import odt
from qa_pipeline.records import ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, doubted, refusal, source
from qa_pipeline_tests.documents.formats.office.builders import zip_bytes

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
    for name, long in {
        "office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing",
        "meta": "meta", "manifest": "manifest",
    }.items()
)  # fmt: skip
STYLES = """<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>
<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"
text:start-value="3"/><text:list-level-style-number text:level="2" style:num-format="a"/></text:list-style>"""


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


def test_items_of_ordered_lists_keep_their_numbers() -> None:
    inner = f"<text:list>{item('x')}{item('y')}</text:list>"
    body = (
        f'<text:list text:style-name="L1">{item("three", inner)}{item("four")}</text:list>'
        "<text:p>Text.</text:p>"
        f'<text:list text:style-name="L1" text:continue-numbering="true">{item("five")}</text:list>'
        f"<text:list>{item('bullet')}</text:list>"
    )
    assert text_of(body) == "- 3. three\n  - a) x\n  - b) y\n- 4. four\n\nText.\n\n- 5. five\n- bullet"


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


def test_a_sentence_whose_formula_is_left_out_is_in_doubt_and_its_neighbour_is_not() -> None:
    maths = '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mi>a</mi></mfrac></math>'
    body = f"<text:p>So <draw:object>{maths}</draw:object> it is. It is cold.</text:p>"
    assert doubted(looking(body)) == [("formula", "So it is.")]
