"""Proof by quotation: what is proved, what is denied, and what is left open."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.text.reading import read
from qa_pipeline.verification.proof import Proof, prove
from qa_pipeline.verification.quotation import Context
from qa_pipeline.verification.sources import SourceIndex, sources_of
from qa_pipeline_tests.verification.rows import chunks, documents

WORDS = {
    "en": ["pump", "valve", "boiler", "tank", "opens", "drives", "holds", "red", "cold", "water", "tap"],
    "sv": ["pumpen", "ventilen", "pannan", "tanken", "öppnar", "driver", "rymmer", "röd", "kall", "vatten"],
    "de": ["Pumpe", "Ventil", "Kessel", "Tank", "öffnet", "treibt", "fasst", "rot", "kalt", "Wasser"],
}
LANGUAGE = st.sampled_from(sorted(WORDS))


def index_of(text: str, language: str = "en") -> SourceIndex:
    frame = documents({"a.md": text}, language)
    return SourceIndex(sources_of(frame, chunks(frame)))


def proved(
    claim: str,
    text: str,
    question: str = "",
    answer: str = "",
    *,
    language: str = "en",
    fragment: bool = False,
) -> Proof:
    """Return the proof of a claim from a document."""
    index = index_of(text, language)
    context = Context(read(question, language), read(answer or claim, language))
    return prove(claim, fragment, context, index, list(index.sources))


@st.composite
def sentences(draw: st.DrawFn, language: str) -> str:
    words = draw(st.lists(st.sampled_from(WORDS[language]), min_size=3, max_size=7))
    number = draw(st.integers(13, 999))
    return f"Anna {' '.join(words)} {number} kg."


@given(st.data(), LANGUAGE)
def test_a_sentence_of_the_source_is_proved(data: st.DataObject, language: str) -> None:
    sentence, other = data.draw(sentences(language)), data.draw(sentences(language))
    assert proved(sentence, f"# Karl\n\n{other}\n\n{sentence}", language=language).is_proved


@given(st.data(), LANGUAGE)
def test_a_sentence_with_one_word_changed_is_never_proved(data: st.DataObject, language: str) -> None:
    sentence = data.draw(sentences(language))
    tokens = sentence.rstrip(".").split()
    place = data.draw(st.integers(0, len(tokens) - 1))
    new = data.draw(
        st.sampled_from([*WORDS[language], "7", "x_y", "Berg", ""]).filter(lambda w: w != tokens[place])
    )
    changed = " ".join([*tokens[:place], *([new] if new else []), *tokens[place + 1 :]]) + "."
    assert not proved(changed, sentence, language=language).is_proved


@given(st.data(), LANGUAGE)
def test_another_number_in_the_same_place_is_denied(data: st.DataObject, language: str) -> None:
    sentence = data.draw(sentences(language))
    number = sentence.split()[-2]
    other = str(int(number) + data.draw(st.integers(1, 900)))
    proof = proved(sentence.replace(number, other), sentence, language=language)
    assert proof.denial is not None
    assert (proof.denial.reason, proof.denial.stated) == ("number_mismatch", number)


@pytest.mark.parametrize(
    ("claim", "text", "reason"),
    [
        ("Anna lifts 5 g of salt daily.", "Anna lifts 5 kg of salt daily.", "unit_mismatch"),
        ("Anna must not open the valve.", "Anna must open the valve.", "negation_mismatch"),
        ("Anna must open the valve.", "Anna must not open the valve.", "negation_mismatch"),
        ("Anna starts in June each year.", "Anna starts in May each year.", "date_mismatch"),
        ("Anna reads max_size at start.", "Anna reads min_size at start.", "name_mismatch"),
        ("Anna reads PATH at the start.", "Anna reads HOME at the start.", "name_mismatch"),
    ],
)
def test_one_slot_that_differs_denies_the_claim(claim: str, text: str, reason: str) -> None:
    denial = proved(claim, text).denial
    assert denial is not None
    assert denial.reason == reason


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Anna lifts 5 kg and 6 kg.", "Anna lifts 7 kg and 8 kg."),
        ("Anna lifts a red box of 5 kg.", "Anna lifts a blue box of 6 kg."),
        ("Anna lifts 5 kg.", "Anna lifts 6 kg. Karl lifts 5 kg."),
        ("Anna lifts twelve boxes.", "Anna lifts 12 boxes."),
        ("Anna uses release 3.1 now.", "Anna uses release 3.10 now."),
        ("Anna sees Karl.", "Karl sees Anna."),
    ],
)
def test_more_than_one_difference_or_a_value_stated_elsewhere_denies_nothing(claim: str, text: str) -> None:
    proof = proved(claim, text)
    assert proof.denial is None
    assert not proof.is_proved


@pytest.mark.parametrize(
    ("question", "claim", "text", "is_proved"),
    [
        ("Does the pump need oil?", "Yes, the pump needs oil.", "The pump needs oil.", True),
        ("Does the pump need oil?", "No, the pump does not need oil.", "The pump does not need oil.", True),
        ("Does the pump need oil?", "Yes, the pump does not need oil.", "The pump does not need oil.", False),
        ("Does the pump need oil?", "No, the pump needs oil.", "The pump needs oil.", False),
        ("Does the pump need oil?", "Yes.", "The pump needs oil.", False),
        ("What does the pump need?", "Yes, the pump needs oil.", "The pump needs oil.", False),
    ],
)
def test_yes_and_no_must_agree_with_the_sentence_behind_them(
    question: str, claim: str, text: str, is_proved: bool
) -> None:
    assert proved(claim, text, question).is_proved is is_proved


@pytest.mark.parametrize(
    ("question", "text", "is_proved"),
    [
        ("When does the gate close?", "The gate closes at ten.", True),
        ("When does the kiosk close?", "The gate closes at ten.", False),
        ("When does the gate close?", "# Gates\n\nThe gate closes at ten.", True),
        ("When does the harbour gate close?", "# Harbour\n\nThe gate closes at ten.", True),
        ("What happens in the harbour?", "# Harbour\n\nThe gate closes at ten.", False),
        ("When does the gate not close?", "The gate closes at ten.", False),
        ("Who saw the gate at ten?", "The gate at ten saw.", False),
        ("Which gate is by the tower?", "The tower is by the gate.", False),
        ("What is it?", "The gate closes at ten.", False),
    ],
)
def test_the_unit_must_speak_of_what_is_asked(question: str, text: str, is_proved: bool) -> None:
    claim = text.rpartition("\n")[2]
    assert proved(claim, text, question).is_proved is is_proved


def test_a_pronoun_is_clear_where_its_sentence_is_in_the_answer() -> None:
    text = "The filter is new. It needs oil."
    assert proved("It needs oil.", text, answer=text).is_proved


@pytest.mark.parametrize(
    ("language", "claim", "text"),
    [
        ("en", "It needs oil.", "The filter is new. It needs oil."),
        ("en", "It needs oil.", "The manual says:\n\nIt needs oil."),
        ("en", "It needs oil.", "# Pump\n\nIt needs oil."),
        ("en", "The pump needs oil.", "The seller claims the following. The pump needs oil."),
        ("en", "The pump needs oil.", "Suppose it is winter. The pump needs oil."),
        ("en", "The pump needs oil.", "The pump needs oil. However, the new one runs dry."),
        ("en", "The pump needs oil.", "The pump needs oil. This is no longer true."),
        ("en", "The pump needs oil.", "# Myths\n\nThe pump needs oil."),
        ("en", "The pump needs oil.", "These are mistakes:\n\n- The pump needs oil.\n- The tank is red."),
        ("sv", "Pumpen behöver olja.", "Säljaren påstår en sak. Pumpen behöver olja."),
        ("sv", "Pumpen behöver olja.", "Pumpen behöver olja. Detta gäller inte längre."),
        ("sv", "Pumpen behöver olja.", "# Upphävda regler\n\nPumpen behöver olja."),
        ("de", "Die Pumpe braucht Öl.", "Der Verkäufer behauptet etwas. Die Pumpe braucht Öl."),
        ("de", "Die Pumpe braucht Öl.", "Die Pumpe braucht Öl. Das stimmt nicht mehr."),
        ("de", "Die Pumpe braucht Öl.", "# Veraltet\n\nDie Pumpe braucht Öl."),
    ],
)
def test_what_stands_around_a_sentence_leaves_it_open(language: str, claim: str, text: str) -> None:
    proof = proved(claim, text, language=language)
    assert proof.doubts
    assert proof.denial is None


def test_a_lead_in_that_the_question_says_is_no_doubt() -> None:
    text = "The pump needs these things:\n\n- Fresh oil\n- Cold water"
    assert proved("Fresh oil", text, "What things does the pump need?").is_proved


def test_a_declared_status_that_voids_a_document_leaves_it_open() -> None:
    frame = documents({"a.md": "The pump needs oil."})
    declared = pl.Series([{"status": "Withdrawn"}], dtype=frame.schema["declared"])
    frame = frame.with_columns(declared=declared)
    index = SourceIndex(sources_of(frame, chunks(frame)))
    claim = "The pump needs oil."
    assert prove(claim, False, Context(read("", "en"), read(claim, "en")), index, list(index.sources)).doubts


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\x00", "\x1b", "\u200b"])
def test_signs_that_hide_text_or_turn_it_round_prove_nothing(sign: str) -> None:
    assert not proved(f"The pump {sign}needs oil.", "The pump needs oil.").is_proved
