"""Reading replies: the least repair that works, and none that changes a word."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.llm.replies import _words, read_reply, sent_schema
from qa_pipeline.records import AnswerReply, JudgeReply, QuestionsReply, ReplyModel, VerifyReply
from qa_pipeline_tests.fake_server.replies import strict_complaint
from qa_pipeline_tests.llm.requests import ACCEPT, Decision
from qa_pipeline_tests.verdict_replies import scored_reply

JSON = ACCEPT.model_dump_json()
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
AROUND = st.text(st.characters(exclude_characters="{}[]", exclude_categories=["Cs"]), max_size=30)


@given(TEXT, AROUND, AROUND)
def test_text_around_the_json_is_cut_off_and_changes_nothing_of_it(
    reasoning: str, before: str, after: str
) -> None:
    raw = json.dumps({"reasoning": reasoning, "decision": "accept"}, ensure_ascii=False)
    value, repair = read_reply(f"{before}{raw}{after}", Decision)
    assert value.reasoning == reasoning
    assert repair in ("none", "stripped")


@given(st.text(alphabet='{}[]",: \\\nabc1"reasoning""decision""accept"', max_size=80))
def test_any_text_is_read_or_refused_and_a_repaired_one_keeps_every_word(raw: str) -> None:
    try:
        value, repair = read_reply(raw, Decision)
    except UnreadableReplyError:
        return
    if repair == "repaired":
        assert _words(value.model_dump_json()) == _words(raw[raw.find("{") : raw.rfind("}") + 1])


@given(st.integers(1, len(JSON) - 1))
def test_a_reply_that_was_cut_off_is_never_closed_for_it(length: int) -> None:
    with pytest.raises(UnreadableReplyError):
        read_reply(JSON[:length], Decision)


@pytest.mark.parametrize(
    ("raw", "repair"),
    [
        (f"```json\n{JSON}\n```", "stripped"),
        (f"<think>Is it {{25}} or 20?</think>{JSON}", "stripped"),
        (f"[THINK]Is it {{25}} or 20?[/THINK]{JSON}", "stripped"),
        (f"{JSON}\n{JSON}", "stripped"),
        (f"Is it {{25}} or 20?\n</think>\n\n{JSON}", "stripped"),
        ('{"reasoning": "The passage says so.", "decision": "accept",}', "repaired"),
        ("{'reasoning': 'The passage says so.', 'decision': 'accept'}", "repaired"),
        ('{"reasoning": "The passage says so." "decision": "accept"}', "repaired"),
    ],
)
def test_usual_flaws_are_repaired(raw: str, repair: str) -> None:
    assert read_reply(raw, Decision) == (ACCEPT, repair)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "empty"),
        ("I accept.", "not_json"),
        (f"{JSON}\n" + JSON.replace("accept", "reject"), "not_json"),
        ('{"reasoning": "r", "decision": "maybe"}', "schema_breach"),
        ('```{"reasoning": "r", "decision": "accept", "x": 1}```', "schema_breach"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("Tyvärr kan jag inte svara på det.", "refused"),
    ],
)
def test_what_cannot_be_read_has_its_reason(raw: str, reason: str) -> None:
    with pytest.raises(UnreadableReplyError) as caught:
        read_reply(raw, Decision)
    assert caught.value.reason == reason


def test_a_nested_reply_is_repaired_with_all_its_citations() -> None:
    raw = """{"coverage": "full", "answer": "It takes 10 minutes.", "used_chunks": [1, 2,],
        "citations": [{"passage": 1, "quote": "wait 10 minutes",}, {"passage": 2, "quote": "close it"}],}"""
    value, repair = read_reply(raw, AnswerReply)
    assert repair == "repaired"
    assert [citation.quote for citation in value.citations] == ["wait 10 minutes", "close it"]


def test_a_closing_tag_of_thoughts_inside_an_answer_stays() -> None:
    raw = 'Here: {"reasoning": "It ends with </think> as always.", "decision": "accept"}'
    assert read_reply(raw, Decision)[0].reasoning == "It ends with </think> as always."


@pytest.mark.parametrize("score", ["true", '"1.0"', "null", "1.5", "[1]"])
def test_a_score_that_is_missing_or_no_number_from_0_to_1_or_without_reason_is_no_score(score: str) -> None:
    good = scored_reply().model_dump_json()
    for part, instead in (
        ('"relevance":1.0', f'"relevance":{score}'),
        (',"completeness":1.0', ""),
        ('"correctness_reason":"Because.",', ""),
    ):
        assert part in good
        with pytest.raises(UnreadableReplyError, match="schema_breach"):
            read_reply(good.replace(part, instead), JudgeReply)


def test_a_draft_in_thoughts_that_do_not_end_is_no_reply() -> None:
    with pytest.raises(UnreadableReplyError, match="not_json"):
        read_reply(f"<think>Perhaps {JSON}, but", Decision)


@pytest.mark.parametrize("reply_model", [QuestionsReply, AnswerReply, VerifyReply, JudgeReply])
def test_the_schema_keeps_the_order_of_fields_and_has_nothing_that_servers_do_not_read(
    reply_model: type[ReplyModel],
) -> None:
    schema = sent_schema(reply_model)
    assert strict_complaint(schema) is None
    assert list(schema["properties"]) == list(reply_model.model_json_schema()["properties"])
    assert not any(
        f"'{keyword}'" in str(schema) for keyword in ("$ref", "$defs", "minLength", "const", "pattern")
    )
