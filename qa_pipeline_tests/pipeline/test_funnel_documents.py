import polars as pl

from qa_pipeline.pipeline.funnel import LEFT_OUT_COUNTS, left_out_counts, masked_counts, text_figures
from qa_pipeline.storage.tables import DOCUMENTS


def documents(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=DOCUMENTS.schema)


def part(what: str, pieces: int, characters: int) -> dict[str, object]:
    return {"what": what, "pieces": pieces, "characters": characters}


def test_what_texts_leave_out_is_added_up_over_documents_and_the_most_comes_first() -> None:
    frame = documents(
        {"left_out": [part("image", 3, 10), part("script", 1, 500)]},
        {"left_out": [part("image", 2, 5)]},
        {"left_out": []},
    )
    assert left_out_counts(frame).rows() == [("script", 1, 1, 500), ("image", 2, 5, 15)]


def test_items_of_personal_data_are_added_up_by_kind() -> None:
    frame = documents(
        {"masked": [{"kind": "phone", "count": 1}, {"kind": "email", "count": 2}]},
        {"masked": [{"kind": "email", "count": 4}]},
    )
    assert masked_counts(frame).rows() == [("email", 2, 6), ("phone", 1, 1)]


def test_no_documents_leave_out_nothing() -> None:
    counted = left_out_counts(DOCUMENTS.empty())
    assert (counted.height, counted.schema) == (0, LEFT_OUT_COUNTS)
    assert masked_counts(DOCUMENTS.empty()).height == 0
    assert set(text_figures(DOCUMENTS.empty()).values()) == {0}


def test_failed_documents_count_as_no_text() -> None:
    frame = documents(
        {"text": "Übung", "sections": [], "pages": [{"number": 1, "start": 0, "end": 5}]},
        {"text": None, "near_duplicate_of": "0"},
    )
    assert text_figures(frame) == {"characters": 5, "sections": 0, "pages": 1, "near duplicates": 1}
