import pytest

from qa_pipeline.documents.assembly import Omissions
from qa_pipeline.documents.formats.markdown.parser import mend_headings
from qa_pipeline.records import Block, LeftOut


def mended(heading: str, *paragraphs: str) -> tuple[list[str], tuple[LeftOut, ...], tuple[str, ...]]:
    left = Omissions()
    blocks = [Block("heading", heading, 3), *(Block("paragraph", text) for text in paragraphs)]
    after, notes = mend_headings(blocks, left)
    assert [block.kind for block in after] == [block.kind for block in blocks]
    return [block.text for block in after], left.record(), notes


@pytest.mark.parametrize(
    ("heading", "torn", "whole"),
    [
        (
            "/1804 av den 13 september 2023 om drivmedel och om upphävande av direktiv 2014/ 1 §",
            "Lagen kompletterar förordning (EU) 202394/EU, här kallad EU-förordningen.",
            (
                "Lagen kompletterar förordning (EU) 2023/1804 av den 13 september 2023 om drivmedel och om "
                "upphävande av direktiv 2014/94/EU, här kallad EU-förordningen."
            ),
        ),
        (
            "/114/ 17 a §",
            "enligt direktiv 2008EG av den 8 december",
            "enligt direktiv 2008/114/EG av den 8 december",
        ),
        ("/2011/ 18 h §", "enligt beslut 1104EU.", "enligt beslut 1104/2011/EU."),
    ],
)
def test_a_torn_piece_goes_back_where_only_one_place_can_have_held_it(
    heading: str, torn: str, whole: str
) -> None:
    texts, left, notes = mended(heading, "Först.", torn)
    assert texts[0] == heading[heading.rindex("/") + 2 :]
    assert texts[1:] == ["Först.", whole]
    assert left == ()
    assert notes == ("1 heading had swallowed text, of which 1 could be put back in its place",)


@pytest.mark.parametrize(
    ("heading", "paragraphs"),
    [
        (
            "/2008 av den 9 juli 2008 och förordning (EEG) nr 339/ 7 §",
            ["enligt förordning (EG) nr 76593 och lagen"],
        ),
        ("/1804 av den 13 september och direktiv 2014/ 1 §", ["(EU) 202394/EU och (EU) 202395/EU"]),
        ("/1804 av den 13 september och direktiv 2014/ 1 §", ["Inget här."]),
        ("/2013/ /420 av den 13 mars och beslut nr 1313/ 9 §", ["beslut 1313EU"]),
    ],
)
def test_a_piece_whose_place_is_not_certain_is_counted(heading: str, paragraphs: list[str]) -> None:
    texts, left, notes = mended(heading, *paragraphs)
    assert texts == [heading[heading.rindex("/") + 2 :], *paragraphs]
    assert [(part.what, part.pieces) for part in left] == [("torn_heading", 1)]
    assert notes == ("1 heading had swallowed text, of which 0 could be put back in its place",)


@pytest.mark.parametrize("heading", ["/users/{id}", "GET /users/ 1", "1 §", "/etc/hosts/ is a file"])
def test_other_headings_stay_as_they_are(heading: str) -> None:
    assert mended(heading, "Text.") == ([heading, "Text."], (), ())
