from collections import Counter
from pathlib import Path

import pytest

from qa_pipeline_tests.benchmarks.quality import measure_pdf_reading
from qa_pipeline_tests.benchmarks.quality.measure_pdf_reading import Row, compare, measure, summarize
from qa_pipeline_tests.documents.formats.pdf.builders import one_page

_LINES = ("The boiler heats 300 litres of water", "in 20 minutes at a pressure of 4 bar.")
_CONTENT = "BT /F1 12 Tf 72 700 Td ({}) Tj 0 -14 Td ({}) Tj ET".format(*_LINES)


def row_of(monkeypatch: pytest.MonkeyPatch, folder: Path, *others: str) -> Row:
    path = folder / "boiler.pdf"
    path.write_bytes(one_page(_CONTENT))
    readers = {name: lambda _, text=text: (text, 0.0) for name, text in zip("ab", others, strict=True)}
    monkeypatch.setattr(measure_pdf_reading, "_OTHERS", readers)
    return measure(path)


def test_words_that_both_others_find_are_counted_as_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "\n".join(_LINES)
    agreed = row_of(monkeypatch, tmp_path, text, text)["by_reference"]["agreed"]
    assert agreed == Counter(words=16, in_text=16, in_all=16, numbers=3, numbers_in_text=3)


def test_a_number_that_our_text_lacks_is_lost_only_where_both_others_have_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "\n".join(_LINES)
    by_reference = row_of(monkeypatch, tmp_path, f"{text} 7788", text)["by_reference"]
    assert by_reference["a"]["numbers"] - by_reference["a"]["numbers_in_text"] == 1
    assert by_reference["agreed"]["numbers_in_text"] == by_reference["agreed"]["numbers"]
    agreed = row_of(monkeypatch, tmp_path, f"{text} 7788", f"{text} 7788")["by_reference"]["agreed"]
    assert agreed["numbers"] - agreed["numbers_in_text"] == 1


def test_lines_in_another_order_lower_the_order_and_not_the_recall(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = row_of(monkeypatch, tmp_path, "\n".join(reversed(_LINES)), "\n".join(_LINES))
    turned = row["by_reference"]["a"]
    assert turned["ordered"] < turned["unique"]
    assert turned["in_text"] == turned["words"]


def test_the_file_that_lost_most_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "\n".join(_LINES)
    before = row_of(monkeypatch, tmp_path, text, text)
    after = row_of(monkeypatch, tmp_path, f"{text} 7788", f"{text} 7788")
    compared = compare([before], [after])
    assert compared["fell_most"] == [(pytest.approx(16 / 17 - 1), "boiler.pdf")]
    assert summarize([after])["agreed"]["recall"][0] == pytest.approx(16 / 17, abs=1e-4)
