"""A hosted model on loopback that reads the prompts about the guide and answers them well."""

import re
from collections import Counter
from collections.abc import Callable

import pytest

from qa_pipeline.records import (
    AnswerReply,
    ClaimReply,
    DraftCitation,
    DraftQuestion,
    QuestionsReply,
    SplitReply,
    VerifyReply,
)
from qa_pipeline_tests.fake_server.gemini import says
from qa_pipeline_tests.fake_server.responses import Asked, ServerResponse
from qa_pipeline_tests.fake_server.server import LOOPBACK_KEY
from qa_pipeline_tests.verdict_replies import claims_in, scored_reply

FACTS = {
    "How is the boiler drained?": ("To drain the boiler, open the lower valve and wait 10 minutes.", None),
    "What is a residual-current device?": (
        "A residual-current device is a switch that cuts the power when current leaks to earth.",
        "Such a device is a switch that stops the electricity when current escapes into the ground.",
    ),
}
"""Questions, the sentence of the guide that answers each, and the answer where it is put in other words."""
ROLES = {
    "questions": "questions",
    "coverage": "answer",
    "claims": "split",
    "verdicts": "verify",
    "relevance": "judge",
}
Play = Callable[[Asked], ServerResponse | None]


def role_of(asked: Asked) -> str:
    properties = asked.config["responseJsonSchema"]["properties"]
    return next(role for name, role in ROLES.items() if name in properties)


class Sensible:
    """Reads the prompts and answers them well, unless `instead` has something else to say."""

    calls: Counter[str]
    instead: Play

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        self.calls = Counter()
        self.instead = lambda asked: None

    def __call__(self, asked: Asked) -> ServerResponse:
        role = role_of(asked)
        self.calls[role] += 1
        return self.instead(asked) or getattr(self, role)(asked.prompt)

    def questions(self, prompt: str) -> ServerResponse:
        fitting = [question for question, (sentence, _) in FACTS.items() if sentence in prompt]
        drafts = [DraftQuestion(question=question, question_type="fact_single") for question in fitting]
        return says(QuestionsReply(questions=drafts))

    def answer(self, prompt: str) -> ServerResponse:
        sentence, paraphrase = next(fact for question, fact in FACTS.items() if question in prompt)
        passages = re.findall(r"<passage-(\d+)-\w+>(.*?)</passage-", prompt, re.DOTALL)
        number = next(int(number) for number, text in passages if sentence in text)
        cited = [DraftCitation(passage=number, quote=sentence)]
        text = paraphrase or sentence
        return says(AnswerReply(coverage="full", answer=text, used_chunks=[number], citations=cited))

    def split(self, prompt: str) -> ServerResponse:
        return says(SplitReply(claims=[]))

    def verify(self, prompt: str) -> ServerResponse:
        shown = [text.strip() for text in re.findall(r"<passage-\d+-\w+>(.*?)</passage-", prompt, re.DOTALL)]
        quotes = [text.rpartition("\n\n")[2] for text in shown]
        answers = {paraphrase or sentence for sentence, paraphrase in FACTS.values()}
        return says(
            VerifyReply(
                verdicts=[
                    ClaimReply(
                        claim=number,
                        reasoning="It says the same in other words.",
                        quotes=quotes,
                        decision="accept" if claim in answers else "reject",
                    )
                    for number, claim in claims_in(prompt)
                ]
            )
        )

    def judge(self, prompt: str) -> ServerResponse:
        return says(scored_reply(0.9, correctness=1.0, completeness=0.8))


def name_server(patch: pytest.MonkeyPatch, url: str) -> None:
    """Let the settings name the server, which is asked once and by one worker."""
    patch.setenv("GEMINI_API_KEY", LOOPBACK_KEY)
    for name, value in {
        "LLM__BASE_URL": url,
        "LLM__MAX_TRIES": "1",
        "LLM__WORKERS": "1",
        "CANARIES__ENABLED": "false",  # the judge gives the same scores to all
        "GENERATION__ANSWERS": "from_passages",  # so that bad answers have calls too
    }.items():
        patch.setenv(f"QA_PIPELINE_{name}", value)
