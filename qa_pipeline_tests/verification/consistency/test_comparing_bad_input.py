"""Numbers, names and words as people write them in three languages: what agrees, differs or stays open.

Each row: language, evidence, claim, and what the checks make of it.
"""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.characters import skeleton
from qa_pipeline.verification.consistency.comparing import Comparison, compare
from qa_pipeline.verification.consistency.numbers import find_numbers
from qa_pipeline.verification.consistency.reading import read

Finding = Literal["agrees", "conflicts", "open"]
Row = tuple[str, str, str, Finding]


def compared(language: str, claim: str, evidence: str) -> Comparison:
    return compare(read(claim, language), read(evidence, language), read("", language), [])


def finding(language: str, evidence: str, claim: str) -> Finding:
    found = compared(language, claim, evidence)
    if found.numbers or found.dates or found.names or found.polarity or found.quantifiers:
        return "conflicts"
    return "open" if found.open_points else "agrees"


LOOK_ALIKES: list[Row] = [
    ("en", "The plant in Paris opened late.", "The plant in P\u0430ris opened late.", "open"),
    ("sv", "Anläggningen i Paris öppnade sent.", "Anläggningen i P\u0430ris öppnade sent.", "open"),
    ("de", "Das Werk von ABB wurde eröffnet.", "Das Werk von \u0410\u0412\u0412 wurde eröffnet.", "open"),
    ("en", "The plant in P\u0430ris opened late.", "The plant in Paris opened late.", "open"),
    ("en", "The plant in Paris opened late.", "The plant in L\u0443on opened late.", "conflicts"),
    ("en", "The limit is 25 litres.", "The limit is \uff12\uff15 litres.", "agrees"),
    ("sv", "Gränsen är 25 liter.", "Gränsen är \uff12\uff16 liter.", "conflicts"),
    ("de", "Die Grenze liegt bei 25 Litern.", "Die Grenze liegt bei \uff12\uff16 Litern.", "conflicts"),
]
RIGHT_TO_LEFT: list[Row] = [
    ("en", "The form طلب ترخيص costs 25 euros.", "The form طلب ترخيص costs 30 euros.", "conflicts"),
    ("sv", "Blanketten طلب ترخيص kostar 25 kronor.", "Blanketten طلب ترخيص kostar 25 kronor.", "agrees"),
    (
        "de",
        "Das Formular \u202bطلب ترخيص\u202c kostet 25 Euro.",
        "Das Formular طلب ترخيص kostet 25 Euro.",
        "agrees",
    ),
    ("en", "It takes ٢٥ days.", "It takes 25 days.", "agrees"),
    ("en", "It takes ٢٥ days.", "It takes ٢٦ days.", "conflicts"),
]
WORDS: list[Row] = [
    ("en", "It takes 21 days.", "It takes twenty-one days.", "agrees"),
    ("en", "It takes 21 days.", "It takes twenty-two days.", "conflicts"),
    ("en", "The fee is 350 euros.", "The fee is three hundred and fifty euros.", "agrees"),
    ("en", "The fee is 350 euros.", "The fee is three hundred and sixty euros.", "conflicts"),
    ("en", "The fee is 3500 euros.", "The fee is three thousand five hundred euros.", "agrees"),
    ("sv", "Det tar 21 dagar.", "Det tar tjugoen dagar.", "agrees"),
    ("sv", "Det tar 21 dagar.", "Det tar tjugotvå dagar.", "conflicts"),
    ("sv", "Avgiften är 350 kronor.", "Avgiften är trehundrafemtio kronor.", "agrees"),
    ("sv", "Avgiften är 350 kronor.", "Avgiften är trehundrasextio kronor.", "conflicts"),
    ("sv", "Avgiften är 1 500 kronor.", "Avgiften är ettusenfemhundra kronor.", "agrees"),
    ("de", "Es dauert 21 Tage.", "Es dauert einundzwanzig Tage.", "agrees"),
    ("de", "Es dauert 21 Tage.", "Es dauert zweiundzwanzig Tage.", "conflicts"),
    ("de", "Die Gebühr beträgt 350 Euro.", "Die Gebühr beträgt dreihundertfünfzig Euro.", "agrees"),
    ("de", "Die Gebühr beträgt 350 Euro.", "Die Gebühr beträgt dreihundertsechzig Euro.", "conflicts"),
    ("de", "Die Gebühr beträgt 1500 Euro.", "Die Gebühr beträgt tausendfünfhundert Euro.", "agrees"),
]
MARKS: list[Row] = [
    ("en", "The volume is 1,234.5 litres.", "The volume is 1234.5 litres.", "agrees"),
    ("sv", "Volymen är 1.234,5 liter.", "Volymen är 1 234,5 liter.", "agrees"),
    ("de", "Das Volumen beträgt 1.234,5 Liter.", "Das Volumen beträgt 1234,5 Liter.", "agrees"),
    ("en", "The volume is 1,234.5 litres.", "The volume is 1,243.5 litres.", "conflicts"),
    ("sv", "Volymen är 1.234,5 liter.", "Volymen är 1.243,5 liter.", "conflicts"),
    ("de", "Das Volumen beträgt 1.234,5 Liter.", "Das Volumen beträgt 1.243,5 Liter.", "conflicts"),
]
RANGES: list[Row] = [
    ("en", "It takes 10–20 days.", "It takes between 10 and 20 days.", "agrees"),
    ("en", "It takes 10–20 days.", "It takes between 10 and 25 days.", "conflicts"),
    ("en", "It takes 10–20 days.", "It takes 15 days.", "open"),
    ("en", "It takes between 10 and 20 days.", "It takes 30 days.", "conflicts"),
    ("sv", "Det tar 10–20 dagar.", "Det tar mellan 10 och 20 dagar.", "agrees"),
    ("sv", "Det tar 10–20 dagar.", "Det tar mellan 10 och 25 dagar.", "conflicts"),
    ("sv", "Det tar 10–20 dagar.", "Det tar 15 dagar.", "open"),
    ("de", "Es dauert 10–20 Tage.", "Es dauert zwischen 10 und 20 Tagen.", "agrees"),
    ("de", "Es dauert 10–20 Tage.", "Es dauert zwischen 10 und 25 Tagen.", "conflicts"),
    ("de", "Es dauert 10 bis 20 Tage.", "Es dauert 15 Tage.", "open"),
]
PARTS: list[Row] = [
    ("en", "The share is 25 %.", "The share is a quarter.", "agrees"),
    ("en", "The share is 25 %.", "The share is 0.25.", "agrees"),
    ("en", "The share is 25 %.", "The share is a third.", "open"),
    ("en", "Half of the members voted.", "50 % of the members voted.", "agrees"),
    ("en", "Half of the members voted.", "60 % of the members voted.", "conflicts"),
    ("sv", "Andelen är 25 %.", "Andelen är en fjärdedel.", "agrees"),
    ("sv", "Andelen är 25 %.", "Andelen är 0,25.", "agrees"),
    ("sv", "Andelen är 75 procent.", "Andelen är tre fjärdedelar.", "agrees"),
    ("sv", "Hälften av ledamöterna röstade.", "60 procent av ledamöterna röstade.", "conflicts"),
    ("de", "Der Anteil beträgt 25 %.", "Der Anteil beträgt ein Viertel.", "agrees"),
    ("de", "Der Anteil beträgt 25 %.", "Der Anteil beträgt 0,25.", "agrees"),
    ("de", "Der Anteil beträgt 75 Prozent.", "Der Anteil beträgt drei Viertel.", "agrees"),
    ("de", "Der Anteil beträgt 25 %.", "Der Anteil beträgt 0,35.", "conflicts"),
]
TEMPERATURES: list[Row] = [
    ("en", "The water has 55 °C here.", "The water has 131 °F here.", "agrees"),
    ("en", "The water has 55 °C here.", "The water has 55 °F here.", "conflicts"),
    ("en", "The water has 55 degrees Celsius here.", "The water has 55 °C here.", "agrees"),
    ("sv", "Vattnet har 55 °C här.", "Vattnet har 131 °F här.", "agrees"),
    ("sv", "Vattnet har 55 grader Celsius här.", "Vattnet har 65 °C här.", "conflicts"),
    ("sv", "Vattnet har 55 °C här.", "Vattnet har 55 °F här.", "conflicts"),
    ("de", "Das Wasser hat 55 °C im Rohr.", "Das Wasser hat 131 °F im Rohr.", "agrees"),
    ("de", "Das Wasser hat 55 Grad Celsius im Rohr.", "Das Wasser hat 55 °C im Rohr.", "agrees"),
    ("de", "Das Wasser hat 55 °C im Rohr.", "Das Wasser hat 55 °F im Rohr.", "conflicts"),
]
ABOUT: list[Row] = [
    ("en", "It takes 98 days.", "It takes about 100 days.", "agrees"),
    ("en", "It takes 98 days.", "It takes about 120 days.", "conflicts"),
    ("en", "It takes about 100 days.", "It takes 100 days.", "open"),
    ("sv", "Det tar 98 dagar.", "Det tar cirka 100 dagar.", "agrees"),
    ("sv", "Det tar 98 dagar.", "Det tar ungefär 120 dagar.", "conflicts"),
    ("sv", "Det tar cirka 100 dagar.", "Det tar 100 dagar.", "open"),
    ("de", "Es dauert 98 Tage.", "Es dauert ungefähr 100 Tage.", "agrees"),
    ("de", "Es dauert 98 Tage.", "Es dauert etwa 120 Tage.", "conflicts"),
    ("de", "Es dauert ungefähr 100 Tage.", "Es dauert 100 Tage.", "open"),
]
BOUNDS: list[Row] = [
    ("en", "It takes at least 10 days.", "It takes 10 days or more.", "agrees"),
    ("en", "It takes at least 10 days.", "It takes at most 10 days.", "conflicts"),
    ("en", "It takes at least 10 days.", "It takes 10 days.", "open"),
    ("en", "It takes at least 10 days.", "It takes at least 8 days.", "open"),
    ("en", "It takes at least 10 days.", "It takes at least 12 days.", "conflicts"),
    ("sv", "Det tar minst 10 dagar.", "Det tar 10 dagar eller mer.", "agrees"),
    ("sv", "Det tar minst 10 dagar.", "Det tar högst 10 dagar.", "conflicts"),
    ("sv", "Det tar minst 10 dagar.", "Det tar minst 12 dagar.", "conflicts"),
    ("de", "Es dauert mindestens 10 Tage.", "Es dauert 10 Tage oder mehr.", "agrees"),
    ("de", "Es dauert mindestens 10 Tage.", "Es dauert höchstens 10 Tage.", "conflicts"),
    ("de", "Es dauert mindestens 10 Tage.", "Es dauert mindestens 12 Tage.", "conflicts"),
]
UNITS: list[Row] = [
    ("en", "Both phases last two weeks.", "Both phases last two days.", "conflicts"),
    ("en", "There is a 10 second delay in it.", "There is a 10 minute delay in it.", "conflicts"),
    ("en", "There is a 10 second delay in it.", "There is a 10000 millisecond delay in it.", "agrees"),
    (
        "sv",
        "Det gäller högst tre år enligt 3 § i lagen.",
        "Det gäller högst tre månader enligt 3 § i lagen.",
        "conflicts",
    ),
    ("de", "Beide Läufe dauern zwei Wochen lang.", "Beide Läufe dauern zwei Tage lang.", "conflicts"),
]
EVERY = LOOK_ALIKES + RIGHT_TO_LEFT + WORDS + MARKS + RANGES + PARTS + TEMPERATURES + ABOUT + BOUNDS + UNITS


@pytest.mark.parametrize(("language", "evidence", "claim", "expected"), EVERY)
def test_what_people_write_is_read_for_what_it_is(
    language: str, evidence: str, claim: str, expected: Finding
) -> None:
    assert finding(language, evidence, claim) == expected


ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TENS = ["ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from([" ", " and "]))
def test_hundreds_and_tens_in_words_are_their_sum(hundreds: int, tens: int, link: str) -> None:
    text = f"It holds {ONES[hundreds - 1]} hundred{link}{TENS[tens - 1]} litres."
    assert [number.value for number in find_numbers(text, "en")] == [100 * hundreds + 10 * tens]


@given(st.integers(-80, 200))
def test_a_temperature_is_the_same_on_both_scales(celsius: int) -> None:
    evidence = f"The water in this pipe has {celsius} °C at noon."
    claim = f"The water in this pipe has {celsius * 9 / 5 + 32:.1f} °F at noon."
    assert finding("en", evidence, claim) == "agrees"


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_plain_letters_look_like_themselves(text: str) -> None:
    assert skeleton(text) == text
