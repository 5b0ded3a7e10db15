import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import ValidationError

import qa_pipeline
from qa_pipeline.text.lexicon.languages import LANGUAGES, Lexicon, any_of_all, lexicon, of_all

PROMPTS = Path(qa_pipeline.__file__).parent / "prompts"


def written(language: str) -> str:
    return files("qa_pipeline.text.lexicon").joinpath(f"{language}.toml").read_text("utf-8")


def lists(table: Mapping[str, object], name: str = "") -> Iterator[tuple[str, list[str]]]:
    for key, value in table.items():
        if isinstance(value, list):
            yield f"{name}{key}", value
        elif isinstance(value, dict):
            yield from lists(value, f"{key}.")


def test_the_languages_with_a_lexicon_are_those_with_prompts() -> None:
    assert {folder.name for folder in PROMPTS.iterdir() if (folder / "answer.md").exists()} == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_file_of_words_is_short_and_holds_small_words_each_once_and_no_pattern(language: str) -> None:
    content = written(language)
    assert len(content.splitlines()) <= 150
    for name, words in lists(tomllib.loads(content)):
        assert len(set(words)) == len(words), name
        assert not [word for word in words if word != word.lower() or re.search(r"[\\?*|^(]", word)], name


@pytest.mark.parametrize("field", ["negations", "proof.scope", "layout.sections"])
def test_a_list_that_is_missing_is_named(field: str) -> None:
    table = tomllib.loads(written("sv"))
    *parent, key = field.split(".")
    del (table[parent[0]] if parent else table)[key]
    with pytest.raises(ValidationError, match=rf"{field}\n.*required"):
        Lexicon.model_validate(table)


def test_a_list_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValidationError, match="negation\n"):
        Lexicon.model_validate(tomllib.loads(written("en")) | {"negation": ["not"]})


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_negation_restricts_and_is_no_article_and_conditions_restrict(language: str) -> None:
    known = lexicon(language)
    assert known.code == language
    assert known.negations.isdisjoint(known.articles)
    assert known.not_word in known.negations & known.proof.scope
    assert known.proof.conditions <= known.proof.scope


def test_words_of_all_languages_are_in_the_order_of_the_languages_and_each_once() -> None:
    assert of_all("fields.title") == ("rubrik", "titel")
    assert len(set(of_all("layout.sections"))) == len(of_all("layout.sections"))


def test_a_pattern_of_words_takes_the_longest_and_nothing_but_the_words() -> None:
    found = re.match(any_of_all("layout.sections"), "fig. 3")
    assert found is not None
    assert found[0] == "fig."
    assert not re.match(any_of_all("layout.pages"), "px")


def test_an_unknown_language_is_read_as_english() -> None:
    assert lexicon("xx") is lexicon("en")
