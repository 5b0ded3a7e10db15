import pytest

from qa_pipeline.records import Passage
from qa_pipeline.text.reading import read
from qa_pipeline.verification.deciding import unfounded

TEXT = "The valve opens at 12 bar.\nGuests may not enter. It reads max_size on 3 May 2024."
PASSAGE = Passage("c", "Fjell 8 guide", ("Valves",), TEXT, "en")


def reason(claim: str, *quotes: str, question: str = "") -> str | None:
    problem = unfounded(read(claim, "en"), read(question, "en"), quotes, [PASSAGE])
    return problem and problem[0]


@pytest.mark.parametrize(
    ("claim", "quotes"),
    [
        ("At twelve bar the valve lets go.", ["The valve opens at 12 bar."]),
        ("Visitors are not allowed in.", ["Guests may not enter."]),
        ("On 2024-05-03 max_size is read.", ["It reads max_size on 3 May 2024."]),
        ("Both hold.", ["The valve opens at 12 bar. Guests may not enter."]),
        ("The Fjell 8 opens at 12 bar.", ["The valve opens at 12 bar."]),
        ("None may enter at 12.", ["Guests may not enter.", "opens at 12 bar"]),
    ],
)
def test_an_accept_stands_whose_quotes_hold_figures_and_negation(claim: str, quotes: list[str]) -> None:
    assert reason(claim, *quotes) is None


@pytest.mark.parametrize(
    ("claim", "quotes", "code"),
    [
        ("The valve opens at 13 bar.", ["The valve opens at 12 bar."], "quote_lacks_figure"),
        ("It reads min_size.", ["It reads max_size on 3 May 2024."], "quote_lacks_figure"),
        ("On 4 May 2024 it reads.", ["It reads max_size on 3 May 2024."], "quote_lacks_figure"),
        ("The valve does not open at 12 bar.", ["The valve opens at 12 bar."], "quote_lacks_negation"),
        ("The valve opens.", ["The valve opens at noon."], "quote_not_found"),
        ("The valve opens.", ["the valve opens at 12 bar."], "quote_not_found"),
        ("The valve opens.", ["The valve opens at 12 bar.", "Made up."], "quote_not_found"),
        ("The valve opens.", [], "no_quote"),
        ("The valve opens.", [" "], "no_quote"),
    ],
)
def test_an_accept_without_them_waits_for_a_person(claim: str, quotes: list[str], code: str) -> None:
    assert reason(claim, *quotes) == code


def test_a_number_of_the_question_needs_no_quote() -> None:
    assert reason("Of 500 the valve takes 12.", "The valve opens at 12 bar.", question="Of 500?") is None
