import re
from collections.abc import Set
from dataclasses import fields
from pathlib import Path

import pytest

import qa_pipeline
from qa_pipeline.text.lexicon.languages import LANGUAGES, LEXICONS, any_of_all, fields_of_all, lexicon, of_all

PROMPTS = Path(qa_pipeline.__file__).parent / "prompts"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lexicon_is_listed_under_its_own_code(language: str) -> None:
    assert lexicon(language).code == language


def test_the_languages_with_a_lexicon_are_those_with_prompts() -> None:
    assert {folder.name for folder in PROMPTS.iterdir() if (folder / "answer.md").exists()} == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_words_are_casefolded(language: str) -> None:
    known = lexicon(language)
    for part in (known, known.pronouns, known.conventions, known.large_numbers):
        for field in fields(part):
            words = getattr(part, field.name)
            if isinstance(words, Set):
                assert all(word == word.lower() for word in words), field.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_patterns_compile(language: str) -> None:
    known = lexicon(language)
    assert re.compile(known.refusal.replace("{sources}", known.refusal_sources))
    for patterns in (
        known.injections,
        known.apologies,
        known.sources,
        known.reply_marks,
        known.labels.phones,
    ):
        assert all(re.compile(pattern) for pattern in patterns)


def test_words_of_all_languages_are_in_the_order_of_the_table_and_each_once() -> None:
    assert of_all("names")[0] == LEXICONS[LANGUAGES[0]].names[0]
    assert len(set(of_all("layout.sections"))) == len(of_all("layout.sections"))
    assert re.fullmatch(any_of_all("sources"), "källa")
    assert fields_of_all("title")[:2] == ("rubrik", "titel")


def test_an_unknown_language_is_read_as_english() -> None:
    assert lexicon("xx") is lexicon("en")
