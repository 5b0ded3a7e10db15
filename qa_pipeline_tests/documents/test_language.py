import errno

import pytest

from qa_pipeline.documents.language import _identifier, declared_language, detect_language
from qa_pipeline.errors import StorageError

SENTENCES = {
    "en": "The server reads its configuration when it starts, and again when it is told to.",
    "sv": "Lagen gäller för den som bedriver verksamhet i landet och har anmält det till myndigheten.",
    "de": "Der Server liest seine Konfiguration beim Start und noch einmal, wenn er dazu aufgefordert wird.",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_the_language_of_prose_is_found(language: str) -> None:
    assert detect_language(SENTENCES[language]) == language


@pytest.mark.parametrize("text", ["", "42", "===", "日本語の文章です"])
def test_text_without_a_hint_still_gets_one_of_the_handled_languages(text: str) -> None:
    assert detect_language(text) in SENTENCES


@pytest.mark.parametrize(
    ("declared", "language"),
    [
        ("de-AT", "de"),
        ("EN_us", "en"),
        (" sv ", "sv"),
        ("Svenska", "sv"),
        ("fr", None),
        ("", None),
        (None, None),
    ],
)
def test_a_declared_language_counts_when_it_is_handled(declared: str | None, language: str | None) -> None:
    assert declared_language(declared) == language


def test_a_model_that_finds_no_room_to_unpack_is_named_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(path: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("py3langid.langid.LanguageIdentifier.from_model_file", full)
    with pytest.raises(StorageError, match="No space left on device; free some space there"):
        _identifier.__wrapped__()
