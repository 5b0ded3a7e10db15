import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import StorageError
from qa_pipeline.text.language import (
    LanguageShare,
    declared_language,
    languages_of,
    load_model,
    segment_language,
)

SENTENCES = {
    "en": "The server reads its configuration when it starts, and again when it is told to.",
    "sv": "Lagen gäller för den som bedriver verksamhet i landet och har anmält det till myndigheten.",
    "de": "Der Server liest seine Konfiguration beim Start und noch einmal, wenn er dazu aufgefordert wird.",
}
LONG = {language: "\n\n".join([f"{sentence} " * 6] * 6) for language, sentence in SENTENCES.items()}


@given(st.text(max_size=1000), st.sampled_from([None, "sv", "fr"]))
def test_the_shares_of_any_text_add_up_and_the_main_language_comes_first(
    text: str, declared: str | None
) -> None:
    shares = languages_of(text, declared)
    assert abs(sum(part.share for part in shares) - 1) < 0.001 * len(shares)
    assert len({part.language for part in shares}) == len(shares)
    assert declared is None or shares[0].language == declared


@given(st.lists(st.text(max_size=400), max_size=4))
def test_a_piece_whose_language_is_not_certain_is_in_the_main_one(texts: list[str]) -> None:
    assert {segment_language(text[:79], "sv") for text in texts} <= {"sv"}


@pytest.mark.parametrize("text", ["", "42", "===", "Max width"])
def test_a_text_without_a_hint_is_undetermined(text: str) -> None:
    assert languages_of(text) == [LanguageShare("und", 1.0)]


@pytest.mark.parametrize(
    ("text", "title", "language"),
    [
        ("Tjänst: Pass | Avgift: 400 kr\nTjänst: Körkort | Avgift: 280 kr", None, "sv"),
        ("A: 9 | B: 17", "Öffnungszeiten der Zimmer", "de"),
        ("A1: X7 | B2: 4.1", None, "und"),
        ("1 | 2\n3 | 4", None, "und"),
    ],
)
def test_a_table_is_told_by_its_words_and_title(text: str, title: str | None, language: str) -> None:
    assert languages_of(text, title=title) == [LanguageShare(language, 1.0)]


def test_parts_in_another_language_are_found_and_weighed() -> None:
    shares = languages_of(LONG["sv"] + "\n\n" + LONG["sv"] + "\n\n" + LONG["en"])
    assert [part.language for part in shares] == ["sv", "en"]
    assert 0.25 < shares[1].share < 0.4


def test_code_has_no_language() -> None:
    code = "```\n" + "for the value in the list of values: print the value\n" * 60 + "```"
    assert languages_of(f"{SENTENCES['sv']}\n\n{code}") == [LanguageShare("sv", 1.0)]


def test_a_declared_language_wins_over_a_text_that_is_partly_in_it() -> None:
    assert languages_of(LONG["en"] + "\n\n" + LONG["sv"], "sv")[0].language == "sv"


def test_a_declared_language_that_nothing_is_written_in_is_overruled_by_a_long_text() -> None:
    assert languages_of(LONG["sv"], "en")[0].language == "sv"
    assert languages_of(SENTENCES["sv"], "en")[0].language == "en"


@pytest.mark.parametrize(
    ("declared", "language"),
    [
        ("de-AT", "de"),
        ("EN_us", "en"),
        (" sv ", "sv"),
        ("Svenska", "sv"),
        ("fr", "fr"),
        ("tlh", None),
        ("", None),
    ],
)
def test_a_declared_language_counts_when_it_can_be_distinguished(
    declared: str | None, language: str | None
) -> None:
    assert declared_language(declared) == language


def test_a_model_that_finds_no_room_to_unpack_is_named_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(path: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("py3langid.langid.LanguageIdentifier.from_model_file", full)
    with pytest.raises(StorageError, match="No space left on device"):
        load_model.__wrapped__()
