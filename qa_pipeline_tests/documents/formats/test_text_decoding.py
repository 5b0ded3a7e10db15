import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.text import decode

GERMAN = "Größe und Übermaß der Straße, für Müller. " * 3
READABLE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(READABLE, st.sampled_from(["utf-8-sig", "utf-16"]))
def test_a_byte_order_mark_decides(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@given(READABLE.filter(lambda text: not text.startswith(("%PDF-", "PK", "GIF8", "RIFF", "{\\rtf", "\ufeff"))))
def test_utf8_without_a_mark_is_read_as_utf8(text: str) -> None:
    assert decode(text.encode()) == text


@pytest.mark.parametrize(
    "text", [GERMAN, "Avgiften är 5 kr på lördagar.", "Fußgängerübergänge", "It’s 5 € – a “naïve” café."]
)
def test_undeclared_windows_text_however_short_is_read(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize("encoding", ["mac_roman", "cp850"])
@pytest.mark.parametrize("text", [GERMAN, "Avgiften är 5 kr på lördagar.", "Fußgängerübergänge"])
def test_text_of_another_code_page_is_refused_rather_than_garbled(text: str, encoding: str) -> None:
    with pytest.raises(DocumentFailure, match="undecodable"):
        decode(text.encode(encoding))


@pytest.mark.parametrize(
    "content",
    [
        "Привет мир, это тест".encode("cp1251"),
        GERMAN.encode()[:-20] + "ö".encode()[:1],
        GERMAN.encode() + GERMAN.encode("cp1252"),
        bytes(range(1, 256)) * 20,
    ],
)
def test_text_that_no_handled_language_is_written_in_is_refused_rather_than_garbled(content: bytes) -> None:
    with pytest.raises(DocumentFailure, match=r"undecodable: .*UTF-8"):
        decode(content)


@pytest.mark.parametrize(
    "content", [b"%PDF-1.7 text", b"PK\x03\x04word", b"plain\0text\0with zeros", bytes(500)]
)
def test_binary_content_is_refused_whatever_the_name_says(content: bytes) -> None:
    with pytest.raises(DocumentFailure) as refused:
        decode(content)
    assert refused.value.reason == "binary_content"


@pytest.mark.parametrize("label", ["iso-8859-1", "windows-1252", "iso-8859-15", "macintosh"])
def test_what_is_utf_8_is_read_as_such_whatever_encoding_of_one_byte_is_declared(label: str) -> None:
    page = f'<meta charset="{label}">{GERMAN}'
    assert decode(page.encode(), declared=True) == page
    assert decode(GERMAN.encode(), charset=label) == GERMAN


def test_a_named_encoding_of_two_bytes_needs_no_mark() -> None:
    assert decode(GERMAN.encode("utf-16-le"), charset="utf-16-le") == GERMAN
