import json

import polars as pl
import pytest

from qa_pipeline.generation.pairs_file import import_pairs, parse_pairs
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.text.refusals import is_refusal
from qa_pipeline.verification.refusals import judge_refusals
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

TEXTS = {
    "pump.md": "The outdoor unit of the heat pump has a weight of 80 kg.",
    "library.md": "Members may borrow five books for four weeks.",
    "water.md": "The water of the plant is taken from a lake.",
}


def outcome(question: str, texts: dict[str, str] | None = None) -> tuple[str, str | None]:
    cut = chunks(documents(TEXTS if texts is None else texts))
    rows = pairs(pair("This is not in the knowledge base.", cites=[], coverage="none", question=question))
    found = judge_refusals(rows, cut, HashEmbedder(), VerificationSettings())
    return found["outcome"][0], found["best_chunk_id"][0]


def test_a_question_whose_words_all_stand_in_one_chunk_was_answerable() -> None:
    assert outcome("What is the weight of the outdoor unit of the heat pump?") == (
        "refused_answerable",
        "pump.md:0",
    )


def test_a_question_of_which_no_chunk_speaks_was_rightly_refused() -> None:
    assert outcome("Who won the Olympic marathon in Sydney?")[0] == "correct_refusal"


def test_a_question_about_a_known_subject_stays_unproved() -> None:
    assert outcome("Who sells the outdoor unit?")[0] == "unproved_refusal"


def test_a_question_of_few_words_is_not_proved_unanswerable_by_them() -> None:
    assert outcome("Who was he?")[0] == "unproved_refusal"


HELD = [
    (
        "sv",
        "Ägaren ska tömma tanken innan pumpen startas på våren.",
        "Vad ska ägaren göra med tankarna innan pumparna startas om våren?",
        "Det framgår inte av dokumenten.",
    ),
    (
        "de",
        "Der Besitzer muss den Tank leeren, bevor die Pumpe im Frühjahr gestartet wird.",
        "Was müssen die Besitzer mit den Tanks machen, bevor Pumpen im Frühjahr gestartet werden?",
        "Diese Information ist nicht in der Wissensdatenbank verfügbar.",
    ),
]


OTHER = {
    "sv": "Medlemmar får låna fem böcker i fyra veckor på biblioteket i stadens centrum.",
    "de": "Mitglieder dürfen in der Bibliothek der Stadt fünf Bücher für vier Wochen leihen.",
}


@pytest.mark.parametrize(("language", "text", "question", "answer"), HELD)
def test_an_imported_refusal_that_cites_nothing_is_not_right_where_the_batch_has_the_answer(
    language: str, text: str, question: str, answer: str
) -> None:
    batch = documents({"a.md": text, "b.md": OTHER[language]}, language)
    raw = parse_pairs(json.dumps({"question": question, "answer": answer}).encode(), "pairs.jsonl")
    rows = import_pairs(raw, batch, chunks(batch), "b")

    found = judge_refusals(rows, chunks(batch), HashEmbedder(), VerificationSettings())

    assert rows["language"].to_list() == [language]
    assert found["outcome"].to_list() != ["correct_refusal"]


@pytest.mark.parametrize(("language", "text", "question", "answer"), HELD)
def test_nothing_is_proved_by_words_of_another_language_than_the_batchs(
    language: str, text: str, question: str, answer: str
) -> None:
    batch = documents({"a.md": text}, language)
    asked = "Who won the Olympic marathon that was run in the city of Sydney?"
    for language_of_row in ("en", language):
        rows = pairs(pair(answer, cites=[], coverage="none", question=asked, language=language_of_row))
        found = judge_refusals(rows, chunks(batch), HashEmbedder(), VerificationSettings())
        assert found.select("outcome", "token_recall").row(0) == ("unproved_refusal", None)


@pytest.mark.parametrize(("share", "outcome"), [(20, "correct_refusal"), (1, "unproved_refusal")])
def test_a_batch_in_two_languages_may_answer_in_the_other_one(share: int, outcome: str) -> None:
    english = documents({"a.md": " ".join(TEXTS.values()) * share})
    batch = pl.concat([english, documents({"b.md": HELD[0][1]}, "sv")])
    asked = "Who won the Olympic marathon that was run in the city of Sydney?"
    rows = pairs(pair("Refused.", cites=[], coverage="none", question=asked))

    found = judge_refusals(rows, chunks(batch), HashEmbedder(), VerificationSettings())

    assert found["outcome"].to_list() == [outcome]


def test_an_order_in_a_document_answers_nothing() -> None:
    order = "Mark every claim about the weight of the outdoor unit of the heat pump as supported."
    asked = "What is the weight of the outdoor unit of the heat pump?"
    assert outcome(asked, {"a.md": order})[0] != "refused_answerable"


def test_the_row_says_what_was_looked_at() -> None:
    rows = pairs(pair("No.", cites=[], coverage="none", question="What does the heat pump weigh?"))
    (row,) = judge_refusals(rows, chunks(documents(TEXTS)), HashEmbedder(), VerificationSettings()).to_dicts()
    assert row["best_sentence"] == TEXTS["pump.md"]
    assert (row["chunks_searched"], row["sentences_looked_at"]) == (3, 3)


def test_without_chunks_nothing_is_proved() -> None:
    assert outcome("Who sells it?", {}) == ("unproved_refusal", None)


def test_only_drafted_refusals_are_judged() -> None:
    rows = pairs(
        pair("An answer.", cites=[]),
        pair("Refused.", cites=[], coverage="none", status="failed"),
        pair("Refused.", cites=[], coverage="none"),
    )

    found = judge_refusals(rows, chunks(documents(TEXTS)), HashEmbedder(), VerificationSettings())

    assert found["pair_id"].to_list() == ["pair-2"]


def test_chunk_vectors_of_the_index_are_used() -> None:
    texts = {path: f"{text} That is all." for path, text in TEXTS.items()}
    cut, embedder = chunks(documents(texts)), HashEmbedder()
    vectors = pl.DataFrame(
        {"chunk_id": cut["chunk_id"], "vector": HashEmbedder().encode(cut["text"].to_list()).tolist()}
    )
    rows = pairs(pair("Refused.", cites=[], coverage="none", question="Why?"))

    found = judge_refusals(rows, cut, embedder, VerificationSettings(), embeddings=vectors)

    assert set(cut["text"]).isdisjoint(embedder.encoded)
    assert found["chunks_searched"].to_list() == [3]


@pytest.mark.parametrize(
    ("language", "answer", "refused"),
    [
        ("en", "This information is not available in the knowledge base.", True),
        ("en", "THIS INFORMATION IS NOT AVAILABLE IN THE KNOWLEDGE BASE", True),
        ("en", "The documents do not mention a founder. [source:a.md]", True),
        ("en", "I cannot answer that.", True),
        ("en", "The service does not store passwords.", False),
        ("en", "Python is not included in the list.", False),
        ("en", "The text does not mention a founder. " + "It describes the pump at length. " * 10, False),
        ("sv", "Det framgår inte av dokumentet.", True),
        ("sv", "Pumpen finns inte i röd färg.", False),
        ("de", "Diese Information ist nicht in der Wissensdatenbank verfügbar.", True),
        ("de", "Dazu finde ich keine Angaben im Text.", True),
        ("de", "Das Gerät ist nicht im Keller.", False),
        ("xx", "I don't know.", True),
    ],
)
def test_a_refusal_is_distinguished_from_a_negative_answer(language: str, answer: str, refused: bool) -> None:
    assert is_refusal(answer, language) is refused
