"""Sections of laws that an answer names: read as people write them, looked up, and held to their words."""

from pathlib import Path
from typing import Any

import pytest

from qa_pipeline.evaluation.metrics.registry import chosen_metrics
from qa_pipeline.evaluation.running import evaluate
from qa_pipeline.evaluation.signals.sections import read_sections
from qa_pipeline_tests.evaluation.metrics.frames import context, means_at, rows_of

LEAVE = (
    "§ 3 Duration\nThe annual leave is 24 working days.\n"
    "§ 4 Waiting period\nThe full claim arises after six months. § 9 applies to sickness."
)
METRICS = ("section_existence", "section_support", "law_quality")


def values(folder: Path, answer: str, **row: Any) -> list[float | None]:
    frame = rows_of(
        {"query": "How long is the leave?", "answer": answer, "contexts": [context(LEAVE)], **row}
    )
    _, found = evaluate(frame, chosen_metrics(METRICS), means_at(folder))
    return [found[name][0] for name in METRICS]


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("Enligt 3 kap. 12 a § gäller detta.", [("kap", "3"), ("§", "12a")]),
        ("Nach § 573c und §§ 12 gilt das.", [("§", "573c"), ("§", "12")]),
        ("Article 5 a member state; Art. 17", [("art", "5"), ("art", "17")]),
        ("Section 12 and sections 4", [("§", "12"), ("§", "4")]),
        ("25 dagar, 1.5 § 2", [("§", "2")]),
        ("No section is named in 2024.", []),
    ],
)
def test_sections_are_read_as_laws_of_three_languages_write_them(
    text: str, sections: list[tuple[str, str]]
) -> None:
    assert [(section.kind, section.number) for _, section in read_sections(text)] == sections


def test_a_section_whose_words_prove_the_statement_is_right(tmp_path: Path) -> None:
    assert values(tmp_path, "Under § 3, the annual leave is 24 working days.") == [1.0, 1.0, 1.0]


def test_right_words_under_the_number_of_another_section_are_not_borne_out(tmp_path: Path) -> None:
    existence, support, quality = values(tmp_path, "§ 4: The annual leave is 24 working days.")
    assert (existence, support, quality) == (1.0, 0.0, 0.0)


def test_a_section_that_no_passage_has_does_not_exist(tmp_path: Path) -> None:
    assert values(tmp_path, "Under § 77, the annual leave is 24 working days.")[0] == 0.0


@pytest.mark.parametrize(("confidences", "expected"), [([0.9, 0.4], 0.4), ([0.9, float("nan")], 1.0)])
def test_law_quality_is_that_of_the_weakest_part_and_step(
    tmp_path: Path, confidences: list[float], expected: float
) -> None:
    answer = "Under § 3, the annual leave is 24 working days."
    assert values(tmp_path, answer, confidences=confidences)[2] == expected
