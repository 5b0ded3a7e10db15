"""A table cell proves only its own row and column."""

import pytest

from qa_pipeline.verification.consistency.cells import cell_findings, row_cells
from qa_pipeline.verification.consistency.findings import Findings
from qa_pipeline.verification.consistency.reading import read

CODES = "Category: Training | CoE feds: 1434 | 18F: 1811"
KEYLESS = "CoE feds: 1434 | 18F: 1811"
MEETINGS = "Team: Design | Standup: daily | Retrospective: bi-weekly"
FJELL_8 = "Model: Fjell 8 | Voltage: 400 V | Fuse: 16 A | Maximum power: 4.1 kW"
MONO = "Model: Fjell 8 Mono | Voltage: 230 V | Fuse: 25 A | Maximum power: 4.4 kW"
PUMPS = f"{FJELL_8}\n\n{MONO}"
TANK = "Refrigerant: R290\n\nRefrigerant charge: 0.95 kg"
TASKS = "Punkt: Råvatten | Provtagning: varannan vecka | Kontroll: varje månad"
COMMITTEES = "Ausschuss: Bauausschuss | Sitzung: monatlich | Bericht: wöchentlich"


def found(claim: str, row: str, question: str = "", around: str = "", language: str = "en") -> Findings:
    return cell_findings(
        read(claim, language), read(question, language), read(row, language), read(around or row, language)
    )


@pytest.mark.parametrize(
    ("claim", "row", "question", "language"),
    [
        ("CoE feds use code 1434 for training.", CODES, "", "en"),
        ("For training, CoE feds use code 1434 and 18F uses code 1811.", CODES, "", "en"),
        ("For training the codes are 1434 for CoE feds and 1811 for 18F.", CODES, "", "en"),
        ("The codes of CoE feds and 18F for training are 1434 and 1811.", CODES, "", "en"),
        ("18F uses code 1811.", KEYLESS, "", "en"),
        ("The retrospective of Design is bi-weekly.", MEETINGS, "", "en"),
        ("The Fjell 8 runs on 400 V with a fuse of 16 A.", FJELL_8, "", "en"),
        ("The Fjell 8 needs 16 A.", FJELL_8, "Which fuse does the Fjell 8 need?", "en"),
        ("A fuse of 16 A.", FJELL_8, "Which fuse does the Fjell 8 need?", "en"),
        ("Kontroll av råvatten sker varje månad.", TASKS, "", "sv"),
        ("Der Bericht im Bauausschuss ist wöchentlich.", COMMITTEES, "", "de"),
    ],
)
def test_what_stands_in_its_own_cell_raises_nothing(
    claim: str, row: str, question: str, language: str
) -> None:
    assert found(claim, row, question, language=language) == Findings()


@pytest.mark.parametrize(
    ("claim", "row", "question", "language"),
    [
        ("CoE feds use code 1811 for training.", CODES, "", "en"),
        ("For training, CoE feds use code 1811 and 18F uses code 1434.", CODES, "", "en"),
        ("For training the codes are 1811 for CoE feds and 1434 for 18F.", CODES, "", "en"),
        ("The codes of CoE feds and 18F for training are 1811 and 1434.", CODES, "", "en"),
        ("CoE feds use code 1811.", KEYLESS, "", "en"),
        ("18F uses code 1434.", KEYLESS, "", "en"),
        ("The Fjell 8 needs 400 V.", FJELL_8, "Which fuse does the Fjell 8 need?", "en"),
        ("The retrospective is daily.", MEETINGS, "How often is the retrospective of Design?", "en"),
        (
            "Kontroll av råvatten sker varannan vecka.",
            TASKS,
            "Hur ofta sker kontroll av råvatten?",
            "sv",
        ),
        (
            "Der Bericht im Bauausschuss ist monatlich.",
            COMMITTEES,
            "Wie oft kommt der Bericht im Bauausschuss?",
            "de",
        ),
    ],
)
def test_the_value_of_another_column_contradicts(claim: str, row: str, question: str, language: str) -> None:
    assert found(claim, row, question, language=language).conflicts


def test_words_of_another_column_that_nobody_asked_for_stay_open() -> None:
    findings = found("The retrospective of Design is daily.", MEETINGS)

    assert not findings.conflicts
    assert findings.open_points == ("Retrospective is bi-weekly in the table",)


def test_an_order_that_leaves_open_which_value_is_whose_proves_nothing() -> None:
    assert found("The fuse, 400 V and 16 A of the Fjell 8.", FJELL_8).open_points


def test_a_column_named_without_its_value_proves_nothing() -> None:
    assert found("The Fjell 8 has a fuse.", FJELL_8).open_points


def test_a_claim_about_another_row_is_contradicted_by_that_row() -> None:
    assert found("The Fjell 8 needs a fuse of 25 A.", MONO, around=PUMPS).conflicts
    assert found("The refrigerant is 0.95 kg.", "Refrigerant charge: 0.95 kg", around=TANK).conflicts


def test_a_row_whose_name_is_the_beginning_of_anothers_keeps_its_own_values() -> None:
    assert found("The Fjell 8 Mono needs a fuse of 25 A.", MONO, around=PUMPS) == Findings()
    assert found("The Fjell 8 needs a fuse of 16 A.", FJELL_8, around=PUMPS) == Findings()
    assert (
        found("The refrigerant charge is 0.95 kg.", "Refrigerant charge: 0.95 kg", around=TANK) == Findings()
    )


def test_a_claim_that_names_no_row_proves_nothing_where_there_are_several() -> None:
    assert found("The fuse is 25 A.", MONO, around=PUMPS).open_points
    assert found("The Fjell fuse is 25 A.", MONO, around=PUMPS).open_points
    assert found("The fuse is 25 A.", MONO, "Which fuse has the Fjell 8 Mono?", PUMPS) == Findings()


def test_a_line_that_is_no_row_has_no_cells() -> None:
    assert row_cells("The fuse is 16 A.", "en") is None
    assert found("The fuse is 16 A.", "The fuse is 16 A.") == Findings()


def test_a_described_value_may_hold_the_word_of_another_key() -> None:
    lines = "Description: Sets the default state\n\nDefault: On"

    assert found("Sets the default state.", "Description: Sets the default state", around=lines) == Findings()
