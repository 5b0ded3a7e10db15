"""Questions in German: who must do what, in which case, where and what with, in statutes and manuals."""

import pytest

from qa_pipeline.generation.offline.provider import find_candidates
from qa_pipeline.records import Passage
from qa_pipeline.text.lexicon.languages import lexicon

LAW = "Gesetz über Wasserwerke (WaWeG)"


def asked(text: str, title: str) -> list[str]:
    passage = Passage("chunk", title, (title, "§ 4"), text, "de")
    return [candidate.question for candidate in find_candidates(passage)]


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        (
            "(2) Der Betreiber kann verlangen, dass die Prüfung im Betrieb stattfindet.",
            None,
        ),
        (
            "(2) Der Inhaber hat der Behörde die Unterlagen auf Verlangen vorzulegen.",
            "Wer hat nach dem Gesetz über Wasserwerke der Behörde die Unterlagen auf Verlangen vorzulegen?",
        ),
        (
            "(1) Wer ein Wasserwerk ohne Erlaubnis betreibt, wird mit Geldstrafe bestraft.",
            "Was gilt nach dem Gesetz über Wasserwerke für den, der ein Wasserwerk ohne Erlaubnis betreibt?",
        ),
        (
            "Während der Prüfung darf der Inhaber keine Arbeiten an der Anlage ausführen.",
            "Was gilt nach dem Gesetz über Wasserwerke während der Prüfung?",
        ),
        (
            "Kann der Inhaber nicht festgestellt werden, so haftet der Eigentümer der Anlage.",
            "Was gilt nach dem Gesetz über Wasserwerke, wenn der Inhaber nicht festgestellt werden kann?",
        ),
        (
            "Über den Antrag entscheidet das Landesamt innerhalb von drei Monaten.",
            "Wer entscheidet nach dem Gesetz über Wasserwerke über den Antrag?",
        ),
        (
            "Als Anlagen gelten alle Leitungen, die mit dem Netz verbunden sind.",
            "Was gilt nach dem Gesetz über Wasserwerke als Anlagen?",
        ),
        (
            "Hersteller im Sinne dieses Gesetzes ist, wer ein Teil der Anlage gebaut hat.",
            "Wer ist nach dem Gesetz über Wasserwerke Hersteller?",
        ),
        (
            "(1) Der Antrag auf Erlaubnis ist schriftlich bei der Behörde zu stellen.",
            "Wie ist der Antrag auf Erlaubnis nach dem Gesetz über Wasserwerke bei der Behörde zu stellen?",
        ),
        (
            "Die Erlaubnis darf nur erteilt werden, wenn der Inhaber die Sachkunde nachweist.",
            "Wann darf die Erlaubnis nach dem Gesetz über Wasserwerke erteilt werden?",
        ),
        ("(1) Die Anforderungen des § 9 Absatz 1 gelten nicht, wenn die Anlage ruht.", None),
        ("(weggefallen)", None),
    ],
)
def test_a_statute_is_asked_for_holder_case_and_definition(sentence: str, question: str | None) -> None:
    assert asked(sentence, LAW) == ([] if question is None else [question])


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        (
            "In der Bestenliste werden die zehn schnellsten Zeiten aufgelistet.",
            "Was wird laut „Fjell 8“ in der Bestenliste aufgelistet?",
        ),
        (
            "Mit dem Assistenten können alle Geräte im Netzwerk verwaltet werden.",
            "Was kann laut „Fjell 8“ mit dem Assistenten verwaltet werden?",
        ),
        (
            "Am unteren Rand befindet sich die Leiste mit den letzten Zügen.",
            "Was befindet sich laut „Fjell 8“ am unteren Rand?",
        ),
        (
            "Die Statusleiste befindet sich am unteren Rand eines Fensters.",
            "Wo befindet sich die Statusleiste laut „Fjell 8“?",
        ),
        (
            "Sie können Brasero zum Erstellen von Einlegern für Hüllen verwenden.",
            "Wozu kann man laut „Fjell 8“ Brasero verwenden?",
        ),
        (
            "Das Gehalt der Angestellten wird am 25. jedes Monats ausgezahlt.",
            "Wann wird das Gehalt der Angestellten laut „Fjell 8“ ausgezahlt?",
        ),
        (
            "Die Überstunden müssen vom Vorgesetzten im Voraus genehmigt werden.",
            "Von wem müssen die Überstunden laut „Fjell 8“ im Voraus genehmigt werden?",
        ),
        (
            "Die Tags können bearbeitet werden, indem Sie die rechte Maustaste drücken.",
            "Wie können die Tags laut „Fjell 8“ bearbeitet werden?",
        ),
        ("Bei der Ausgabe werden keine leeren Zeilen zwischen den Absätzen gedruckt.", None),
        ("Mit Ausnahme des Servers wird dann für alle Systeme ein Bild angezeigt.", None),
    ],
)
def test_a_manual_is_asked_for_places_means_and_purposes(sentence: str, question: str | None) -> None:
    assert asked(sentence, "Fjell 8") == ([] if question is None else [question])


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
