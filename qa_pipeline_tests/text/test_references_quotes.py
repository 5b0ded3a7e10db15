import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.references import locate_quote

TEXT = (
    "The safety valve opens at 3 bar. Do not use softened water,\nbecause it corrodes the heat ex-\n"
    "changer. It’s “closed” by default – always."
)


@given(st.data())
def test_a_slice_of_the_text_is_found_as_itself(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(TEXT) - 1))
    end = data.draw(st.integers(start + 1, len(TEXT)))
    quote = TEXT[start:end].strip()

    found = locate_quote(quote, TEXT)
    place = found and (TEXT[found.start : found.end], found.kind)
    assert place == ((quote, "exact") if quote else None)


@pytest.mark.parametrize(
    ("quote", "span"),
    [
        ("the  SAFETY valve opens", "The safety valve opens"),
        ("softened water, because it corrodes", "softened water,\nbecause it corrodes"),
        ("corrodes the heat exchanger", "corrodes the heat ex-\nchanger"),
        ('It\'s "closed" by default - always', "It’s “closed” by default – always"),
        ("**The** safety `valve`", "The safety valve"),
    ],
)
def test_the_same_words_written_otherwise_are_found(quote: str, span: str) -> None:
    found = locate_quote(quote, TEXT)
    assert found
    assert TEXT[found.start : found.end] == span


def test_a_quoted_number_is_not_found_inside_a_longer_one() -> None:
    assert locate_quote("3 bar", "It opens at 13 bar.") is None
    assert locate_quote("opens at 3", "It opens at 3.5 bar.") is None
    found = locate_quote("3 bar", "First 13 bar, then 3 bar.")
    assert found
    assert found.start == 19


@pytest.mark.parametrize(
    "quote", ["The safety valve opens at 4 bar", "3 bar … The safety valve", "closed valve", "", "…"]
)
def test_a_quote_that_does_not_stand_there_is_not_found(quote: str) -> None:
    assert locate_quote(quote, TEXT) is None


@given(st.text(max_size=80), st.text(max_size=120))
def test_spans_lie_in_the_text_whatever_is_asked(quote: str, text: str) -> None:
    found = locate_quote(quote, text)
    assert found is None or 0 <= found.start < found.end <= len(text)
