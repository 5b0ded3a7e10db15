"""The pages on which people label audits and rating sheets."""

from collections.abc import Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from qa_pipeline.errors import InputError, QAPipelineError
from qa_pipeline.review.languages import PhrasedError
from qa_pipeline.review.pair_page import source_beside
from qa_pipeline.review.pair_view import Place, pair_view
from qa_pipeline.review.responses import ReviewApp, page, posted, review_of, session_of
from qa_pipeline.review.sheets import Sheet, SheetRow


def show_sheets(request: Request) -> Response:
    """List the files to label, and how much of each is done."""
    review, problems, sheets = review_of(request), {}, []
    for name in review.sheets.paths():
        try:
            sheets.append(review.sheets.read(name))
        except InputError as error:
            problems[name] = error
    return page(request, "sheets.html.j2", sheets=sheets, problems=problems)


def show_sheet(request: Request) -> Response:
    """List the rows of a file with the labels that a person may see."""
    return page(
        request, "sheet_rows.html.j2", sheet=review_of(request).sheets.read(request.path_params["name"])
    )


def show_row(request: Request) -> Response:
    """Show a row, beside its source where the tables still have it."""
    review = review_of(request)
    sheet, row = _sheet_and_row(request)
    places = _places(review, row)
    number = request.query_params.get("evidence", "")
    at = int(number) if number.isdecimal() and int(number) < len(places) else 0
    place = places[at] if places else None
    source, source_problem = source_beside(request, row.batch or "", place)
    return page(
        request,
        "sheet_row.html.j2",
        sheet=sheet,
        row=row,
        number=request.path_params["number"],
        places=places,
        at=at if place else None,
        source=source,
        source_problem=source_problem,
    )


@posted
def take_label(request: Request, fields: Mapping[str, str]) -> Response:
    """Write a label into its file and go on to the next row without one."""
    review, session = review_of(request), session_of(request)
    sheet, row = _sheet_and_row(request)
    if fields.get("id") != row.id:
        raise PhrasedError(
            "%(name)s has changed since its page was loaded; nothing was written", name=sheet.name
        )
    who, label = session.who if session else "", fields.get("label") or None
    review.sheets.put_label(sheet.name, row.id, label, who)
    number = request.path_params["number"]
    if label is not None:
        number = review.sheets.read(sheet.name).next_open(who, number)
    address = f"/sheets/{quote(sheet.name, safe='')}"
    return RedirectResponse(address if number is None else f"{address}/{number}", status_code=303)


def _sheet_and_row(request: Request) -> tuple[Sheet, SheetRow]:
    sheet = review_of(request).sheets.read(request.path_params["name"])
    number = request.path_params["number"]
    if not 1 <= number <= len(sheet.items):
        raise PhrasedError(
            "%(name)s has no row %(number)s; it has %(count)s",
            name=sheet.name,
            number=number,
            count=len(sheet.items),
        )
    return sheet, sheet.items[number - 1]


def _places(review: ReviewApp, row: SheetRow) -> list[Place]:
    """Return the evidence of a released row in the tables of now; none where they lack the pair."""
    if row.batch is None:
        return []
    try:
        view = pair_view(review.tables, row.batch, row.id)
    except QAPipelineError:  # the release outlives its tables; the page says so and shows the quotes
        return []
    return [place for claim in view.claims for place in claim.places if place.quote in row.quotes]


ROUTES = (
    Route("/sheets", show_sheets),
    Route("/sheets/{name}", show_sheet),
    Route("/sheets/{name}/{number:int}", show_row),
    Route("/sheets/{name}/{number:int}", take_label, methods=["POST"]),
)
