import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.text.reading import is_identifier, number_value, read

SAME = [
    ("en", "The valve opens at 3 bar.", "the valve opens at 3 bar"),
    ("en", "The “main” valve – the big one – opens.", 'The "main" valve - the big one - opens.'),
    ("en", "**The valve** opens at *3 bar*.", "The valve opens at 3 bar."),
    ("en", "The [valve](https://example.org) opens.[1]", "The valve opens."),
    ("en", "- 3. The valve opens.", "The valve opens."),
    ("en", "(2) The valve opens.", "The valve opens."),
    ("en", "However, the valve opens.", "The valve opens."),
    ("en", "The valve\u00a0opens at 3\u202fbar.", "The valve opens at 3 bar."),
    ("en", "The re\u00adlief valve opens.", "The relief valve opens."),
    ("sv", "Dessutom öppnar ventilen.", "öppnar ventilen."),
    ("sv", "Ma\u0308rket syns.", "Märket syns."),
]


@pytest.mark.parametrize(("language", "one", "other"), SAME)
def test_only_the_listed_ways_of_writing_are_folded(language: str, one: str, other: str) -> None:
    assert read(one, language).folded == read(other, language).folded


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The option -R copies folders.", "The option -r copies folders."),
        ("PATH is read.", "path is read."),
        ("The method __init__ is called.", "The method init is called."),
        ("The file .env is read.", "The file env is read."),
        ("The code 0042 opens.", "The code 42 opens."),
        ("Release 3.10 is out.", "Release 3.1 is out."),
        ("The rating is BBB-.", "The rating is BBB."),
        ("It lasts 1h30m.", "It lasts 1h45m."),
        ("Does it open?", "It does open."),
        ("3. April is a holiday.", "4. April is a holiday."),
        ("A. Berg signed.", "B. Berg signed."),
        ("Use *.txt and *.md files.", "Use .txt and .md files."),
        ("The red, white car stops.", "The red white car stops."),
    ],
)
def test_everything_else_is_compared_letter_by_letter(one: str, other: str) -> None:
    assert read(one, "en").folded != read(other, "en").folded


@given(st.text(max_size=80), st.sampled_from(LANGUAGES))
def test_a_folded_text_folds_to_itself_once_labels_and_connectives_are_gone(text: str, language: str) -> None:
    twice = read(read(text, language).folded, language).folded
    assert read(twice, language).folded in (twice, read(read(twice, language).folded, language).folded)
    assert len(twice) <= len(read(text, language).folded)


@pytest.mark.parametrize(
    ("language", "text", "figures"),
    [
        ("en", "Twelve people paid 1,250.50 euros on 3 May 2024.", {"12", "1250.50", "3", "5", "2024"}),
        ("en", "On 2024-05-03 it held 10 000 l.", {"2024", "5", "3", "10000"}),
        ("de", "Am 3. Mai 2024 kosteten zwölf Karten 1.250,50 Euro.", {"3", "5", "2024", "12", "1250.50"}),
        ("sv", "Den 3 maj kostade tolv biljetter 1 250,50 kr.", {"3", "5", "12", "1250.50"}),
        ("en", "Set max_size with --limit in config.yaml, PEP8 or getUser().", {"max_size", "--limit",
         "config.yaml", "PEP8", "getUser()"}),
        ("en", "One valve opens.", set()),
    ],
)  # fmt: skip
def test_numbers_count_by_value_and_identifiers_letter_by_letter(
    language: str, text: str, figures: set[str]
) -> None:
    assert read(text, language).figures == figures


@pytest.mark.parametrize(
    ("token", "language", "value"),
    [("12", "en", "12"), ("zwölf", "de", "12"), ("3.10", "en", "3.10"), ("-5", "en", "-5")],
)
def test_a_number_has_one_value_in_figures_and_in_words(token: str, language: str, value: str) -> None:
    assert number_value(token, language) == value


def test_words_are_no_identifiers() -> None:
    assert not any(is_identifier(word) for word in ("valve", "Valve", "12", "well-known", "client's"))
