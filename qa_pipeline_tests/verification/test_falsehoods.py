"""One thing of a sentence is changed to what its passage does not hold; a probe is never stated."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import LANGUAGES
from qa_pipeline.verification.falsehoods import contains, falsehoods, probe_of
from qa_pipeline_tests.verification.canary_texts import ROWS, TEXTS

ONE_EDIT = [
    ("en", "number", "The boiler holds 36 litres.", r"The boiler holds 3[0-57-9] litres."),
    ("en", "number", "The valve opens at 3 bar.", r"The valve opens at [1-9]3 bar."),
    ("sv", "number", "Andelen lim är 0,5 procent.", r"Andelen lim är 0,[0-46-9] procent."),
    ("en", "date", "The hall was built in 1994.", r"The hall was built in 199[0-35-9]."),
    ("de", "date", "Die Halle entstand am 2015-03-04.", r"Die Halle entstand am 201[0-46-9]-03-04."),
    ("en", "name", "The text is read as UTF-8 here.", r"The text is read as UTF-[0-79] here."),
    ("en", "negation", "Entry is free for members.", "Entry is not free for members."),
    ("sv", "negation", "Inträdet är inte fritt.", "Inträdet är fritt."),
    ("de", "negation", "Gäste dürfen nicht rauchen.", "Gäste dürfen rauchen."),
]


@pytest.mark.parametrize(("language", "kind", "sentence", "expected"), ONE_EDIT)
def test_one_thing_is_changed(language: str, kind: str, sentence: str, expected: str) -> None:
    drawn = {
        made.text
        for seed in range(9)
        for made in falsehoods(sentence, sentence, language, seed)
        if made.kind == kind
    }
    assert drawn
    for text in drawn:
        assert text != sentence
        assert re.fullmatch(expected, text)


@pytest.mark.parametrize(
    "sentence",
    [
        "At least 5 litres must remain in the tank.",
        "The tank is filled within 12 minutes.",
        "Guests pay about 20 euros.",
        "It costs 5 000 kr.",
        "It has 3.14159 parts.",
        "Call 10-20-30 now.",
        "The hall was closed before 1994.",
    ],
)
def test_a_bound_a_guess_or_part_of_a_longer_number_is_left_as_it_is(sentence: str) -> None:
    assert {made.kind for made in falsehoods(sentence, sentence, "en")} <= {"negation"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_changed_value_is_nowhere_in_the_passage(language: str) -> None:
    passage = " ".join(" ".join(TEXTS[language]).split())
    kinds = set()
    for sentence in re.findall(r"[^.]+\.(?=\s|$)", passage):
        for made in falsehoods(sentence.strip(), passage, language):
            kinds.add(made.kind)
            assert not contains(passage, made.text)
            if made.kind != "negation":
                (new,) = set(re.findall(r"[\w-]+", made.text)) - set(re.findall(r"[\w-]+", sentence))
                assert not re.search(rf"(?<!\w){new}(?!\w)", passage)
    assert kinds >= {"number", "date", "negation"}


def test_a_value_that_the_passage_groups_otherwise_counts_as_held() -> None:
    assert contains("It costs 12 500 kr or 8,533 kr.", "12500")
    assert contains("It costs 12 500 kr or 8,533 kr.", "8533")
    assert not contains("It costs 12 500 kr.", "2500")
    all_but_one = " ".join(f"{digit}3" for digit in (1, 2, 3, 4, 5, 6, 7, 9))
    (made,) = falsehoods("The valve opens at 3 bar.", all_but_one, "en")
    assert made.text == "The valve opens at 83 bar."


CLAIM = {"en": "It has a key.", "sv": "Den har en nyckel.", "de": "Er hat einen Schlüssel."}
SHAPES = {
    "sentence": "The valve opens at 3 bar.",
    "table": ROWS["en"],
    "list": "The kit consists of:\n\n- 2 seals\n- 36 screws\n- a key",
    "words": "Guests bring towels. Cats sleep.",
    "code": "```\ndef total(rows):\n    return sum(rows)\n```",
    "heading": "# Boilers",
}


def passages(*texts: str, language: str = "en") -> list[Passage]:
    return [Passage(f"c{place}", "Guide", (), text, language) for place, text in enumerate(texts)]


@pytest.mark.parametrize(("shape", "text"), SHAPES.items())
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_passage_gives_a_probe_with_a_number_that_it_does_not_hold(
    language: str, shape: str, text: str
) -> None:
    for number in range(20):
        probe = probe_of(passages(text, language=language), [f"{CLAIM[language]} {number * 1000}"], language)
        assert {*re.findall(r"\d+", probe)} - {*re.findall(r"\d+", text)}


def test_passages_in_the_language_of_the_claims_come_first() -> None:
    shown = [*passages("Ventilen öppnar vid 3 bar.", language="sv"), *passages("The tank holds 5 litres.")]
    assert {probe_of(shown, [f"Claim {n}."], "en")[:8] for n in range(20)} == {"The tank"}


@given(
    st.lists(st.text(max_size=200), min_size=1, max_size=3),
    st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=3),
    st.sampled_from(["en", "sv", "de", "fr"]),
)
@example(["¹0"], ["0"], "en")
def test_no_passage_states_the_probe_and_no_claim_repeats_it(
    texts: list[str], claims: list[str], language: str
) -> None:
    probe = probe_of(passages(*texts, language=language), claims, language)
    assert probe.strip()
    assert probe not in claims
    assert " ".join(probe.split()) not in " ".join(" ".join(texts).split())
