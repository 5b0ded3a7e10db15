"""The page of a pair."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qa_pipeline.errors import InputError
from qa_pipeline.review.decision_view import Attempt, decided_before, decision_panel
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.review.pair_view import Place, pair_view, without_people
from qa_pipeline.review.queue import LISTS, Filters
from qa_pipeline.review.responses import page, review_of, who_of
from qa_pipeline.review.source_view import SourceView, source_view


def show_pair(request: Request) -> Response:
    """Show a pair beside its source."""
    return pair_response(request)


def pair_response(request: Request, attempt: Attempt | None = None, status: int = 200) -> Response:
    """Show a pair; `attempt` is a form that was sent about it and not taken."""
    review = review_of(request)
    batch, pair_id = request.path_params["batch"], request.path_params["pair_id"]
    view, who, stand = (
        pair_view(review.tables, batch, pair_id),
        who_of(request),
        review.queue.stand(batch, pair_id),
    )
    if stand.is_gold and stand.is_rated_by(who):
        view = without_people(view)
    filters = Filters.from_query(request.query_params)
    claim, place = view.selected(_number(request, "claim"), _number(request, "evidence"))
    places = [evidence for proved in view.claims for evidence in proved.places]
    source, source_problem = source_beside(request, batch, place)
    return page(
        request,
        "pair.html.j2",
        status=status,
        view=view,
        batch=batch,
        filters=filters,
        list_title=LISTS[filters.list].title,
        position=review.queue.position(filters, batch, pair_id, who),
        claim=claim,
        place=place,
        source=source,
        places=places,
        at=places.index(place) if place in places else None,
        source_problem=source_problem,
        panel=decision_panel(
            review.tables, view, batch, attempt or Attempt(), decided_before(request.query_params), stand, who
        ),
        is_rated_before="rated" in request.query_params,
    )


def source_beside(
    request: Request, batch: str, place: Place | None
) -> tuple[SourceView | None, InputError | None]:
    """Return the document around the evidence, or why it cannot be shown: a run may have read it anew."""
    if place is None:
        return None, None
    review, span = review_of(request), (place.start, place.end)
    try:
        source = source_view(
            review.tables, review.files, batch, place.document_id, span, request.query_params
        )
    except InputError as error:
        return None, error
    if (source.document["text"] or "")[place.start : place.end] != place.quote:
        return None, PhrasedError(
            "%(path)s has changed since the claim was verified; run its batch again", path=place.path
        )
    return source, None


def _number(request: Request, name: str) -> int | None:
    """Return a number of the address, None where it has none."""
    value = request.query_params.get(name, "")[:9]
    return int(value) if value.isdecimal() else None


ROUTES = (Route("/pair/{batch}/{pair_id}", show_pair),)
