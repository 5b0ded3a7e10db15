import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.verification.citations import locate_quote

TEXT = (
    "The safety valve opens at 3 bar. Do not use softened water,\nbecause it corrodes the heat ex-\n"
    "changer. It’s “closed” by default – always."
)


@given(st.data())
def test_a_slice_of_the_text_is_found_as_itself(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(TEXT) - 1))
    end = data.draw(st.integers(start + 1, len(TEXT)))
    quote = TEXT[start:end].strip()

    found = locate_quote(quote, TEXT, 0.9)

    assert (
        (found is None)
        if not quote
        else (found and TEXT[found.start : found.end] == quote and found.kind != "edited")
    )


@pytest.mark.parametrize(
    ("quote", "span"),
    [
        ("the  SAFETY valve opens", "The safety valve opens"),
        ("softened water, because it corrodes", "softened water,\nbecause it corrodes"),
        ("corrodes the heat exchanger", "corrodes the heat ex-\nchanger"),
        ('It\'s "closed" by default - always', "It’s “closed” by default – always"),
        ("**The** safety `valve`", "The safety valve"),
        ("The safety valve … 3 bar", "The safety valve opens at 3 bar"),
        ("Do not use [...] because it corrodes", "Do not use softened water,\nbecause it corrodes"),
    ],
)
def test_the_same_words_written_otherwise_are_found_without_repair(quote: str, span: str) -> None:
    found = locate_quote(quote, TEXT, 0.9)

    assert found
    assert (TEXT[found.start : found.end], found.kind == "edited") == (span, False)


def test_a_small_slip_is_repaired_and_recorded() -> None:
    found = locate_quote(
        "Do not ever use softened water because it corrodes the heat ex changer.", TEXT, 0.85
    )

    assert found
    assert found.kind == "edited"
    assert TEXT[found.start : found.end].startswith("Do not use softened water")


LONG = "The owner of the building must not drain the heating system during the cold winter months."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        (LONG.replace("heating", "heatin"), True),
        (LONG.replace("of the building ", "of building "), True),
        (LONG.replace("must not drain", "must drain"), False),
        (LONG.replace("must not", "may not"), False),
        (LONG.replace("owner", "tenant"), False),
        (LONG.replace("winter", "summer"), False),
        (LONG.replace("months", "months of each year"), False),
    ],
)
def test_only_edits_that_change_nothing_said_are_repaired(quote: str, found: bool) -> None:
    located = locate_quote(quote, f"Before. {LONG} After.", 0.85)

    assert (located is not None) == found
    assert located is None or located.kind == "edited"


@pytest.mark.parametrize("apostrophe", ["'", "’"])
@pytest.mark.parametrize("contracted", ["isn't", "don't", "couldn't"])
def test_a_contracted_negation_is_neither_dropped_nor_added_by_a_repair(
    contracted: str, apostrophe: str
) -> None:
    said = "Somebody {} revisiting the design of the binary sequence here, just changing the spelling."
    plain, denied = said.replace("{} ", ""), said.format(contracted.replace("'", apostrophe))
    assert locate_quote(plain, denied, 0.85) is None
    assert locate_quote(denied, plain, 0.85) is None
    assert locate_quote(denied.replace("changing", "changng"), denied, 0.85)


@pytest.mark.parametrize("start", ["If you don't declare", "If you do not want", "Whoever should never use"])
def test_a_negation_after_the_first_words_is_not_cut_off(start: str) -> None:
    rest = (
        " a model of its own, the encoder that another part explains in detail will put it into a response."
    )
    plain = " ".join(word for word in start.split() if word not in ("don't", "not", "never"))
    text = f"Before. {start}{rest} {plain} more, read on."
    assert locate_quote(f"{plain}{rest}", text) is None
    assert locate_quote(f"{start}{rest}".replace("encoder", "encodr"), text)


def test_words_that_changed_places_are_not_repaired() -> None:
    text = "The owner pays the tenant a deposit for the keys and the meter on the first day of each year."
    moved = text.replace("keys and the meter", "meter and the keys")
    assert locate_quote(moved, text, 0.85) is None
    assert locate_quote(text.replace("the tenant a deposit", "a deposit the tenant"), text, 0.85) is None


def test_the_parts_around_an_ellipsis_are_the_nearest_to_each_other() -> None:
    text = "In cases of damage a form is sent. In cases of damage by water the owner pays at once."
    found = locate_quote("In cases of damage … the owner pays", text)
    assert found
    assert text[found.start : found.end] == "In cases of damage by water the owner pays"


@pytest.mark.parametrize(
    ("language", "text", "quote"),
    [
        (
            "sv",
            "Ägaren får inte tömma värmesystemet på vintern.",
            "Agaren far inte tomma varmesystemet pa vintern.",
        ),
        (
            "de",
            "Der Schlüssel für die große Tür hängt über dem Kästchen.",
            "Der Schlussel fur die grosse Tur hangt",
        ),
    ],
)
def test_a_quote_without_any_diacritics_is_repaired_where_the_letters_are_the_same(
    language: str, text: str, quote: str
) -> None:
    found = locate_quote(quote, f"Före. {text} Efter.", language=language)
    assert found
    assert found.kind == "edited"
    assert text.startswith(f"Före. {text} Efter."[found.start : found.end])


@pytest.mark.parametrize(
    ("language", "text", "quote"),
    [
        ("de", "Der Server könnte in diesem Fall antworten.", "Der Server konnte in diesem Fall antworten."),
        ("sv", "Ägaren får tömma ånga på vintern.", "Ägaren far tomma anga på vintern."),
        ("sv", "Han får gå.", "Han far ga"),
    ],
)
def test_a_diacritic_that_tells_words_apart_is_not_repaired_away(
    language: str, text: str, quote: str
) -> None:
    assert locate_quote(quote, text, language=language) is None


def test_a_quoted_number_is_not_found_inside_a_longer_one() -> None:
    assert locate_quote("3 bar", "It opens at 13 bar.", 0.9) is None
    assert locate_quote("opens at 3", "It opens at 3.5 bar.", 0.9) is None
    found = locate_quote("3 bar", "First 13 bar, then 3 bar.", 0.9)
    assert found
    assert found.start == 19


@pytest.mark.parametrize(
    "quote",
    [
        "The safety valve opens at 4 bar",
        "The boiler explodes on Tuesdays and Fridays",
        "3 bar … The safety valve",
        "closed valve",
        "",
        "…",
    ],
)
def test_a_quote_that_does_not_stand_there_is_not_found(quote: str) -> None:
    assert locate_quote(quote, TEXT, 0.8) is None


@given(st.text(max_size=80), st.text(max_size=120))
def test_spans_lie_in_the_text_whatever_is_asked(quote: str, text: str) -> None:
    found = locate_quote(quote, text, 0.9)

    assert found is None or 0 <= found.start < found.end <= len(text)
