import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml import parse_xml
from pptx.presentation import Presentation as Slides
from pptx.slide import Slide
from pptx.util import Inches

from qa_pipeline.documents.formats.office import pptx
from qa_pipeline.records import ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, outline, source
from qa_pipeline_tests.documents.formats.office.builders import NAMESPACES, left_out

TITLE, TITLE_AND_CONTENT, TITLE_ONLY, BLANK = 0, 1, 5, 6


def saved(made: Slides) -> bytes:
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def read(made: Slides, limits: DocumentSettings = SETTINGS) -> ParsedFile:
    return pptx.parse(source(saved(made)), limits)


def add(made: Slides, layout: int, title: str | None = None) -> Slide:
    slide = made.slides.add_slide(made.slide_layouts[layout])
    if title is not None and slide.shapes.title is not None:
        slide.shapes.title.text = title
    return slide


def write(
    slide: Slide, text: str, left: float = 1, top: float = 1, width: float = 3, height: float = 1
) -> None:
    box = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height))
    box.text_frame.text = text


def shape_xml(paragraph: str, properties: str = "") -> str:
    named = '<p:nvSpPr><p:cNvPr id="8" name="c"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr>'
    body = f"<p:txBody><a:bodyPr/><a:p>{paragraph}</a:p></p:txBody>"
    return f"<p:sp>{named}<p:spPr>{properties}</p:spPr>{body}</p:sp>"


def run(text: str, look: str = "", inside: str = "") -> str:
    return f"<a:r><a:rPr {look}>{inside}</a:rPr><a:t>{text}</a:t></a:r>"


def add_xml(slide: Slide, markup: str) -> None:
    wrapped = parse_xml(f"<p:x {NAMESPACES}>{markup}</p:x>")
    for child in list(wrapped):
        slide.shapes._spTree.append(child)


@given(
    st.lists(
        st.sampled_from(["title", "body", "box", "cell", "notes", "group", "hidden", "foot"]), max_size=6
    )
)
def test_every_word_of_a_file_is_in_its_text_once_or_counted_as_left_out(places: list[str]) -> None:
    made = Presentation()
    words = [f"word{number}x" for number in range(len(places))]
    for place, word in zip(places, words, strict=True):
        put(made, place, word)
    parsed = read(made)
    text = "\n".join(block.text for block in parsed.blocks)
    lost = [word for place, word in zip(places, words, strict=True) if place in ("hidden", "foot")]
    assert [text.count(word) for word in words] == [word not in lost for word in words]
    assert sum(one.characters for one in parsed.left_out) == sum(map(len, lost))


def put(made: Slides, place: str, word: str) -> None:
    slide = add(made, TITLE_AND_CONTENT)
    if place == "title":
        slide.shapes.title.text = word
    elif place == "body":
        slide.placeholders[1].text_frame.text = word
    elif place == "cell":
        slide.shapes.add_table(1, 1, 0, 0, Inches(1), Inches(1)).table.cell(0, 0).text = word
    elif place == "notes":
        slide.notes_slide.notes_text_frame.text = word
    elif place == "group":
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = word
    else:
        write(slide, word)
        shape = slide.shapes[-1]._element
        if place == "hidden":
            shape.nvSpPr.cNvPr.set("hidden", "1")
        elif place == "foot":
            shape.nvSpPr.nvPr.append(parse_xml(f'<p:ph {NAMESPACES} type="ftr" idx="11"/>'))


def test_slides_are_pages_with_their_titles_as_headings() -> None:
    made = Presentation()
    first = add(made, TITLE, "Safety")
    first.placeholders[1].text = "A course"
    second = add(made, TITLE_AND_CONTENT, "Before\vwork")
    frame = second.placeholders[1].text_frame
    frame.text = "Helmet"
    deeper = frame.add_paragraph()
    deeper.text, deeper.level = "with strap", 1
    parsed = read(made)
    assert [
        (block.kind, " ".join(block.text.split()), block.level, block.page) for block in parsed.blocks
    ] == [
        ("heading", "Safety", 1, 1),
        ("paragraph", "A course", 0, 1),
        ("heading", "Before work", 2, 2),
        ("list_item", "Helmet", 0, 2),
        ("list_item", "with strap", 1, 2),
    ]


def test_tables_keep_head_and_row_together() -> None:
    made = Presentation()
    table = add(made, BLANK).shapes.add_table(3, 2, 0, 0, Inches(4), Inches(2)).table
    for place, text in enumerate(["Ort", "Tag", "Kiel", "Mo", "Lund", "Di"]):
        table.cell(place // 2, place % 2).text = text
    assert outline(read(made)) == [("table_row", "Ort: Kiel | Tag: Mo"), ("table_row", "Ort: Lund | Tag: Di")]
    table.cell(1, 0).merge(table.cell(2, 0))
    assert outline(read(made))[1] == ("table_row", "Ort: Kiel Lund | Tag: Di")


def test_charts_are_counted() -> None:
    made, place = Presentation(), (0, 0, Inches(4), Inches(3))
    shares = CategoryChartData()
    shares.categories = ["Nord"]
    shares.add_series("2023", (1,))
    add(made, BLANK).shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, shares)
    parsed = read(made)
    assert (parsed.blocks, left_out(parsed)) == ((), {"chart": (1, 0)})


def test_notes_follow_their_slide() -> None:
    made = Presentation()
    slide = add(made, TITLE_ONLY, "Title")
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    add(made, TITLE_ONLY, "Next")
    assert [text for _, text in outline(read(made))] == ["Title", "Say it slowly.", "Next"]


def test_hidden_slides_are_left_out_and_pages_keep_their_numbers() -> None:
    made = Presentation()
    secret = add(made, TITLE_ONLY, "Secret")
    secret._element.set("show", "0")
    secret.notes_slide.notes_text_frame.text = "Unsaid"
    add(made, TITLE_ONLY, "Shown")
    parsed = read(made)
    assert [(block.text, block.page) for block in parsed.blocks] == [("Shown", 2)]
    assert left_out(parsed) == {"hidden": (1, 6), "speaker_note": (1, 6)}


def test_pictures_objects_and_text_of_the_master_are_counted() -> None:
    made = Presentation()
    slide = add(made, TITLE_ONLY, "Title")
    slide.shapes.add_ole_object(io.BytesIO(b"x"), "Excel.Sheet.12", 0, 0)
    named = '<p:cNvPr id="9" name="p" descr="A dam"/><p:cNvPicPr/><p:nvPr/>'
    add_xml(slide, f"<p:pic><p:nvPicPr>{named}</p:nvPicPr><p:spPr/></p:pic>")
    layout = made.slide_layouts[TITLE_ONLY].shapes._spTree
    layout.append(parse_xml(f"<p:x {NAMESPACES}>{shape_xml(run('Company'))}</p:x>")[0])
    assert left_out(read(made)) == {"embedded_object": (1, 0), "image": (1, 4), "slide_master": (1, 7)}


def test_raised_and_struck_out_runs_keep_their_meaning() -> None:
    made = Presentation()
    looks = [("Up to 10", ""), ("6", 'baseline="30000"'), (" for ", ""), ("30", 'strike="sngStrike"')]
    looks += [("45 euros", 'strike="noStrike"'), ("1", 'baseline="30000"')]
    field = '<a:br/><a:fld type="datetime1" id="{1}"><a:t>today</a:t></a:fld>'
    add_xml(add(made, BLANK), shape_xml("".join(run(*look) for look in looks) + field))
    parsed = read(made)
    assert [block.text for block in parsed.blocks] == ["Up to 10^6 for 45 euros\ntoday"]
    assert left_out(parsed) == {"deleted_text": (1, 2), "footnote_mark": (1, 1)}


BLACK = '<a:solidFill><a:srgbClr val="000000"/></a:solidFill>'
WHITE = BLACK.replace("000000", "FFFFFF")


def inches(left: float, top: float, width: float = 3, height: float = 1, inner: str = "") -> str:
    x, y, wide, high = (int(914_400 * length) for length in (left, top, width, height))
    return f'<a:xfrm><a:off x="{x}" y="{y}"/><a:ext cx="{wide}" cy="{high}"/>{inner}</a:xfrm>'


def word(place: str = inches(1, 1), **look: str) -> str:
    return shape_xml(run("Word", **look), place)


def group(left: float, *shapes: str) -> str:
    named = '<p:nvGrpSpPr><p:cNvPr id="7" name="g"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>'
    inner = '<a:chOff x="914400" y="914400"/><a:chExt cx="2743200" cy="914400"/>'
    place = inches(left, 1, inner=inner)
    return f"<p:grpSp>{named}<p:grpSpPr>{place}</p:grpSpPr>{''.join(shapes)}</p:grpSp>"


HIDDEN = [
    word(inside=WHITE),
    word(look='sz="50"'),
    word(inches(-4, 1)),
    group(11, word()),
]
SEEN = [
    word(inches(9.9, 1)),
    group(9, word()),
    shape_xml(run("Word", 'sz="800"', BLACK), "<a:noFill/>"),
]


@pytest.mark.parametrize("shapes", [*HIDDEN, *SEEN])
def test_text_that_nobody_sees_is_left_out_and_counted(shapes: str) -> None:
    made = Presentation()
    add_xml(add(made, BLANK), shapes)
    parsed = read(made)
    assert outline(parsed) == ([("paragraph", "Word")] if shapes in SEEN else [])
    assert left_out(parsed) == ({} if shapes in SEEN else {"hidden": (1, 4)})


@pytest.mark.parametrize(("ground", "seen"), [(None, False), ("000000", True)])
def test_white_text_is_seen_on_a_dark_slide_alone(ground: str | None, seen: bool) -> None:
    made = Presentation()
    slide = add(made, BLANK)
    if ground is not None:
        slide.background.fill.solid()
        slide.background.fill.fore_color.rgb = RGBColor.from_string(ground)
    add_xml(slide, word(inside=WHITE))
    assert bool(outline(read(made))) == seen


def ground(index: int, colour: str) -> str:
    return f'<p:bg><p:bgRef idx="{index}"><a:schemeClr val="{colour}"/></p:bgRef></p:bg>'


@pytest.mark.parametrize(
    ("markup", "seen"),
    [
        (ground(1001, "bg1"), False),
        (ground(1001, "tx1"), True),
        (ground(1003, "bg1"), True),
        (ground(1001, "bg1").replace("/></p:bgRef", '><a:shade val="5000"/></a:schemeClr></p:bgRef'), True),
        ("<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>", False),
        ('<p:clrMapOvr><a:overrideClrMapping bg1="dk1" tx1="lt1"/></p:clrMapOvr>', True),
    ],
)
def test_white_text_is_seen_on_a_dark_colour_of_the_theme(markup: str, seen: bool) -> None:
    made = Presentation()
    slide = add(made, BLANK)
    element = parse_xml(f"<p:x {NAMESPACES}>{markup}</p:x>")[0]
    for old in slide._element.findall(element.tag):
        slide._element.remove(old)
    if element.tag.endswith("}bg"):
        slide._element.cSld.insert(0, element)
    else:
        slide._element.append(element)
    add_xml(slide, word(inside=WHITE))
    assert bool(outline(read(made))) == seen


def test_numbered_items_have_the_numbers_that_powerpoint_shows() -> None:
    made = Presentation()
    numbered = '<a:pPr lvl="{}"><a:buFont typeface="+mj-lt"/><a:buAutoNum type="{}" {}/></a:pPr>'
    items = [
        (0, "arabicPeriod", 'startAt="3"', "Open the valve"),
        (1, "alphaLcParenR", "", "by hand"),
        (1, "alphaLcParenR", "", "by wrench"),
        (0, "arabicPeriod", 'startAt="3"', "Start the pump"),
        (1, "alphaLcParenR", "", "slowly"),
    ]
    paragraphs = "</a:p><a:p>".join(
        numbered.format(level, kind, start) + run(text) for level, kind, start, text in items
    )
    add_xml(add(made, BLANK), shape_xml(paragraphs))

    blocks = read(made).blocks

    assert [block.text for block in blocks] == [
        "3. Open the valve", "a) by hand", "b) by wrench", "4. Start the pump", "a) slowly",
    ]  # fmt: skip
