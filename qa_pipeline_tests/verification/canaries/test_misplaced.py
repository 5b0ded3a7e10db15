"""A sentence put to a question it does not answer is false, and so is an item under another lead-in."""

import pytest

from qa_pipeline.storage.tables import CHUNKS
from qa_pipeline.verification.canaries.material import Draft, gather
from qa_pipeline.verification.canaries.misplaced import GENERATORS
from qa_pipeline_tests.curation.rows import chunk
from qa_pipeline_tests.verification.canaries.sentences import LISTS


def made(mechanism: str, text: str, language: str = "en") -> list[tuple[str, str]]:
    """Questions and claims of a mechanism from one chunk."""
    among = gather(CHUNKS.frame([chunk("c", document_id="d", language=language, text=text)]))
    (generator,) = [generator for generator in GENERATORS if generator.mechanism == mechanism]
    drafts: list[Draft] = [
        draft for piece in getattr(among, generator.over) for draft in generator.make(piece, among)
    ]
    return [(draft.question, draft.claim) for draft in drafts]


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        (
            "en",
            "The warranty of this unit covers all pipes. The installer must check the sensor in spring.",
            "Who must check the sensor in spring?",
        ),
        (
            "sv",
            "Garantin för enheten omfattar alla ledningar. Installatören ska kontrollera givaren på våren.",
            "Vem ska kontrollera givaren på våren?",
        ),
        (
            "de",
            "Die Garantie der Anlage umfasst Leitungen und Ventile. Der Installateur muss den Fühler prüfen.",
            "Wer muss den Fühler prüfen?",
        ),
    ],
)
def test_a_sentence_is_put_to_the_question_of_the_next_one(language: str, text: str, question: str) -> None:
    assert made("question_of_the_next", text, language) == [(question, f"{text.split('. ')[0]}.")]


@pytest.mark.parametrize(
    "text",
    [
        "The sensor is checked in spring by us all. The installer must check the sensor in spring.",
        "It is checked by people who know how to do it. The installer must check the boiler in spring.",
        "The warranty of the unit covers pipes and valves. When it is cold, the sensor must be checked.",
    ],
)
def test_a_sentence_that_may_answer_the_question_is_not_put_to_it(text: str) -> None:
    assert made("question_of_the_next", text) == []


@pytest.mark.parametrize("language", LISTS)
def test_an_item_is_put_under_the_lead_in_of_another_list_that_denies_it(language: str) -> None:
    denying = LISTS[language].split("\n\n")[2]
    claims = [claim for _, claim in made("lead_in_exchanged", LISTS[language], language)]
    of_denying = LISTS[language].split(denying)[1]
    assert [claim.startswith(denying) for claim in claims] == [True, True, False, False]
    assert [claim.split(": ")[1] in of_denying for claim in claims] == [False, False, True, True]


def test_an_item_of_both_lists_and_lists_that_deny_nothing_are_left_alone() -> None:
    both = LISTS["en"].replace("the paint of the cellar", "the repair of the boiler")
    assert len(made("lead_in_exchanged", both)) == 2
    assert made("lead_in_exchanged", LISTS["en"].replace(" not", " also")) == []


def test_the_negation_of_a_lead_in_is_taken_away() -> None:
    claims = [claim for _, claim in made("lead_in_affirmed", LISTS["en"])]
    affirmed = "The following is covered by the contract of the house:"
    assert claims == [f"{affirmed} the paint of the cellar", f"{affirmed} the cleaning of the windows"]


@pytest.mark.parametrize(
    ("lead_in", "claims"),
    [
        ("The following is prohibited in the garden:", 1),
        ("In the garden you can see this:", 0),
        ("Not all of the following is prohibited:", 0),
    ],
)
def test_a_statement_that_its_lead_in_denies_is_claimed_without_it(lead_in: str, claims: int) -> None:
    item = "Guests of the house bring their own dogs to the pool."
    assert made("lead_in_dropped", f"{lead_in}\n\n- {item}") == [("", item)] * claims


ROLES = [
    (
        "en",
        "The office must send the list of all guests to the bank.",
        "The bank must send the list of all guests to the office.",
        "Who must send the list of all guests to the office?",
    ),
    (
        "sv",
        "Köparen har alltid rätt att betala sin skuld till säljaren i förtid.",
        "Säljaren har alltid rätt att betala sin skuld till köparen i förtid.",
        "Vem har alltid rätt att betala sin skuld till köparen i förtid?",
    ),
    (
        "de",
        "Die Gemeinde muss jedes Jahr im Herbst die Behörde des Landes anhören.",
        "Die Behörde muss jedes Jahr im Herbst die Gemeinde des Landes anhören.",
        "Wer muss jedes Jahr im Herbst die Gemeinde des Landes anhören?",
    ),
]


@pytest.mark.parametrize(("language", "text", "exchanged", "question"), ROLES)
def test_the_subject_takes_the_place_of_another_thing(
    language: str, text: str, exchanged: str, question: str
) -> None:
    assert exchanged in [claim for _, claim in made("subject_and_object", text, language)]
    assert (question, text) in made("question_turned", text, language)


@pytest.mark.parametrize(
    "text",
    [
        "The pump is the heart of every large heating in a house.",
        "The board must hear the advisory board before a decision.",
        "The pump must feed the tank and the boiler of every house.",
        "If it is cold, the office must send the list to the bank.",
    ],
)
def test_what_may_be_true_the_other_way_round_is_not_exchanged(text: str) -> None:
    assert made("subject_and_object", text) == []
