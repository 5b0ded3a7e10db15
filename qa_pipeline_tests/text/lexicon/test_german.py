"""The laws of German titles, in the case that a question has them in."""

import pytest

from qa_pipeline.text.lexicon.languages import lexicon


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("Mindesturlaubsgesetz für Arbeitnehmer (Bundesurlaubsgesetz)", "nach dem Bundesurlaubsgesetz"),
        ("Bürgerliches Gesetzbuch", "nach dem Bürgerlichen Gesetzbuch"),
        ("Verordnung über Betriebsbeauftragte (AbfV 2017)", "nach der Verordnung über Betriebsbeauftragte"),
        ("Strafgesetzbuch", "nach dem Strafgesetzbuch"),
        ("Hausordnung", "nach der Hausordnung"),
        ("Verordnung über Kessel", "nach der Verordnung über Kessel"),
        ("Die Ordnung der Dinge", ""),
        ("Anordnung der Ventile", ""),
        ("Rangordnung", ""),
        ("Zuordnung für Kessel", ""),
    ],
)
def test_a_law_is_named_by_its_title_in_the_right_case(title: str, named: str) -> None:
    assert lexicon("de").wording.law_named(title) == named
