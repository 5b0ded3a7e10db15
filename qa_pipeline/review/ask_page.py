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
from qa_pipeline.review.asking import Answer, answer_question, checked_question
from qa_pipeline.review.bibliography import as_bibtex, as_markdown
from qa_pipeline.review.jobs import Job
from qa_pipeline.review.responses import Upload, form_token, page, posted, review_of, uploaded
from qa_pipeline.review.uploads import batch_of, read_document, searchable_batches

PATIENCE = 20.0
"""Seconds that a request waits for news; proxies end silent requests after 30 or more."""
_PULSE = 0.1
"""Seconds between two checks for news."""
_ALL_STEPS = 10**9
"""More steps than a job has, to wait for its end."""


def show_ask(request: Request) -> Response:
    """Show the forms for questions and documents."""
    return _ask_form(request, {"place": request.query_params.get("place", "")})


def _ask_form(request: Request, fields: Mapping[str, str], problem: str | None = None) -> Response:
    """Show the forms; after a refusal with its problem and the fields that were sent."""
    layout = review_of(request).layout
    return page(
        request,
        "ask.html.j2",
        status=422 if problem else 200,
        batches=searchable_batches(layout),
        chosen=fields.get("place", ""),
        problem=problem,
        question=fields.get("question", ""),
        out=layout.out,
    )


def _start(request: Request, fields: Mapping[str, str]) -> Job:
    """Start to answer a question."""
    review = review_of(request)
    question = checked_question(fields.get("question", ""))
    batch = batch_of(review.layout, fields.get("place", ""))
    return review.asking.jobs.start(question, answer_question(review.asking, batch, question))


@posted
def ask(request: Request, fields: Mapping[str, str]) -> Response:
    """Start to answer a question, and show its page."""
    try:
        job = _start(request, fields)
    except InputError as error:
        return _ask_form(request, fields, str(error))
    return RedirectResponse(f"/ask/answer/{job.job_id}", status_code=303)


@uploaded
def add_document(request: Request, fields: Mapping[str, str], upload: Upload) -> Response:
    """Start to read an uploaded document."""
    if not upload.content:
        return _ask_form(request, fields, "the file is empty, or none was chosen; choose one")
    layout, asking = review_of(request).layout, review_of(request).asking
    work = read_document(asking.resources, layout, upload.name, upload.content)
    try:
        job = asking.jobs.start(upload.name, work)
    except InputError as error:
        return _ask_form(request, fields, str(error))
    return RedirectResponse(f"/ask/document/{job.job_id}", status_code=303)


async def show_job(request: Request) -> Response:
    """Show a job; with `seen`, wait for news and send only the part of the page that changes."""
    kind = request.url.path.split("/")[2]
    job = review_of(request).asking.jobs.get(request.path_params["job_id"])
    seen = _seen_steps(request)
    job = await _news(job, -1 if seen is None else seen)
    return page(
        request,
        f"asked_{kind}.html.j2",
        job=job,
        value=job.value,
        steps=job.steps,
        layout="base.html.j2" if seen is None else "part.html.j2",
    )


def _seen_steps(request: Request) -> int | None:
    """Return the number of steps of the job that the client has seen, as the address states it."""
    seen = request.query_params.get("seen", "")
    return int(seen[:9]) if seen.isdecimal() else None


async def _news(job: Job, steps: int) -> Job:
    """Return a copy of a job once it has more steps, is done, or `PATIENCE` is over."""
    waited = 0.0
    while not job.is_done and job.steps <= steps and waited < PATIENCE:
        await asyncio.sleep(_PULSE)
        waited += _PULSE
    return copy.copy(job)  # the job goes on in its thread


def _answer_of(request: Request) -> Answer:
    """Return the answer of a job, or raise InputError if it is not drafted yet."""
    value = review_of(request).asking.jobs.get(request.path_params["job_id"]).value
    if not isinstance(value, Answer) or value.pair["answer"] is None:
        raise InputError("the answer is not ready yet; reload the page")
    return value


def download(request: Request) -> Response:
    """Send an answer with its bibliography."""
    answer, suffix = _answer_of(request), request.path_params["suffix"]
    headers = {"Content-Disposition": f'attachment; filename="answer.{suffix}"'}
    if suffix == "md":
        text = as_markdown(answer.pair["question"] or "", answer.pair["answer"] or "", answer.sources)
        return Response(text, media_type="text/markdown", headers=headers)
    if suffix == "bib":
        return Response(as_bibtex(answer.sources), media_type="application/x-bibtex", headers=headers)
    raise InputError("answers can be downloaded as .md or .bib")


def send_batches(request: Request) -> Response:
    """Send the batches, and the form token that questions need."""
    batches = searchable_batches(review_of(request).layout)
    listed = [{"place": batch.key, "title": batch.title} for batch in batches]
    return JSONResponse({"form_token": form_token(request), "places": listed})


@posted
def ask_json(request: Request, fields: Mapping[str, str]) -> Response:
    """Start to answer a question, and send the address of its answer."""
    try:
        job = _start(request, fields)
    except InputError as error:
        return JSONResponse({"problem": str(error)}, 422)
    address = f"/ask/answer/{job.job_id}.json"
    return JSONResponse({"answer": address}, 202, {"Location": address})


async def send_answer(request: Request) -> Response:
    """Send an answer once it is verified or `PATIENCE` is over; with `seen`, once it has more steps."""
    try:
        job = review_of(request).asking.jobs.get(request.path_params["job_id"])
    except InputError as error:
        return JSONResponse({"problem": str(error)}, 404)
    seen = _seen_steps(request)
    job = await _news(job, _ALL_STEPS if seen is None else seen)
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
    badge = {"level": support.level, "supported": support.supported, "claims": support.claims}
    return {
        "place": answer.batch.key,
        "draft": answer.pair["answer"],
        "is_refusal": answer.is_refusal,
        "sentences": [
            {
                **{name: getattr(claim, name) for name in names},
                "sources": [
                    source["number"] for source in answer.sources if claim.number in source["claims"]
                ],
            }
            for claim in answer.claims
        ],
        "badge": badge if ledger or answer.is_refusal else None,
        "confidence": answer.confidence,
        "unsupported_spans": answer.unsupported_spans,
        "verdict": ledger.get("verdict"),
        "reason": ledger.get("reason"),
        "judge": {name: (answer.assessment or {}).get(name) for name in SCORES},
        "sources": list(answer.sources),
    }


ROUTES = (
    Route("/ask.json", send_batches),
    Route("/ask.json", ask_json, methods=["POST"]),
    Route("/ask/answer/{job_id}.json", send_answer),  # before the page, whose job_id would match .json
    Route("/ask", show_ask),
    Route("/ask", ask, methods=["POST"]),
    Route("/ask/document", add_document, methods=["POST"]),
    *(Route(f"/ask/{kind}/{{job_id}}", show_job) for kind in ("answer", "document")),
    Route("/ask/download/{job_id}.{suffix}", download),
)
