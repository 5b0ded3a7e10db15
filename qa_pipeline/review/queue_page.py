"""The page of the queue."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qa_pipeline.review.languages import phrases_of
from qa_pipeline.review.queue import Filters
from qa_pipeline.review.queue_view import nothing_to_show, queue_view
from qa_pipeline.review.responses import page, review_of, who_of


def show_queue(request: Request) -> Response:
    """Show the pairs that the filters of the address leave, a page of them."""
    review = review_of(request)
    number = request.query_params.get("page", "")
    filters = Filters.from_query(request.query_params)
    at = int(number[:9]) if number.isdecimal() else 1
    view = queue_view(review.queue, filters, at, phrases_of(request).phrase, who_of(request))
    hint = None if view.every or view.problems else nothing_to_show(review.layout)
    return page(request, "queue.html.j2", view=view, filters=filters, hint=hint)


ROUTES = (Route("/", show_queue),)
