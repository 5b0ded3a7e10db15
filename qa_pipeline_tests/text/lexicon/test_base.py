import pytest

from qa_pipeline.text.lexicon.languages import LANGUAGES, lexicon


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_negation_denies_limits_and_changes_what_all_others_say(code: str) -> None:
    vocabulary = lexicon(code)
    assert vocabulary.negations < vocabulary.denying < vocabulary.limiting
    assert vocabulary.denying < vocabulary.scope_words


@pytest.mark.parametrize("code", LANGUAGES)
def test_quantifiers_modals_and_conditions_have_a_scope_and_articles_have_none(
    code: str,
) -> None:
    vocabulary = lexicon(code)
    assert vocabulary.quantifiers_and_modals | vocabulary.conditional_words < vocabulary.scope_words
    assert vocabulary.scope_words.isdisjoint(vocabulary.definite)
    assert not vocabulary.contrasts <= vocabulary.scope_words
