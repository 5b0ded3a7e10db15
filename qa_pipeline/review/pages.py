"""The pages: queue, a pair next to its source, documents, and questions, which have JSON addresses too."""

import asyncio
import copy
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from qa_pipeline.errors import InputError
from qa_pipeline.review import decisions
from qa_pipeline.review.answer import Answer, as_bibtex, as_markdown
from qa_pipeline.review.app import Job, Upload, form_token, page, posted, review_of, uploaded, who_of
from qa_pipeline.review.asking import answer_question, checked_question
from qa_pipeline.review.batches import batch_of, read_document, searchable_batches
from qa_pipeline.review.decision_files import REJECTIONS
from qa_pipeline.review.pair import Quote, pair_view
from qa_pipeline.review.queue import LISTS, Filters, queue_page
from qa_pipeline.review.source import SourceView, find_document, number_in, source_view, span_in

_PICTURE_SECONDS = 600
"""Time that a browser may keep a picture; its address contains the hash of the file."""
PATIENCE = 20.0
"""Seconds that a request waits for news; proxies end silent requests after 30 or more."""
_PULSE = 0.1
"""Seconds between two checks for news."""
_ALL_STEPS = 10**9
"""More steps than a job has, to wait for its end."""


def show_queue(request: Request) -> Response:
    """Show a page of the pairs that match the filters."""
    review, filters = review_of(request), Filters.from_query(request.query_params)
    view = queue_page(review.queue, filters, number_in(request.query_params, "page") or 1)
    return page(request, "queue.html.j2", view=view, filters=filters, out=review.layout.out)


def show_pair(request: Request) -> Response:
    """Show a pair beside its source."""
    return _pair_page(request, dict.fromkeys(decisions.FIELDS, ""), decisions.Outcome())


def _pair_page(request: Request, fields: Mapping[str, str], outcome: decisions.Outcome) -> Response:
    """Show a pair, with the fields of a form that was refused."""
    review, query = review_of(request), request.query_params
    batch, pair_id = request.path_params["batch"], request.path_params["pair_id"]
    view = pair_view(review.tables, batch, pair_id)
    filters = Filters.from_query(query)
    list_title, _ = LISTS[filters.list]
    selected_claim, quote = view.selected(number_in(query, "claim"))
    source, source_problem = _source_of(request, batch, quote)
    just_decided = None  # the decisions about the pair that was decided last, to offer undo
    if "decided_in" in query and "decided" in query:
        just_decided = decisions.decided_pair(review.tables, query["decided_in"], query["decided"])
    return page(
        request,
        "pair.html.j2",
        status=outcome.status,
        view=view,
        batch=batch,
        filters=filters,
        list_title=list_title,
        position=review.queue.position(filters, batch, pair_id),
        claim=selected_claim,
        quote=quote,
        source=source,
        source_problem=source_problem,
        decided=decisions.decided_pair(review.tables, batch, pair_id),
        just_decided=just_decided if just_decided and just_decided.last else None,
        attempt={"fields": fields, "problem": outcome.problem},
        reasons=REJECTIONS,
        claim_labels={claim.claim_id: f"c{claim.number}" for claim in view.claims},
        # a refused edit opens its form again; `why` is also a field of other forms
        is_editing=any(fields[name] for name in decisions.FIELDS if name != "why"),
    )


def _source_of(request: Request, batch: str, quote: Quote | None) -> tuple[SourceView | None, str | None]:
    """Return the document around a quote, or the reason why it cannot be shown; neither without a quote."""
    if quote is None:
        return None, None
    review, query = review_of(request), request.query_params
    span = quote.start, quote.end
    try:
        source = source_view(review.tables, review.files, batch, quote.document_id, span, query)
    except InputError as error:
        return None, str(error)
    if (source.document["text"] or "")[quote.start : quote.end] != quote.text:
        return None, f"{quote.path} has changed since the claim was verified; run its batch again"
    return source, None


@posted
def take_decision(request: Request, fields: Mapping[str, str]) -> Response:
    """Record a decision and show the next pair, or the same page if it is refused."""
    review = review_of(request)
    batch, pair_id = request.path_params["batch"], request.path_params["pair_id"]
    outcome = decisions.decide(review.layout, batch, pair_id, fields, who_of(request))
    if outcome.problem:
        return _pair_page(request, {name: fields.get(name, "") for name in decisions.FIELDS}, outcome)
    filters = Filters.from_query(request.query_params)
    is_pair_decided = not fields.get("of_claim") and fields.get("decision") != "reopened"
    following = review.queue.position(filters, batch, pair_id).after if is_pair_decided else None
    address = following or filters.pair_address(batch, pair_id)  # the same page after the last pair
    undo_query = urlencode({"decided_in": batch, "decided": pair_id})
    return RedirectResponse(f"{address}&{undo_query}", status_code=303)


def show_document(request: Request) -> Response:
    """Show a document and mark the span that the address names."""
    review = review_of(request)
    batch, document_id = request.path_params["batch"], request.path_params["document_id"]
    span = span_in(request.query_params)
    source = source_view(review.tables, review.files, batch, document_id, span, request.query_params)
    return page(request, "document.html.j2", source=source, batch=batch)


def send_page(request: Request) -> Response:
    """Send a picture of a PDF page and highlight the span that the address names."""
    review = review_of(request)
    document = find_document(review.tables, request.path_params["batch"], request.path_params["document_id"])
    number = number_in(request.path_params, "number") or 0
    picture = review.files.draw_page(document, number, span_in(request.query_params))
    headers = {"Cache-Control": f"private, max-age={_PICTURE_SECONDS}"}
    return Response(picture, media_type="image/png", headers=headers)


def show_ask(request: Request) -> Response:
    """Show the forms for questions and documents."""
    return _ask_form(request, {"place": request.query_params.get("place", "")})


def _ask_form(request: Request, fields: Mapping[str, str], problem: str | None = None) -> Response:
    """Show the forms for questions and documents; after a refusal with its problem and the sent fields."""
    layout = review_of(request).layout
    return page(
        request,
        "ask.html.j2",
        status=422 if problem else 200,
        batches=searchable_batches(layout),
        chosen=fields.get("place", ""),  # the key of a batch
        problem=problem,
        question=fields.get("question", ""),
        out=layout.out,
    )


def _start_answer(request: Request, fields: Mapping[str, str]) -> Job:
    """Start to answer a question."""
    review = review_of(request)
    question = checked_question(fields.get("question", ""))
    batch = batch_of(review.layout, fields.get("place", ""))
    return review.jobs.start(question, answer_question(review.asking, batch, question))


@posted
def ask(request: Request, fields: Mapping[str, str]) -> Response:
    """Start to answer a question, and show its page."""
    try:
        job = _start_answer(request, fields)
    except InputError as error:
        return _ask_form(request, fields, str(error))
    return RedirectResponse(f"/ask/answer/{job.job_id}", status_code=303)


@uploaded
def add_document(request: Request, fields: Mapping[str, str], upload: Upload) -> Response:
    """Start to read an uploaded document."""
    if not upload.content:
        return _ask_form(request, fields, "the file is empty, or none was chosen; choose one")
    review = review_of(request)
    work = read_document(review.asking.resources, review.layout, upload.name, upload.content)
    try:
        job = review.jobs.start(upload.name, work)
    except InputError as error:  # too many jobs wait; the job's page shows errors of reading
        return _ask_form(request, fields, str(error))
    return RedirectResponse(f"/ask/document/{job.job_id}", status_code=303)


async def show_job(request: Request) -> Response:
    """Show a job; with `seen`, wait for news and send only the part of the page that changes."""
    kind = request.url.path.split("/")[2]  # answer or document
    job = review_of(request).jobs.get(request.path_params["job_id"])
    seen = _seen_steps(request)
    job = await _news(job, -1 if seen is None else seen)  # every job has more than -1 steps: do not wait
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
    return int(seen[:9]) if seen.isdecimal() else None  # int() refuses thousands of digits


async def _news(job: Job, steps: int) -> Job:
    """Return a copy of a job once it has more steps, is done, or `PATIENCE` is over."""
    waited = 0.0  # seconds
    while not job.is_done and job.steps <= steps and waited < PATIENCE:
        await asyncio.sleep(_PULSE)
        waited += _PULSE
    return copy.copy(job)  # the job goes on in its thread


def download(request: Request) -> Response:
    """Send an answer with its bibliography."""
    suffix = request.path_params["suffix"]
    answer = review_of(request).jobs.get(request.path_params["job_id"]).value
    if not isinstance(answer, Answer) or answer.pair["answer"] is None:
        raise InputError("the answer is not ready yet; reload the page")
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
        job = _start_answer(request, fields)
    except InputError as error:
        return JSONResponse({"problem": str(error)}, 422)
    address = f"/ask/answer/{job.job_id}.json"
    return JSONResponse({"answer": address}, 202, {"Location": address})


async def send_answer(request: Request) -> Response:
    """Send an answer once it is verified or `PATIENCE` is over; with `seen`, once it has more steps."""
    try:
        job = review_of(request).jobs.get(request.path_params["job_id"])
    except InputError as error:
        return JSONResponse({"problem": str(error)}, 404)
    seen = _seen_steps(request)
    job = await _news(job, _ALL_STEPS if seen is None else seen)
    answer = job.value if isinstance(job.value, Answer) else None
    without_answer: dict[str, Any] = {
        "question": job.title,
        "draft": None,
        "confidence": 0.0,
        "unsupported_spans": [],
        "sources": [],
        "steps": job.steps,
        "is_done": job.is_done,
        "problem": job.problem or (answer.problem if answer else None),
    }
    return JSONResponse(without_answer | (answer.document() if answer else {}))


ROUTES = (
    Route("/", show_queue),
    Route("/pair/{batch}/{pair_id}", show_pair),
    Route("/pair/{batch}/{pair_id}/decision", take_decision, methods=["POST"]),
    Route("/document/{batch}/{document_id}", show_document),
    Route("/page/{batch}/{document_id}/{number}.png", send_page),
    Route("/ask.json", send_batches),
    Route("/ask.json", ask_json, methods=["POST"]),
    Route("/ask/answer/{job_id}.json", send_answer),  # before the page, whose job_id would match .json
    Route("/ask", show_ask),
    Route("/ask", ask, methods=["POST"]),
    Route("/ask/document", add_document, methods=["POST"]),
    *(Route(f"/ask/{kind}/{{job_id}}", show_job) for kind in ("answer", "document")),
    Route("/ask/download/{job_id}.{suffix}", download),
)
