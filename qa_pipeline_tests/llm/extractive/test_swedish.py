import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline.llm.extractive.candidates import well_formed
from qa_pipeline.llm.extractive.swedish import PATTERNS, find
from qa_pipeline.llm.extractive.swedish_statutes import statute_of
from qa_pipeline.records import Passage

LAW = "Lag (1999:100) om båtar"
NAME = "lagen (1999:100) om båtar"


def passage(text: str, *path: str, title: str = "Handbok") -> Passage:
    return Passage("c1", title, path, text, "sv")


def asked(text: str, *path: str) -> list[str]:
    return [candidate.question for candidate in find(passage(text, *path))]


IN_A_STATUTE = [
    ("Med småbåt avses båt som är kortare än sex meter.", f"Vad avses med småbåt i {NAME}?"),
    ("Som ägare anses den som har köpt båten i god tro.", f"Vad anses som ägare enligt {NAME}?"),
    ("Denna lag tillämpas på båtar som är längre än två meter.", f"Vad omfattas av {NAME}?"),
    ("Denna lag gäller inte för båtar som ägs av staten.", f"Vad omfattas inte av {NAME}?"),
    (
        "Frågor om registrering prövas av Transportstyrelsen.",
        f"Vem prövar frågor om registrering enligt {NAME}?",
    ),
    (
        "Ansökningar om registrering ska prövas av Transportstyrelsen.",
        f"Vem ska pröva ansökningar om registrering enligt {NAME}?",
    ),
    (
        "Transportstyrelsen utövar tillsyn över registrerade båtar.",
        f"Vem utövar tillsyn över registrerade båtar enligt {NAME}?",
    ),
    (
        "Beslut enligt denna lag får överklagas till allmän förvaltningsdomstol.",
        f"Vart får beslut enligt {NAME} överklagas?",
    ),
    (
        "Länsstyrelsens beslut får överklagas hos regeringen.",
        f"Hos vem får länsstyrelsens beslut överklagas enligt {NAME}?",
    ),
    (
        "Nämndens beslut i tillsynsärenden får inte överklagas.",
        f"Får nämndens beslut i tillsynsärenden överklagas enligt {NAME}?",
    ),
    (
        "En anmälan om ägarbyte ska göras hos Transportstyrelsen.",
        f"Hos vem ska en anmälan om ägarbyte göras enligt {NAME}?",
    ),
    (
        "En anmälan om ägarbyte ska göras inom fyra veckor från köpet.",
        f"Inom vilken tid ska en anmälan om ägarbyte göras enligt {NAME}?",
    ),
    (
        "Registret ska senast den 1 mars varje år lämna en rapport till regeringen.",
        f"Senast när ska registret lämna en rapport till regeringen enligt {NAME}?",
    ),
    (
        "En ansökan om registrering ska vara skriftlig.",
        f"Vilken form ska en ansökan om registrering ha enligt {NAME}?",
    ),
    (
        "Prövningstillstånd krävs vid överklagande till kammarrätten.",
        f"Vad krävs vid överklagande till kammarrätten enligt {NAME}?",
    ),
    (
        "Båtnämnden är beslutför när ordföranden och två ledamöter är närvarande.",
        f"När är båtnämnden beslutför enligt {NAME}?",
    ),
    ("Båtnämnden består av nio ledamöter.", f"Hur många ledamöter har båtnämnden enligt {NAME}?"),
    (
        "Båtnämnden består av en ordförande och nio andra ledamöter.",
        f"Vilka ingår i båtnämnden enligt {NAME}?",
    ),
    ("Chef för båtnämndens kansli är en kanslichef.", f"Vem är chef för båtnämndens kansli enligt {NAME}?"),
    (
        "För registrering av en båt tas en avgift på 300 kronor ut.",
        f"Hur stor avgift tas ut för registrering av en båt enligt {NAME}?",
    ),
    (
        "Den som uppsåtligen kör en oregistrerad båt döms till böter eller fängelse i högst sex månader.",
        f"Vilket straff gäller för den som uppsåtligen kör en oregistrerad båt enligt {NAME}?",
    ),
    (
        "Till böter döms den som kör en båt i strid med 8 §.",
        f"Vilket straff gäller för den som kör en båt i strid med 8 § {NAME}?",
    ),
    (
        "Om en registrerad båt skrotas i utlandet, ska ägaren anmäla skrotningen.",
        f"Vad gäller om en registrerad båt skrotas i utlandet enligt {NAME}?",
    ),
    (
        "En registrering får återkallas, om det finns särskilda skäl.",
        f"I vilka fall får en registrering återkallas enligt {NAME}?",
    ),
    (
        "Båtnämnden har till uppgift att pröva tvister om registrerade båtar.",
        f"Vad har båtnämnden till uppgift enligt {NAME}?",
    ),
]

ELSEWHERE = [
    ("Ett snabbfilter är ett filter som renar vatten med hög hastighet.", "Vad är ett snabbfilter?"),
    ("UV-aggregatet togs i drift den 12 september 1974.", "När togs UV-aggregatet i drift?"),
    (
        "För att backspola ett snabbfilter, stäng inloppsventilen.",
        "Hur gör man för att backspola ett snabbfilter?",
    ),
    (
        "Ett intag på mindre än 8 meters djup är inte tillåtet eftersom algblomning kan nå intaget.",
        "Varför är ett intag på mindre än 8 meters djup inte tillåtet?",
    ),
    (
        "Vid larm ska skiftledaren ringa beredskapsingenjören inom 15 minuter.",
        "Inom vilken tid ska skiftledaren ringa beredskapsingenjören vid larm?",
    ),
    ("Dosen monokloramin får inte överstiga 0,4 mg per liter.", "Hur stor får dosen monokloramin vara?"),
    (
        "För att se till att klubben kan sprida båtar, granska alla nya båtar.",
        "Hur gör man för att se till att klubben kan sprida båtar?",
    ),
    ("Standardvärdet för antalet trådar är fyra.", "Vilket är standardvärdet för antalet trådar?"),
]

REFUSED = [
    "Den prövas av Transportstyrelsen efter ansökan.",
    "Sådana frågor prövas av Transportstyrelsen.",
    "Beslutet får överklagas till kammarrätten i Umeå.",
    "Frågor som avses i första stycket prövas av Transportstyrelsen.",
    "Frågor enligt 5 § prövas av Transportstyrelsen.",
    "Frågor om registrering prövas också av Transportstyrelsen.",
    "Frågor om registrering prövas av myndigheten.",
    "Finns det särskilda skäl får registreringen återkallas av Transportstyrelsen.",
    "Ett beslut som ska prövas av nämnden fattas av ordföranden.",
    "Ansökan ska innehålla följande:",
    "Om förvaltaren begär det, ska kommunen betala arvode.",
    "Omröstning ska ske med slutna sedlar, om inte annat följer av lag.",
    "Vid anstalten ska det finnas ett råd som består av fem ledamöter.",
    "För att nå sina mål har föreningen en stor verkstad med många båtar, skänkta av givare.",
    "För att bli en medlem måste varje sökande bekräfta, visa och följa reglerna.",
    "Klubben erbjuder två tjänster. varv är en plats som används för båtar.",
]


@pytest.mark.parametrize(("sentence", "question"), IN_A_STATUTE)
def test_a_question_on_a_provision_names_its_statute(sentence: str, question: str) -> None:
    found = find(passage(f"## 1 §\n\n{sentence} Lag (2001:5).", LAW, "1 §"))
    assert question in [candidate.question for candidate in found]
    assert all(candidate.answer == sentence for candidate in found)


@pytest.mark.parametrize(("sentence", "question"), ELSEWHERE)
def test_other_documents_are_asked_without_a_statute(sentence: str, question: str) -> None:
    assert question in asked(sentence, "Kapitel")


@pytest.mark.parametrize("sentence", REFUSED)
def test_a_sentence_that_leans_on_its_page_is_not_asked_about(sentence: str) -> None:
    assert asked(sentence, LAW, "1 §") == []


def test_amending_acts_are_asked_when_they_take_effect_and_nothing_else() -> None:
    text = (
        "## Övergångsbestämmelser\n\n2001:5\n\n1. Denna lag träder i kraft den 1 juli 2001.\n\n"
        "2. Frågor om registrering prövas av Transportstyrelsen.\n\n2005:7\n\n"
        "Denna förordning träder i kraft den 1 maj 2005."
    )
    assert asked(text, LAW, "Övergångsbestämmelser") == [
        "När träder lagen (2001:5) i kraft?",
        "När träder förordningen (2005:7) i kraft?",
    ]


def test_an_amending_act_without_a_number_is_not_asked_about() -> None:
    assert asked("Denna lag träder i kraft den 1 juli 2001.", LAW, "Övergångsbestämmelser") == []


def test_terms_below_the_opening_of_a_definition_list_are_asked_about() -> None:
    text = (
        "I denna lag avses med\n\nsmåbåt: båt som är kortare än sex meter,\n\n"
        "ägare: den som har köpt båten.\n\nSlut."
    )
    found = find(passage(text, LAW))
    assert [(candidate.question, candidate.answer) for candidate in found] == [
        (f"Vad avses med småbåt i {NAME}?", "småbåt: båt som är kortare än sex meter"),
        (f"Vad avses med ägare i {NAME}?", "ägare: den som har köpt båten"),
    ]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        (LAW, NAME),
        ("Skollag (2010:800)", "skollagen (2010:800)"),
        ("Förordning om statsbidrag", "förordningen om statsbidrag"),
        ("Allmän tjänstepliktskungörelse (1961:461)", "tjänstepliktskungörelsen (1961:461)"),
        ("Lag (1961:181) om sprit m.m.", "lagen (1961:181) om sprit m.m."),
        ("Lag (1999:1) om " + "väldigt " * 20 + "mycket", "lagen (1999:1)"),
        ("Förslag", None),
        ("Dagordning", None),
        ("Handbok för båtar", None),
    ],
)
def test_a_statute_is_named_in_the_definite_form(title: str, name: str | None) -> None:
    statute = statute_of(passage("x", title, title="Handbok"))
    assert (statute.name if statute else None) == name


def test_a_title_with_a_number_is_preferred_to_one_without() -> None:
    statute = statute_of(passage("x", LAW, title="Lag om båtar"))
    assert statute is not None
    assert statute.number == "1999:100"


def test_what_a_statute_is_about_is_asked_only_where_the_title_does_not_say_it() -> None:
    text = "Denna lag innehåller bestämmelser om register över båtar."
    assert asked(text, LAW) == []
    assert asked(text, "Båtlag (1999:100)") == ["Vad innehåller båtlagen (1999:100) bestämmelser om?"]


def test_names_keep_their_capital_inside_a_question() -> None:
    text = "Vattnet renas i Alviks verk. Alviks vattenverk togs i drift den 12 september 1974."
    assert asked(text) == ["När togs Alviks vattenverk i drift?"]


fragments = st.sampled_from(
    [
        *(word for sentence, _ in IN_A_STATUTE + ELSEWHERE for word in sentence.split()),
        *(
            "\n",
            "\n\n",
            "- ",
            "## ",
            "```",
            "{s}",
            "{",
            "}",
            "§",
            "1999:100",
            ": ",
            "(",
            '"',
            "”",
            "\u2028",
            ".",
        ),
    ]
)
hostile = st.one_of(st.text(), st.lists(fragments, max_size=40).map(" ".join))


@settings(max_examples=200)
@given(hostile, st.sampled_from([LAW, "Handbok", ""]), hostile)
def test_any_text_gives_verbatim_candidates_and_no_error(text: str, title: str, heading: str) -> None:
    source = passage(text, title, heading, title=title)
    found = find(source)
    assert found == find(source)
    for candidate in found:
        assert text[candidate.start : candidate.end] == candidate.quote
        assert " ".join(candidate.quote.split()) == candidate.answer
        assert candidate.question.endswith("?")
    assert all(len(candidate.question) < 1000 for candidate in found if well_formed(candidate, source))


@pytest.mark.parametrize(
    "word", ["Den ", "som ", "av ", "a, ", "inom två veckor ", "om det är ", "A", "(", "1 § "]
)
def test_long_hostile_sentences_cost_little(word: str) -> None:
    begun = time.process_time()
    find(passage("Fråga " + word * 20_000 + ".\n\n" + ("Fråga " + word * 60)[:400] + ".", LAW))
    assert time.process_time() - begun < 5


def test_every_rule_has_a_name_of_its_own() -> None:
    names = [pattern.name for pattern in PATTERNS]
    assert len(names) == len(set(names))
