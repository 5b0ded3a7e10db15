"""Worth: what makes a proved row not worth training on, in three languages, and what does not."""

import pytest

from qa_pipeline.generation.worth import LEAST_WORTH, lacking

GUIDE = "Pump guide\nStatus"


@pytest.mark.parametrize(
    ("language", "question", "answer", "lacks"),
    [
        ("en", "What is the status of the guide?", "The status is Final.", "data of the document"),
        ("sv", "Vad är språk för guide?", "Språk för guide är svenska.", "data of the document"),
        ("en", "According to “Pump guide”, what is it?", "It is a valve of brass.", "names no subject"),
        (
            "en",
            "According to “Pump guide”, what is “Green”?",
            "A new pump of brass and steel in the big house is green.",
            "",
        ),
        ("en", "According to “Pump guide”, what is a valve?", "A valve of a pump.", "adds next to nothing"),
        (
            "en",
            "What does the pump need?",
            "The pump needs a new filter of fine mesh.",
            "one thing of a subject",
        ),
        ("en", "What is a valve?", "A valve is a part of brass that stops the water of a pump.", ""),
        ("en", "What happens if the main pump stops?", "If the main pump stops, the heat stops.", ""),
        ("en", "What is the limit for adults?", "The limit for adults is 20 books.", ""),
        ("en", "What is the refrigerant of Fjell 8?", "The refrigerant of Fjell 8 is R290.", ""),
        ("en", "What does fault code E23 mean?", "Fault code E23 means that the pump is too hot.", ""),
        ("en", "What is the limit of frames?", "The limit of frames is get_limit() entries.", ""),
        ("en", "How much does the valve cost?", "The valve costs 5 euros.", ""),
        ("en", "Can the same valve be used twice?", "The same valve cannot be used twice.", ""),
        ("de", "Wie hoch ist die Mahngebühr für Erwachsene?", "Die Mahngebühr beträgt 5 Euro.", ""),
        ("sv", "Vad händer om ventilen läcker?", "Om ventilen läcker, stannar pumpen.", ""),
        ("en", "What happens if no status is given?", "If no status is given, the pump stops.", ""),
    ],
)
def test_a_question_is_worth_asking_unless_it_lacks_too_much(
    language: str, question: str, answer: str, lacks: str
) -> None:
    worth, words = lacking(question, answer, GUIDE, language)
    assert (worth < LEAST_WORTH) is bool(lacks)
    assert lacks in " ".join(words)


def test_worth_falls_with_each_feature_that_is_missing() -> None:
    full, _ = lacking("How much does the valve cost?", "The valve costs 5 euros.", "", "en")
    none, lacks = lacking("What is “Status”?", "Status", "Status", "en")
    assert full > LEAST_WORTH > none > 0.0
    assert len(lacks) > 2
