"""What evidence proves, what it denies, and what it leaves open."""

import pytest

from qa_pipeline.verification.consistency.proof import LONGEST_READ, Proof, denials, prove
from qa_pipeline.verification.consistency.reading import read


def proof(
    claim: str,
    evidence: str,
    question: str = "",
    *,
    language: str = "en",
    headings: str = "",
    elsewhere: tuple[str, ...] = (),
    fragment: bool = False,
    is_row: bool = False,
) -> Proof:
    return prove(
        read(claim, language),
        read(evidence, language),
        question=read(question, language),
        answer=read(claim, language),
        headings=read(headings, language),
        elsewhere=[read(text, language) for text in (evidence, *elsewhere)],
        fragment=fragment,
        is_row=is_row,
    )


VALVE = "The safety valve opens at 3 bar."


@pytest.mark.parametrize(
    ("claim", "evidence", "unproved"),
    [
        ("The pump needs a filter.", "The pump needs a filter, if it is new.", '"if it is new" left out'),
        (
            "Employees must register.",
            "Employees with a disability must register.",
            '"with a disability" left out',
        ),
        (
            "The pump needs a filter.",
            "The following need a filter:",
            "what the evidence announces is not in it",
        ),
        ("The following need a filter.", "The following need a filter:", "what the evidence announces"),
        ("Cold causes flu.", "It is a myth that cold causes flu.", '"It is a myth that" left out'),
        ("Entry is free.", 'The guide calls it wrong that "entry is free".', "left out"),
        ("Ventilen öppnas vid 3 bar.", VALVE, "became"),
        ("The valve opens at 3 bar.", "VALVE AND PUMP", "became"),
    ],
)
def test_what_is_not_proved_is_named(claim: str, evidence: str, unproved: str) -> None:
    found = proof(claim, evidence)
    assert not found.denied
    assert any(unproved in one for one in found.unproved)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("THE SAFETY VALVE OPENS AT 3 BAR.", VALVE),
        (VALVE, VALVE.upper()),
        ("It is not uncommon that pumps fail.", "It is not uncommon that pumps fail."),
        ("The valve is opened by Nordvik.", "Nordvik opens the valve."),
        ("The NPU tests filters.", "The Nordic Pump Union (NPU) tests filters."),
    ],
)
def test_what_says_the_same_is_proved(claim: str, evidence: str) -> None:
    assert proof(claim, evidence) == Proof()


@pytest.mark.parametrize(
    ("language", "claim", "evidence", "reason"),
    [
        ("en", "The safety valve opens at 5 bar.", VALVE, "number_mismatch"),
        ("en", "The safety valve opens at 3 psi.", VALVE, "number_mismatch"),
        ("en", "The safety valve does not open at 3 bar.", VALVE, "negation_mismatch"),
        ("en", "THE VALVE MUST BE OPENED.", "The valve must not be opened.", "negation_mismatch"),
        ("en", "The hall opened in May 2021.", "The hall opened in June 2021.", "date_mismatch"),
        ("en", "The hall was built by Sundby.", "The hall was built by Nordvik.", "name_mismatch"),
        ("en", "All members pay.", "Some members pay.", "quantifier_mismatch"),
        (
            "en",
            "The dog of the house follows the cat.",
            "The cat of the house follows the dog.",
            "role_mismatch",
        ),
        ("sv", "Ventilen öppnas vid 5 bar.", "Ventilen öppnas vid 3 bar.", "number_mismatch"),
        ("sv", "Ventilen öppnas inte vid 3 bar.", "Ventilen öppnas vid 3 bar.", "negation_mismatch"),
        ("de", "Das Ventil öffnet bei 5 bar.", "Das Ventil öffnet bei 3 bar.", "number_mismatch"),
        ("de", "Das Ventil öffnet nicht bei 3 bar.", "Das Ventil öffnet bei 3 bar.", "negation_mismatch"),
        ("sv", "Dessförinnan rensas filtret.", "Därefter rensas filtret.", "negation_mismatch"),
        ("en", "Water is stored in heat.", "Heat is stored in water.", "role_mismatch"),
    ],
)
def test_another_value_in_one_slot_denies_the_claim(
    language: str, claim: str, evidence: str, reason: str
) -> None:
    found = proof(claim, evidence, language=language)
    assert {one.reason for one in found.denied} == {reason}
    assert found.unproved
    assert {one.reason for one in denials(read(claim, language), read(evidence, language))} == {reason}


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The safety valve opens at 5 bar.", "The relief valve of the tank closes at 3 bar."),
        ("The hall was built by Sundby.", "The hall was sold by Nordvik."),
        ("The pump weighs 80 kg.", "Each filter in the house weighs 2 kg or more."),
        ("In Lund the plant was built in 1974.", "In 1974 the plant was built in Lund."),
    ],
)
def test_a_value_of_another_slot_leaves_the_claim_open(claim: str, evidence: str) -> None:
    found = proof(claim, evidence)
    assert (bool(found.unproved), found.denied) == (True, ())


def test_a_value_that_a_cited_passage_has_in_that_slot_is_not_denied() -> None:
    claim = "The safety valve opens at 5 bar."
    assert proof(claim, VALVE).denied
    assert not proof(claim, VALVE, elsewhere=("Newer ones: the safety valve opens at 5 bar.",)).denied


def test_initials_of_a_name_deny_nothing() -> None:
    claim = "In 2019 the EU paid the farmers."
    assert not proof(claim, "In 2019 the European Union paid the farmers.").denied
    assert proof(claim, "In 2019 the African Union paid the farmers.").denied


def test_degrees_without_their_scale_deny_no_temperature() -> None:
    assert not proof("The oven is preheated to 230 °C.", "The oven is preheated to 230 degrees.").denied
    assert proof("The oven is preheated to 220 °C.", "The oven is preheated to 230 degrees.").denied


def test_a_time_with_a_point_denies_none_with_a_colon() -> None:
    assert not proof("Doors open at 6:45.", "Doors open at 6.45.").denied
    assert proof("Doors open at 6:55.", "Doors open at 6.45.").denied


def test_letters_that_look_alike_deny_nothing() -> None:
    assert proof("The hall was built by N\u043erdvik.", "The hall was built by Nordvik.").denied == ()


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("When does the safety valve open?", True),
        ("At which pressure does the valve open?", True),
        ("Which weight does the valve open at?", False),
        ("When does the cellar valve open?", False),
        ("When does the valve not open?", False),
        ("Does only the safety valve open at 3 bar?", False),
    ],
)
def test_an_answer_to_another_question_is_not_proved(question: str, answered: bool) -> None:
    assert (proof(VALVE, VALVE, question).unproved == ()) == answered


def test_a_negation_of_the_question_may_be_in_the_heading() -> None:
    asked, evidence = 'What does the guide say about "No filter"?', "You can leave the filter out."
    assert proof(evidence, evidence, asked, headings="Guide / No filter") == Proof()
    assert proof(evidence, evidence, asked, headings="Guide / Filter").unproved


def test_a_fragment_is_proved_with_its_question() -> None:
    evidence = "The safety valve of the boiler opens at 3 bar."
    question = "At which pressure does the safety valve of the boiler open?"
    assert proof("3 bar", evidence, question, fragment=True) == Proof()
    assert proof("3 bar", evidence, "When does the relief valve open?", fragment=True).unproved
    assert proof("5 bar", evidence, question, fragment=True).unproved


ROW = "Model: Kestrel | Voltage: 400 V | Fuse: 16 A"


@pytest.mark.parametrize(
    ("claim", "question", "proved"),
    [
        ("The voltage of Kestrel is 400 V.", "What is the voltage of Kestrel?", True),
        ("400 V", "What is the voltage of Kestrel?", True),
        ("The voltage of Kestrel is 16 A.", "What is the voltage of Kestrel?", False),
        ("The voltage of Falcon is 400 V.", "What is the voltage of Falcon?", False),
        ("400 V", "What is the voltage of Falcon?", False),
        ("The new voltage of Kestrel is 400 V.", "What is the voltage of Kestrel?", False),
    ],
)
def test_a_row_proves_whole_cells_of_its_own_row_and_column(claim: str, question: str, proved: bool) -> None:
    assert (proof(claim, ROW, question, is_row=True).unproved == ()) == proved


def test_a_row_denies_another_figure_in_a_named_cell() -> None:
    found = proof("The voltage of Kestrel is 230 V.", ROW, "What is the voltage of Kestrel?", is_row=True)
    assert [one.reason for one in found.denied] == ["cell_mismatch"]


@pytest.mark.parametrize(
    ("value", "claim", "denied"),
    [
        ("12,00 Euro", "Der Preis der Karte beträgt 24,00 Euro.", True),
        ("12,00 Euro", "Der Preis der Karte beträgt 12 Euro.", False),
        ("12,00 Euro", "Der Preis der Karte beträgt 1200 Cent.", False),
        ("10 bis 12 Euro", "Der Preis der Karte beträgt 10 Euro.", False),
    ],
)
def test_figures_of_a_cell_are_compared_by_value(value: str, claim: str, denied: bool) -> None:
    found = proof(claim, f"Ware: Karte | Preis: {value}", language="de", is_row=True)
    assert bool(found.denied) == denied
    assert found.unproved


def test_a_figure_denies_no_words_of_a_line_with_a_colon() -> None:
    found = proof("Two friends, Ann and Bo, meet on Friday.", "Ann: we could meet on Friday?", is_row=True)
    assert found.unproved
    assert not found.denied


def test_a_column_may_be_inflected() -> None:
    row = "Filter: Filter 3 | Yta: 55 m²"
    assert proof("Filter 3 har ytan 55 m².", row, language="sv", is_row=True) == Proof()


def test_a_row_without_columns_proves_no_column() -> None:
    assert proof("The voltage is 16 A.", "400 V | 16 A", "What is the voltage?", is_row=True).unproved


def test_columns_of_the_same_words_are_distinguished_by_their_order() -> None:
    row = "Match: none | Allow,Deny result: second rule | Deny,Allow result: first rule"
    assert proof("The Deny,Allow result of none is first rule.", row, is_row=True) == Proof()
    assert proof("The Allow,Deny result of none is first rule.", row, is_row=True).unproved


def test_what_is_too_long_to_compare_is_left_open() -> None:
    long = "The pump weighs 80 kg and " * (LONGEST_READ // 20)
    assert proof(long, long).unproved == ("longer than the local checks can read",)
    assert denials(read(long, "en"), read(VALVE, "en")) == ()


@pytest.mark.parametrize(
    ("row", "claim", "proved"),
    [
        ("Lowest temperature: −25 °C", "The lowest temperature is −25 °C.", True),
        ("Lowest temperature: −25 °C", "The lowest temperature is 25 °C.", False),
        ("Lowest temperature: 25 °C", "The lowest temperature is −25 °C.", False),
        ("Name: A1 | Limit: ≥ 5 bar | Fuse: 10 A", "The limit of the A1 is ≥ 5 bar.", True),
        ("Name: A1 | Limit: ≥ 5 bar | Fuse: 10 A", "The limit of the A1 is ≤ 5 bar.", False),
        ("Name: A1 | Limit: ≥ 5 bar | Fuse: 10 A", "The limit of the A1 is 5 bar.", False),
        ("Name: A1 | Limit: ≥ 5 bar | Fuse: 10 A", "The fuse of the A1 is 10 A.", True),
        ("Price: $5", "The price is €5.", False),
        ("City: Oslo | Inhabitants: 700 000 | Area: 454 km²", "Oslo has 700 000 inhabitants.", True),
        ("City: Oslo | Inhabitants: 700 000 | Area: 454 km²", "Oslo has 454 inhabitants.", False),
        ("Module Identifier: alias_module", "Module Identifier: alias_module", True),
        ("Use: sets the provider(s) here", "Use: sets the provider(s) here", True),
    ],
)
def test_signs_of_a_cell_count_and_a_value_may_be_before_its_only_column(
    row: str, claim: str, proved: bool
) -> None:
    found = proof(claim, row, is_row=True)
    assert (found.unproved == ()) == proved
    assert not (proved and found.denied)


def test_a_value_whose_words_are_in_the_question_counts_behind_its_own_column() -> None:
    asked = "What does the module alias state under Module Identifier?"
    assert (
        proof("Module Identifier: alias_module", "Module Identifier: alias_module", asked, is_row=True)
        == Proof()
    )


def test_a_row_of_two_named_columns_is_no_sentence_however_long_its_value_is() -> None:
    members = "Akrami A; Blohm G; Bonnen K; Escola S; Hyafil A; Kording K; Kumar A; Macke JH; Mineault PJ"
    row = f"Team: Curriculum Design | Members: {members}"
    asked = "What does the table give as Members for Curriculum Design?"
    assert proof(members, row, asked, is_row=True) == Proof()
    assert proof(members.replace("Kumar", "Kuma"), row, asked, is_row=True).unproved


@pytest.mark.parametrize(
    ("evidence", "is_answered"),
    [
        ("LongDisplayDatePic sets the format.", True),
        ("LONGDISPLAYDATEPIC sets the format.", True),
        ("Long\u00adDisplayDatePic sets the format.", True),
        ("long_display_date_pic sets the format.", True),
        ("ShortDisplayDatePic sets the format.", False),
        ("MyLongDisplayDatePic2 sets the format.", False),
    ],
)
def test_a_question_s_identifier_is_the_same_in_other_case_and_named_as_written(
    evidence: str, is_answered: bool
) -> None:
    result = proof("It sets the format.", evidence, "What does LongDisplayDatePic set?")
    reason = 'the question\'s "LongDisplayDatePic" is not in the evidence'
    assert (reason not in result.unproved) == is_answered
