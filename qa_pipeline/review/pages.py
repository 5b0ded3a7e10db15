"""The pages: queue, a pair next to its source, and documents."""

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from qa_pipeline.errors import InputError
from qa_pipeline.review.decision_files import REJECTIONS
from qa_pipeline.review.decisions import FIELDS, Outcome, decide, decided_pair
from qa_pipeline.review.pair import Quote, pair_view
from qa_pipeline.review.queue import LISTS, Filters, queue_page
from qa_pipeline.review.responses import page, posted, review_of, who_of
from qa_pipeline.review.source import SourceView, find_document, number_in, source_view, span_in

_PICTURE_SECONDS = 600
"""Time that a browser may keep a picture; its address contains the hash of the file."""


def show_queue(request: Request) -> Response:
    """Show a page of the pairs that match the filters."""
    review, filters = review_of(request), Filters.from_query(request.query_params)
    view = queue_page(review.queue, filters, number_in(request.query_params, "page") or 1)
    return page(request, "queue.html.j2", view=view, filters=filters, out=review.layout.out)


def show_pair(request: Request) -> Response:
    """Show a pair beside its source."""
    return _pair_page(request, dict.fromkeys(FIELDS, ""), Outcome())


def _pair_page(request: Request, fields: Mapping[str, str], outcome: Outcome) -> Response:
    """Show a pair, with the fields of a form that was refused."""
    review, query = review_of(request), request.query_params
    batch, pair_id = request.path_params["batch"], request.path_params["pair_id"]
    view = pair_view(review.tables, batch, pair_id)
    filters = Filters.from_query(query)
    claim, quote = view.selected(number_in(query, "claim"))
    source, source_problem = _source_of(request, batch, quote)
    before = None  # the pair that was decided last, to offer undo
    if "decided_in" in query and "decided" in query:
        before = decided_pair(review.tables, query["decided_in"], query["decided"])
    return page(
        request,
        "pair.html.j2",
        status=outcome.status,
        view=view,
        batch=batch,
        filters=filters,
        list_title=LISTS[filters.list][0],
        position=review.queue.position(filters, batch, pair_id),
        claim=claim,
        quote=quote,
        source=source,
        source_problem=source_problem,
        now=decided_pair(review.tables, batch, pair_id),
        before=before if before and before.last else None,
        attempt={"fields": fields, "problem": outcome.problem},
        reasons=REJECTIONS,
        claim_labels={claim.claim_id: f"c{claim.number}" for claim in view.claims},
        is_editing=any(fields[name] for name in FIELDS if name != "why"),
    )


def _source_of(request: Request, batch: str, quote: Quote | None) -> tuple[SourceView | None, str | None]:
    """Return the document around the evidence, or the reason why it cannot be shown."""
    if quote is None:
        return None, None
    review, span = review_of(request), (quote.start, quote.end)
    try:
        source = source_view(
            review.tables, review.files, batch, quote.document_id, span, request.query_params
        )
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
    outcome = decide(review.layout, batch, pair_id, fields, who_of(request))
    if outcome.problem:
        return _pair_page(request, {name: fields.get(name, "") for name in FIELDS}, outcome)
    filters = Filters.from_query(request.query_params)
    address = filters.pair_address(batch, pair_id)  # after the last pair this page offers undo
    if not fields.get("of_claim") and fields.get("decision") != "reopened":
        address = review.queue.position(filters, batch, pair_id).after or address
    decided = urlencode({"decided_in": batch, "decided": pair_id})
    return RedirectResponse(f"{address}&{decided}", status_code=303)


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


ROUTES = (
    Route("/", show_queue),
    Route("/pair/{batch}/{pair_id}", show_pair),
    Route("/pair/{batch}/{pair_id}/decision", take_decision, methods=["POST"]),
    Route("/document/{batch}/{document_id}", show_document),
    Route("/page/{batch}/{document_id}/{number}.png", send_page),
)
