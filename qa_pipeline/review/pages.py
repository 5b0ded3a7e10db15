"""The pages of the queue, of a pair beside its source, of documents, and of decisions."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from qa_pipeline.curation.reasons import in_words
from qa_pipeline.errors import InputError, QAPipelineError
from qa_pipeline.pipeline.report import finished_batches, report
from qa_pipeline.review.decision_taking import REJECTIONS
from qa_pipeline.review.decisions import (
    FIELDS,
    Outcome,
    decide,
    decided_pair,
    edit_view,
    pending_decisions,
)
from qa_pipeline.review.pair import Place, pair_view
from qa_pipeline.review.queue import LISTS, Filters, nothing_to_show, queue_page
from qa_pipeline.review.responses import page, posted, review_of, who_of
from qa_pipeline.review.source import SourceView, find_document, number_in, source_view, span_in
from qa_pipeline.text.rendering import words

_PICTURE_SECONDS = 600
"""Time that a browser may keep the picture of a page: its address names the content of the file."""


def show_queue(request: Request) -> Response:
    """Show the pairs that the filters of the address leave, a page of them."""
    review = review_of(request)
    filters = Filters.from_query(request.query_params)
    view = queue_page(review.queue, filters, number_in(request.query_params, "page") or 1)
    hint = None if view["every"] or view["problems"] else nothing_to_show(review.layout)
    return page(request, "queue.html.j2", view=view, filters=filters, hint=hint)


def show_overview(request: Request) -> Response:
    """Show input and output of each stage, summed over all batches."""
    layout = review_of(request).layout
    counted = report(layout, finished_batches(layout))
    stages = []
    for (stage,), steps in counted.steps.group_by("stage", maintain_order=True):
        total, *parts = steps.iter_rows(named=True)
        bars = [
            (": ".join(filter(None, [words(part["what"]), in_words(part["reason"] or "")])), part["count"])
            for part in parts
        ]
        if total["count"]:
            stages.append((stage, total, sorted(bars, key=lambda bar: -bar[1])))
    hint = nothing_to_show(layout)
    waiting = counted.decisions.get("recorded since the last run", 0)
    return page(
        request,
        "overview.html.j2",
        stages=stages,
        incomplete=counted.incomplete,
        hint=hint,
        decisions=waiting,
        out=layout.out,
    )


def show_pair(request: Request) -> Response:
    """Show a pair beside its source."""
    return _pair_page(request, dict.fromkeys(FIELDS, ""), Outcome())


def _pair_page(
    request: Request, fields: Mapping[str, str], outcome: Outcome, edit: dict[str, Any] | None = None
) -> Response:
    """Show a pair, with what was written in its form and has not been taken."""
    review, query = review_of(request), request.query_params
    batch, pair_id = request.path_params["batch"], request.path_params["pair_id"]
    view = pair_view(review.tables, batch, pair_id)
    filters = Filters.from_query(query)
    claim, place = view.selected(number_in(query, "claim"), number_in(query, "evidence", least=0))
    places = [evidence for proved in view.claims for evidence in proved.places]
    source, source_problem = _source_beside(request, batch, place)
    before = None
    if "decided_in" in query and "decided" in query:
        before = decided_pair(review.tables, query["decided_in"], query["decided"])
    changed = {"edited_question": view.pair["question"], "edited_answer": view.pair["answer"]}
    is_editing = bool(fields["evidence_quote"]) or any(
        fields[name] and fields[name].split() != (text or "").split() for name, text in changed.items()
    )
    return page(
        request,
        "pair.html.j2",
        status=outcome.status if outcome.problem or edit else 200,
        view=view,
        batch=batch,
        filters=filters,
        list_title=LISTS[filters.list].title,
        position=review.queue.position(filters, batch, pair_id),
        claim=claim,
        place=place,
        source=source,
        places=places,
        at=places.index(place) if place in places else None,
        source_problem=source_problem,
        now=decided_pair(review.tables, batch, pair_id),
        before=before if before and before.last else None,
        attempt={"fields": fields, "problem": outcome.problem, "edit": edit, "checked": outcome.checked},
        pending=pending_decisions(review.tables, batch),
        reasons=REJECTIONS,
        claim_labels={claim.claim_id: f"c{claim.number}" for claim in view.claims},
        is_editing=is_editing,
    )


def _source_beside(request: Request, batch: str, place: Place | None) -> tuple[SourceView | None, str | None]:
    """Return the document around the evidence, or why it cannot be shown: a run may have read it anew."""
    if place is None:
        return None, None
    review, span = review_of(request), (place.start, place.end)
    try:
        source = source_view(
            review.tables, review.files, batch, place.document_id, span, request.query_params
        )
    except InputError as error:
        return None, str(error)
    if (source.document["text"] or "")[place.start : place.end] != place.quote:
        return None, f"{place.path} has changed since the claim was verified; run its batch again"
    return source, None


@posted
def take_decision(request: Request, fields: Mapping[str, str]) -> Response:
    """Record a decision and go on; where it is refused, or an edit to be looked at, show its page again."""
    review = review_of(request)
    batch, pair_id = request.path_params["batch"], request.path_params["pair_id"]
    outcome = decide(review.tables, batch, pair_id, fields, who_of(request))
    if outcome.problem or outcome.edit:
        return _shown_again(request, fields, outcome)
    filters = Filters.from_query(request.query_params)
    stays = fields.get("of_claim") or fields.get("decision") == "reopened"
    after = None if stays else review.queue.position(filters, batch, pair_id).after
    here = filters.pair_address(batch, pair_id)  # also behind the last pair: this page offers to undo
    decided = urlencode({"decided_in": batch, "decided": pair_id})
    return RedirectResponse(f"{after or here}&{decided}", status_code=303)


def _shown_again(request: Request, form: Mapping[str, str], outcome: Outcome) -> Response:
    """Show the page of a pair with what was written in its form; where it is gone, the texts alone."""
    review, batch = review_of(request), request.path_params["batch"]
    fields = {name: form.get(name, "") for name in FIELDS}
    edit = None
    if outcome.edit:
        try:
            edit = edit_view(review.tables, batch, review.editing.verify(batch, outcome.edit))
        except QAPipelineError as error:
            outcome = Outcome(str(error), status=outcome.status)
    try:
        return _pair_page(request, fields, outcome, edit)
    except QAPipelineError as error:
        problem = "; ".join(filter(None, [outcome.problem, str(error)]))
        unsent = {name: text for name, text in fields.items() if text.strip()}
        return page(request, "unsent.html.j2", status=409, problem=problem, unsent=unsent)


def show_document(request: Request) -> Response:
    """Show a document, a stretch of it marked where the address names one."""
    review = review_of(request)
    batch, document_id = request.path_params["batch"], request.path_params["document_id"]
    span = span_in(request.query_params)
    source = source_view(review.tables, review.files, batch, document_id, span, request.query_params)
    return page(request, "document.html.j2", source=source, batch=batch)


def send_page(request: Request) -> Response:
    """Send a page of a PDF as a picture, a stretch of its text highlighted where the address names one."""
    review = review_of(request)
    document = find_document(review.tables, request.path_params["batch"], request.path_params["document_id"])
    number = number_in(request.path_params, "number") or 0
    picture = review.files.draw_page(document, number, span_in(request.query_params))
    headers = {"Cache-Control": f"private, max-age={_PICTURE_SECONDS}"}
    return Response(picture, media_type="image/png", headers=headers)


ROUTES = (
    Route("/", show_queue),
    Route("/overview", show_overview),
    Route("/pair/{batch}/{pair_id}", show_pair),
    Route("/pair/{batch}/{pair_id}/decision", take_decision, methods=["POST"]),
    Route("/document/{batch}/{document_id}", show_document),
    Route("/page/{batch}/{document_id}/{number}.png", send_page),
)
