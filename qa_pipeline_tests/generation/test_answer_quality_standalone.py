import pytest

from qa_pipeline.generation.answer_quality import unclear_words

LEANING = {
    "en": (
        ("How much does it cost?", "it"),
        ("What is this setting for?", "this"),
        ("What did they decide about the fee?", "they"),
        ("According to the text, who founded the mill?", "According to the text"),
        ("What does the passage say about fees?", "the passage say"),
        ("Which fees are mentioned above?", "mentioned above"),
        ("What is shown in Table 3?", "Table 3"),
    ),
    "sv": (
        ("Vad kostar den?", "den"),
        ("Vad betyder detta?", "detta"),
        ("Enligt texten, när grundades bolaget?", "Enligt texten"),
        ("Vad säger avsnittet om avgifter?", "säger avsnittet"),
        ("Vad krävs enligt avsnitt 3.2?", "avsnitt 3.2"),
    ),
    "de": (
        ("Was kostet es?", "es"),
        ("Wann wurde sie gegründet?", "sie"),
        ("Was bedeutet dieser Wert?", "dieser"),
        ("Was steht im Text über Gebühren?", "im Text"),
        ("Was ist laut Tabelle erlaubt?", "laut Tabelle"),
        ("Was zeigt Abbildung 3?", "Abbildung 3"),
    ),
}
STANDING = {
    "en": (
        "How long does it take to charge the battery?",
        "When a card is lost, can it be unlocked?",
        "What does “Syntax” of “The kill command” state about it?",
        "What does section 4 of the Companies Act require?",
        "How do you add a row in the table?",
        "What is the default timeout of the server?",
    ),
    "sv": (
        "Vad är den maximala längden på kabeln?",
        "Hur många dagar har de anställda rätt till?",
        "Vad står det i ”Taxa 2024” om ”Betalning”?",
        "Vad gäller enligt avsnittet om semester?",
        "Vad föreskriver 3 kap. 4 § i lagen om arv?",
    ),
    "de": (
        "Wie viele Arten von Ventilen gibt es?",
        "Wie können Sie das Passwort ändern?",
        "Was regelt Absatz 3 des Gesetzes über Mieten?",
        "Was kostet die Jahreskarte?",
        "Wofür gibt es noch weitere Kategorien?",
    ),
}


@pytest.mark.parametrize(
    ("language", "question", "words"),
    [(language, *one) for language, found in LEANING.items() for one in found],
)
def test_a_question_that_only_its_passage_explains_is_found_with_the_words(
    language: str, question: str, words: str
) -> None:
    assert unclear_words(question, language) == words


@pytest.mark.parametrize(
    ("language", "question"), [(language, one) for language, found in STANDING.items() for one in found]
)
def test_a_question_that_says_what_it_is_about_passes(language: str, question: str) -> None:
    assert unclear_words(question, language) is None
