import csv
import io
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.files import LIMITS, DocumentFailure
from qa_pipeline.documents.formats import spreadsheet
from qa_pipeline.records import ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal, source

CELLS = st.text("abc åß09,;|\t\"'\n-:", max_size=12)


def parse(
    content: str | bytes,
    name: str = "a.csv",
    settings: DocumentSettings = SETTINGS,
) -> ParsedFile:
    return spreadsheet.parse_csv(source(content, name), settings)


def lines(content: str | bytes, name: str = "a.csv") -> list[str]:
    return [text for _, text in outline(parse(content, name))]


def letters(text: str) -> list[str]:
    return sorted(character for character in text if character.isalnum())


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=8), st.sampled_from(",;\t|"))
def test_no_cell_of_any_table_is_lost(rows: list[list[str]], delimiter: str) -> None:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator="\n").writerows(rows)
    parsed = parse(written.getvalue())
    said = Counter(letters("".join(text for _, text in outline(parsed))))
    missing = Counter(letters("".join(cell for row in rows for cell in row))) - said
    assert missing.total() <= sum(part.characters for part in parsed.left_out)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_under_which_rows_fit(delimiter: str) -> None:
    rows = [["name", "city", "amount"], ["Anna", "Lund", "3"], ["Bo", "Umeå", "5"]]
    content = "\n".join(delimiter.join(row) for row in rows)
    assert lines(content) == ["name: Anna | city: Lund | amount: 3", "name: Bo | city: Umeå | amount: 5"]


def test_decimal_commas_part_no_cells() -> None:
    assert lines("1,5;2,5;3,5\n4,5;5,5;6,5\n") == ["1,5 | 2,5 | 3,5", "4,5 | 5,5 | 6,5"]
    assert lines("Ort;Wert\nKiel;1,5\nUlm;2,5\n") == ["Ort: Kiel | Wert: 1,5", "Ort: Ulm | Wert: 2,5"]


def test_quoted_cells_keep_delimiters_quotes_and_lines() -> None:
    content = 'id,text\n1,"one, ""two""\nand three"\n2, "spaced"\n'
    assert lines(content) == ['id: 1 | text: one, "two" and three', "id: 2 | text: spaced"]


@pytest.mark.parametrize("content", ['id,text\n1,"open\n2,b\n', 'id,size\n1,5" pipe\n2,"6 pipe\n3,7" pipe\n'])
def test_a_quote_that_is_never_closed_swallows_no_rows(content: str) -> None:
    assert lines(content) == content.splitlines()
    assert refusal(lambda: parse("id,text\n" + 300 * "1,a\n" + content)) == "damaged"


def test_long_quoted_cells_do_not_hide_the_delimiter() -> None:
    content = "id,text\n" + "".join(f'{number},"{"long, " * 2_000}"\n' for number in range(100))
    assert lines(content)[-1].startswith("id: 99 | text: long, long,")


@pytest.mark.parametrize(
    "first",
    ["name,city,amount", "Name,Ort,Betrag", "första namn,ort,2020", "x_id,y_id,z"],
)
def test_a_row_of_names_over_figures_names_the_columns(first: str) -> None:
    (line, *_) = lines(f"{first}\nAnna,Lund,31.5\nBo,Umeå,27\n")
    assert line.split(": ")[0] == first.split(",")[0]


@pytest.mark.parametrize(
    "content",
    ["Anna,Lund\nBo,Umeå\nCilla,Kiel\n", "1,2\n3,4\n", "a,a\n1,2\n", "Lund,5\nLund,6\n", "only,one row\n"],
)
def test_without_evidence_the_first_row_is_a_row(content: str) -> None:
    assert lines(content) == [line.replace(",", " | ") for line in content.splitlines()]


def test_lines_above_the_table_are_paragraphs_and_short_or_wide_rows_keep_their_cells() -> None:
    parsed = parse("Population by city;;\n\nid;city;people\n1;Lund;3\n2;Kiel\n3;Ulm;4;extra\n")
    assert outline(parsed) == [
        ("paragraph", "Population by city"),
        ("table_row", "id: 1 | city: Lund | people: 3"),
        ("table_row", "id: 2 | city: Kiel"),
        ("table_row", "id: 3 | city: Ulm | people: 4 | extra"),
    ]


def test_line_ends_and_encodings_of_every_system_are_read() -> None:
    content = "namn;längd\rÅsa;170\rÖrjan;180\r"
    expected = ["namn: Åsa | längd: 170", "namn: Örjan | längd: 180"]
    for text in (content, content.replace("\r", "\r\n")):
        for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16"):
            assert lines(text.encode(encoding)) == expected


def test_too_many_rows_and_names_that_multiply_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIMITS, "rows", 10)
    with pytest.raises(DocumentFailure, match="too_many_rows"):
        parse("a\n" * 12)
    monkeypatch.undo()
    wide = ",".join(f"name_{number}" for number in range(1000))
    rows = "".join(",".join(["1"] * 1000) + "\n" for _ in range(100))
    with pytest.raises(DocumentFailure, match="too_long"):
        parse(f"{wide}\n{rows}", settings=DocumentSettings(max_characters=100_000))
