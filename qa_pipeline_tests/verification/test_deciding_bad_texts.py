"""Texts nobody would write and somebody sends: each gets an outcome and a reason and hurts no other."""

from typing import Any

import polars as pl
import pytest

from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.reading import Reading
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.deciding import decide_claims
from qa_pipeline.verification.splitting import MOST_CLAIMS
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

SETTINGS = VerificationSettings()
GOOD = "The safety valve opens at 3 bar."
OPEN = ("undecided", "no_step", "undecided_without_model")
UNITS = ("a", "A", "字", "a_", "a.", "-a", "A-", "1", "1.", "a'", "( ", "\u0301", "`")
Outcome = tuple[str, str, str | None]


def outcomes(answer: str, text: str = GOOD, **fields: Any) -> list[Outcome]:
    """What becomes of each claim of an answer; a plain one beside it must not suffer."""
    frame = documents({"a.md": text, "good.md": GOOD})
    rows = pairs(pair(answer, cites="a.md", **fields), pair(GOOD, cites="good.md"))
    claims = find_claims(rows, frame, chunks(frame), HashEmbedder())
    verdicts = decide_claims(claims, rows, SETTINGS)
    assert verdicts.filter(pl.col("pair_id") == "pair-1")["verdict"].to_list() == ["supported"]
    mine = verdicts.filter(pl.col("pair_id") == "pair-0")
    return mine.select("verdict", "decided_by", "reason").rows()


@pytest.mark.parametrize(
    "claim",
    ["The pump weighs 80 kg and " * 200, "a " * 2500, "x" * 5000, "1 " * 2500, "9" * 5000],
    ids=["clauses", "letters", "a word", "numbers", "a number"],
)
def test_a_claim_of_5000_characters_is_never_accepted_by_checks_that_read_sentences(claim: str) -> None:
    said = f"{claim.strip()}."
    assert outcomes(said, said) == [OPEN]
    assert outcomes(said)[0] in (OPEN, ("unsupported", "similarity", "dissimilar"))


def test_so_is_a_sentence_of_a_source_that_is_too_long_to_compare() -> None:
    assert outcomes("It opens at 3 bar.", "It opens at 3 bar and " + "weighs 80 kg and " * 6000) == [OPEN]


@pytest.mark.parametrize(
    "more", ["The pump weighs 80 kg. ", "The pump, ", "1 ", "| a | b |\n", "- item\n", "Nordvik ", "\n"]
)
def test_a_passage_of_100000_characters_still_proves_what_it_says(more: str) -> None:
    text = f"{GOOD}\n\n" + more * (100_000 // len(more))
    assert outcomes(GOOD, text) == [("supported", "quotation", None)]


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_source_without_text_fails_the_claim(text: str) -> None:
    assert outcomes(GOOD, text) == [("failed", "citation", "cited_document_without_text")]


def test_a_name_in_look_alike_letters_is_neither_accepted_nor_refuted() -> None:
    cyrillic = "N\u043erdvik"
    (outcome,) = outcomes(f"The pump of {cyrillic} weighs 80 kg.", "The pump of Nordvik weighs 80 kg.")
    assert outcome[0] == "undecided"
    assert outcomes(GOOD.replace("valve", "v\u0430lve"))[0][0] != "supported"


@pytest.mark.parametrize(
    "answer",
    ["تزن المضخة 80 كيلوغراما.", "המשאבה שוקלת 90 קג."],
    ids=["arabic", "hebrew"],
)
def test_an_answer_in_another_script_than_its_source_is_left_to_a_model(answer: str) -> None:
    assert outcomes(answer, "The pump weighs 80 kg.") == [OPEN]
    assert outcomes(answer, f"{answer} هي جديدة.") == [("supported", "quotation", None)]


@pytest.mark.parametrize("answer", ["!!! ... ???", "—", "\u200b", "\x00\x00", " ", "[1] [2]", "***"])
def test_an_answer_of_signs_alone_makes_no_claim(answer: str) -> None:
    assert outcomes(answer) == []


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\x00", "\x1b", "\x07", "\x9b"])
def test_signs_that_nobody_sees_or_that_turn_the_reading_order_accept_nothing_by_themselves(
    sign: str,
) -> None:
    assert outcomes(GOOD.replace("safety ", f"safety {sign}")) == [OPEN]


def test_of_10000_items_so_many_are_looked_at_and_the_rest_fails_by_its_reason() -> None:
    found = outcomes("\n".join(f"- item {n} weighs {n} kg" for n in range(10_000)))
    assert len(found) == MOST_CLAIMS + 1
    assert found[-1] == ("failed", "no_step", "too_many_claims")
    assert all(reason != "too_many_claims" for _, _, reason in found[:-1])


def test_10000_source_marks_belong_to_their_claim() -> None:
    assert outcomes(GOOD + " [source:a.md]" * 10_000) == [("supported", "quotation", None)]


@pytest.mark.parametrize("unit", UNITS)
def test_a_word_of_50000_letters_is_read(unit: str) -> None:
    """Patterns that go back over it for every letter would not come to an end."""
    text = f"The {unit * (50_000 // len(unit))} opens at 3 bar."
    assert Reading(text, "en").tokens
    assert Reading(text, "sv").figures is not None
    outcomes(text)
    assert outcomes(GOOD, f"{GOOD}\n\n{text}") == [("supported", "quotation", None)]
