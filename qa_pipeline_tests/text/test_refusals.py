"""What refuses to answer, and what only begins like that."""

import pytest

from qa_pipeline.text.refusals import is_refusal

REFUSALS = {
    "en": (
        "The documents provided do not mention the price.",
        "The provided context does not contain enough information to answer this question.",
        "I don't have enough information to answer that.",
        "Not specified.",
        "We were unable to locate this information.",
        "I have no information about that.",
        "The sources provided don't say who designed it.",
        "The context doesn't specify when it was released.",
        "Based on the information provided, I can't say which version introduced it.",
        "Your question is outside the scope of the provided documents.",
        "The retrieved documents contain nothing relevant to this question.",
        "The provided context does not answer the question. Please provide more context.",
    ),
    "de": (
        "Das weiß ich leider nicht.",
        "Die Dokumente enthalten keine Angaben zum Preis.",
        "Es tut mir leid, aber ich habe dazu keine Informationen.",
        "Anhand der vorliegenden Dokumente lässt sich die Frage nicht beantworten.",
        "Darüber steht nichts im Handbuch.",
        "Das ist mir nicht bekannt.",
        "Keine Informationen verfügbar.",
        "Der Abschnitt sagt nichts über die Kosten.",
        "Anhand der Unterlagen kann ich nicht beurteilen, ob das zutrifft.",
        "Eine Antwort darauf ist nicht möglich.",
    ),
    "sv": (
        "Det vet jag tyvärr inte.",
        "Dokumenten innehåller ingen information om priset.",
        "Tyvärr, jag har ingen information om det.",
        "Det går inte att avgöra utifrån dokumentet.",
        "Jag hittar ingen uppgift om det i källorna.",
        "Den informationen finns inte tillgänglig.",
        "Ingen information hittades.",
        "Jag kan inte hitta svaret i de angivna dokumenten.",
        "Inget i texten tyder på vem som skrev den.",
        "Utifrån kontexten går det inte att avgöra vem det var.",
        "Ingen av källorna anger någon vikt.",
    ),
}
ANSWERS = {
    "en": (
        "I don't know the list price, but it weighs 43 kg.",
        "No information about users is stored.",
        "I don't know about the red one, but the blue one costs 5 euros.",
        "The text does not describe a villain but a hero.",
        "The file is not found and error 404 is returned.",
        "We cannot ship to Norway.",
        "The passage is not open to the public.",
        "The source code is not available in the free edition.",
        "The price is not specified in euros but in dollars.",
        "I can't recommend it: the motor overheats.",
    ),
    "de": (
        "Das weiß ich nicht genau, aber er wiegt 43 kg.",
        "Keine.",
        "Das weiß ich nicht sicher, vermutlich sind es 43 kg.",
        "Es werden keine Informationen an Dritte weitergegeben.",
        "Keine Daten verlassen das Gerät.",
        "Er konnte die Frage nicht beantworten.",
        "Es gibt keine bekannten Nebenwirkungen.",
        "Der Server kennt das Passwort nicht.",
        "Die Antwort ist nicht 42, sondern 43.",
        "Das ist nicht nötig.",
    ),
    "sv": (
        "Jag vet inte exakt, men den väger 43 kg.",
        "Locket ingår inte.",
        "Jag vet inte säkert, men troligen väger den 43 kg.",
        "Ingen information lämnas till tredje part.",
        "Han kunde inte svara på frågan.",
        "Det finns inga kända biverkningar.",
        "Servern känner inte till lösenordet.",
        "Svaret är inte 42 utan 43.",
        "Det går inte att ändra lösenordet efter registreringen.",
        "Det behövs inte.",
    ),
}


@pytest.mark.parametrize("text", [text for several in REFUSALS.values() for text in several])
def test_a_refusal_is_one_in_every_language(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", [text for several in ANSWERS.values() for text in several])
def test_an_answer_that_begins_like_a_refusal_is_none(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "text", ["", "  \n", "...", "[source:a.md]", "I'm sorry. Please contact the vendor."]
)
def test_what_says_nothing_refuses_nothing(text: str) -> None:
    assert not is_refusal(text)
