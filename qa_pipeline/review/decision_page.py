"""Decisions made on the page of a pair, and the page that applies them to the tables."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from qa_pipeline.errors import QAPipelineError
from qa_pipeline.review.decision_forms import Outcome, decide_or_rate
from qa_pipeline.review.decision_view import (
    Attempt,
    edit_view,
    pending_batches,
    sent_fields,
)
from qa_pipeline.review.pair_page import pair_response
from qa_pipeline.review.queue import Filters
from qa_pipeline.review.responses import page, posted, review_of, who_of

_RELOAD_SECONDS = 1
"""Seconds after which a page at work loads itself again: a batch takes some of them."""


@posted
def take_decision(request: Request, fields: Mapping[str, str]) -> Response:
    """Record a decision and go on; where it is refused, or an edit to be looked at, show its page again."""
    review = review_of(request)
    batch, pair_id = request.path_params["batch"], request.path_params["pair_id"]
    who = who_of(request)
    outcome = decide_or_rate(review.queue, review.tables, batch, pair_id, fields, who)
    if outcome.problem or outcome.edit:
        return _shown_again(request, fields, outcome)
    filters = Filters.from_query(request.query_params)
    stays = fields.get("of_claim") or fields.get("decision") == "reopened"
    after = None if stays else review.queue.position(filters, batch, pair_id, who).after
    here = filters.pair_address(batch, pair_id)  # also behind the last pair: this page offers to undo
    rated = {"rated": 1} if outcome.is_rating else {}
    decided = urlencode({"decided_in": batch, "decided": pair_id} | rated)
    return RedirectResponse(f"{after or here}&{decided}", status_code=303)


def _shown_again(request: Request, fields: Mapping[str, str], outcome: Outcome) -> Response:
    """Show the page of a pair with what was written in its form; where it is gone, the texts alone."""
    review, batch = review_of(request), request.path_params["batch"]
    attempt = Attempt(sent_fields(fields), outcome.problem)
    if outcome.edit:
        try:
            verified = review.local.verify(batch, outcome.edit)
            edit = edit_view(review.tables, batch, verified)
            attempt = replace(attempt, edit=edit, checked=outcome.checked)
        except QAPipelineError as error:
            attempt = replace(attempt, problem=str(error))
    try:
        return pair_response(request, attempt, outcome.status)
    except QAPipelineError as error:
        problem = "; ".join(filter(None, [attempt.problem, str(error)]))
        unsent = {name: text for name, text in attempt.fields.items() if text.strip()}
        return page(request, "unsent.html.j2", status=409, problem=problem, unsent=unsent)


def show_decisions(request: Request) -> Response:
    """Show the batches with decisions that are not in their tables yet."""
    review = review_of(request)
    applying = review.local.applying
    response = page(
        request,
        "decisions.html.j2",
        entries=pending_batches(review.tables, review.layout),
        applying=applying,
    )
    if applying and not applying.is_done:
        response.headers["Refresh"] = str(_RELOAD_SECONDS)
    return response


@posted
def apply_to_tables(request: Request, fields: Mapping[str, str]) -> Response:
    """Begin to apply the decisions about a batch."""
    del fields
    review_of(request).local.apply(request.path_params["batch"])
    return RedirectResponse("/decisions", status_code=303)


ROUTES = (
    Route("/pair/{batch}/{pair_id}/decision", take_decision, methods=["POST"]),
    Route("/decisions", show_decisions),
    Route("/decisions/{batch}/apply", apply_to_tables, methods=["POST"]),
)
