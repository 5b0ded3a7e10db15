"""Phrases that show a flaw of a question or answer, by language: see phrases.toml."""

import functools
import re
import tomllib
from pathlib import Path
from typing import Literal

from qa_pipeline.text.lexicon.languages import lexicon


@functools.cache
def phrases(kind: Literal["backreferences", "boilerplate"], language: str | None = None) -> re.Pattern[str]:
    """Return the phrases of a kind, of one language or of all."""
    content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    lists = content.values() if language is None else [content[lexicon(language).code]]
    return re.compile(
        "|".join(phrase for of_language in lists for phrase in of_language[kind]), re.IGNORECASE
    )
