"""What each check must catch although the wording is nearly the same, and what it must let pass."""

import pytest

from qa_pipeline.verification.consistency.comparing import Comparison, compare
from qa_pipeline.verification.consistency.reading import read


def compared(claim: str, evidence: str, language: str = "en", headings: str = "") -> Comparison:
    return compare(read(claim, language), read(evidence, language), read(headings, language), [])


def conflicts(found: Comparison) -> dict[str, tuple[str, ...]]:
    kinds = {
        "numbers": found.numbers,
        "dates": found.dates,
        "names": found.names,
        "polarity": found.polarity,
        "quantifiers": found.quantifiers,
    }
    return {kind: words for kind, words in kinds.items() if words}


FALSIFIED = [
    ("en", "numbers", "The plan costs 40 euros a month.", "The plan costs 30 euros a month."),
    ("en", "numbers", "The limit is 3,100,000 requests.", "The limit is 3,200,000 requests."),
    ("en", "numbers", "The dose is 5 g.", "The dose is 5 mg."),
    ("en", "numbers", "Growth was 4.5 percent.", "Growth was 5.4 percent."),
    ("en", "numbers", "The case is held by six bolts.", "The case is held by four bolts."),
    ("en", "numbers", "Version 2.3.1 fixes the bug.", "Version 2.1.3 fixes the bug."),
    (
        "en",
        "numbers",
        "The coast road took 5 hours and the tunnel 3 hours.",
        "The coast road took 3 hours and the tunnel 5 hours.",
    ),
    ("en", "polarity", "Route A takes 5 hours, route B takes 3.", "Route A takes 3 hours, route B takes 5."),
    ("en", "numbers", "The shop opens at 10:30.", "The shop opens at 9:30."),
    ("en", "numbers", "It happened in the third quarter.", "It happened in the fourth quarter."),
    ("en", "dates", "It was released on 12 March 2021.", "It was released on 21 March 2021."),
    ("en", "dates", "It was released in May 2021.", "It was released in June 2021."),
    ("en", "dates", "The company was founded in 1987.", "The company was founded in 1978."),
    ("en", "names", "The library is in Uppsala.", "The library is in Lund."),
    ("en", "names", "Call `read_pairs` first.", "Call `parse_pairs` first."),
    ("en", "names", "The connector is of type USB.", "The connector is of type HDMI."),
    ("en", "polarity", "The valve must be opened.", "The valve must not be opened."),
    ("en", "polarity", "The service does not store passwords.", "The service stores passwords."),
    ("en", "polarity", "The option is disabled by default.", "The option is enabled by default."),
    ("en", "polarity", "Close the tap before the pump starts.", "Close the tap after the pump starts."),
    ("en", "polarity", "The format is unsupported.", "The format is supported."),
    ("en", "polarity", "Nordvik acquired Sundby.", "Sundby acquired Nordvik."),
    (
        "en",
        "polarity",
        "Use softened water because it does not corrode the pipe.",
        "Do not use softened water because it corrodes the pipe.",
    ),
    ("en", "quantifiers", "At least 5 people may enter.", "At most 5 people may enter."),
    ("en", "quantifiers", "All members have a key.", "Some members have a key."),
    ("en", "quantifiers", "Members must register.", "Members may register."),
    ("sv", "numbers", "Avgiften är 1 250 kronor.", "Avgiften är 1 520 kronor."),
    ("sv", "numbers", "Rummet rymmer tolv personer.", "Rummet rymmer tio personer."),
    ("sv", "numbers", "Halten är 3,5 mg.", "Halten är 5,3 mg."),
    ("sv", "dates", "Lagen trädde i kraft den 1 juli 2019.", "Lagen trädde i kraft den 1 juni 2019."),
    ("sv", "names", "Mötet hölls i Malmö.", "Mötet hölls i Umeå."),
    ("sv", "polarity", "Hundar är tillåtna i parken.", "Hundar är förbjudna i parken."),
    ("sv", "polarity", "Pumpen får inte startas.", "Pumpen får startas."),
    ("sv", "polarity", "Ventilen öppnas före spolningen.", "Ventilen öppnas efter spolningen."),
    ("sv", "quantifiers", "Minst 5 personer får delta.", "Högst 5 personer får delta."),
    ("de", "numbers", "Die Leihfrist beträgt 28 Tage.", "Die Leihfrist beträgt 14 Tage."),
    ("de", "numbers", "Der Preis liegt bei 1.250 Euro.", "Der Preis liegt bei 1.520 Euro."),
    ("de", "numbers", "Es gibt dreiundzwanzig Plätze.", "Es gibt zweiunddreißig Plätze."),
    ("de", "dates", "Das Haus wurde am 3. April 1998 eröffnet.", "Das Haus wurde am 4. März 1998 eröffnet."),
    ("de", "dates", "Die Frist endet am 03.04.2024.", "Die Frist endet am 03.05.2024."),
    ("de", "polarity", "Das Rauchen ist erlaubt.", "Das Rauchen ist verboten."),
    ("de", "polarity", "Das Gerät unterstützt die Funktion nicht.", "Das Gerät unterstützt die Funktion."),
    ("de", "polarity", "Die Kasse schließt vor der Vorstellung.", "Die Kasse schließt nach der Vorstellung."),
    ("de", "quantifiers", "Mindestens 10 Personen nehmen teil.", "Höchstens 10 Personen nehmen teil."),
]


@pytest.mark.parametrize(("language", "kind", "claim", "evidence"), FALSIFIED)
def test_a_falsified_claim_conflicts_in_its_kind(language: str, kind: str, claim: str, evidence: str) -> None:
    assert kind in conflicts(compared(claim, evidence, language))


@pytest.mark.parametrize(("language", "kind", "claim", "evidence"), FALSIFIED)
def test_the_same_words_never_conflict(language: str, kind: str, claim: str, evidence: str) -> None:
    assert compared(evidence, evidence, language) == Comparison()


TRUE = [
    ("en", "The town has about 3.1 million inhabitants.", "The town has 3,104,112 inhabitants."),
    ("en", "The town has 3.1 million inhabitants.", "The town has 3,100,000 inhabitants."),
    ("en", "Three bolts hold the case.", "The case is held by 3 bolts."),
    ("en", "Twenty-three people came.", "23 people came."),
    ("en", "The disk holds 1.5 GB.", "The disk holds 1,500 MB."),
    ("en", "The trip takes two hours.", "The trip takes 120 minutes."),
    ("en", "It was released in 2021.", "It was released on 12 March 2021."),
    ("en", "It was released on March 12, 2021.", "It was released on 2021-03-12."),
    ("en", "It sold in the 1990s.", "It sold in 1994."),
    ("en", "The shop opens at 5 pm.", "The shop opens at 17:00."),
    ("en", "More than 100 people came.", "140 people came."),
    ("en", "The WHO published the report.", "The World Health Organization published the report."),
    ("en", "The Swedish government decided it.", "The government of Sweden decided it."),
    ("en", "You must not open the valve.", "Do not open the valve."),
    ("en", "The valve was replaced by the plumber.", "The plumber replaced the valve."),
    ("en", "Python supports it.", "It is supported by Python."),
    ("en", "Red and blue are allowed.", "Blue and red are allowed."),
    ("de", "Bücher verleiht die Bibliothek.", "Die Bibliothek verleiht Bücher."),
    ("sv", "Det tar tjugofem minuter.", "Det tar 25 minuter."),
    ("sv", "Avgiften är 1250 kronor.", "Avgiften är 1 250 kr."),
    ("sv", "Lagen trädde i kraft 2019.", "Lagen trädde i kraft den 1 juli 2019."),
    ("sv", "Mängden är 3,5 kg.", "Mängden är 3500 g."),
    ("sv", "Rökning är inte tillåten.", "Rökning är förbjuden."),
    ("de", "Der Preis liegt bei 1250 Euro.", "Der Preis liegt bei 1.250,00 €."),
    ("de", "Die Frist endet am 3. April 2024.", "Die Frist endet am 03.04.2024."),
    ("de", "Der Ausweis gilt ein Jahr.", "Der Ausweis gilt 12 Monate."),
    ("de", "Die Bibliothek verleiht Bücher und Karten.", "Bücher und Karten werden verliehen."),
    ("de", "Rauchen ist nicht erlaubt.", "Das Rauchen ist verboten."),
]


@pytest.mark.parametrize(("language", "claim", "evidence"), TRUE)
def test_a_true_paraphrase_has_no_conflict(language: str, claim: str, evidence: str) -> None:
    assert conflicts(compared(claim, evidence, language)) == {}


def test_a_number_may_stand_in_the_heading() -> None:
    found = compared("Model 12 weighs 80 kg.", "The model weighs 80 kg.", headings="Model 12")

    assert conflicts(found) == {}


def test_a_number_that_stands_elsewhere_in_the_cited_text_stays_open() -> None:
    claim, evidence = read("The tank of the boat holds 90 litres.", "en"), read("The boat has a tank.", "en")

    found = compare(claim, evidence, read("", "en"), [read("It takes 90 litres to fill up.", "en")])

    assert conflicts(found) == {}
    assert found.open_points == ("90 litres is elsewhere in the cited passages",)


OPEN = [
    ("en", "a dropped condition", "Entry is free.", "Entry is free if you are a member."),
    ("en", "an added only", "Only members may enter.", "Members may enter."),
    ("en", "a replaced word", "The firm is thriving.", "The firm is struggling."),
    ("en", "a bare yes", "Yes, the pump is loud.", "The pump is loud."),
    ("en", "a dropped bound", "It weighs 5 kg.", "It weighs at least 5 kg."),
    (
        "en",
        "a count nobody wrote",
        "There are three colours: red, green and blue.",
        "There are red, green and blue.",
    ),
    ("sv", "a dropped condition", "Inträdet är gratis.", "Inträdet är gratis om du är medlem."),
    ("de", "a dropped condition", "Der Eintritt ist frei.", "Der Eintritt ist frei, wenn Sie Mitglied sind."),
]


@pytest.mark.parametrize(("language", "what", "claim", "evidence"), OPEN)
def test_what_only_a_reader_can_settle_stays_open(
    language: str, what: str, claim: str, evidence: str
) -> None:
    assert compared(claim, evidence, language).open_points


NEGATED_TWICE = [
    ("en", "not", "If a task is a plain function instead of a coroutine, it is run in a thread."),
    ("en", "not", "The directive can be used to prevent requests from consuming large amounts of memory."),
    ("en", "not", "If the first byte is not 0xA0, it is the length of a string."),
    ("sv", "inte", "Om ersättare inte väljs proportionellt, ska vid valet bestämmas den ordning som gäller."),
    ("de", "nicht", "Wenn PREFIX nicht angegeben ist, wird die Voreinstellung verwendet."),
]


@pytest.mark.parametrize(("language", "negation", "evidence"), NEGATED_TWICE)
def test_one_more_negation_anywhere_beside_others_is_never_taken_for_the_same(
    language: str, negation: str, evidence: str
) -> None:
    words = evidence.split(" ")
    for place in range(1, len(words)):
        claim = " ".join([*words[:place], negation, *words[place:]])
        found = compared(claim, evidence, language)
        assert conflicts(found) or found.open_points, claim


@pytest.mark.parametrize("claim", ["Fasten 6 bolts.", "Fasten six bolts."])
def test_the_number_of_a_list_item_supports_no_number_of_a_claim(claim: str) -> None:
    found = compared(claim, "- 5. Drain the tank.\n- 6. Fasten bolts.")
    assert found.numbers or found.open_points


def test_the_number_of_a_list_item_contradicts_nothing() -> None:
    claim, listed = "Fasten 4 bolts.", "- 6. Fasten 4 bolts."
    assert read(listed, "en").terms == read(claim, "en").terms
    assert not conflicts(compared(claim, listed))
