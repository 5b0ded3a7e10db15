"""The page of a document."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qa_pipeline.people.review.responses import page, review_of
from qa_pipeline.people.review.source_view import source_view


def show_document(request: Request) -> Response:
    """Show a document, a stretch of it marked where the address names one."""
    review = review_of(request)
    start, end = (request.query_params.get(name, "") for name in ("start", "end"))
    span = (int(start), int(end)) if start.isdecimal() and end.isdecimal() else None
    batch, document_id = request.path_params["batch"], request.path_params["document_id"]
    source = source_view(review.tables, batch, document_id, span)
    return page(request, "document.html.j2", source=source, batch=batch)


ROUTES = (Route("/document/{batch}/{document_id}", show_document),)
