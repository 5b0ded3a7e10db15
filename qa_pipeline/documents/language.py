"""The main language of a document.

What belongs here: choosing one of the handled languages from what a file declares or from its text. What
does not: what is done with the language.
"""

import tempfile
from functools import cache
from typing import Any, get_args

from qa_pipeline.errors import StorageError
from qa_pipeline.records import Language

LANGUAGES: tuple[str, ...] = get_args(Language)
_SAMPLE = 5_000
_NAMES = {"english": "en", "svenska": "sv", "swedish": "sv", "deutsch": "de", "german": "de"}


def declared_language(value: str | None) -> str | None:
    """The handled language a tag such as `de-AT` or a name such as `svenska` stands for, if any."""
    if not value:
        return None
    tag = value.strip().lower().replace("_", "-")
    code = _NAMES.get(tag, tag.split("-")[0])
    return code if code in LANGUAGES else None


def detect_language(text: str) -> str:
    """The handled language `text` is most likely written in."""
    return str(_identifier().classify(text[:_SAMPLE])[0])


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    except OSError as error:  # the library unpacks its model into a temporary file
        raise StorageError(
            f"the language model cannot be unpacked into {tempfile.gettempdir()}: {error.strerror}; "
            "free some space there, or name another folder in TMPDIR"
        ) from error
    identifier.set_languages(list(LANGUAGES))
    return identifier
