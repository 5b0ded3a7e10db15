"""The page of a document, and pictures of the pages of PDF files."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qa_pipeline.review.responses import page, review_of
from qa_pipeline.review.source_view import find_document, source_view, span_in

_SECONDS = 600
"""Time that a browser may keep the picture of a page: its address names the content of the file."""


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
    span = span_in(request.query_params)
    picture = review.files.draw_page(document, request.path_params["number"], span)
    return Response(
        picture, media_type="image/png", headers={"Cache-Control": f"private, max-age={_SECONDS}"}
    )


ROUTES = (
    Route("/document/{batch}/{document_id}", show_document),
    Route("/page/{batch}/{document_id}/{number:int}.png", send_page),
)
