"""False claims made from the passages of a request: never stated there, and always the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.records import Passage
from qa_pipeline.verification.canaries.material import numerals
from qa_pipeline.verification.canaries.probes import NUMBER_ADDED, Probe, probe_of

SHORT = {
    ("en", "number"): ("The valve opens at 3 bar.", r"The valve opens at \d bar."),
    ("sv", "number"): ("Ventilen öppnar vid 3 bar.", r"Ventilen öppnar vid \d bar."),
    ("de", "number"): ("Das Ventil öffnet bei 3 bar.", r"Das Ventil öffnet bei \d bar."),
    ("en", "date"): ("The hall was built in 1994.", r"The hall was built in (?:19|20)\d\d."),
    ("sv", "date"): ("Hallen byggdes år 1994.", r"Hallen byggdes år (?:19|20)\d\d."),
    ("de", "date"): ("Die Halle entstand im Jahr 1994.", r"Die Halle entstand im Jahr (?:19|20)\d\d."),
    ("en", "negation"): ("Entry is free for members.", "Entry is not free for members."),
    ("sv", "negation"): ("Inträdet är inte fritt.", "Inträdet är fritt."),
    ("de", "negation"): ("Gäste dürfen nicht rauchen.", "Gäste dürfen rauchen."),
}
"""Passages of one short sentence, by language and by what is changed in them."""
PASSAGES = {
    "en": {
        "table": "Model: Kestrel | Voltage: 400 V | Fuse: 16 A\n\nModel: Merlin | Voltage: 230 V",
        "list": "The kit of the boiler consists of:\n\n- 2 seals\n- 36 screws\n- a key",
        "words": "Guests bring towels. Cats sleep.\n\nThe foreman reports faults to the engineer.",
        "code": "```\ndef total(rows):\n    return sum(rows)\n```",
        "heading": "# Boilers",
        "figures": "12 | 13 | 14",
    },
    "sv": {
        "table": "Modell: Tornfalk | Spänning: 400 V | Säkring: 16 A",
        "list": "I satsen till pannan ingår följande:\n\n- 2 packningar\n- 36 skruvar\n- en nyckel",
        "words": "Gästerna tar med handdukar. Katter sover.",
        "code": "```\nfor rad in rader:\n    skriv(rad)\n```",
        "heading": "# Pannor",
        "figures": "12 | 13 | 14",
    },
    "de": {
        "table": "Modell: Turmfalke | Spannung: 400 V | Sicherung: 16 A",
        "list": "Der Satz für den Kessel besteht aus:\n\n- 2 Dichtungen\n- 36 Schrauben\n- ein Schlüssel",
        "words": "Der Gast bringt ein Handtuch. Katzen schlafen.",
        "code": "```\nzeile = lies(datei)\n```",
        "heading": "# Kessel",
        "figures": "12 | 13 | 14",
    },
}
EVERY = [(language, shape) for language, shapes in PASSAGES.items() for shape in shapes]
CLAIM = {
    "en": "The boiler has a key.",
    "sv": "Pannan har en nyckel.",
    "de": "Der Kessel hat einen Schlüssel.",
}


def passages(*texts: str, language: str = "en") -> list[Passage]:
    return [Passage(f"c{place}", "Guide", (), text, language) for place, text in enumerate(texts)]


def probes(text: str, language: str, count: int = 20) -> list[Probe]:
    """Probes of requests about one passage, each with another claim."""
    claims = [f"{CLAIM[language]} {number * 1000}" for number in range(count)]
    return [probe_of(passages(text, language=language), [claim], language) for claim in claims]


@pytest.mark.parametrize(("language", "kind"), SHORT)
def test_one_slot_of_a_statement_is_changed(language: str, kind: str) -> None:
    text, expected = SHORT[language, kind]
    for probe in probes(text, language):
        assert probe.kind == kind
        assert probe.text != text
        assert re.fullmatch(expected, probe.text)


@pytest.mark.parametrize(("language", "shape"), EVERY)
def test_every_passage_gives_a_probe_with_a_value_that_it_does_not_hold(language: str, shape: str) -> None:
    text = PASSAGES[language][shape]
    for probe in probes(text, language):
        assert numerals(probe.text) - numerals(text)
        assert probe.kind == ("number" if shape in {"table", "list"} else NUMBER_ADDED)


def test_a_changed_value_stands_in_no_other_passage_either_in_figures_or_words() -> None:
    others = [
        "Four men and five women ride.",
        "Of 1 car, 2 vans and 6 buses none stops.",
        "It has seven doors and 8 keys.",
    ]
    for number in range(30):
        probe = probe_of(passages("The valve opens at 3 bar.", *others), [f"{CLAIM['en']} {number}"], "en")
        if probe.text.startswith("The valve"):
            assert probe.text == "The valve opens at 9 bar."


def test_a_changed_value_stands_in_no_title_or_heading() -> None:
    shown = [
        Passage("c", "Guide 1 to 5", ("Part 6", "Parts 2, 4, 7 and 8"), "The valve opens at 3 bar.", "en")
    ]
    drawn = {probe_of(shown, [f"Claim {n}."], "en").text for n in range(40)}
    assert {text for text in drawn if text.startswith("The valve opens")} == {"The valve opens at 9 bar."}


def test_an_amount_of_another_passage_is_put_nowhere() -> None:
    texts = ("The pump of the new house weighs 80 kg.", "A bag of salt for it weighs 80 g in the shop.")
    drawn = {probe_of(passages(*texts), [f"Claim {n}."], "en").text for n in range(60)}
    assert not [text for text in drawn if "pump" in text and "80 g " in text]


def test_a_unit_is_replaced_by_another_of_its_dimension() -> None:
    texts = ("The pump of the new house weighs 80 kg.", "A bag of salt for it weighs 500 g in the shop.")
    drawn = [probe_of(passages(*texts), [f"Claim {n}."], "en") for n in range(60)]
    assert {probe.text for probe in drawn if probe.kind == "unit"} == {
        "The pump of the new house weighs 80 g.",
        "A bag of salt for it weighs 500 kg in the shop.",
    }


def test_the_probe_depends_on_passages_and_claims_only() -> None:
    shown = passages(*PASSAGES["en"].values())
    assert probe_of(shown, ["A claim."], "en") == probe_of(list(shown), ["A claim."], "en")
    assert len({probe_of(shown, [f"Claim {n}."], "en").text for n in range(40)}) > 5


def test_no_claim_of_the_request_is_put_again_as_the_probe() -> None:
    shown = passages("The valve opens at 3 bar.")
    claims: list[str] = []
    for _ in range(8):
        probe = probe_of(shown, claims or ["How far? — The valve opens at 3 bar"], "en")
        assert probe.text not in claims
        claims.append(probe.text)
    assert probe_of(shown, [f"The valve opens at {n} bar" for n in range(10)], "en").kind == NUMBER_ADDED


def test_passages_in_the_language_of_the_claims_come_first() -> None:
    swedish = passages("Ventilen öppnar vid 3 bar.", language="sv")
    shown = [*swedish, *passages("The tank holds 5 litres.")]
    assert {probe_of(shown, [f"Claim {n}."], "en").text[:8] for n in range(20)} == {"The tank"}
    assert {probe_of(swedish, [f"Claim {n}."], "en").kind for n in range(20)} == {"number"}


@given(
    st.lists(st.text(max_size=200), min_size=1, max_size=3),
    st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=3),
    st.sampled_from(["en", "sv", "de", "fr"]),
)
def test_no_passage_states_the_probe_and_no_claim_repeats_it(
    texts: list[str], claims: list[str], language: str
) -> None:
    probe = probe_of(passages(*texts, language=language), claims, language)
    assert probe.text.strip()
    assert probe.text not in claims
    assert " ".join(probe.text.split()) not in " ".join(" ".join(texts).split())
