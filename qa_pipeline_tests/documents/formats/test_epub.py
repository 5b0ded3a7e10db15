from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.formats import epub
from qa_pipeline.records import ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal, source
from qa_pipeline_tests.documents.formats.office.archives import zip_bytes
from qa_pipeline_tests.documents.formats.office.builders import left_out

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
DOCTYPE = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
# Where a word may stand in a chapter, and under which name it is left out.
PLACES: dict[str, tuple[str, str | None]] = {
    "paragraph": ("<p>{word}</p>", None),
    "heading": ("<h2>{word}</h2>", None),
    "item": ("<ul><li>{word}</li></ul>", None),
    "code": ("<pre>{word}</pre>", None),
    "cell": ("<table><tr><td>{word}</td><td>.</td></tr></table>", None),
    "aside": ('<aside epub:type="footnote" id="n"><p>{word}</p></aside>', None),
    "header": ("<header><p>{word}</p></header>", None),
    "footer": ('<footer role="contentinfo"><p>{word}</p></footer>', None),
    "sidebar": ('<div class="sidebar" id="footer"><p>{word}</p></div>', None),
    "linked": ('<p><a href="x.xhtml">{word}</a></p>', None),
    "navigation": ("<nav><p>{word}</p></nav>", "navigation"),
    "script": ("<script>{word}</script>", "script"),
    "style": ("<style>{word}</style>", "script"),
    "picture": ('<p>.<img alt="{word}" src="http://example.org/x.png"/></p>', "image"),
    "drawing": ('<svg xmlns="http://www.w3.org/2000/svg"><text>{word}</text></svg>', "image"),
    "hidden": ('<p hidden="hidden">{word}</p>', "hidden"),
    "page": ('<p>.<span epub:type="pagebreak">{word}</span></p>', "page_number"),
    "mark": ('<p>.<sup><a epub:type="noteref" href="#n">{word}</a></sup></p>', "footnote_mark"),
    "form": ("<form><button>{word}</button></form>", "form"),
    "comment": ("<!-- {word} -->", "comment"),
    "struck": ("<p>.<del>{word}</del></p>", "deleted_text"),
    "formula": ("<p>.<m:math><m:mmultiscripts><m:mi>{word}</m:mi></m:mmultiscripts></m:math></p>", "formula"),
    "raised": ("<p>.<sup>[{word}]</sup></p>", "footnote_mark"),
    "column": ("<table><tr><th>.</th><th>{word}</th></tr><tr><td>.</td><td/></tr></table>", "empty_column"),
}  # fmt: skip


def chapter(body: str, head: str = "<title>No text of the book</title>") -> str:
    return (
        f'<?xml version="1.0" encoding="utf-8"?>{DOCTYPE}<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"><head>{head}</head><body>{body}</body></html>'
    )


def book(
    chapters: Mapping[str, str | bytes],
    metadata: str = "",
    spine: str | None = None,
    extra: Mapping[str, str | bytes] = {},
    attributes: str = 'media-type="application/xhtml+xml"',
    guide: str = "",
) -> bytes:
    items = "".join(f'<item id="i{n}" href="{name}" {attributes}/>' for n, name in enumerate(chapters))
    order = spine or "".join(f'<itemref idref="i{n}"/>' for n in range(len(chapters)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}</metadata>'
        f"<manifest>{items}</manifest><spine>{order}</spine>{guide}</package>"
    )
    return zip_bytes(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/content.opf": package,
            **{f"OEBPS/{name.replace('%20', ' ')}": text for name, text in chapters.items()},
            **extra,
        }
    )


def read(content: bytes, limits: DocumentSettings = SETTINGS) -> ParsedFile:
    return epub.parse(source(content), limits)


@given(st.lists(st.sampled_from(sorted(PLACES)), min_size=1, max_size=8))
def test_every_word_of_a_chapter_is_in_its_text_once_or_counted_as_left_out(places: list[str]) -> None:
    words = [f"word{number}x" for number in range(len(places))]
    body = "".join(PLACES[place][0].format(word=word) for place, word in zip(places, words, strict=True))
    head = "<title>No text</title><style>a {}</style><meta/><!-- of it -->"
    parsed = read(book({"a.xhtml": chapter(body, head)}))
    text = "\n".join(block.text for block in parsed.blocks)
    expected = {"metadata": 6, "script": 3, "comment": 4}
    for place, word in zip(places, words, strict=True):
        what = PLACES[place][1]
        assert text.count(word) == (what is None)
        if what is not None:
            brackets = 2 * (place == "raised")
            expected[what] = expected.get(what, 0) + len(word) + brackets
    assert {what: characters for what, (_, characters) in left_out(parsed).items()} == expected


def test_chapters_are_read_in_the_order_of_the_spine_and_other_pages_are_counted() -> None:
    chapters = {
        "one%20a.xhtml": chapter("<h1>One</h1>"),
        "b/two.xhtml": chapter("<p>Two.</p>"),
        "c.xhtml": chapter("<p>Answers.</p>"),
    }
    parsed = read(book(chapters, spine='<itemref idref="i1"/><itemref idref="i0" linear="no"/>'))
    assert outline(parsed) == [("paragraph", "Two."), ("heading", "One")]
    assert left_out(parsed)["outside_order"] == (1, 0)


def test_a_book_says_its_title_language_licence_and_source() -> None:
    metadata = (
        "<dc:title>Om \n vatten</dc:title><dc:title>Other</dc:title><dc:language>sv-SE</dc:language>"
        "<dc:rights>CC BY 4.0</dc:rights><dc:source>https://example.org/book</dc:source>"
    )
    parsed = read(book({"a.xhtml": chapter("<p>Text.</p>")}, metadata))
    assert (parsed.title, parsed.language) == ("Om vatten", "sv")
    assert (parsed.licence, parsed.source_uri) == ("CC BY 4.0", "https://example.org/book")


def test_a_table_of_contents_in_the_order_of_reading_is_navigation() -> None:
    contents = chapter('<nav><h1>Contents</h1><ol><li><a href="b.xhtml">One</a></li></ol></nav>')
    attributes = 'media-type="application/xhtml+xml" properties="nav"'
    parsed = read(book({"nav.xhtml": contents}, attributes=attributes))
    assert parsed.blocks == ()
    assert left_out(parsed)["navigation"] == (1, len("ContentsOne"))


def test_elements_that_end_themselves_or_never_do_not_swallow_what_follows() -> None:
    body = '<p><a id="p1"/>First.</p><div/><p>Second<i/>.</p><script src="x.js"/><p>Third.</p>'
    no_xml = "<html><title/><body><p>One<br>two<p>Three & four<script/>"
    parsed = read(book({"a.xhtml": chapter(body, "<title/>"), "b.xhtml": no_xml}))
    assert [text for _, text in outline(parsed)] == ["First.", "Second.", "Third.", "One two", "Three & four"]


def test_entities_of_html_are_resolved_and_those_of_the_file_are_not() -> None:
    parsed = read(book({"a.xhtml": chapter("<p>Gr&ouml;&szlig;e&nbsp;&amp; more</p>")}))
    assert [" ".join(text.split()) for _, text in outline(parsed)] == ["Größe & more"]
    bomb = chapter("<p>&b;x</p>").replace(DOCTYPE, '<!DOCTYPE html [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]>')
    assert "lol" not in str(read(book({"a.xhtml": bomb})).blocks)
    outside = chapter("<p>&b;x</p>").replace(
        DOCTYPE, '<!DOCTYPE html [<!ENTITY b SYSTEM "file:///etc/hostname">]>'
    )
    assert read(book({"a.xhtml": outside})).blocks[0].text.strip().endswith("x")


def test_protected_books_are_distinguished_from_books_with_scrambled_fonts() -> None:
    def protection(method: str, path: str) -> dict[str, str]:
        return {
            "META-INF/encryption.xml": '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
            'xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
            f'<enc:EncryptionMethod Algorithm="{method}"/><enc:CipherData><enc:CipherReference URI="{path}"/>'
            "</enc:CipherData></enc:EncryptedData></encryption>"
        }

    one = {"a.xhtml": chapter("<p>Text.</p>")}
    aes = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
    locked = book(one, extra=protection(aes, "OEBPS/a.xhtml"))
    assert refusal(lambda: read(locked)) == "encrypted"
    font = book(one, extra=protection("http://www.idpf.org/2008/embedding", "OEBPS/a.otf"))
    assert outline(read(font)) == [("paragraph", "Text.")]
