from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import BudgetExhaustedError, UnreadableReplyError
from qa_pipeline.generation.questions import write_questions
from qa_pipeline.llm.base import LanguageModel
from qa_pipeline.records import (
    DraftQuestion,
    QuestionsReply,
    StandaloneReply,
)
from qa_pipeline.settings.generation import GenerationSettings, MixSettings
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.storage.hashes import hash_parts
from qa_pipeline.storage.tables import CHUNKS, LINKS, QUESTIONS
from qa_pipeline_tests.generation.rows import ask_about_text, chunks, retrieve_named
from qa_pipeline_tests.support.scripted import ScriptedModel

FEES = "- Fee: 5 euros\n- Delivery time: 2 days"
TEXTS = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=6)


def write(frame: pl.DataFrame, model: LanguageModel, **options: Any) -> pl.DataFrame:
    settings = {
        "retrieve": retrieve_named,
        "settings": GenerationSettings(),
        "llm": LLMSettings(),
        "batch": "b",
    }
    return write_questions(frame, model, **{**settings, **options})


@given(TEXTS)
def test_every_chunk_is_asked_once_and_the_rows_follow_the_chunks(texts: list[str]) -> None:
    model = ScriptedModel(ask_about_text)
    questions = write(chunks(*texts), model)
    assert sorted(request.passages[0].chunk_id for request in model.asked) == sorted(texts)
    assert questions["target_chunk_ids"].to_list() == [[text] for text in texts]


@given(TEXTS)
def test_an_unchanged_batch_asks_nothing_and_gives_the_same_rows(texts: list[str]) -> None:
    first = write(chunks(*texts), ScriptedModel(ask_about_text))
    again = ScriptedModel(ask_about_text)
    assert write(chunks(*texts), again, previous=first).equals(first)
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


def test_ids_of_questions_are_those_of_earlier_versions_so_that_decisions_on_their_pairs_stay() -> None:
    (row,) = write(chunks("a"), ScriptedModel(ask_about_text)).to_dicts()
    asked = [row["batch"], *row["target_chunk_ids"], row["question"], 1, row["place"]]
    assert row["question_id"] == hash_parts(*asked, row["prompt_hash"], row["model"])[:32]


def test_a_question_stays_where_another_retrieved_chunk_is_gone_and_its_search_is_made_again() -> None:
    def retrieve(questions: Sequence[str], _: Sequence[str]) -> list[list[tuple[str, float]]]:
        return [[(text, 1.0) for text in ("a", "b", "c")]] * len(questions)

    first = write(chunks("a", "b", "c"), ScriptedModel(ask_about_text), retrieve=retrieve)
    model = ScriptedModel(ask_about_text)
    after = write(
        chunks("a", "B", "c"),
        model,
        previous=first,
        retrieve=lambda q, _: [[("a", 1.0), ("c", 0.5), ("B", 0.25)]] * len(q),
    )
    assert [request.passages[0].chunk_id for request in model.asked] == ["B"]
    assert after["passage_ids"].to_list() == [["a", "c", "B"]] * 3
    assert after["question_id"].to_list()[::2] == first["question_id"].to_list()[::2]


def test_a_question_that_lost_its_round_trip_to_a_chunk_that_is_gone_is_kept() -> None:
    first = write(
        chunks("a", "b"), ScriptedModel(ask_about_text), retrieve=lambda q, _: [[("b", 1.0)]] * len(q)
    )
    assert first["reason"].to_list() == ["round_trip_failed", None]
    later = write(
        chunks("a"), ScriptedModel([]), retrieve=lambda q, _: [[("a", 1.0)]] * len(q), previous=first
    )
    assert later.select("status", "reason").rows() == [("kept", None)]


def test_a_question_that_does_not_retrieve_its_own_chunk_is_dropped_with_a_reason() -> None:
    questions = write(
        chunks("a", "b"), ScriptedModel(ask_about_text), retrieve=lambda q, _: [[("b", 1.0)]] * len(q)
    )
    assert questions["status"].to_list() == ["dropped", "kept"]
    assert questions["reason"].to_list() == ["round_trip_failed", None]


def test_the_round_trip_can_be_switched_off() -> None:
    settings = GenerationSettings(require_round_trip=False)
    questions = write(
        chunks("a"),
        ScriptedModel(ask_about_text),
        retrieve=lambda q, _: [[("b", 1.0)]] * len(q),
        settings=settings,
    )
    assert questions["status"].to_list() == ["kept"]


def test_the_second_of_two_equal_questions_is_dropped_and_returns_when_the_first_is_gone() -> None:
    same = QuestionsReply(questions=[DraftQuestion(question="Why?", question_type="reasoning")])
    everything = {"retrieve": lambda q, _: [[("a", 1.0), ("b", 0.5)]] * len(q)}
    first = write(chunks("a", "b"), ScriptedModel([same, same]), **everything)
    assert first["reason"].to_list() == [None, "repeated_question"]
    later = write(
        chunks("b"), ScriptedModel([same]), retrieve=lambda q, _: [[("b", 1.0)]] * len(q), previous=first
    )
    assert later["status"].to_list() == ["kept"]


def test_an_unreadable_reply_is_a_failed_row_and_is_asked_again_next_time() -> None:
    first = write(chunks("a"), ScriptedModel([UnreadableReplyError("not_json", "it says hello")]))
    assert first["status"].to_list() == ["failed"]
    assert first["reason"].to_list() == ["not_json"]
    assert first["question"].to_list() == [None]
    assert write(chunks("a"), ScriptedModel(ask_about_text), previous=first)["status"].to_list() == ["kept"]


def test_a_spent_budget_stops_the_stage() -> None:
    with pytest.raises(BudgetExhaustedError):
        write(chunks("a"), ScriptedModel([BudgetExhaustedError("10 calls made")]))


def test_no_more_questions_are_kept_than_were_asked_for() -> None:
    many = QuestionsReply(
        questions=[DraftQuestion(question=f"What is {n}?", question_type="fact_single") for n in range(9)]
    )
    questions = write(
        chunks("a"),
        ScriptedModel([many]),
        retrieve=lambda q, _: [[("a", 1.0)]] * len(q),
        settings=GenerationSettings(questions_per_chunk=2),
    )
    assert questions["question"].to_list() == ["What is 0?", "What is 1?"]


def test_another_model_does_not_inherit_questions() -> None:
    first = write(chunks("a"), ScriptedModel(ask_about_text, name="one"))
    other = ScriptedModel(ask_about_text, name="two")
    write(chunks("a"), other, previous=first)
    assert len(other.asked) == 1


EVERYTHING = {"retrieve": lambda q, _: [[("a", 1.0)]] * len(q)}


def drafts(*questions: tuple[str, str]) -> QuestionsReply:
    return QuestionsReply(
        questions=[DraftQuestion.model_validate({"question": q, "question_type": t}) for q, t in questions]
    )


def test_each_planned_question_has_a_row_written_in_its_type_in_another_or_not_at_all() -> None:
    mix = MixSettings.model_validate(
        dict.fromkeys(MixSettings().weights, 0.0) | {"fact_single": 1, "reasoning": 1, "comparison": 1}
    )
    model = ScriptedModel([drafts(("Why is A?", "reasoning"), ("Sum up A and B?", "summary"))])
    questions = write(
        chunks("a"), model, settings=GenerationSettings(questions_per_chunk=3, mix=mix), **EVERYTHING
    )
    assert set(model.asked[0].types) == {"fact_single", "reasoning", "comparison"}
    rows = {planned: row for planned, *row in questions.select(
        "planned_type", "question_type", "status", "reason"
    ).iter_rows()}  # fmt: skip
    assert rows["reasoning"] == ["reasoning", "kept", None]
    others = [rows["comparison"], rows["fact_single"]]
    assert sorted(others, key=str) == [["summary", "kept", None], [None, "dropped", "not_written"]]


def test_a_chunk_in_a_language_without_rules_and_prompts_says_that_this_is_why_it_gave_no_question() -> None:
    asked = write(chunks("a", language="fi"), ScriptedModel([QuestionsReply(questions=[])]))
    assert asked["reason"].to_list() == ["language_not_handled"]


def test_a_chunk_that_gave_no_question_is_not_asked_again() -> None:
    first = write(chunks("a"), ScriptedModel([QuestionsReply(questions=[])]))
    assert first["reason"].to_list() == ["not_written"]
    assert write(chunks("a"), ScriptedModel([]), previous=first).equals(first)


def test_a_quoted_title_is_no_part_of_what_is_searched_for_a_question() -> None:
    model = ScriptedModel([drafts(("What is the fee in “Fjell 8”?", "fact_single"))])
    frame = chunks(FEES).with_columns(title=pl.lit("Fjell 8"))
    queries: list[str] = []

    def search(asked: Sequence[str], languages: Sequence[str]) -> list[list[tuple[str, float]]]:
        queries.extend(asked)
        return [[] for _ in languages]

    write(frame, model, retrieve=search)
    assert queries == ["What is the fee in ?"]


def test_a_question_that_leans_on_its_passage_is_rewritten_once_and_keeps_its_first_wording() -> None:
    model = ScriptedModel(
        lambda request: (
            StandaloneReply(question="What does a card cost?")
            if request.role == "standalone"
            else drafts(("What does it cost?", "fact_single"))
        )
    )
    questions = write(chunks("a"), model, **EVERYTHING)
    assert questions.select("question", "rewritten_from", "status").rows() == [
        ("What does a card cost?", "What does it cost?", "kept")
    ]
    assert [request.role for request in model.asked] == ["questions", "standalone"]
    assert write(chunks("a"), ScriptedModel([]), previous=questions, **EVERYTHING).equals(questions)


@pytest.mark.parametrize("again", [None, "What does it cost then?"])
def test_a_question_that_still_leans_after_that_is_dropped_with_the_word(again: str | None) -> None:
    model = ScriptedModel([drafts(("What does it cost?", "fact_single")), StandaloneReply(question=again)])
    questions = write(chunks("a"), model, **EVERYTHING)
    assert questions.select("status", "reason", "detail").rows() == [("dropped", "not_standalone", "it")]


def test_a_rewriting_that_failed_is_asked_again_and_nothing_else_is_lost() -> None:
    first = write(
        chunks("a"),
        ScriptedModel([drafts(("What does it cost?", "fact_single")), UnreadableReplyError("not_json", "x")]),
        **EVERYTHING,
    )
    assert first.select("status", "reason").rows() == [("failed", "not_json")]
    model = ScriptedModel([drafts(("What does it cost?", "fact_single")), StandaloneReply(question="Why?")])
    assert write(chunks("a"), model, previous=first, **EVERYTHING)["status"].to_list() == ["kept"]


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
        chunks("a", language=language), ScriptedModel([drafts((question, "fact_single"))]), **EVERYTHING
    )
    assert questions["reason"].to_list() == [reason]


def test_the_same_question_for_every_chunk_is_kept_once() -> None:
    texts = [f"text {number}" for number in range(30)]
    found = [[(text, 1.0) for text in texts]]
    model = ScriptedModel(lambda request: drafts(("What is a boiler?", "fact_single")))
    questions = write(chunks(*texts), model, retrieve=lambda q, _: found * len(q))
    assert dict(questions["reason"].value_counts().iter_rows()) == {None: 1, "repeated_question": 29}


def test_chunks_beyond_the_limit_keep_a_row_that_says_so_and_are_asked_when_it_rises() -> None:
    few = GenerationSettings(max_questions=2)
    first = write(chunks("a", "b", "c"), ScriptedModel(ask_about_text), settings=few)
    assert sorted(map(str, first["reason"])) == ["None", "None", "over_limit"]
    assert write(chunks("a", "b", "c"), ScriptedModel([]), settings=few, previous=first).equals(first)
    model = ScriptedModel(ask_about_text)
    write(chunks("a", "b", "c"), model, previous=first)
    assert len(model.asked) == 1


def test_the_users_guidance_stands_in_the_prompt_and_other_guidance_asks_anew() -> None:
    guided = GenerationSettings(guidance="Ask as a nurse on a night shift would, about {types}.")
    model = ScriptedModel(ask_about_text)
    first = write(chunks("a"), model, settings=guided)
    assert "a nurse on a night shift would, about {types}." in model.asked[0].system
    assert write(chunks("a"), ScriptedModel([]), settings=guided, previous=first).equals(first)
    again = ScriptedModel(ask_about_text)
    write(chunks("a"), again, previous=first)
    assert len(again.asked) == 1


def test_how_early_the_search_finds_the_chunk_is_the_difficulty() -> None:
    found = {"What is a?": ["a"], "What is b?": ["x", "b"], "What is c?": ["x", "y", "z", "c"]}
    questions = write(
        chunks("a", "b", "c"),
        ScriptedModel(ask_about_text),
        retrieve=lambda q, _: [[(one, 1.0) for one in found[question]] for question in q],
    )
    assert questions["difficulty"].to_list() == ["easy", "medium", "hard"]


def test_an_empty_batch_has_no_questions() -> None:
    assert write(chunks(), ScriptedModel([])).equals(QUESTIONS.empty())


def repeating(*texts: str, marks: dict[str, str]) -> pl.DataFrame:
    return chunks(*texts).with_columns(
        pl.col("chunk_id").replace_strict(marks, default=None, return_dtype=pl.String()).alias("passed_over")
    )


MARKS = {"b": "near_duplicate", "c": "repeated_block"}


def test_chunks_that_repeat_others_are_not_asked_and_keep_a_row_that_says_so() -> None:
    model = ScriptedModel(ask_about_text)
    questions = write(repeating("a", "b", "c", marks=MARKS), model)
    assert [request.passages[0].chunk_id for request in model.asked] == ["a"]
    rows = questions.select("question", "status", "reason").rows()
    assert rows[1:] == [(None, "dropped", "near_duplicate"), (None, "dropped", "repeated_block")]


def test_near_duplicates_are_asked_where_the_settings_say_so() -> None:
    model = ScriptedModel(ask_about_text)
    write(
        repeating("a", "b", "c", marks=MARKS),
        model,
        settings=GenerationSettings(skip_near_duplicates=False),
    )
    assert [request.passages[0].chunk_id for request in model.asked] == ["a", "b"]


def test_a_chunk_that_no_longer_repeats_another_is_asked_and_the_other_way_round() -> None:
    before = write(repeating("a", "b", marks={"b": "repeated_block"}), ScriptedModel(ask_about_text))
    model = ScriptedModel(ask_about_text)
    after = write(repeating("a", "b", marks={"a": "repeated_block"}), model, previous=before)
    assert [request.passages[0].chunk_id for request in model.asked] == ["b"]
    assert after["status"].to_list() == ["dropped", "kept"]


HOPS = GenerationSettings(mix=MixSettings(**{**dict.fromkeys(MixSettings().weights, 0.0), "multi_hop": 1.0}))
EDGE = LINKS.frame(
    [
        {"batch": "b", "chunk_id": "a", "other_chunk_id": "b", "scope": "within", "kind": "name",
         "bridge": "the Tower", "weight": 1.0, "shared": 1}
    ]
)  # fmt: skip
BRIDGE = QuestionsReply(questions=[DraftQuestion(question="Who built it all?", question_type="multi_hop")])


def test_a_question_of_two_hops_is_asked_of_both_chunks_and_told_what_joins_them() -> None:
    model = ScriptedModel([BRIDGE])
    questions = write(
        chunks("a", "b"), model, settings=HOPS, links=EDGE, retrieve=lambda q, _: [[("b", 1.0), ("a", 0.5)]]
    )
    (request,) = model.asked
    assert [one.chunk_id for one in request.passages] == ["a", "b"]
    assert "the Tower" in request.prompt
    hop = questions.filter(pl.col("status") == "kept")
    assert hop.select("target_chunk_ids", "question_type", "difficulty").row(0) == (
        ["a", "b"],
        "multi_hop",
        "easy",
    )
    assert questions.filter(pl.col("status") == "dropped")["reason"].to_list() == ["not_offered"]


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
    questions = write(
        chunks("a", "b", "c", "d"),
        ScriptedModel([BRIDGE]),
        settings=HOPS,
        links=EDGE,
        retrieve=lambda q, _: [[(one, 1.0) for one in found]],
    )
    row = questions.filter(pl.col("question").is_not_null()).row(0, named=True)
    assert (row["status"], row["passage_ids"], row["passage_scores"]) == (status, shown, scores)


def test_a_reply_of_another_number_of_hops_than_asked_is_not_written() -> None:
    single = QuestionsReply(questions=[DraftQuestion(question="Who?", question_type="fact_single")])
    asked_two = write(chunks("a", "b"), ScriptedModel([single]), settings=HOPS, links=EDGE)
    assert set(asked_two["reason"]) == {"not_written", "not_offered"}
    asked_one = write(chunks("a"), ScriptedModel([BRIDGE]))
    assert asked_one["reason"].to_list() == ["not_written"]


def test_two_hops_are_asked_again_only_when_one_of_their_chunks_has_changed() -> None:
    everything = {
        "settings": HOPS,
        "links": EDGE,
        "retrieve": lambda q, _: [[("a", 1.0), ("b", 1.0)]] * len(q),
    }
    first = write(chunks("a", "b"), ScriptedModel([BRIDGE]), **everything)
    again = ScriptedModel([])
    assert write(chunks("a", "b"), again, previous=first, **everything).equals(first)
    without = write(chunks("a"), ScriptedModel([]), previous=first, settings=HOPS)
    assert without["reason"].to_list() == ["not_offered"]


def in_doubt(text: str, part: str) -> pl.DataFrame:
    """One chunk, of whose part the reader is not sure; its document has more text before it."""
    at = 100 + text.index(part)
    doubt = {"kind": "table", "start": at, "end": at + len(part)}
    frame = chunks(text).with_columns(char_start=pl.lit(100, pl.Int64()))
    return frame.with_columns(doubts=pl.Series([[doubt]], dtype=CHUNKS.schema["doubts"]))


def test_nothing_is_asked_about_the_part_of_a_chunk_that_is_in_doubt() -> None:
    model = ScriptedModel(ask_about_text)
    write(in_doubt("The shop opens at nine. The tax is low.", "The tax is low."), model)
    assert [request.passages[0].text.rstrip() for request in model.asked] == ["The shop opens at nine."]


def test_a_chunk_of_little_but_rows_in_doubt_is_not_asked_and_keeps_a_row_that_says_so() -> None:
    rows = "Name: A | Price: 1\nName: B | Price: 2"
    questions = write(in_doubt(f"# Prices\n\n{rows}", rows), ScriptedModel([]))
    assert questions.select("question", "status", "reason").rows() == [(None, "dropped", "in_doubt")]
