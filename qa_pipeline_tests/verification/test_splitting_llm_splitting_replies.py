"""What of a model's splitting is taken, on scripted replies, right and wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.records import SplitClaim, SplitReply
from qa_pipeline.text.reading import read
from qa_pipeline.verification.splitting import AnswerRow, Claim, accept_statements, split_claims

Proposed = tuple[int, str, str]


def cut_by(answer: str, *proposed: Proposed, language: str = "en") -> list[Claim]:
    written: AnswerRow = {
        "pair_id": "p",
        "batch": "b",
        "question": "What is known of the pump?",
        "answer": answer,
        "language": language,
        "used_chunk_ids": [],
    }
    claims = [SplitClaim(sentence=n, quote=quote, claim=claim) for n, quote, claim in proposed]
    return accept_statements(written, split_claims(answer, language), SplitReply(claims=claims))


def test_joined_clauses_come_apart_each_with_its_place_and_its_subject() -> None:
    answer = "The pump weighs 5 kg and costs 900 kr. [source:a.md]"
    cuts = cut_by(
        answer,
        (1, "The pump weighs 5 kg", "The pump weighs 5 kg"),
        (1, "costs 900 kr", "The pump costs 900 kr"),
    )
    assert [(one.text, one.self_contained) for one in cuts] == [
        ("The pump weighs 5 kg", None),
        ("costs 900 kr.", "The pump costs 900 kr"),
    ]
    assert [answer[one.start : one.end] for one in cuts] == ["The pump weighs 5 kg", "costs 900 kr."]
    assert [one.references for one in cuts] == [("a.md",), ("a.md",)]
    assert {one.split_by for one in cuts} == {"model"}


def test_subjects_in_a_row_come_apart_over_the_same_place() -> None:
    answer = "Alice, Bob and Carl resigned."
    cuts = cut_by(answer, *((1, answer, f"{name} resigned") for name in ("Alice", "Bob", "Carl")))
    assert [one.self_contained for one in cuts] == ["Alice resigned", "Bob resigned", "Carl resigned"]
    assert {(one.start, one.end) for one in cuts} == {(0, len(answer))}


def test_a_pronoun_is_resolved_by_words_of_an_earlier_sentence() -> None:
    cuts = cut_by(
        "The Nordvik is a heat pump. It is loud.",
        (1, "The Nordvik is a heat pump.", "The Nordvik is a heat pump."),
        (2, "It is loud.", "The Nordvik is loud."),
    )
    assert [one.self_contained for one in cuts] == [None, "The Nordvik is loud."]


def test_a_table_row_becomes_a_statement_by_the_words_of_the_heads() -> None:
    cuts = cut_by(
        "| Name | Weight |\n|---|---|\n| Pump | 5 kg |", (2, "Pump | 5 kg", "The weight of the pump is 5 kg")
    )
    assert [one.self_contained for one in cuts] == [None, "The weight of the pump is 5 kg"]


@pytest.mark.parametrize(
    ("answer", "proposed", "reason"),
    [
        ("The pump is new.", [], "not_split"),
        ("The pump is new.", [(1, "The valve is new.", "The valve is new.")], "quote_not_found"),
        ("The pump is new.", [(1, "The pump is new", "The Nordvik pump is new")], "new_words"),
        ("The pump is new.", [(1, "The pump is new", "The pump of 1999 is new")], "new_words"),
        ("The pump is new.", [(1, "The pump is new", "The pump is not new")], "meaning_changed"),
        ("The pump is not new.", [(1, "The pump is not new", "The pump is new")], "meaning_changed"),
        ("All pumps are new.", [(1, "All pumps are new", "Pumps are new")], "meaning_changed"),
        ("It holds at most 5 l.", [(1, "It holds at most 5 l", "It holds 5 l")], "meaning_changed"),
        ("Alice has 5, Bob 7.", [(1, "Alice has 5, Bob 7", "Alice has 7")], "meaning_changed"),
        ("A pays 5 and 7 kr.", [(1, "A pays 5 and 7 kr.", "A pays 7 kr.")], "meaning_changed"),
        ("The pump is new and loud.", [(1, "The pump is new", "The pump is new")], "words_left_out"),
        (
            "Alice heads sales and Bob heads finance.",
            [(1, "Alice heads sales and Bob heads finance", "Alice heads finance")],
            "words_left_out",
        ),
        (
            "Alice and Bob head sales and finance.",
            [(1, "Alice and Bob head sales and finance", "Alice head finance")],
            "words_left_out",
        ),
        ("Alice heads sales.", [(1, "heads sales", "The pump heads sales")], "words_left_out"),
        ("If it is red, the valve opens.", [(1, "the valve opens.", "The valve opens.")], "meaning_changed"),
        ("He denies that it leaks.", [(1, "it leaks.", "It leaks.")], "words_left_out"),
    ],
)
def test_a_sentence_stays_whole_and_says_why(answer: str, proposed: list[Proposed], reason: str) -> None:
    (claim,) = cut_by(answer, *proposed)
    assert (claim.text, claim.split_by, claim.split_reason) == (answer, "rules", reason)


SENTENCES = [
    "The pump weighs 5 kg and costs 900 kr.",
    "It was sold by Alice, Bob and Carl.",
    "Do not use it; the valve leaks.",
    "- a filter, but no hose",
]
WORDS = "the pump valve weighs costs 5 kg 900 kr alice not and , ; it leaks filter hose"
phrases = st.lists(st.sampled_from(WORDS.split()), min_size=1).map(" ".join)


@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3),
    st.lists(
        st.tuples(st.integers(1, 4), phrases, phrases),
        max_size=6,
    ),
)
def test_whatever_the_reply_every_word_of_the_answer_stays_in_some_claim(
    sentences: list[str], proposed: list[Proposed]
) -> None:
    answer = "\n".join(sentences)
    cuts = cut_by(answer, *proposed)
    said = {stem for one in cuts for stem in read(one.self_contained or one.text, "en").stems}
    assert said >= set(read(answer, "en").stems)
    assert all(" ".join(answer[one.start : one.end].split()) == one.text for one in cuts)
    assert said <= set(read(f"What is known of the pump? {answer}", "en").stems)
