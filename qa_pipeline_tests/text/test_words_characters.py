import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import lay_out
from qa_pipeline.text.words import clean

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@given(ANY_TEXT)
def test_clean_text_is_nfc_utf8_and_free_of_invisible_characters(text: str) -> None:
    cleaned = clean(text)
    assert unicodedata.is_normalized("NFC", cleaned)
    cleaned.encode("utf-8")
    assert not {"\r", "\0", "\u200b", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u00a0"} & set(cleaned)
    assert all(unicodedata.category(character) != "Cc" or character in "\n\t" for character in cleaned)


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.sampled_from(["heading", "list_item", "table_row"]), ANY_TEXT)
def test_headings_items_and_rows_are_one_line(kind: str, text: str) -> None:
    assert "\n" not in lay_out(kind, clean(text))  # type: ignore[arg-type]


@given(st.sampled_from(["paragraph", "quote", "heading", "code"]), ANY_TEXT)
def test_laying_out_loses_white_space_only(kind: str, text: str) -> None:
    cleaned = clean(text)
    assert "".join(lay_out(kind, cleaned).split()) == "".join(cleaned.split())  # type: ignore[arg-type]


def test_direction_marks_cannot_reorder_what_a_reader_sees() -> None:
    assert clean("user\u202egnp.exe\u202c") == "usergnp.exe"


def test_decomposed_accents_are_composed() -> None:
    assert clean("fo\u0308rra a\u030aret") == "förra året"


def test_paragraphs_keep_hard_line_breaks_and_code_its_indentation() -> None:
    assert lay_out("paragraph", "  Storgatan 1 \n\n 111 22  Stockholm ") == "Storgatan 1\n111 22 Stockholm"
    assert lay_out("code", "\nif x:\n\tgo()  \n\n") == "if x:\n    go()"


def test_each_kind_of_blank_is_replaced_where_it_stands_alone_among_letters() -> None:
    blanks = [
        chr(code) for code in range(0x3001) if unicodedata.category(chr(code)) in ("Zs", "Zl", "Zp", "Cc")
    ]
    assert {clean(f"é{blank}é") for blank in blanks} == {"é é", "é\né", "é\té", "éé"}
