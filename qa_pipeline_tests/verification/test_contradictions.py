from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.verification.contradictions import MOST_PAIRS, Contradictions, find_contradictions
from qa_pipeline_tests.verification.rows import chunks, documents

FILLER = "Nothing else of interest was ever written down about the weather in that part of the country."


def found(
    texts: dict[str, str], language: str = "en", most_pairs: int = MOST_PAIRS, **values: Any
) -> Contradictions:
    frame = documents({path: f"{FILLER}\n\n{text}" for path, text in texts.items()}, language)
    chosen = VerificationSettings.model_validate(values)
    return find_contradictions(frame, chunks(frame), chosen, most_pairs)


def kinds(left: str, right: str, language: str = "en", **values: Any) -> list[str]:
    return found({"a.md": left, "b.md": right}, language, **values).table["kind"].to_list()


@pytest.mark.parametrize(
    ("left", "right", "language", "kind"),
    [
        (
            "The safety valve of the Aurora boiler opens at 3 bar.",
            "The safety valve of the Aurora boiler opens at 4 bar.",
            "en",
            "number",
        ),
        (
            "The Aurora boiler was released to installers on 12 March 2021.",
            "The Aurora boiler was released to installers on 14 March 2021.",
            "en",
            "date",
        ),
        (
            "Installers may connect the Aurora boiler to softened water.",
            "Installers may not connect the Aurora boiler to softened water.",
            "en",
            "negation",
        ),
        (
            "The casing of the aurora boiler is delivered by Nordvik.",
            "The casing of the aurora boiler is delivered by Sundberg.",
            "en",
            "name",
        ),
        (
            "Vattenverket i Lillsjön renar 400 kubikmeter råvatten om dygnet.",
            "Vattenverket i Lillsjön renar 700 kubikmeter råvatten om dygnet.",
            "sv",
            "number",
        ),
        (
            "Die Leihfrist der Stadtbibliothek beträgt für Bücher 28 Tage.",
            "Die Leihfrist der Stadtbibliothek beträgt für Bücher 14 Tage.",
            "de",
            "number",
        ),
    ],
)
def test_two_documents_that_differ_in_one_detail_contradict_each_other(
    left: str, right: str, language: str, kind: str
) -> None:
    assert kinds(left, right, language) == [kind]
    assert kinds(right, left, language) == [kind]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The Aurora boiler weighs 80 kg without water.", "The Aurora boiler weighs 80 kg without water."),
        ("The Aurora boiler weighs 0.5 kg without water.", "The Aurora boiler weighs 500 g without water."),
        ("This boiler weighs 80 kg without any water.", "This boiler weighs 90 kg without any water."),
        ("The Aurora boiler weighs 80 kg without water.", "The Boreas boiler weighs 90 kg without water."),
        (
            "The `read_timeout` setting is counted in whole seconds.",
            "The `write_timeout` setting is counted in whole seconds.",
        ),
        (
            "The heating circuit of the Fjell 8 holds 36 litres of water.",
            "The Fjell 6 heating circuit holds 28 litres of water.",
        ),
        (
            "The casing of the Fjell 8 is made of painted steel by Nordvik.",
            "The casing of the Fjell 6 is made of painted steel by Nordvik.",
        ),
        (
            "Aurora | boiler | weighs | 80 kg | without water.",
            "Aurora | boiler | weighs | 90 kg | without water.",
        ),
    ],
)
def test_the_same_or_another_subject_is_no_contradiction(left: str, right: str) -> None:
    assert kinds(left, right) == []


def test_versions_of_a_document_do_not_contradict_each_other() -> None:
    left, right = (
        "The Aurora boiler opens at 3 bar of pressure.",
        "The Aurora boiler opens at 4 bar of pressure.",
    )
    assert found({"manual-2.2.md": left, "manual-2.4.md": right}).table.is_empty()
    assert found({"manual.md": left, "leaflet.md": right}).table.height == 1


def test_what_one_document_says_twice_is_not_looked_at() -> None:
    text = "The Aurora boiler opens at 3 bar of pressure. The Aurora boiler opens at 4 bar of pressure."
    assert found({"a.md": text}).table.is_empty()


def test_a_row_points_to_both_sentences() -> None:
    texts = {"a.md": "The Aurora boiler weighs 80 kg dry.", "b.md": "The Aurora boiler weighs 90 kg dry."}
    (row,) = found(texts).table.to_dicts()
    frame = documents({path: f"{FILLER}\n\n{text}" for path, text in texts.items()})
    held = {one["document_id"]: one for one in frame.iter_rows(named=True)}
    for side in ("first", "second"):
        document = held[row[f"{side}_document_id"]]
        assert document["text"][row[f"{side}_start"] : row[f"{side}_end"]] == row[f"{side}_quote"]
        assert document["content_sha256"] == row[f"{side}_content_sha256"]


def test_the_search_can_be_turned_off_and_is_bounded_with_a_count() -> None:
    weights = {"ab.md": 81, "cd.md": 83, "ef.md": 87}
    named = {path: f"The Aurora boiler weighs {weight} kg dry." for path, weight in weights.items()}
    whole, cut = found(named), found(named, most_pairs=1)
    assert (whole.table.height, whole.counts["pairs left out"]) == (3, 0)
    assert (cut.counts["pairs compared"], cut.table.height) == (1, 0)  # the filler is most alike
    assert cut.counts["pairs left out"] == whole.counts["pairs compared"] - 1
    assert found(named, contradictions=False).table.is_empty()


WORDS = st.lists(
    st.sampled_from(
        ["boiler", "valve", "opens", "pressure", "Aurora", "not", "3", "4", "bar", "never", "all"]
    ),
    max_size=12,
)


@given(st.lists(WORDS, max_size=4))
def test_whatever_documents_say_rows_are_of_different_documents_and_stable(texts: list[list[str]]) -> None:
    named = {f"{'abcd'[n]}.md": " ".join(words).capitalize() + "." for n, words in enumerate(texts)}
    once, again = found(named).table, found(named).table
    assert once.equals(again)
    assert once.filter(pl.col("first_document_id") == pl.col("second_document_id")).is_empty()
