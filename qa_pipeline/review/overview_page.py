"""The page that shows the output folder at a glance."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qa_pipeline.review.queue import Filters
from qa_pipeline.review.responses import page, review_of, who_of


def show_overview(request: Request) -> Response:
    """Show funnel, rates, reasons, scores, coverage, queue and certificate."""
    review = review_of(request)
    view = review.overviews.overview()
    who = who_of(request)
    waiting = review.queue.places(review.queue.rows(who), Filters(), who).len()
    return page(
        request,
        "overview.html.j2",
        view=view,
        waiting=waiting,
        out=review.layout.out,
        filters=Filters(),
    )


ROUTES = (Route("/overview", show_overview),)
