"""Bi-weekly is not weekly, and every other week is not every week."""

import pytest

from qa_pipeline.verification.consistency.comparing import Comparison, compare
from qa_pipeline.verification.consistency.reading import read

FALSE = [
    ("The retrospective is weekly.", "Retrospective: bi-weekly", "en"),
    ("The retrospective is bi-weekly.", "Retrospective: weekly", "en"),
    ("The inspection is annual.", "Inspection: semi-annual", "en"),
    ("The team meets every week.", "The team meets every other week.", "en"),
    ("The team meets every week.", "The team meets every two weeks.", "en"),
    ("Provtagning sker varje vecka.", "Provtagning: varannan vecka", "sv"),
    ("Provtagning sker varannan vecka.", "Provtagning: varje vecka", "sv"),
    ("Mötet hålls årsvis.", "Möten: halvårsvis", "sv"),
    ("Die Sitzung ist wöchentlich.", "Sitzung: zweiwöchentlich", "de"),
    ("Der Bericht erscheint jährlich.", "Bericht: halbjährlich", "de"),
    ("Die Sitzung ist jede Woche.", "Die Sitzung ist alle zwei Wochen.", "de"),
]


def compared(claim: str, evidence: str, language: str) -> Comparison:
    return compare(read(claim, language), read(evidence, language), read("", language), [])


@pytest.mark.parametrize(("claim", "evidence", "language"), FALSE)
def test_another_frequency_contradicts(claim: str, evidence: str, language: str) -> None:
    assert compared(claim, evidence, language).quantifiers or compared(claim, evidence, language).numbers


@pytest.mark.parametrize(("claim", "evidence", "language"), FALSE)
def test_the_same_frequency_raises_nothing(claim: str, evidence: str, language: str) -> None:
    assert compared(evidence, f"{evidence} ", language).quantifiers == ()
    assert compared(claim, f"Note: {claim}", language).quantifiers == ()


def test_a_negating_prefix_before_a_hyphen_contradicts() -> None:
    assert compared("The coating is toxic.", "Coating: non-toxic", "en").polarity
    assert not compared("The coating is non-toxic.", "Coating: non-toxic", "en").polarity


def test_who_says_weekly_does_not_hold_what_is_bi_weekly() -> None:
    assert set(read("weekly", "en").terms).isdisjoint(read("bi-weekly", "en").terms)
    assert read("bi-weekly", "en").terms == read("Bi-weekly", "en").terms
