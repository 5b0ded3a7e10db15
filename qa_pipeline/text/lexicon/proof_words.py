"""The closed word lists by which a sentence of a source proves a claim, from `<language>.toml`."""

import functools
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from qa_pipeline.text.lexicon.languages import LEXICONS


class ProofWords(BaseModel):
    """Closed lists of words and phrases, casefolded; the files say what each is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _casefolded(cls, value: Any) -> Any:
        """Fold the case: "außer" is compared as "ausser"."""
        if isinstance(value, dict):
            return {word.casefold(): number for word, number in value.items()}
        return [word.casefold() for word in value]

    connectives: frozenset[str]
    scope: frozenset[str]
    asking: frozenset[str]
    degree: frozenset[str]
    pronouns: frozenset[str]
    impersonal: frozenset[str]
    reporting: frozenset[str]
    supposing: frozenset[str]
    contrasts: frozenset[str]
    demonstratives: frozenset[str]
    voiding: frozenset[str]
    revoking: frozenset[str]
    prepositions: frozenset[str]
    articles: frozenset[str]
    who: frozenset[str]
    yes: frozenset[str]
    no: frozenset[str]
    polar: frozenset[str]
    units: frozenset[str]
    joiners: frozenset[str]
    conditions: frozenset[str]
    numbers: Mapping[str, int]
    negations: frozenset[str]
    denying: frozenset[str]


@functools.cache
def proof_words(language: str) -> ProofWords:
    """Return the lists of a language; those of English for one that has none."""
    name = language if language in LEXICONS else "en"
    content = files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
    return ProofWords.model_validate(tomllib.loads(content)["proof"])
