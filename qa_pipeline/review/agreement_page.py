"""The page that shows how far people agree who rate the same pairs apart from each other."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qa_pipeline.review.consensus import LEAST_KAPPA
from qa_pipeline.review.panel import LEAST_PAIRS
from qa_pipeline.review.queue import Filters
from qa_pipeline.review.responses import page, review_of


def show_agreement(request: Request) -> Response:
    """Show Fleiss' kappa and how often each person is right about gold pairs, as of now."""
    queue = review_of(request).queue
    stands = queue.stands()
    return page(
        request,
        "agreement.html.j2",
        figures=queue.panel.figures(stands) if queue.panel else None,
        least=LEAST_KAPPA,
        least_pairs=LEAST_PAIRS,
        disputed=Filters(list="disagreements"),
    )


ROUTES = (Route("/agreement", show_agreement),)
