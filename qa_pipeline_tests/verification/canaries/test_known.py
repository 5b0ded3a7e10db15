"""A false claim is surely false, a true one surely true, and both are made the same way every time."""

import re

import pytest

from qa_pipeline.storage.tables import CHUNKS
from qa_pipeline.verification.canaries.known import GENERATORS
from qa_pipeline.verification.canaries.material import (
    Generator,
    Material,
    Sentence,
    gather,
    is_prose,
    numerals,
)
from qa_pipeline.verification.canaries.seeding import EVERY
from qa_pipeline_tests.curation.rows import chunk
from qa_pipeline_tests.verification.canaries.sentences import TEXTS, material


def made(generator: Generator, among: Material) -> list[tuple[Sentence, str, str]]:
    return [
        (sentence, f"{draft.question} {draft.claim}".strip(), draft.chunk_id)
        for sentence in getattr(among, generator.over)
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


@pytest.mark.parametrize("generator", EVERY, ids=lambda one: f"{one.kind}-{one.mechanism}")
def test_a_generator_makes_the_same_claims_twice_and_never_its_source(generator: Generator) -> None:
    first, second = made(generator, material()), made(generator, material())
    assert first == second
    for sentence, claim, chunk_id in first:
        assert claim != sentence.text or chunk_id != sentence.chunk_id
        assert "  " not in claim
        assert claim[0] == claim[0].upper()
        assert claim.endswith(".") or generator.over == "items"


@pytest.mark.parametrize("language", sorted(TEXTS))
@pytest.mark.parametrize("kind", sorted({one.kind for one in GENERATORS}))
def test_each_kind_is_made_in_each_language(kind: str, language: str) -> None:
    of_kind = [one for one in GENERATORS if one.kind == kind]
    assert any(made(generator, material(language)) for generator in of_kind)


@pytest.mark.parametrize("name", ["digit_changed", "year_changed"])
def test_a_false_number_is_nowhere_in_its_passage(name: str) -> None:
    among = material()
    for sentence, claim, chunk_id in made(mechanism(name), among):
        new = numerals(claim) - numerals(sentence.text)
        assert len(new) == 1, claim
        assert not new & numerals(among.chunks[chunk_id])


BOUNDED = [
    ("en", "At least {} people must attend the meeting of the board each year."),
    ("en", "The meeting of the board is attended by about {} people each year."),
    ("en", "The meeting of the board takes {} or more hours in most of the years."),
    ("sv", "Minst {} personer ska delta i styrelsens möte varje år enligt stadgan."),
    ("de", "An der Sitzung nehmen mindestens {} Personen aus dem Vorstand teil."),
]


@pytest.mark.parametrize(("language", "text"), BOUNDED)
def test_a_number_with_a_bound_is_not_changed(language: str, text: str) -> None:
    assert claims("digit_changed", text.format(14), language) == []


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_a_false_cell_gives_a_column_the_value_of_another(language: str) -> None:
    ((_, claim, _),) = made(mechanism("other_column"), material(language))[:1]
    assert "16 A" in claim
    assert "400 V" not in claim


def test_a_table_whose_row_has_the_other_value_too_gives_no_false_cell() -> None:
    rows = "Plan: Basic | Storage: 10 GB | Traffic: 50 GB\n\nPlan: Team | Storage: 50 GB | Traffic: 50 GB"
    assert claims("other_column", rows) == []


def test_labels_are_no_counts() -> None:
    text = "Set the mode of Windows 10 machines as shown by figure 4-2 below for all those users."
    assert claims("figures_as_words", text) == []


def test_a_range_is_not_converted_at_one_end() -> None:
    text = "Each phase of the election lasts 1 to 2 weeks at most now. It takes 3 days to count."
    assert not [claim for claim in claims("to_smaller_unit", text) if "phase" in claim]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "en",
            "The service is open for 2 weeks after an election. It takes 3 days to count all of the votes.",
            "14 days",
        ),
        (
            "sv",
            "Beslutet gäller i 3 veckor efter meddelandet. Det tar 5 dagar att få ett svar från dem.",
            "21 dagar",
        ),
        (
            "de",
            "Die Anlage läuft nach dem Start 3 Stunden weiter. Das Füllen des Kessels dauert 5 Minuten.",
            "180 Minuten",
        ),
    ],
)
def test_a_converted_amount_is_the_same(language: str, text: str, expected: str) -> None:
    assert any(expected in claim for claim in claims("to_smaller_unit", text, language))


LIMITING = [
    "The valve (only in winter) is opened by the technician of the plant.",
    "The valve is opened by the technician (but not the owner) of the plant today.",
    "The valve is opened (unless it is frozen) by the technician of the plant.",
]


@pytest.mark.parametrize("text", LIMITING)
def test_a_bracket_that_limits_a_statement_is_not_dropped(text: str) -> None:
    assert claims("brackets_dropped", text) == []


def test_a_statement_under_a_condition_is_not_dropped() -> None:
    text = "If the tank is empty the pump stops and it sends a message to the office."
    assert claims("statement_dropped", text) == []
    text = "The pump of the tank stops at noon and it sends a message to the office."
    assert claims("statement_dropped", text) == ["The pump of the tank stops at noon."]


def test_a_sentence_that_denies_something_gets_no_second_negation() -> None:
    assert claims("inserted", "The archive is not open to any visitors in winter or in spring.") == []


@pytest.mark.parametrize(
    ("language", "text", "claim"),
    [
        ("en", "The archive must not be opened by visitors.", "The archive must be opened by visitors."),
        ("sv", "Arkivet får inte öppnas av besökare i dag.", "Arkivet får öppnas av besökare i dag."),
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
    "An open bracket (of which the end is missing is here.",
]


@pytest.mark.parametrize("line", NO_PROSE)
def test_only_whole_statements_in_words_are_used(line: str) -> None:
    assert not is_prose(line)


def test_what_the_passage_has_as_well_is_no_falsehood() -> None:
    years = range(1960, 1990)
    text = " ".join(f"The first of the laws enters into force in the year {year} here." for year in years)
    assert not {year for claim in claims("year_changed", text) for year in years if str(year) in claim}
