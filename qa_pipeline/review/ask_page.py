"""The pages on which people ask: a question, a document to ask, a file of questions or pairs."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from qa_pipeline.errors import InputError
from qa_pipeline.review.ask_service import start_job, wait_for_news
from qa_pipeline.review.asking import Answer, add_pair
from qa_pipeline.review.bibliography import EXPORTS, export, sources_of
from qa_pipeline.review.jobs import Job
from qa_pipeline.review.languages import PhrasedError, language_of
from qa_pipeline.review.responses import Upload, page, posted, review_of, session_of, uploaded
from qa_pipeline.review.uploads import (
    Checked,
    answer_questions,
    place_of,
    places,
    read_document,
    read_questions,
    verify_pairs,
)


def show_ask(request: Request) -> Response:
    """Show the forms to ask with."""
    return _show_ask(request, None, 200)


def _show_ask(
    request: Request, problem: InputError | None, status: int, question: str = "", place: str = ""
) -> Response:
    review = review_of(request)
    chosen = place or request.query_params.get("place", "")
    every = places(review.layout)
    return page(
        request,
        "ask.html.j2",
        status=status,
        places=every,
        chosen=chosen,
        problem=problem,
        question=question,
        out=review.layout.out,
    )


@posted
def ask(request: Request, fields: Mapping[str, str]) -> Response:
    """Start to answer a question, and show it."""
    text, key = fields.get("question", ""), fields.get("place", "")
    try:
        job = start_job(request, text, key)
    except InputError as error:
        return _show_ask(request, error, 422, text, key)
    return RedirectResponse(f"/ask/answer/{job.job_id}", status_code=303)


@uploaded
def add_document(request: Request, fields: Mapping[str, str], upload: Upload) -> Response:
    """Start to read a document that will be asked."""
    review = review_of(request)
    try:
        _check_upload(upload)
        job = review.asking.questions.start(
            upload.name,
            lambda job: read_document(review.asking.batches, review.layout, upload.name, upload.content, job),
        )
    except InputError as error:
        return _show_ask(request, error, 422)
    return RedirectResponse(f"/ask/document/{job.job_id}", status_code=303)


@uploaded
def add_rows(request: Request, fields: Mapping[str, str], upload: Upload) -> Response:
    """Start to go through a file of questions or pairs."""
    review, key = review_of(request), fields.get("place", "")
    asking = review.asking
    try:
        _check_upload(upload)
        place = place_of(review.layout, key)
        limits = asking.resources.settings.pairs_file.limits
        questions = read_questions(upload.name, upload.content, limits)
        if questions is None:
            job = asking.checks.start(
                upload.name,
                lambda job: verify_pairs(asking, review.layout, place, upload.name, upload.content, job),
            )
        else:
            job = asking.questions.start(
                upload.name, lambda job: answer_questions(asking.batches, place, questions, job)
            )
    except InputError as error:
        return _show_ask(request, error, 422, place=key)
    return RedirectResponse(f"/ask/rows/{job.job_id}", status_code=303)


def _check_upload(upload: Upload) -> None:
    if not upload.content:
        raise PhrasedError("the file is empty, or none was chosen; choose one")


async def show_job(request: Request) -> Response:
    """Show a job; with `seen`, wait for news of it and send the part of the page that changes."""
    kind = request.url.path.split("/")[2]
    job: Job[object] = review_of(request).asking.job(request.path_params["job_id"])
    seen = request.query_params.get("seen", "")
    is_part = seen.isdecimal()
    job = await wait_for_news(job, int(seen[:9]) if is_part else -1)
    value = job.value
    return page(
        request,
        f"asked_{kind}.html.j2",
        job=job,
        value=value,
        steps=job.steps,
        sources=sources_of(value) if isinstance(value, Answer) else [],
        exports=EXPORTS,
        added=request.query_params.get("added"),
        layout="part.html.j2" if is_part else "base.html.j2",
    )


def download(request: Request) -> Response:
    """Send an answer with its bibliography, or the rows of a file."""
    params = request.path_params
    value = review_of(request).asking.job(params["job_id"]).value
    if isinstance(value, Answer) and params["suffix"] in EXPORTS:
        text, media_type = export(value, params["suffix"], language_of(request))
        return _file(text.encode(), media_type, f"answer.{params['suffix']}")
    if isinstance(value, Checked) and params["suffix"] == "jsonl":
        return _file(value.lines, "application/jsonl", "rows.jsonl")
    raise PhrasedError("there is nothing to download here yet; load its page again")


def _file(content: bytes, media_type: str, name: str) -> Response:
    return Response(
        content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


@posted
def keep_pair(request: Request, fields: Mapping[str, str]) -> Response:
    """Make an answer a pair of its batch."""
    review, session = review_of(request), session_of(request)
    job_id = request.path_params["job_id"]
    value = review.asking.job(job_id).value
    if not isinstance(value, Answer) or value.pair["answer"] is None:
        raise PhrasedError("there is no answer yet that could become a pair; load its page again")
    is_new = add_pair(value, session.who if session else "")
    return RedirectResponse(f"/ask/answer/{job_id}?added={'now' if is_new else 'before'}", status_code=303)


ROUTES = (
    Route("/ask", show_ask),
    Route("/ask", ask, methods=["POST"]),
    Route("/ask/document", add_document, methods=["POST"]),
    Route("/ask/rows", add_rows, methods=["POST"]),
    *(Route(f"/ask/{kind}/{{job_id}}", show_job) for kind in ("answer", "document", "rows")),
    Route("/ask/answer/{job_id}/pair", keep_pair, methods=["POST"]),
    Route("/ask/download/{job_id}.{suffix}", download),
)
