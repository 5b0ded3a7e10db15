"""Asking over HTTP in JSON: the jobs of the page *Ask*, behind the same session and form token."""

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qa_pipeline.errors import InputError
from qa_pipeline.review.asking import Answer, answer_question, checked_question
from qa_pipeline.review.bibliography import Source, sources_of
from qa_pipeline.review.jobs import Job
from qa_pipeline.review.pair_view import ClaimView
from qa_pipeline.review.responses import posted, review_of, session_of
from qa_pipeline.review.uploads import place_of, places

PATIENCE = 20.0
"""Seconds that a request for news waits for some; proxies end silent requests after 30 or more."""
_PULSE = 0.1
"""Seconds between two looks for news."""


async def wait_for_news(job: Job[Any], steps: int) -> Job[Any]:
    """Return a copy of a job once it has more than so many steps, is done, or `PATIENCE` is over."""
    waited = 0.0
    while not job.is_done and job.steps <= steps and waited < PATIENCE:
        await asyncio.sleep(_PULSE)
        waited += _PULSE
    return copy.copy(job)  # it goes on: its value then and its end now would say that there is none


def show_places(request: Request) -> Response:
    """Send what can be asked, and the form token that questions have to carry."""
    review, session = review_of(request), session_of(request)
    batches = [{"place": place.key, "title": place.title} for place in places(review.layout)]
    return JSONResponse({"form_token": session.form_token if session else None, "places": batches})


def start_job(request: Request, question: str, place: str) -> Job[Any]:
    """Start to answer a question.

    Raises:
        InputError: the question or the batch cannot be used, or too many questions wait.
    """
    review = review_of(request)
    text, chosen = checked_question(question), place_of(review.layout, place)
    return review.asking.questions.start(text, lambda _: answer_question(review.asking.batches, chosen, text))


@posted
def ask(request: Request, fields: Mapping[str, str]) -> Response:
    """Start to answer a question, and send the address of its answer."""
    try:
        job = start_job(request, fields.get("question", ""), fields.get("place", ""))
    except InputError as error:
        return JSONResponse({"problem": str(error)}, 422)
    address = f"/ask/answer/{job.job_id}.json"
    return JSONResponse({"answer": address}, 202, {"Location": address})


async def show_answer(request: Request) -> Response:
    """Send an answer once it is verified, or as far as it is; with `seen`, once it has more steps than so."""
    job = review_of(request).asking.questions.find(request.path_params["job_id"])
    if job is None:
        return JSONResponse({"problem": "this answer is no longer in memory; ask again"}, 404)
    seen = request.query_params.get("seen", "")
    job = await wait_for_news(job, int(seen[:9]) if seen.isdecimal() else 10**9)
    return JSONResponse(job_document(job))


def job_document(job: Job[Any]) -> dict[str, Any]:
    """Return the state of a question and its answer as far as it goes; null is not known yet."""
    answer = job.value if isinstance(job.value, Answer) else None
    problem = job.problem or (answer and answer.problem)
    return {
        "question": job.title,
        "steps": job.steps,
        "is_done": job.is_done,
        "problem": None if problem is None else str(problem),
        **(answer_document(answer) if answer else {}),
    }


def answer_document(answer: Answer) -> dict[str, Any]:
    """Return draft, sentences with their verdicts, badge, judge's scores and sources of an answer."""
    sources, ledger = sources_of(answer), answer.verdict or {}
    support = answer.support
    badge = {"level": support.level, "supported": support.supported, "claims": support.claims}
    return {
        "place": answer.place.key,
        "draft": answer.pair["answer"],
        "is_refusal": answer.is_refusal,
        "nearest": answer.nearest,
        "sentences": [_sentence(claim, sources) for claim in answer.claims],
        "badge": badge if ledger else None,
        "verdict": ledger.get("verdict"),
        "reason": ledger.get("reason"),
        "judge": {dimension.name: dimension.score for dimension in answer.dimensions},
        "sources": [asdict(source) for source in sources],
    }


def _sentence(claim: ClaimView, sources: list[Source]) -> dict[str, Any]:
    fields = ("number", "text", "start", "end", "verdict", "decided_by", "reason", "differences")
    resting_on = [source.number for source in sources if claim.number in source.claims]
    return {**{name: getattr(claim, name) for name in fields}, "sources": resting_on}


ROUTES = (
    Route("/ask.json", show_places),
    Route("/ask.json", ask, methods=["POST"]),
    Route("/ask/answer/{job_id}.json", show_answer),
)
