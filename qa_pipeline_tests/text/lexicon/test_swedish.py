"""Questions in Swedish: who must do what, where, when and unless what, in statutes and manuals."""

import pytest

from qa_pipeline.generation.offline.provider import find_candidates
from qa_pipeline.records import Passage

LAW = "Lag (1992:10) om vattenverk"


def asked(text: str, title: str) -> list[str]:
    passage = Passage("chunk", title, (title, "4 §"), text, "sv")
    return [candidate.question for candidate in find_candidates(passage)]


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        (
            "Förvaltaren ska föra protokoll över alla möten med hyresgästerna.",
            "Vem ska föra protokoll över alla möten med hyresgästerna enligt lagen om vattenverk?",
        ),
        (
            "Vid omröstning i nämnden gäller reglerna om omröstning i brottmål.",
            "Vad gäller enligt lagen om vattenverk vid omröstning i nämnden?",
        ),
        (
            "Vid myndigheten ska det finnas ett insynsråd med sju ledamöter.",
            "Vad ska det finnas vid myndigheten enligt lagen om vattenverk?",
        ),
        (
            "Den som har tagit emot bidrag är skyldig att redovisa hur bidraget har använts.",
            "Vad gäller enligt lagen om vattenverk för den som har tagit emot bidrag?",
        ),
        (
            "En förening som har gjort en anmälan kan ta tillbaka anmälan inom två år.",
            "Vad gäller enligt lagen om vattenverk för en förening som har gjort en anmälan?",
        ),
        (
            "Betalas inte avgiften inom en månad, får avgiften tas ut genom utmätning.",
            "Vad gäller enligt lagen om vattenverk om avgiften inte betalas inom en månad?",
        ),
        (
            "Frågor om tillstånd till utsläpp prövas av länsstyrelsen.",
            "Av vem prövas frågor om tillstånd till utsläpp enligt lagen om vattenverk?",
        ),
        (
            "Museet skall inom sitt område bistå annan museiverksamhet på regional nivå.",
            "Vad skall museet göra inom sitt område enligt lagen om vattenverk?",
        ),
        (
            "En ansökan om tillstånd ska göras skriftligen hos myndigheten.",
            "Hur ska en ansökan om tillstånd göras enligt lagen om vattenverk?",
        ),
        ("Hos rådet finns i övrigt personal enligt särskilda föreskrifter.", None),
        ("Vid förtidsbetalning enligt 4 § skall säljarens fordran minskas med kostnaden.", None),
        ("Fastighetsägaren skall av hyresnämnden underrättas härom utan dröjsmål.", None),
        ("Beslut från nämnden ska vara skriftliga och motiverade i alla delar.", None),
    ],
)
def test_a_statute_is_asked_for_holder_case_and_place(sentence: str, question: str | None) -> None:
    assert asked(sentence, LAW) == ([] if question is None else [question])


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        (
            "I panelen Användare kan du lägga till ett konto för varje person.",
            "Vad kan man göra i panelen Användare enligt ”Konton i Fjell 8”?",
        ),
        (
            "På statusraden visas namnet på den öppna filen.",
            "Vad visas på statusraden enligt ”Konton i Fjell 8”?",
        ),
        (
            "Poänglistan i spelet visar de tio snabbaste tiderna för varje typ av spelplan.",
            "Vad visar poänglistan i spelet enligt ”Konton i Fjell 8”?",
        ),
        ("Kontrollera om din skiva använder dubbla lager eller ett enkelt lager.", None),
        ("Avsökning över nätverket kan vara långsammare än av ett lokalt filsystem.", None),
    ],
)
def test_a_manual_is_asked_for_places_and_what_things_do(sentence: str, question: str | None) -> None:
    assert asked(sentence, "Konton i Fjell 8") == ([] if question is None else [question])


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "En bok får lånas i 28 dagar. Lånetiden kan förlängas en gång i appen.",
            "Hur länge får jag låna en bok enligt ”Biblioteket 2000”?",
        ),
        (
            "Ja, du kan låna en bok i 28 dagar. Lånetiden kan förlängas en gång.",
            "Hur länge får jag låna en bok enligt ”Biblioteket 2000”?",
        ),
    ],
)
def test_a_question_that_is_a_heading_may_speak_of_its_reader(text: str, question: str) -> None:
    heading = question.replace(" enligt ”Biblioteket 2000”", "")
    passage = Passage("chunk", "Biblioteket 2000", (heading,), f"## {heading}\n\n{text}", "sv")
    assert question in [candidate.question for candidate in find_candidates(passage)]


def test_a_column_with_a_preposition_is_asked_for_with_its_article() -> None:
    rows = "Låntagare: Vuxna | Avgift per dag: 5 kr\nLåntagare: Barn | Avgift per dag: 1 kr"
    passage = Passage("chunk", "Fjell 8", ("Avgifter", "Böcker"), f"## Böcker\n\n{rows}", "sv")
    [first, _] = find_candidates(passage)
    assert (first.question, first.answer) == (
        "Vad är avgiften per dag för vuxna enligt ”Fjell 8”?",
        "Avgiften per dag för vuxna är 5 kr.",
    )
