"""Patterns of many words are tried only where one of their words is: nothing may be lost by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.lexicon.languages import lexicon
from qa_pipeline.verification.consistency import dates, numbers

LANGUAGES = ["en", "sv", "de"]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    language = draw(st.sampled_from(LANGUAGES))
    known = lexicon(language)
    special = [*known.numbers, *known.ordinals, *known.scales, *known.months]
    word = st.sampled_from(special).flatmap(lambda w: st.sampled_from([w, w.upper(), w.title()]))
    other = st.sampled_from(["7", "2021", "1.234,5", "3rd", "v2.1", "10:30", "kg", "x_three", "of", "in"])
    joint = st.sampled_from([" ", "-", ". ", "_", "/", "\u2010", ""])
    pieces = draw(st.lists(st.one_of(word, other), max_size=6))
    return "".join(piece + draw(joint) for piece in pieces), language


@given(texts())
def test_skipping_finders_loses_no_number(drawn: tuple[str, str]) -> None:
    text, language = drawn
    found = numbers.find_numbers(text, language)

    with pytest.MonkeyPatch.context() as patch:
        every = [
            numbers._versions,
            numbers._times,
            numbers._spelled,
            numbers._ordinals,
            numbers._named_ordinals,
            numbers._cardinals,
            numbers._worded,
        ]
        patch.setattr(numbers, "_finders", lambda *_: every)
        assert numbers.find_numbers(text, language) == found


@given(texts())
def test_skipping_month_names_loses_no_date(drawn: tuple[str, str]) -> None:
    text, language = drawn
    found = dates.find_dates(text, language)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dates, "written_words", lambda _: dates._month_words(language))
        assert dates.find_dates(text, language) == found
