from typing import Any

import polars as pl
import pytest

from qa_pipeline.generation.answer_quality import MOST_CHARACTERS, mark_flawed
from qa_pipeline.generation.answers import draft_answers
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.tables import QUESTIONS
from qa_pipeline_tests.curation import rows
from qa_pipeline_tests.curation.test_measures_coverage import question
from qa_pipeline_tests.generation.rows import ask_about_text, chunks
from qa_pipeline_tests.support.scripted import ScriptedModel

LONG = "The valve is opened once a week by the person on duty. " * 10
GOOD = {
    "en": "The valve is opened by the person on duty, according to the plan of the plant.",
    "sv": "Ventilen öppnas en gång i veckan av den som har jour.",
    "de": "Das Ventil wird einmal in der Woche von der diensthabenden Person geöffnet.",
}
FLAWED = [
    ("en", "The valve is opened weekly [1].", "leaked_marker", "[1]"),
    ("en", "It is opened weekly [source:guide.md#valve].", "leaked_marker", "[source:guide.md#valve]"),
    ("en", "<passage-1-3fa9c2d1> says so.", "leaked_marker", "<passage-1-3fa9c2d1>"),
    ("en", "According to the text, it is opened weekly.", "boilerplate", "According to the text"),
    ("en", "Sure! The valve is opened weekly.", "boilerplate", "Sure!"),
    ("sv", "Enligt texten öppnas ventilen varje vecka.", "boilerplate", "Enligt texten"),
    ("de", "Laut Textstelle wird das Ventil geöffnet.", "boilerplate", "Laut Textstelle"),
    ("en", "word " * 200, "answer_too_long", "1000 characters, at most 800"),
    ("sv", GOOD["en"], "language_mismatch", "in en, not in sv"),
]


def looked_at(answer: str, language: str = "en", **values: Any) -> tuple[str, str | None, str | None]:
    pair = rows.pair("p", answer=answer, language=language, used_chunk_ids=["c"], **values)
    chunk = rows.chunk("c", LONG, section_path=["Valves", "Opening the valve"])
    checked = mark_flawed(rows.pairs(pair), rows.chunks(chunk))
    return checked.select("status", "reason", "detail").row(0)


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ({"hops": 2}, ("flawed", "passage_not_cited", "1 of the 2 passages that it needs")),
        ({"hops": 1}, ("drafted", None, None)),
        ({"hops": None, "origin": "imported"}, ("drafted", None, None)),
    ],
)
def test_an_answer_of_several_hops_cites_each_of_their_passages(
    values: dict[str, Any], outcome: tuple[str, str | None, str | None]
) -> None:
    assert looked_at(GOOD["en"], **values) == outcome


@pytest.mark.parametrize("language", GOOD)
def test_an_answer_that_says_what_it_has_to_say_stays_drafted(language: str) -> None:
    assert looked_at(GOOD[language], language) == ("drafted", None, None)
    assert looked_at("`a[1]` is the second entry of the list.") == ("drafted", None, None)


@pytest.mark.parametrize(("language", "answer", "reason", "detail"), FLAWED)
def test_an_answer_nobody_should_train_on_is_flawed_with_the_words_that_show_it(
    language: str, answer: str, reason: str, detail: str
) -> None:
    assert looked_at(answer, language) == ("flawed", reason, detail)


def test_a_passage_word_for_word_is_no_answer_and_a_sentence_of_it_is_one() -> None:
    assert looked_at(LONG.strip())[1] == "copied_passage"
    assert looked_at(LONG[: len(LONG) // 2].strip())[1] is None
    assert looked_at(f"In short: {LONG}")[1] is None


@pytest.mark.parametrize(("style", "most"), list(MOST_CHARACTERS.items()))
def test_every_style_has_its_length(style: str, most: int) -> None:
    assert looked_at("a" * most, answer_style=style)[1] is None
    assert looked_at("a" * (most + 1), answer_style=style)[1] == "answer_too_long"


@pytest.mark.parametrize(
    "values",
    [
        {"origin": "imported"},
        {"origin": "edited"},
        {"coverage": "none"},
        {"status": "failed", "reason": "not_json", "coverage": None},
    ],
)
def test_failures_refusals_and_what_others_wrote_stay_as_they_are(values: dict[str, object]) -> None:
    before = rows.pairs(rows.pair("p", answer="See [1].", **values))
    assert mark_flawed(before, rows.chunks()).equals(before)


def test_a_flaw_that_is_none_any_more_leaves_a_drafted_pair() -> None:
    assert looked_at(GOOD["en"], status="flawed", reason="boilerplate", detail="x") == ("drafted", None, None)


def test_a_flawed_pair_is_not_asked_for_again() -> None:
    frame = chunks("a")
    asked = QUESTIONS.frame([question("q", "a")])
    options = (GenerationSettings(), LLMSettings())
    first = mark_flawed(draft_answers(asked, frame, ScriptedModel(ask_about_text), *options), frame)
    flawed = first.with_columns(answer=pl.lit("Sure! It is a."), status=pl.lit("flawed"))
    again = draft_answers(asked, frame, ScriptedModel([]), *options, previous=flawed)
    assert mark_flawed(again, frame)["reason"].to_list() == ["boilerplate"]


UNFIT = [
    ("en", "Which steps are required?", "The following steps are required:", "lead_in_only"),
    ("en", "What does this file contain?", "A list of valves.", "not_standalone"),
    ("de", "Was ist dieses Teil?", "Zum Öffnen des Ventils.", "not_standalone"),
    ("en", "How heavy is the valve?", "Valve | 12 kg | steel", "bare_cells"),
]
FIT = [
    ("de", "Wer setzt den Filter ein?", "Die Person, die Bereitschaft hat."),
    ("de", "Was wird erstellt?", "Als Nächstes erstellen wir eine Unterklasse."),
    ("en", "How is the option explained?", "This defines the user who may call it."),
    ("en", "Is the valve open or shut?", "Open"),
    ("en", "Which file lists the valves?", "This file is a list of valves."),
    ("en", "What were the sales in 2020?", "Year: 2020 | Sales: 40"),
    ("en", "How are flags combined?", "Write `READ | WRITE` behind the name."),
    ("en", "Is the switch on the unit ON or OFF?", "ON"),
    ("en", "Who opens it once a week: the valve's owner or another?", "the person on duty"),
]


@pytest.mark.parametrize("origin", ["generated", "imported"])
@pytest.mark.parametrize(("language", "text", "answer", "reason"), UNFIT)
def test_an_answer_that_is_none_is_flawed_whoever_wrote_it(
    language: str, text: str, answer: str, reason: str, origin: str
) -> None:
    assert looked_at(answer, language, question=text, origin=origin)[:2] == ("flawed", reason)


@pytest.mark.parametrize(("language", "text", "answer"), FIT)
def test_a_short_answer_that_adds_something_is_fit(language: str, text: str, answer: str) -> None:
    assert looked_at(answer, language, question=text, origin="imported")[0] == "drafted"
