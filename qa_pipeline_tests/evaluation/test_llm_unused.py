from typing import Any

from qa_pipeline.errors import UnreadableReplyError
from qa_pipeline.evaluation.llm_unused import LLMScorer
from qa_pipeline.evaluation.statements import SCORES, Statement
from qa_pipeline.llm.base import Request
from qa_pipeline.records import ClaimReply
from qa_pipeline.settings.llm import LLMSettings
from qa_pipeline.settings.verification import VerificationSettings
from qa_pipeline.testing.scripted import Play, ScriptedModel

PASSAGE = ("The pump runs at 40 bar.",)
DECISIONS = {"forty": "reject", "warm": "unsure"}


def play(request: Request[Any]) -> Play:
    if "poison" in (request.answer or ""):
        return UnreadableReplyError("unreadable_reply", "no JSON")
    found = [decision for word, decision in DECISIONS.items() if word in (request.answer or "")]
    return ClaimReply(reasoning="as told", decision=(found or ["accept"])[0])


def scorer(model: ScriptedModel) -> LLMScorer:
    return LLMScorer(model, VerificationSettings(), LLMSettings())


def test_what_a_model_says_becomes_scores_in_order() -> None:
    model = ScriptedModel(play)
    texts = ["The pump runs at 40 bar.", "It runs at forty.", "It is warm.", "It is poison.", "Why?"]
    statements = [Statement(text, PASSAGE) for text in texts]
    found = scorer(model).score([*statements, statements[0], Statement("It runs.", ())])
    assert found.schema == SCORES
    assert found["supported"].to_list() == [1.0, 0.0, None, None, None, 1.0, None]
    assert found["contradicted"].to_list() == [0.0, None, None, None, None, 0.0, None]
    expected = [None, None, "llm_unsure", "unreadable_reply", "no_claim", None, "no_passage"]
    assert found["reason"].to_list() == expected
    assert len(model.asked) == 4


def test_an_answer_is_supported_as_little_as_its_worst_claim() -> None:
    found = scorer(ScriptedModel(play)).score([Statement("The pump runs. It runs at forty.", PASSAGE)])
    assert found["supported"].to_list() == [0.0]


def test_of_many_passages_those_that_share_most_words_are_shown() -> None:
    model = ScriptedModel(play)
    passages = (*(f"Nothing number {place}." for place in range(9)), "The pump runs at 40 bar.")
    scorer(model).score([Statement("The pump runs at 40 bar.", passages)])
    shown = [passage.text for passage in model.asked[0].passages]
    assert shown[0] == passages[-1]
    assert len(shown) == 5
