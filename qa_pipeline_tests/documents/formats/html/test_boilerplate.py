"""Text that a page hides is left out, however it does so, and what is seen stays."""

import pytest

from qa_pipeline.documents.formats import mail, markdown
from qa_pipeline.documents.formats.html import parser as html
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, source, texts

SECRET = "Secret: 90 000 euros."
HIDDEN = {
    "attribute": "<p hidden>{}</p>",
    **{
        style: f"<p style='{style}'>{{}}</p>"
        for style in (
            "display:none", "visibility: hidden", "opacity:0", "opacity: 0.0; margin: 0", "font-size:0",
            "font-size: 0.5px", "position:absolute;left:-9999px", "position:fixed; top: -1000px",
            "text-indent:-9999px", "clip:rect(0 0 0 0)", "color:#fff", "color: white",
            "color:rgb(255,255,255)",
            "color:#fdfdfd", "color:transparent", "color:#000;background:#000",
            "background-color:black;color:black", "background:#000", "color:rgba(0, 0, 0, 0)",
            "font-size:1px;line-height:0",
        )
    },
    "bar by a sheet": "<style>.bar {{ color: black; background: black }}</style><b class=bar>{}</b>",
    "sheet": "<style>.far {{ position: absolute; left: -999em }}</style><p class=far>{}</p>",
    "sheet of opacity": "<style>.no {{ opacity: 0 }}</style><p class=no>{}</p>",
    "colour of HTML 4": "<font color='#ffffff'>{}</font>",
    "cell of one colour": "<table><tr><td bgcolor=black><font color=black>{}</font><td>Seen</table>",
    "dark page": "<div style='background:#111'>Seen.<p style='color:#111'>{}</p></div>",
}  # fmt: skip
SEEN = [
    "<p style='opacity:0.5'>{}</p>",
    "<p style='font-size:10px;left:-5px;text-indent:-20px'>{}</p>",
    "<div style='background:navy'><p style='color:white'>{}</p></div>",
    "<div style='background:url(night.png)'><p style='color:white'>{}</p></div>",
    "<link rel=stylesheet href=a.css><p style='color:white'>{}</p>",
    "<link rel=stylesheet href=a.css><p style='background:black'>{}</p>",
    "<div style='background:black;color:white'><p>{}</p></div>",
    "<div style='background:black'><div style='background:white'>{}</div></div>",
    "<body bgcolor=black text=white><p>{}</p>",
    "<style>.t {{ opacity: 0 }} .t.on {{ opacity: 1 }}</style><p class='t on'>{}</p>",
    "<style>@media print {{ p {{ display: none }} }}</style><p>{}</p>",
]


def read(markup: str) -> ParsedFile:
    page = f"<h1>Minutes</h1><p>The board met at ten and spoke of money.</p>{markup}<p>It closed at noon.</p>"
    return html.parse(source(page), SETTINGS)


@pytest.mark.parametrize("way", HIDDEN)
def test_hidden_text_is_left_out_and_counted(way: str) -> None:
    parsed = read(HIDDEN[way].format(SECRET))
    text = " ".join(texts(parsed.blocks))
    assert "Secret" not in text
    assert "It closed at noon." in text
    assert any(part.what == "hidden" for part in parsed.left_out)


@pytest.mark.parametrize("markup", SEEN)
def test_text_that_shows_stays(markup: str) -> None:
    assert SECRET in texts(read(markup.format(SECRET)).blocks)


def test_mail_and_markdown_hide_the_same() -> None:
    hidden = f"<p style='opacity:0'>{SECRET}</p>"
    letter = f"Subject: Pay\nContent-Type: text/html\n\n<p>Seen.</p>{hidden}\n"
    for parsed in (
        mail.parse(source(letter), SETTINGS),
        markdown.parse(source(f"# Pay\n\nSeen.\n\n{hidden}\n"), SETTINGS),
        markdown.parse(source(f"# Pay\n\nSeen. <span style='opacity:0'>{SECRET}</span>\n"), SETTINGS),
    ):
        assert texts(parsed.blocks) == ["Pay", "Seen."]
