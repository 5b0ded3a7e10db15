"""Pages and JSON addresses that take questions and documents, and send answers with their sources."""

import asyncio
import copy
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from qa_pipeline.curation.ledger import SCORES
from qa_pipeline.errors import InputError
from qa_pipeline.review.asking import Answer, add_pair, answer_question, checked_question
from qa_pipeline.review.bibliography import as_bibtex, as_markdown
from qa_pipeline.review.jobs import Job
from qa_pipeline.review.responses import Upload, form_token, page, posted, review_of, uploaded, who_of
from qa_pipeline.review.uploads import place_of, places, read_document

PATIENCE = 20.0
"""Seconds that a request waits for news; proxies end silent requests after 30 or more."""
_PULSE = 0.1
"""Seconds between two checks for news."""


def show_ask(request: Request) -> Response:
    """Show the forms for questions and documents."""
    return _ask_form(request, None, 200)


def _ask_form(
    request: Request, problem: str | None, status: int, question: str = "", place: str = ""
) -> Response:
    review = review_of(request)
    return page(
        request,
        "ask.html.j2",
        status=status,
        places=places(review.layout),
        chosen=place or request.query_params.get("place", ""),
        problem=problem,
        question=question,
        out=review.layout.out,
    )


def _start(request: Request, fields: Mapping[str, str]) -> Job:
    """Start to answer a question."""
    review = review_of(request)
    text = checked_question(fields.get("question", ""))
    place = place_of(review.layout, fields.get("place", ""))
    return review.asking.jobs.start(text, lambda _: answer_question(review.asking, place, text))


@posted
def ask(request: Request, fields: Mapping[str, str]) -> Response:
    """Start to answer a question, and show its page."""
    try:
        job = _start(request, fields)
    except InputError as error:
        return _ask_form(request, str(error), 422, fields.get("question", ""), fields.get("place", ""))
    return RedirectResponse(f"/ask/answer/{job.job_id}", status_code=303)


@uploaded
def add_document(request: Request, fields: Mapping[str, str], upload: Upload) -> Response:
    """Start to read an uploaded document."""
    del fields
    review = review_of(request)
    if not upload.content:
        return _ask_form(request, "the file is empty, or none was chosen; choose one", 422)
    try:
        job = review.asking.jobs.start(
            upload.name,
            lambda job: read_document(
                review.asking.resources, review.layout, upload.name, upload.content, job
            ),
        )
    except InputError as error:
        return _ask_form(request, str(error), 422)
    return RedirectResponse(f"/ask/document/{job.job_id}", status_code=303)


async def show_job(request: Request) -> Response:
    """Show a job; with `seen`, wait for news and send only the part of the page that changes."""
    kind = request.url.path.split("/")[2]
    job = review_of(request).asking.jobs.get(request.path_params["job_id"])
    seen = request.query_params.get("seen", "")
    is_part = seen.isdecimal()
    job = await _news(job, int(seen[:9]) if is_part else -1)
    return page(
        request,
        f"asked_{kind}.html.j2",
        job=job,
        value=job.value,
        steps=job.steps,
        added=request.query_params.get("added"),
        layout="part.html.j2" if is_part else "base.html.j2",
    )


async def _news(job: Job, steps: int) -> Job:
    """Return a copy of a job once it has more steps, is done, or `PATIENCE` is over."""
    waited = 0.0
    while not job.is_done and job.steps <= steps and waited < PATIENCE:
        await asyncio.sleep(_PULSE)
        waited += _PULSE
    return copy.copy(job)  # the job goes on in its thread


def _answer_of(request: Request) -> Answer:
    value = review_of(request).asking.jobs.get(request.path_params["job_id"]).value
    if not isinstance(value, Answer) or value.pair["answer"] is None:
        raise InputError("there is no answer yet; load its page again")
    return value


def download(request: Request) -> Response:
    """Send an answer with its bibliography."""
    answer, suffix = _answer_of(request), request.path_params["suffix"]
    if suffix == "md":
        pair = answer.pair
        text = as_markdown(pair["question"] or "", pair["answer"] or "", answer.sources)
        media_type = "text/markdown"
    elif suffix == "bib":
        text, media_type = as_bibtex(answer.sources), "application/x-bibtex"
    else:
        raise InputError("an answer is downloaded as .md or .bib")
    headers = {"Content-Disposition": f'attachment; filename="answer.{suffix}"'}
    return Response(text, media_type=media_type, headers=headers)


@posted
def keep_pair(request: Request, fields: Mapping[str, str]) -> Response:
    """Add an answer to the pairs of its batch."""
    del fields
    is_new = add_pair(_answer_of(request), who_of(request))
    address = f"/ask/answer/{request.path_params['job_id']}?added={'now' if is_new else 'before'}"
    return RedirectResponse(address, status_code=303)


def show_places(request: Request) -> Response:
    """Send the batches, and the form token that questions need."""
    batches = [{"place": place.key, "title": place.title} for place in places(review_of(request).layout)]
    return JSONResponse({"form_token": form_token(request), "places": batches})


@posted
def ask_json(request: Request, fields: Mapping[str, str]) -> Response:
    """Start to answer a question, and send the address of its answer."""
    try:
        job = _start(request, fields)
    except InputError as error:
        return JSONResponse({"problem": str(error)}, 422)
    address = f"/ask/answer/{job.job_id}.json"
    return JSONResponse({"answer": address}, 202, {"Location": address})


async def show_answer(request: Request) -> Response:
    """Send an answer once it is verified or `PATIENCE` is over; with `seen`, once it has more steps."""
    try:
        job = review_of(request).asking.jobs.get(request.path_params["job_id"])
    except InputError as error:
        return JSONResponse({"problem": str(error)}, 404)
    seen = request.query_params.get("seen", "")
    job = await _news(job, int(seen[:9]) if seen.isdecimal() else 10**9)
    answer = job.value if isinstance(job.value, Answer) else None
    state: dict[str, Any] = {
        "question": job.title,
        "draft": None,
        "confidence": 0.0,
        "unsupported_spans": [],
        "sources": [],
        "steps": job.steps,
        "is_done": job.is_done,
        "problem": job.problem or (answer and answer.problem),
    }
    return JSONResponse(state | (_answer_document(answer) if answer else {}))


def _answer_document(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON values."""
    ledger = answer.verdict or {}
    support = answer.support
    names = ("number", "text", "start", "end", "verdict", "decided_by", "reason", "differences")
    return {
        "place": answer.place.key,
        "draft": answer.pair["answer"],
        "is_refusal": answer.is_refusal,
        "nearest": answer.nearest,
        "sentences": [
            {
                **{name: getattr(claim, name) for name in names},
                "sources": [
                    source["number"] for source in answer.sources if claim.number in source["claims"]
                ],
            }
            for claim in answer.claims
        ],
        "badge": {"level": support.level, "supported": support.supported, "claims": support.claims}
        if ledger or answer.is_refusal
        else None,
        "confidence": answer.confidence,
        "unsupported_spans": answer.unsupported_spans,
        "verdict": ledger.get("verdict"),
        "reason": ledger.get("reason"),
        "judge": {name: (answer.assessment or {}).get(name) for name in SCORES},
        "sources": list(answer.sources),
    }


ROUTES = (
    Route("/ask.json", show_places),
    Route("/ask.json", ask_json, methods=["POST"]),
    Route("/ask/answer/{job_id}.json", show_answer),  # before the page, whose job_id would match .json
    Route("/ask", show_ask),
    Route("/ask", ask, methods=["POST"]),
    Route("/ask/document", add_document, methods=["POST"]),
    *(Route(f"/ask/{kind}/{{job_id}}", show_job) for kind in ("answer", "document")),
    Route("/ask/answer/{job_id}/pair", keep_pair, methods=["POST"]),
    Route("/ask/download/{job_id}.{suffix}", download),
)
