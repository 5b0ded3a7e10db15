from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.generation.multihop import LINKS
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.records import (
    DraftQuestion,
    QuestionsReply,
    QuestionType,
    StandaloneReply,
)
from qa_pipeline.settings.generation import GenerationSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.tables import CHUNKS
from qa_pipeline_tests.generation.rows import ask_about_text, chunks, finds, retrieve_named
from qa_pipeline_tests.support.scripted import ScriptedModel

TEXTS = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=6)


def write(frame: pl.DataFrame, model: LanguageModel, **options: Any) -> pl.DataFrame:
    settings = {"retrieve": retrieve_named, "settings": GenerationSettings(), "llm": LLMSettings()}
    return write_questions(frame, model, batch="b", **{**settings, **options})


@given(TEXTS)
def test_an_unchanged_batch_asks_nothing_and_gives_the_same_rows(texts: list[str]) -> None:
    first = write(chunks(*texts), ScriptedModel(ask_about_text))
    again = ScriptedModel(ask_about_text)
    assert write(chunks(*texts), again, previous=first).equals(first)
    assert first["target_chunk_ids"].to_list() == [[text] for text in texts]
    assert again.asked == []


@given(TEXTS, st.data())
def test_only_changed_chunks_are_asked_again(texts: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(texts))) if texts else set()
    now = [text.upper() if text in gone else text for text in texts]
    first = write(chunks(*texts), ScriptedModel(ask_about_text))
    model = ScriptedModel(ask_about_text)
    questions = write(chunks(*now), model, previous=first)
    assert {request.passages[0].chunk_id for request in model.asked} == {text.upper() for text in gone}
    assert questions["target_chunk_ids"].to_list() == [[text] for text in now]


def test_a_question_that_does_not_retrieve_its_own_chunk_is_dropped_unless_the_settings_allow_it() -> None:
    questions = write(chunks("a", "b"), ScriptedModel(ask_about_text), retrieve=finds("b"))
    assert questions.select("status", "reason").rows() == [("dropped", "round_trip_failed"), ("kept", None)]
    later = write(chunks("a"), ScriptedModel([]), previous=questions)
    assert later.select("status", "reason").rows() == [("kept", None)]
    lenient = GenerationSettings(require_round_trip=False)
    questions = write(chunks("a"), ScriptedModel(ask_about_text), retrieve=finds("b"), settings=lenient)
    assert questions["status"].to_list() == ["kept"]


def test_ids_of_questions_are_those_of_earlier_versions_so_that_decisions_on_their_pairs_stay() -> None:
    (row,) = write(chunks("a"), ScriptedModel(ask_about_text)).to_dicts()
    asked = [row["batch"], *row["target_chunk_ids"], row["question"], 1, row["place"]]
    assert row["question_id"] == hash_parts(*asked, row["prompt_hash"], row["model"])[:32]


def test_a_question_stays_where_another_retrieved_chunk_is_gone_and_its_search_is_made_again() -> None:
    first = write(chunks("a", "b", "c"), ScriptedModel(ask_about_text), retrieve=finds("a", "b", "c"))
    model = ScriptedModel(ask_about_text)
    after = write(chunks("a", "B", "c"), model, previous=first, retrieve=finds("a", "c", "B"))
    assert [request.passages[0].chunk_id for request in model.asked] == ["B"]
    assert after["passage_ids"].to_list() == [["a", "c", "B"]] * 3
    assert after["question_id"].to_list()[::2] == first["question_id"].to_list()[::2]


def test_the_second_of_two_equal_questions_is_dropped_and_returns_when_the_first_is_gone() -> None:
    same = QuestionsReply(questions=[DraftQuestion(question="Why?", question_type="reasoning")])
    first = write(chunks("a", "b"), ScriptedModel([same, same]), retrieve=finds("a", "b"))
    assert first["reason"].to_list() == [None, "repeated_question"]
    later = write(chunks("b"), ScriptedModel([same]), retrieve=finds("b"), previous=first)
    assert later["status"].to_list() == ["kept"]


def drafts(*questions: tuple[str, str]) -> QuestionsReply:
    return QuestionsReply(
        questions=[DraftQuestion.model_validate({"question": q, "question_type": t}) for q, t in questions]
    )


def test_each_planned_question_has_a_row_written_or_not() -> None:
    mix: dict[QuestionType, float] = {"fact_single": 1, "reasoning": 1, "comparison": 1}
    model = ScriptedModel([drafts(("Why is A?", "reasoning"), ("Sum up A and B?", "summary"))])
    questions = write(
        chunks("a"), model, settings=GenerationSettings(questions_per_chunk=3, mix=mix), retrieve=finds("a")
    )
    assert set(model.asked[0].types) == {"fact_single", "reasoning", "comparison"}
    assert set(questions["planned_type"]) == {"fact_single", "reasoning", "comparison"}
    assert questions.select("question_type", "status", "reason").rows() == [
        ("reasoning", "kept", None),
        ("summary", "kept", None),
        (None, "dropped", "not_written"),
    ]


@pytest.mark.parametrize(("language", "reason"), [("fi", "language_not_handled"), ("en", "not_written")])
def test_a_chunk_that_gave_no_question_says_why_and_is_not_asked_again(language: str, reason: str) -> None:
    frame = chunks("a", language=language)
    first = write(frame, ScriptedModel([QuestionsReply(questions=[])]))
    assert first["reason"].to_list() == [reason]
    assert write(frame, ScriptedModel([]), previous=first).equals(first)


def test_a_question_that_leans_on_its_passage_is_rewritten_once_and_keeps_its_first_wording() -> None:
    alone = StandaloneReply(question="What does a card cost?")
    model = ScriptedModel([drafts(("What does it cost?", "fact_single")), alone])
    questions = write(chunks("a"), model, retrieve=finds("a"))
    assert questions.select("question", "rewritten_from", "status").rows() == [
        ("What does a card cost?", "What does it cost?", "kept")
    ]
    assert [request.role for request in model.asked] == ["questions", "standalone"]
    assert write(chunks("a"), ScriptedModel([]), previous=questions, retrieve=finds("a")).equals(questions)


@pytest.mark.parametrize("again", [None, "What does it cost then?"])
def test_a_question_that_still_leans_after_that_is_dropped_with_the_word(again: str | None) -> None:
    model = ScriptedModel([drafts(("What does it cost?", "fact_single")), StandaloneReply(question=again)])
    questions = write(chunks("a"), model, retrieve=finds("a"))
    assert questions.select("status", "reason", "detail").rows() == [("dropped", "not_standalone", "it")]


def test_a_rewriting_that_failed_is_asked_again_and_nothing_else_is_lost() -> None:
    first = write(
        chunks("a"),
        ScriptedModel([drafts(("What does it cost?", "fact_single")), UnreadableReplyError("not_json", "x")]),
        retrieve=finds("a"),
    )
    assert first.select("status", "reason").rows() == [("failed", "not_json")]
    model = ScriptedModel([drafts(("What does it cost?", "fact_single")), StandaloneReply(question="Why?")])
    assert write(chunks("a"), model, previous=first, retrieve=finds("a"))["status"].to_list() == ["kept"]


@pytest.mark.parametrize(
    ("language", "question", "reason"),
    [
        ("sv", "How much does the water cost for a household in the city?", "language_mismatch"),
        ("de", "Vad kostar vattnet för ett hushåll i staden under året?", "language_mismatch"),
        ("sv", "Vad kostar vattnet för ett hushåll i staden under året?", None),
        ("de", "Was ist unter “Default Action Handler” angegeben?", None),
        ("en", "What is " + "x" * 10_000 + "?", "question_too_long"),
    ],
)
def test_a_question_in_another_language_or_of_endless_length_is_dropped(
    language: str, question: str, reason: str | None
) -> None:
    questions = write(
        chunks("a", language=language),
        ScriptedModel([drafts((question, "fact_single"))]),
        retrieve=finds("a"),
    )
    assert questions["reason"].to_list() == [reason]


def test_chunks_beyond_the_limit_keep_a_row_that_says_so_and_are_asked_when_it_rises() -> None:
    few = GenerationSettings(max_questions=2)
    first = write(chunks("a", "b", "c"), ScriptedModel(ask_about_text), settings=few)
    assert sorted(map(str, first["reason"])) == ["None", "None", "over_limit"]
    assert write(chunks("a", "b", "c"), ScriptedModel([]), settings=few, previous=first).equals(first)
    model = ScriptedModel(ask_about_text)
    write(chunks("a", "b", "c"), model, previous=first)
    assert len(model.asked) == 1


def test_the_users_guidance_stands_in_the_prompt_and_other_guidance_or_another_model_asks_anew() -> None:
    guided = GenerationSettings(guidance="Ask as a nurse on a night shift would, about {types}.")
    model = ScriptedModel(ask_about_text)
    first = write(chunks("a"), model, settings=guided)
    assert "a nurse on a night shift would, about {types}." in model.asked[0].system
    assert write(chunks("a"), ScriptedModel([]), settings=guided, previous=first).equals(first)
    for name, settings in (("scripted", GenerationSettings()), ("another", guided)):
        again = ScriptedModel(ask_about_text, name=name)
        write(chunks("a"), again, previous=first, settings=settings)
        assert len(again.asked) == 1


def test_how_early_the_search_finds_the_chunk_is_the_difficulty() -> None:
    found = {"What is a?": ["a"], "What is b?": ["x", "b"], "What is c?": ["x", "y", "z", "c"]}
    questions = write(
        chunks("a", "b", "c"),
        ScriptedModel(ask_about_text),
        retrieve=lambda q, _: [[(one, 1.0) for one in found[question]] for question in q],
    )
    assert questions["difficulty"].to_list() == ["easy", "medium", "hard"]


def test_chunks_that_repeat_others_are_asked_when_they_no_longer_do() -> None:
    marks = pl.Series("passed_over", [None, "near_duplicate", "repeated_block"], pl.String())
    frame = chunks("a", "b", "c")
    first = write(frame.with_columns(marks), ScriptedModel(ask_about_text))
    assert first["reason"].to_list() == [None, "near_duplicate", "repeated_block"]
    model = ScriptedModel(ask_about_text)
    after = write(frame.with_columns(marks.reverse()), model, previous=first)
    assert [request.passages[0].chunk_id for request in model.asked] == ["c"]
    assert after["reason"][0] == "repeated_block"


HOPS = GenerationSettings(mix={"multi_hop": 1.0})
EDGE = pl.DataFrame(
    [
        {"chunk_id": "a", "other_chunk_id": "b", "scope": "within", "kind": "name",
         "bridge": "the Tower", "weight": 1.0, "shared": 1}
    ],
    schema=LINKS,
)  # fmt: skip
BRIDGE = QuestionsReply(questions=[DraftQuestion(question="Who built it all?", question_type="multi_hop")])


def test_a_question_of_two_hops_is_asked_of_both_chunks_and_told_what_joins_them() -> None:
    model = ScriptedModel([BRIDGE])
    questions = write(chunks("a", "b"), model, settings=HOPS, links=EDGE, retrieve=finds("b", "a"))
    (request,) = model.asked
    assert [one.chunk_id for one in request.passages] == ["a", "b"]
    assert "the Tower" in request.prompt
    assert questions.select("target_chunk_ids", "question_type", "difficulty", "reason").rows() == [
        (["a", "b"], "multi_hop", "easy", None),
        (["b"], None, None, "not_offered"),
    ]


@pytest.mark.parametrize(
    ("found", "status", "shown", "scores"),
    [
        (["b", "c", "d"], "kept", ["b", "c", "a"], [1.0, 1.0, None]),
        (["c", "d", "a"], "kept", ["c", "a", "b"], [1.0, 1.0, None]),
        (["a"], "kept", ["a", "b"], [1.0, None]),
        (["c", "d"], "dropped", ["c", "d"], [1.0, 1.0]),
    ],
)
def test_the_search_must_find_one_hop_and_the_other_is_put_beside_it(
    found: list[str], status: str, shown: list[str], scores: list[float | None]
) -> None:
    frame, model = chunks("a", "b", "c", "d"), ScriptedModel([BRIDGE])
    questions = write(frame, model, settings=HOPS, links=EDGE, retrieve=finds(*found))
    row = questions.filter(pl.col("question").is_not_null()).row(0, named=True)
    assert (row["status"], row["passage_ids"], row["passage_scores"]) == (status, shown, scores)


def test_a_reply_of_another_number_of_hops_than_asked_is_not_written() -> None:
    single = QuestionsReply(questions=[DraftQuestion(question="Who?", question_type="fact_single")])
    asked_two = write(chunks("a", "b"), ScriptedModel([single]), settings=HOPS, links=EDGE)
    assert set(asked_two["reason"]) == {"not_written", "not_offered"}
    asked_one = write(chunks("a"), ScriptedModel([BRIDGE]))
    assert asked_one["reason"].to_list() == ["not_written"]


def test_two_hops_are_asked_again_only_when_one_of_their_chunks_has_changed() -> None:
    options: dict[str, Any] = {"settings": HOPS, "links": EDGE, "retrieve": finds("a", "b")}
    first = write(chunks("a", "b"), ScriptedModel([BRIDGE]), **options)
    assert write(chunks("a", "b"), ScriptedModel([]), previous=first, **options).equals(first)
    without = write(chunks("a"), ScriptedModel([]), previous=first, settings=HOPS)
    assert without["reason"].to_list() == ["not_offered"]


def in_doubt(text: str, part: str) -> pl.DataFrame:
    """One chunk, of whose part the reader is not sure; its document has more text before it."""
    at = 100 + text.index(part)
    doubt = {"kind": "table", "start": at, "end": at + len(part)}
    frame = chunks(text).with_columns(char_start=pl.lit(100, pl.Int64()))
    return frame.with_columns(doubts=pl.Series([[doubt]], dtype=CHUNKS.schema["doubts"]))


def test_nothing_is_asked_about_what_is_in_doubt_nor_about_a_chunk_of_little_else() -> None:
    model = ScriptedModel(ask_about_text)
    write(in_doubt("The shop opens at nine. The tax is low.", "The tax is low."), model)
    assert [request.passages[0].text.rstrip() for request in model.asked] == ["The shop opens at nine."]
    rows = "Name: A | Price: 1\nName: B | Price: 2"
    questions = write(in_doubt(f"# Prices\n\n{rows}", rows), ScriptedModel([]))
    assert questions.select("question", "status", "reason").rows() == [(None, "dropped", "in_doubt")]
