import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.verification.splitting import is_fragment, split_claims


def texts(answer: str, language: str = "en") -> list[str]:
    return [claim.text for claim in split_claims(answer, language)]


def test_each_sentence_and_list_item_is_a_claim() -> None:
    answer = "The pump is loud. It is red.\n\n- It weighs 5 kg.\n- It is old.\n\n1. Open it."

    assert texts(answer) == ["The pump is loud.", "It is red.", "It weighs 5 kg.", "It is old.", "Open it."]


def test_marks_are_citations_of_their_sentence_and_no_text() -> None:
    first, second = split_claims("It is red [source:a.md#x]. It is old. [source:b.md] [2]", "en")

    assert (first.text, first.references) == ("It is red.", ("a.md#x",))
    assert (second.text, second.references) == ("It is old.", ("b.md", "[2]"))


def test_a_mark_in_front_belongs_to_the_sentence_before() -> None:
    first, second = split_claims("It is red.\n[source:a.md]\nIt is old.", "en")

    assert (first.references, second.references) == (("a.md",), ())


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        ("en", "Hello!"),
        ("en", "You are welcome."),
        ("en", "Is it red?"),
        ("en", "# The pump"),
        ("en", "[source:a.md]"),
        ("en", "..."),
        ("en", "I hope this helps!"),
        ("en", "Please note:"),
        ("en", "Let me know if you have further questions."),
        ("en", "I am not sure."),
        ("en", "It depends."),
        ("en", "| Name | Weight |\n|---|:--:|"),
        ("ar", "هل هذا صحيح؟"),
        ("sv", "Hej och tack!"),
        ("sv", "Jag hoppas att det hjälper."),
        ("sv", "Hör gärna av dig om du har fler frågor."),
        ("sv", "Det beror på."),
        ("de", "Ich hoffe, das hilft Ihnen."),
        ("de", "Bitte beachten Sie:"),
        ("de", "Das kommt darauf an."),
        ("sv", "Är den röd?"),
        ("de", "Hallo und willkommen!"),
    ],
)
def test_what_states_nothing_is_no_claim(language: str, answer: str) -> None:
    assert texts(answer, language) == []


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        ("en", "Please note that the valve opens at 3 bar."),
        ("en", "It may be that the valve opens."),
        ("en", "Further information is free."),
        ("en", "You need a key."),
        ("sv", "Observera att ventilen öppnar vid 3 bar."),
        ("de", "Vielleicht öffnet das Ventil."),
        ("en", "The pump--a new one--is loud | red"),
    ],
)
def test_a_courtesy_or_hedge_that_states_something_is_a_claim(language: str, answer: str) -> None:
    assert texts(answer, language) == [answer]


def test_each_row_of_a_table_is_a_claim_and_its_head_is_none() -> None:
    table = "| Name | Weight |\n|---|---|\n| Pump | 5 kg |\n| Valve | 2 kg |"
    assert texts(f"These are the weights:\n\n{table}") == [
        "These are the weights:",
        "| Pump | 5 kg |",
        "| Valve | 2 kg |",
    ]


def test_more_claims_than_are_looked_at_end_in_one_that_says_so_and_covers_the_rest() -> None:
    answer = "\n".join(f"- item {n} is new" for n in range(9))
    claims = split_claims(answer, "en", most=4)
    assert [one.split_reason for one in claims] == [None] * 4 + ["too_many_claims"]
    assert answer[claims[-1].start : claims[-1].end].count("item") == 5
    assert len(split_claims(answer, "en", most=9)) == 9


def test_a_bare_figure_is_a_claim() -> None:
    assert texts("5 %") == ["5 %"]


@given(
    st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=200),
    st.sampled_from(["en", "sv", "de"]),
)
def test_spans_lie_in_the_answer_in_order_and_begin_and_end_with_its_text(answer: str, language: str) -> None:
    end = 0
    for claim in split_claims(answer, language):
        assert end <= claim.start < claim.end <= len(answer)
        assert not answer[claim.start].isspace()
        assert not answer[claim.end - 1].isspace()
        end = claim.end


@pytest.mark.parametrize(
    ("text", "terms", "fragment"),
    [
        ("The pump is loud and red.", 3, False),
        ("in the cellar", 1, True),
        ("at the bottom of the very old lake", 4, True),
        ("It works.", 1, True),
        ("The limit of the plan", 3, True),
    ],
)
def test_a_fragment_is_short_or_no_whole_sentence(text: str, terms: int, fragment: bool) -> None:
    assert is_fragment(text, terms, 2) is fragment
