"""The page of the queue."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qa_pipeline.people.review.queue import LISTS, PAGE, Filters, chosen
from qa_pipeline.people.review.responses import page, review_of


def show_queue(request: Request) -> Response:
    """Show the pairs that the filters of the address leave, a page of them."""
    review = review_of(request)
    filters = Filters.from_query(request.query_params)
    every = review.queue.rows()
    rows = chosen(every, filters)
    number = request.query_params.get("page", "")
    first = (int(number) - 1) * PAGE if number.isdecimal() and number != "0" else 0
    return page(
        request,
        "queue.html.j2",
        filters=filters,
        lists=LISTS,
        rows=rows.slice(first, PAGE).to_dicts(),
        first=first,
        page=PAGE,
        total=rows.height,
        every=every.height,
        problems=review.queue.problems,
    )


ROUTES = (Route("/", show_queue),)
