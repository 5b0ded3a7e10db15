import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import visible
from qa_pipeline.documents.corpus.files import DocumentFailure
from qa_pipeline.documents.formats import row_files
from qa_pipeline.documents.limits import LIMITS, ReaderLimits
from qa_pipeline.records import LeftOut, ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal, source

WORDS = st.text("abcåß", min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


def parse(
    content: str | bytes, settings: DocumentSettings = SETTINGS, limits: ReaderLimits = LIMITS
) -> ParsedFile:
    return row_files.parse(source(content, "a.jsonl"), settings, limits)


def of(*rows: Any) -> ParsedFile:
    return parse("\n".join(json.dumps(row) for row in rows))


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [] if value is None else [str(value).lower() if isinstance(value, bool) else str(value)]


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_every_value_of_every_row_is_said(rows: list[Any]) -> None:
    said = " ".join(text for _, text in outline(of(*rows)))
    assert all(leaf in said for row in rows for leaf in leaves(row))


@given(st.text("XY1.-= \n*", max_size=100))
def test_every_character_of_a_text_is_in_a_block_or_counted_as_left_out(text: str) -> None:
    parsed = of({"text": f"a {text}"})
    kept = visible("".join(block.text for block in parsed.blocks if block.text != "Row 1"))
    lost = sum(part.characters for part in parsed.left_out)
    assert kept + lost == visible(f"a {text}")


def test_what_the_text_of_a_row_leaves_out_is_counted() -> None:
    parsed = of({"title": "Pumps", "markdown": "# Pumps\n\n![a bee](b.png)<!-- no --> Text."})
    assert outline(parsed) == [("heading", "Pumps"), ("paragraph", "Text.")]
    assert parsed.left_out == (
        LeftOut("comment", 1, 2),
        LeftOut("image", 1, 4),
        LeftOut("repeated_heading", 1, 5),
    )
    page = of({"html": "<p>Text.<script>no</script>"})
    assert page.left_out == (LeftOut("script", 1, 2),)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    assert refusal(lambda: parse(content)) in (None, "damaged")


def test_each_row_is_a_section_under_its_title_or_its_number() -> None:
    parsed = of({"title": "Boilers", "text": "They boil."}, {"text": "Nothing more."})
    assert outline(parsed) == [
        ("heading", "Boilers"),
        ("paragraph", "They boil."),
        ("heading", "Row 2"),
        ("paragraph", "Nothing more."),
    ]


def test_the_other_fields_are_key_value_lines_with_the_names_above_them() -> None:
    row = {"id": 7, "tags": ["a", "b"], "at": {"city": "Lund", "open": True, "fax": None}, "text": "Body."}
    assert parse(json.dumps(row)).blocks[1].text == "id: 7\ntags: a, b\nat city: Lund\nat open: true"


def test_numbers_stand_as_they_are_written_and_names_that_repeat_lose_nothing() -> None:
    parsed = parse('{"a": 1.50, "b": 1' + "0" * 5000 + ', "c": 1, "c": 2, "c": NaN}')
    text = "\n".join(block.text for block in parsed.blocks)
    assert "a: 1.50" in text
    assert "0" * 5000 in text
    assert "c: 1\nc (2): 2\nc (3): NaN" in text


def test_a_markdown_or_html_text_is_read_as_such_below_its_row() -> None:
    rows = [
        {"markdown": "# Top\n\nWords."},
        {"html": "<h1>Page</h1><p>Words."},
        {"text": "```\nx  =  1\n```"},
    ]
    parsed = of(*rows)
    assert [(block.kind, block.level) for block in parsed.blocks if block.kind == "heading"] == [
        ("heading", 2),
        ("heading", 3),
        ("heading", 2),
        ("heading", 3),
        ("heading", 2),
    ]
    assert parsed.blocks[-1].kind == "code"
    assert parsed.blocks[-1].text.strip() == "x  =  1"


def test_a_text_that_begins_like_a_binary_file_is_text() -> None:
    assert outline(of({"text": "RIFF is a format.\0"}))[1] == ("paragraph", "RIFF is a format.")


def test_a_body_its_parser_refuses_is_read_as_plain_text() -> None:
    assert ("paragraph", ">" * 900 + " deep") in outline(of({"markdown": ">" * 900 + " deep"}))


def test_what_all_rows_say_alike_is_said_of_the_document() -> None:
    about = {"license": "MIT", "lang": "sv", "url": "https://x.se/a"}
    parsed = of({**about, "text": "Ett."}, {**about, "text": "Två."})
    assert (parsed.licence, parsed.language, parsed.source_uri) == ("MIT", "sv", "https://x.se/a")
    assert parsed.left_out == (LeftOut("metadata", 6, 2 * len("MITsvhttps://x.se/a")),)
    apart = of({"license": "MIT", "text": "Ett."}, {"license": "BSD", "text": "Två."})
    assert apart.licence is None
    assert ("paragraph", "license: BSD") in outline(apart)


def test_one_title_over_all_rows_is_the_documents_and_one_row_keeps_its_own() -> None:
    parsed = of({"title": "Law", "text": "One."}, {"title": "Law", "text": "Two."})
    assert parsed.title == "Law"
    assert [text for kind, text in outline(parsed) if kind == "heading"] == ["Row 1", "Row 2"]
    single = of({"title": "Law", "text": "One."})
    assert (single.title, outline(single)[0]) == ("Law", ("heading", "Law"))


def test_broken_lines_are_counted_with_their_numbers_and_the_rest_is_kept() -> None:
    deep = '{"a":' * 60 + "1" + "}" * 60
    content = b'{"text": "\xc3\xa5ngan"}\n{broken\n\n{"text": "\xff\xfe"}\n' + deep.encode() + b"\n[" * 1
    parsed = parse(content + b"[" * 50_000)
    assert [text for kind, text in outline(parsed) if kind == "paragraph"] == ["ångan"]
    (lost,) = parsed.left_out
    assert (lost.what, lost.pieces) == ("broken_line", 4)
    assert all(f"line {number} " in parsed.notes[0] for number in (2, 4, 5, 6))


def test_a_line_longer_than_any_document_may_be_is_a_broken_line() -> None:
    content = json.dumps({"text": "x" * 200}) + '\n{"text": "short"}'
    parsed = parse(content, DocumentSettings(max_characters=100))
    assert "line 1 " in parsed.notes[0]


def test_a_file_without_one_good_line_or_with_too_many_is_refused() -> None:
    with pytest.raises(DocumentFailure, match=r"damaged: .*line 1"):
        parse("no\njson\nhere")
    for content in ("{}\n" * 11, "x\n" * 11):
        with pytest.raises(DocumentFailure, match="too_many_rows"):
            parse(content, limits=ReaderLimits(rows=10))


def test_windows_and_utf16_files_are_read() -> None:
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        assert ("paragraph", "smörgås") in outline(parse('{"text": "smörgås"}\r\n{"x": 1}'.encode(encoding)))
