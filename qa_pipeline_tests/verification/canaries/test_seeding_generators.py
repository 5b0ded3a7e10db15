"""A false claim is surely false, a true one surely true, and both are made the same way every time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.tables import CHUNKS
from qa_pipeline.verification.canaries.material import (
    FALSE_KINDS,
    KINDS,
    TRUE_KINDS,
    Generator,
    Material,
    Sentence,
    gather,
    is_prose,
    numerals,
)
from qa_pipeline.verification.canaries.seeding import GENERATORS
from qa_pipeline.verification.canaries.statements import number_words, spelt
from qa_pipeline.verification.canaries.values import Direction, denies, direction
from qa_pipeline_tests.curation.rows import chunk
from qa_pipeline_tests.verification.canaries.sentences import TEXTS, material

EVERY = [generator for kind in KINDS for generator in GENERATORS[kind]]


def made(generator: Generator, among: Material) -> list[tuple[Sentence, str, str]]:
    return [
        (sentence, draft.claim, draft.chunk_id)
        for sentence in (among.rows if generator.over == "rows" else among.sentences)
        for draft in generator.make(sentence, among)
    ]


def mechanism(name: str) -> Generator:
    return next(one for one in EVERY if one.mechanism == name)


def claims(name: str, text: str, language: str = "en", rest: str = "") -> list[str]:
    rows = [
        chunk("c", document_id="d", language=language, text=text),
        chunk("e", document_id="f", language=language, text=rest or text),
    ]
    among = gather(CHUNKS.frame(rows))
    return [claim for sentence, claim, _ in made(mechanism(name), among) if sentence.chunk_id == "c"]


def test_every_kind_has_generators_of_both_families() -> None:
    for kind in KINDS:
        assert {generator.family for generator in GENERATORS[kind]} == {"tuning", "held_out"}, kind


def test_mechanisms_have_names_of_their_own_within_a_kind() -> None:
    names = [(generator.kind, generator.mechanism) for generator in EVERY]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("generator", EVERY, ids=lambda one: f"{one.kind}-{one.mechanism}")
def test_a_generator_makes_the_same_claims_twice_and_never_its_source(generator: Generator) -> None:
    first, second = made(generator, material()), made(generator, material())
    assert first == second
    for sentence, claim, chunk_id in first:
        assert claim != sentence.text or chunk_id != sentence.chunk_id
        assert "  " not in claim
        assert claim[0] == claim[0].upper()
        assert claim.endswith(".")


@pytest.mark.parametrize("language", sorted(TEXTS))
@pytest.mark.parametrize(
    "kind", ["number", "unit", "date", "name", "negation", "quantifier", "cell", "wrong_passage"]
)
def test_each_false_kind_is_made_in_each_language(kind: str, language: str) -> None:
    assert any(made(generator, material(language)) for generator in GENERATORS[kind])


@pytest.mark.parametrize("language", sorted(TEXTS))
@pytest.mark.parametrize("kind", ["sentences_merged", "reordered", "numbers_as_words", "units_converted"])
def test_each_true_kind_is_made_in_each_language(kind: str, language: str) -> None:
    assert any(made(generator, material(language)) for generator in GENERATORS[kind])


@pytest.mark.parametrize("generator", GENERATORS["number"], ids=lambda one: one.mechanism)
def test_a_false_number_stands_nowhere_in_its_passage(generator: Generator) -> None:
    among = material()
    for sentence, claim, chunk_id in made(generator, among):
        new = numerals(claim) - numerals(sentence.text)
        assert len(new) == 1, claim
        assert not new & numerals(among.chunks[chunk_id])


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_a_false_cell_gives_a_column_the_value_of_another(language: str) -> None:
    column, other = (
        made(mechanism("other_column"), material(language)),
        made(mechanism("two_columns"), material(language)),
    )

    assert len(column) == len(other) == 2
    assert "16 A" in column[0][1]
    assert "400 V" not in column[0][1]
    assert other[0][1].index("16 A") < other[0][1].index("400 V")


def test_a_table_whose_row_says_the_other_value_too_gives_no_false_cell() -> None:
    rows = "Plan: Basic | Storage: 10 GB | Traffic: 50 GB\n\nPlan: Team | Storage: 50 GB | Traffic: 50 GB"

    assert claims("other_column", rows) == []


def test_what_expects_acceptance_and_what_rejection_is_told_by_the_kind() -> None:
    assert {one.kind for one in EVERY if one.expected == "supported"} == set(TRUE_KINDS)
    assert {one.kind for one in EVERY if one.expected == "rejected"} == set(FALSE_KINDS)


BOUNDS = {
    "up": ("at least", "more than", "minst", "mer än", "mindestens", "mehr als"),
    "down": ("at most", "within", "högst", "inom", "höchstens", "weniger als"),
    "none": ("about", "cirka", "ungefähr", "until", "between", "younger than", "yngre än", "jünger als"),
}


@given(st.sampled_from([(way, word) for way, words in BOUNDS.items() for word in words]), st.integers(2, 999))
def test_a_bound_tells_which_way_a_number_must_move(bound: tuple[Direction, str], number: int) -> None:
    way, words = bound
    text = f"It takes {words} {number} days to arrive."
    start = text.index(str(number))
    assert direction(text, start, start + len(str(number))) == way


@given(st.integers(0, 99), st.integers(0, 99))
def test_a_number_denies_a_bound_only_beyond_it(old: int, new: int) -> None:
    assert denies(old, new, "up") == (new > old)
    assert denies(old, new, "down") == (new < old)
    assert denies(old, new, "any") == (new != old)
    assert not denies(old, new, "none")


def test_a_bound_under_a_negation_is_left_alone() -> None:
    text = "It must not take more than 10 days to arrive."
    assert direction(text, text.index("10"), text.index("10") + 2) == "none"


@given(st.integers(0, 99), st.sampled_from(["en", "sv", "de"]))
def test_a_spelt_number_is_read_back_as_itself(number: int, language: str) -> None:
    assert number_words(language)[spelt(number, language)] == number


def test_labels_are_no_counts() -> None:
    text = "Set the mode of Windows 10 machines as shown by figure 4 below for all those users."
    assert claims("small_as_words", text) == []


def test_a_range_is_not_converted_at_one_end() -> None:
    assert claims("to_smaller_unit", "Each phase of the election lasts one to two weeks at most now.") == []


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The service stays open for two weeks after each of the elections.", "14 days"),
        ("sv", "Beslutet gäller i tre veckor efter det att styrelsen har meddelat det.", "21 dagar"),
        ("de", "Die Anlage läuft nach jedem Start 3 Stunden im Betrieb der Stadt weiter.", "180 Minuten"),
    ],
)
def test_a_converted_amount_is_the_same(language: str, text: str, expected: str) -> None:
    assert [expected in claim for claim in claims("to_smaller_unit", text, language)] == [True]


DROPPED = [
    "The valve (only in winter) is opened by the technician of the plant.",
    "The valve is opened by the technician (or the owner) of the plant today.",
    "The valve is opened (unless it is frozen) by the technician of the plant.",
]


@pytest.mark.parametrize("text", DROPPED)
def test_a_bracket_that_limits_a_statement_is_not_dropped(text: str) -> None:
    assert claims("parenthesis_dropped", text) == []


@pytest.mark.parametrize(
    ("language", "text", "claim"),
    [
        (
            "en",
            "If the sensor is broken, the unit stops at once.",
            "The unit stops at once if the sensor is broken.",
        ),
        (
            "sv",
            "Om givaren är trasig, ska man genast stänga av den.",
            "Man ska genast stänga av den om givaren är trasig.",
        ),
        (
            "de",
            "Wenn der Fühler defekt ist, können Sie ihn tauschen.",
            "Sie können ihn tauschen, wenn der Fühler defekt ist.",
        ),
    ],
)
def test_a_condition_moves_behind_its_consequence(language: str, text: str, claim: str) -> None:
    assert claims("condition_moved", text, language) == [claim]


def test_names_of_one_relation_that_runs_both_ways_are_not_exchanged() -> None:
    assert (
        claims("exchanged_in_sentence", "The contract between Nordvik and the firm Sundby ends soon.") == []
    )
    text = "The office of Nordvik sends the yearly report to Sundby each winter."
    assert claims("exchanged_in_sentence", text) == [
        "The office of Sundby sends the yearly report to Nordvik each winter."
    ]


def test_a_sentence_that_denies_something_gets_no_second_negation() -> None:
    assert claims("inserted", "The archive is not open to any visitors in winter or in spring.") == []


@pytest.mark.parametrize(
    ("language", "text", "claim"),
    [
        (
            "en",
            "The archive cannot be opened by visitors today.",
            "The archive can be opened by visitors today.",
        ),
        (
            "sv",
            "Arkivet får inte öppnas av besökare under dagen.",
            "Arkivet får öppnas av besökare under dagen.",
        ),
        (
            "de",
            "Das Archiv ist heute nicht für Besucher geöffnet.",
            "Das Archiv ist heute für Besucher geöffnet.",
        ),
    ],
)
def test_a_negation_is_taken_out(language: str, text: str, claim: str) -> None:
    assert claims("removed", text, language) == [claim]


def test_a_wrong_passage_shares_few_words_with_the_sentence() -> None:
    among = material("en")
    for sentence, claim, chunk_id in made(mechanism("other_document"), among):
        assert chunk_id != sentence.chunk_id
        held = {word.casefold() for word in re.findall(r"\w{4,}", among.chunks[chunk_id])}
        wanted = {word.casefold() for word in re.findall(r"\w{4,}", claim)}
        assert len(wanted & held) <= 0.6 * len(wanted)


NO_PROSE = [
    "See the table below for all the values we know:",
    "`call()` returns the number of all open connections here.",
    "| a | b | c | this is a row of some table in the text.",
    "Is this a question that somebody asks in the text of it?",
    "Too short a line.",
    "An open bracket (of which the end is missing stands here.",
]


@pytest.mark.parametrize("line", NO_PROSE)
def test_only_whole_statements_in_words_are_used(line: str) -> None:
    assert not is_prose(line)


def test_what_the_passage_says_as_well_is_no_falsehood() -> None:
    months = "January February March April May June July August September October November December"
    text = " ".join(f"The first of the laws enters into force on 1 {month} 1968." for month in months.split())
    assert claims("month_changed", text) == []
