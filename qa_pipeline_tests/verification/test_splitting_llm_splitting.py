"""Answers that a model cuts, from the pairs to the rows of claims."""

from typing import Any

import polars as pl
import pytest

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.records import SplitClaim, SplitReply, passages_by_id
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.verification.claims import find_claims
from qa_pipeline.verification.splitting import split_answers
from qa_pipeline_tests.fakes import HashEmbedder
from qa_pipeline_tests.support.scripted import ScriptedModel, ScriptedReply
from qa_pipeline_tests.verification.rows import chunks, documents, pair, pairs

TEXT = "The pump has a weight of 5 kg. Its price is 900 kr. The valve opens at 3 bar."
JOINED = "The Nordvik pump weighs 5 kg and its price is 900 kr."
HALVES = SplitReply(
    claims=[
        SplitClaim(sentence=1, quote="The Nordvik pump weighs 5 kg", claim="The Nordvik pump weighs 5 kg"),
        SplitClaim(sentence=1, quote="its price is 900 kr.", claim="The Nordvik pump: its price is 900 kr."),
    ]
)


def claims_of(model: ScriptedModel, *answers: str, mode: Any = "auto", **changes: Any) -> pl.DataFrame:
    frame = documents({"a.md": TEXT})
    cut = chunks(frame)
    rows = pairs(*(pair(one, cites="a.md", used_chunk_ids=cut["chunk_id"].to_list()) for one in answers))
    settings = VerificationSettings(split_claims=mode, **changes)
    model_claims = split_answers(rows, passages_by_id(cut), model, settings, LLMSettings())
    return find_claims(rows, frame, cut, HashEmbedder(), model_claims=model_claims)


def told(claims: pl.DataFrame) -> list[tuple[Any, ...]]:
    return claims.select("text", "self_contained", "split_by", "split_reason").rows()


def test_the_claims_of_an_answer_that_joins_clauses_are_the_models() -> None:
    assert told(claims_of(ScriptedModel([HALVES]), JOINED)) == [
        ("The Nordvik pump weighs 5 kg", None, "model", None),
        ("its price is 900 kr.", "The Nordvik pump: its price is 900 kr.", "model", None),
    ]


def test_equal_answers_are_asked_about_once() -> None:
    model = ScriptedModel([HALVES])
    assert claims_of(model, JOINED, JOINED).height == 4
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        "The pump is heavy.",
        "The valve opens at 3 bar.",
        "The pump has a weight of 5 kg. Its price is 900 kr.",
    ],
)
def test_single_statements_and_what_is_word_for_word_in_the_source_are_not_asked_about(
    answer: str,
) -> None:
    model = ScriptedModel([])
    claims = claims_of(model, answer)
    assert not model.asked
    assert set(claims["split_by"]) == {"rules"}
    assert claims["split_reason"].null_count() == claims.height


def test_every_answer_is_asked_about_where_the_settings_want_it_and_none_where_not() -> None:
    model = ScriptedModel([SplitReply(claims=[])])
    claims_of(model, "The pump is heavy.", mode="model")
    assert len(model.asked) == 1
    assert claims_of(ScriptedModel([]), JOINED, mode="rules").height == 1


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (UnreadableReplyError("truncated", "cut"), "truncated"),
        (UnreadableReplyError("blocked_safety", "no"), "blocked_safety"),
        (SplitReply(claims=[]), "not_split"),
        (SplitReply(claims=[SplitClaim(sentence=9, quote="a", claim="b")]), "not_split"),
    ],
)
def test_a_reply_of_no_use_leaves_the_claims_of_the_rules_with_the_reason(
    play: ScriptedReply, reason: str
) -> None:
    assert told(claims_of(ScriptedModel([play]), JOINED)) == [(JOINED, None, "rules", reason)]


def test_an_answer_longer_than_one_request_should_hold_is_not_asked_about_and_says_so() -> None:
    items = "\n".join(f"- {JOINED} {n}" for n in range(240))
    model = ScriptedModel([])
    claims = claims_of(model, items)
    assert not model.asked
    assert set(claims["split_reason"]) == {"too_long_to_split"}
