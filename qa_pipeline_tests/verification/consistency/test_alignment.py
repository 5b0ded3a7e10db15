"""A claim that repeats its evidence but for one name, number, date or negation conflicts just there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.verification.consistency.alignment import Aligned, aligned_findings, pieced_together
from qa_pipeline.verification.consistency.polarity import exchanged_clauses, same_clauses
from qa_pipeline.verification.consistency.reading import read


def aligned(language: str, claim: str, evidence: str) -> Aligned:
    return aligned_findings(read(claim, language), read(evidence, language))


@pytest.mark.parametrize(
    ("language", "kind", "claim", "evidence"),
    [
        (
            "en",
            "names",
            "The parser of FastAPI reads the whole body first.",
            "The parser of Pydantic reads the whole body first.",
        ),
        (
            "sv",
            "names",
            "Föreskrifter meddelas av Tullverket efter samråd med Sjöfartsverket.",
            "Föreskrifter meddelas av Sjöfartsverket efter samråd med Tullverket.",
        ),
        (
            "de",
            "names",
            "Der Wert ergibt sich aus MaxClients geteilt durch MinServers im Test.",
            "Der Wert ergibt sich aus MinServers geteilt durch MaxClients im Test.",
        ),
        (
            "en",
            "numbers",
            "Perl 5 is needed to build Apache 5.0 on that system.",
            "Perl 5 is needed to build Apache 2.0 on that system.",
        ),
        (
            "sv",
            "dates",
            "Lagen träder i kraft den 1 juli 1994 i hela landet.",
            "Lagen träder i kraft den 1 juni 1994 i hela landet.",
        ),
        (
            "de",
            "polarity",
            "Sie werden nicht selten in der Dokumentation nachschauen.",
            "Sie werden selten in der Dokumentation nachschauen.",
        ),
        (
            "en",
            "quantifiers",
            "All of the clients may cache every answer they get.",
            "Some of the clients may cache every answer they get.",
        ),
    ],
)
def test_what_stands_in_anothers_place_conflicts(language: str, kind: str, claim: str, evidence: str) -> None:
    assert getattr(aligned(language, claim, evidence), kind).conflicts


def test_subject_and_object_may_change_sides_where_word_order_is_free() -> None:
    found = aligned(
        "sv", "Nordvik köpte Sundby under den förra hösten.", "Sundby köpte Nordvik under den förra hösten."
    )
    assert found.names.conflicts == ()


@given(
    st.lists(
        st.sampled_from(
            ["valve", "tank", "pump", "opens", "slowly", "before", "winter", "holds", "water", "Oslo", "12"]
        ),
        max_size=12,
    )
)
def test_the_same_words_have_no_findings(words: list[str]) -> None:
    text = " ".join(words)
    assert aligned("en", text, text) == Aligned()


def test_a_claim_in_words_of_its_own_is_left_to_the_other_checks() -> None:
    assert (
        aligned("en", "Opening hours end at noon in Oslo.", "The shop in Bergen closes at midday.")
        == Aligned()
    )


CAUSES = [
    ("en", "The pump stops because the filter is clogged.", "The filter is clogged because the pump stops."),
    ("en", "If the pump stops, the alarm rings loudly.", "If the alarm rings loudly, the pump stops."),
    ("sv", "Pumpen stannar eftersom filtret är igensatt.", "Filtret är igensatt eftersom pumpen stannar."),
    (
        "de",
        "Die Pumpe stoppt, weil der Filter verstopft ist.",
        "Der Filter ist verstopft, weil die Pumpe stoppt.",
    ),
]


@pytest.mark.parametrize(("language", "claim", "evidence"), CAUSES)
def test_cause_and_effect_in_each_others_place_conflict(language: str, claim: str, evidence: str) -> None:
    assert exchanged_clauses(read(claim, language), read(evidence, language)).conflicts


MOVED = [
    ("en", "The alarm rings loudly if the pump stops.", "If the pump stops, the alarm rings loudly."),
    ("sv", "Larmet ljuder högt om pumpen stannar.", "Om pumpen stannar, ljuder larmet högt."),
    ("de", "Der Alarm tönt laut, wenn die Pumpe stoppt.", "Wenn die Pumpe stoppt, tönt der Alarm laut."),
]


@pytest.mark.parametrize(("language", "claim", "evidence"), MOVED)
def test_a_condition_behind_its_consequence_is_the_same(language: str, claim: str, evidence: str) -> None:
    mine, theirs = read(claim, language), read(evidence, language)
    assert not exchanged_clauses(mine, theirs).conflicts
    assert same_clauses(mine, theirs)


PIECED = [
    (
        "en",
        "Code E11 means that the motor is hot.",
        "Code E11 means that the sensor is broken. Code E23 means that the motor is hot.",
    ),
    (
        "sv",
        "Ägaren ansvarar för ledningen till punkten.",
        "Kommunen ansvarar för ledningen till punkten. Ägaren ansvarar för huset.",
    ),
    (
        "de",
        "Der Mieter zahlt die Reparatur des Daches.",
        "Der Vermieter zahlt die Reparatur des Daches. Der Mieter zahlt den Strom.",
    ),
]


@pytest.mark.parametrize(("language", "claim", "evidence"), PIECED)
def test_the_subject_of_one_sentence_with_the_statement_of_another_conflicts(
    language: str, claim: str, evidence: str
) -> None:
    assert pieced_together(read(claim, language), read(evidence, language)).conflicts


def test_a_sentence_that_holds_likewise_refutes_nothing() -> None:
    evidence = "The town pays for the pipe to the house. The owner also pays for the pipe."
    assert not pieced_together(
        read("The owner pays for the pipe to the house.", "en"), read(evidence, "en")
    ).conflicts
