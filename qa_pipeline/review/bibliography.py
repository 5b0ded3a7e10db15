"""An answer with the sources it rests on, as Markdown, HTML, BibTeX or CSL-JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from qa_pipeline.review.asking import Answer
from qa_pipeline.review.languages import ENGLISH, Phrases, phrases_in
from qa_pipeline.review.pair_view import Place
from qa_pipeline.text.rendering import render_markdown, render_page, visible

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
        "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
        "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", '"': "''",
    }
)  # fmt: skip
"""Characters that mean something to BibTeX or LaTeX. Braces get a name, since BibTeX counts escaped ones too;
a straight quote would end a value in the eyes of some readers even inside braces."""


@dataclass(frozen=True, slots=True)
class Source:
    """Words of a document that claims of an answer rest on; unknown values are None.

    Args:
        number: of the source in the bibliography, from 1.
        title: of the document.
        path: of its file in the batch.
        section: headings above the words.
        page: on which they begin.
        quote: the words.
        licence: of the document.
        address: where it came from.
        language: of the document.
        claims: numbers of the claims.
    """

    number: int
    title: str
    path: str
    section: str | None
    page: int | None
    quote: str
    licence: str | None
    address: str | None
    language: str | None
    claims: list[int]


def sources_of(answer: Answer) -> list[Source]:
    """Return the sources of an answer in the order of its claims, each once."""
    documents = {row["document_id"]: row for row in answer.documents.iter_rows(named=True)}
    claims: dict[tuple[str, int, int], list[int]] = {}
    places: dict[tuple[str, int, int], Place] = {}
    for claim in answer.claims:
        for place in claim.places:
            key = place.document_id, place.start, place.end
            places.setdefault(key, place)
            claims.setdefault(key, []).append(claim.number)
    return [
        Source(
            number=number,
            # of an upload the path is a name of ours, and its title may be one made of that
            title=answer.place.title if answer.place.is_upload else documents[place.document_id]["title"],
            path=answer.place.title if answer.place.is_upload else place.path,
            section=place.section or None,
            page=place.page,
            quote=" ".join(place.quote.split()),
            licence=documents[place.document_id]["licence"],
            address=documents[place.document_id]["source_uri"],
            language=documents[place.document_id]["language"],
            claims=claims[key],
        )
        for number, (key, place) in enumerate(places.items(), start=1)
    ]


def _as_markdown(answer: Answer, sources: Sequence[Source], phrases: Phrases) -> str:
    template = "review/templates/bibliography.md.j2"
    return render_markdown(template, answer=answer, sources=sources, _=phrases.gettext)


def _as_html(answer: Answer, sources: Sequence[Source], phrases: Phrases) -> str:
    template = "review/templates/bibliography.html.j2"
    return render_page(template, answer=answer, sources=sources, language=phrases.language, _=phrases.gettext)


def _as_bibtex(answer: Answer, sources: Sequence[Source], phrases: Phrases) -> str:
    """Return an entry `@misc` for each source: BibTeX has no type for documents at large."""
    del phrases
    entries = []
    for source in sources:
        fields = {
            "title": source.title,
            "howpublished": source.path,
            "chapter": source.section,
            "pages": source.page,
            "url": source.address,
            "copyright": source.licence,
            "language": source.language,
            "annote": source.quote,
        }
        lines = [f"  {name} = {{{_latex(value)}}}," for name, value in fields.items() if value is not None]
        entries.append("\n".join([f"@misc{{source{source.number},", *lines, "}\n"]))
    return "\n".join(entries)


def _latex(value: object) -> str:
    return " ".join(visible(str(value)).split()).translate(_LATEX)


def _as_csl(answer: Answer, sources: Sequence[Source], phrases: Phrases) -> str:
    """Return items of CSL-JSON 1.0.2; what its schema has no field for is in `custom`, as it provides."""
    del phrases
    items = []
    for source in sources:
        fields = {
            "id": f"source{source.number}",
            "type": "document",
            "title": source.title,
            "section": source.section,
            "page": None if source.page is None else str(source.page),
            "URL": source.address,
            "language": source.language,
            "note": source.quote,
            "custom": {
                "file": source.path,
                "claims": source.claims,
                **({"licence": source.licence} if source.licence else {}),
            },
        }
        items.append({name: value for name, value in fields.items() if value is not None})
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"


@dataclass(frozen=True, slots=True)
class Export:
    """A format of exports: its name for people, its media type, and the function that writes it."""

    title: str
    media_type: str
    write: Callable[[Answer, Sequence[Source], Phrases], str]


EXPORTS: Mapping[str, Export] = {
    "md": Export("Markdown", "text/markdown", _as_markdown),
    "html": Export("HTML", "text/html", _as_html),
    "bib": Export("BibTeX", "application/x-bibtex", _as_bibtex),
    "json": Export("CSL-JSON", "application/vnd.citationstyles.csl+json", _as_csl),
}
"""By the suffix of the file."""


def export(answer: Answer, suffix: str, language: str = ENGLISH) -> tuple[str, str]:
    """Return the text and media type of an answer with its bibliography, in words of a language."""
    chosen = EXPORTS[suffix]
    return chosen.write(answer, sources_of(answer), phrases_in(language)), chosen.media_type
