"""A scripted model that quotes its passages and notes its calls."""

import math
import re
import time
import uuid
from typing import Any

from qa_pipeline.llm.base import Reply, ReplyT, Request
from qa_pipeline.records import CallRecord, PairsReply, Usage
from qa_pipeline_tests.verdict_replies import claims_in, scored_reply

NAME = "openai/scripted"
_SHOWN = re.compile(r"<sentence-(\d+)-\w+>\n(.*?)\n</sentence", re.DOTALL)
_SENTENCE = re.compile(r"[^\s][^\n]*?[.!?](?=\s|$)", re.MULTILINE)


class ScriptedReplies:
    """Quotes the passages, and notes what each call took."""

    name = NAME

    def __init__(self) -> None:
        self.calls: list[CallRecord] = []

    async def complete(self, request: Request[ReplyT]) -> Reply[ReplyT]:
        value = request.reply_model.model_validate(_REPLIES[request.role](request))
        raw = value.model_dump_json()
        usage = Usage(tokens(request.system) + tokens(request.prompt), tokens(raw))
        asked = (request.batch, request.role, NAME, NAME, request.key, time.time())
        record = CallRecord(uuid.uuid4().hex, "measure", *asked, 0.0, 1, "replied", usage=usage)
        self.calls.append(record)
        return Reply(value, raw, NAME, usage, calls=(record,))


def tokens(text: str) -> int:
    """As many servers for tests count."""
    return math.ceil(len(text) / 4)


def _questions(request: Request[Any]) -> dict[str, Any]:
    asked = [
        {"question": f"What is said where it reads “{one[:120]}”?", "question_type": "fact_single"}
        | ({"quotes": [one], "answer": one, "coverage": "full"} if request.reply_model is PairsReply else {})
        for one in _sentences(request)
    ]
    return {"questions": asked[: request.limit]}


def _answer(request: Request[Any]) -> dict[str, Any]:
    wanted = _words(request.question or "")
    found = [
        (n, one) for n in range(1, len(request.passages) + 1) for one in _of(request.passages[n - 1].text)
    ]
    number, best = max(found, key=lambda pair: len(wanted & _words(pair[1])))
    return {
        "coverage": "full",
        "answer": best,
        "used_chunks": [number],
        "citations": [{"passage": number, "quote": best}],
    }


def _split(request: Request[Any]) -> dict[str, Any]:
    sentences = _SHOWN.findall(request.prompt)
    return {"claims": [{"sentence": int(n), "quote": one, "claim": one} for n, one in sentences]}


def _verify(request: Request[Any]) -> dict[str, Any]:
    shown = _words(" ".join(passage.text for passage in request.passages))
    best = max(_sentences(request), key=lambda one: len(_words(one) & shown), default="")
    held = {number: _words(claim) <= shown for number, claim in claims_in(request.prompt)}
    return {
        "verdicts": [
            {
                "claim": number,
                "reasoning": f"All words are there: {there}.",
                "quotes": [best] if there else [],
                "decision": "accept" if there else "reject",
            }
            for number, there in held.items()
        ]
    }


def _judge(request: Request[Any]) -> dict[str, Any]:
    reason = f"The answer of {len(request.answer or '')} characters quotes its passage."
    return scored_reply(0.9, reason, completeness=0.8).model_dump()


_REPLIES = {"questions": _questions, "answer": _answer, "split": _split, "verify": _verify, "judge": _judge}


def _sentences(request: Request[Any]) -> list[str]:
    return [one for passage in request.passages for one in _of(passage.text)]


def _of(text: str) -> list[str]:
    return _SENTENCE.findall(text) or [" ".join(text.split())[:200]]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
