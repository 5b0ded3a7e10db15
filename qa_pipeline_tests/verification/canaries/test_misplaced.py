"""A sentence put to a question it does not answer is false, and so is an item under another lead-in."""

import pytest

from qa_pipeline.storage.tables import CANARIES, CHUNKS, CLAIM_VERDICTS, CLAIMS
from qa_pipeline.verification.canaries.material import Draft, gather
from qa_pipeline.verification.canaries.misplaced import GENERATORS
from qa_pipeline.verification.canaries.outcomes import canary_rows
from qa_pipeline.verification.canaries.seeding import canary_pairs, seed_canaries
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
            "The warranty of the unit covers pipes and valves. The installer must check the sensor in spring.",
            "Who must check the sensor in spring?",
        ),
        (
            "sv",
            "Garantin för enheten omfattar ledningar och ventiler. Installatören ska kontrollera givaren på våren.",
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
        "The sensor must be checked by the installer in spring. The installer must check the sensor in spring.",
        "It must be checked by people who know how to do it. The installer must check the sensor in spring.",
        "The warranty of the unit covers pipes and valves. When it is cold, the installer must check the sensor.",
    ],
)
def test_a_sentence_that_may_answer_the_question_is_not_put_to_it(text: str) -> None:
    assert made("question_of_the_next", text) == []


@pytest.mark.parametrize("language", LISTS)
def test_an_item_is_put_under_the_lead_in_of_another_list_that_denies_it(language: str) -> None:
    first, second = (part.split("\n\n")[0] for part in (LISTS[language], LISTS[language][-400:]))
    claims = [claim for _, claim in made("lead_in_exchanged", LISTS[language], language)]
    lead_ins = {claim.split(":")[0] for claim in claims}
    assert (len(claims), len(lead_ins)) == (4, 2)
    assert not any(f"- {claim.split(': ')[1]}" in second for claim in claims if claim.startswith(second))


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
        "The office must send the list to the bank.",
        "the bank",
        "The bank must send the list to the office.",
    ),
    ("sv", "Kommunen ska lämna uppgifterna till myndigheten.", "", ""),
    (
        "sv",
        "Köparen har rätt att betala sin skuld till säljaren.",
        "",
        "Säljaren har rätt att betala sin skuld till köparen.",
    ),
    (
        "de",
        "Die Behörde muss die Stadt im Frühjahr genau prüfen.",
        "",
        "Die Stadt muss die Behörde im Frühjahr genau prüfen.",
    ),
]
