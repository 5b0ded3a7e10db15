"""An answer with the sources it rests on, as Markdown or BibTeX."""

from dataclasses import dataclass, field

from qa_pipeline.review.asking import Answer
from qa_pipeline.text.rendering import render_markdown, visible

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
        "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
        "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", '"': "''",
    }
)  # fmt: skip
"""Characters that mean something to BibTeX, which counts escaped braces too, or to LaTeX."""


@dataclass(frozen=True, slots=True)
class Source:
    """Words of a document that claims of an answer, by number, rest on; unknown values are None."""

    number: int
    title: str
    path: str
    section: str | None
    page: int | None
    quote: str
    licence: str | None
    address: str | None
    language: str | None
    claims: list[int] = field(default_factory=list)


def sources_of(answer: Answer) -> list[Source]:
    """Return the sources of an answer in the order of its claims, each once."""
    documents = {row["document_id"]: row for row in answer.documents.iter_rows(named=True)}
    sources: dict[tuple[str, int, int], Source] = {}
    # of an upload the path is a name of ours, and its title may be made of that
    upload = answer.place.title if answer.place.is_upload else None
    for claim in answer.claims:
        for place in claim.places:
            row, key = documents[place.document_id], (place.document_id, place.start, place.end)
            title, path, quote = upload or row["title"], upload or place.path, " ".join(place.quote.split())
            found = (place.section or None, place.page, quote)
            about = (row["licence"], row["source_uri"], row["language"])
            source = sources.setdefault(key, Source(len(sources) + 1, title, path, *found, *about))
            source.claims.append(claim.number)
    return list(sources.values())


def as_markdown(answer: Answer) -> str:
    """Return the answer and its sources."""
    template = "review/templates/bibliography.md.j2"
    return render_markdown(template, answer=answer, sources=sources_of(answer))


def as_bibtex(answer: Answer) -> str:
    """Return an entry `@misc` for each source: BibTeX has no type for documents at large."""
    names = {
        "title": "title", "howpublished": "path", "chapter": "section", "pages": "page", "url": "address",
        "copyright": "licence", "language": "language", "annote": "quote",
    }  # fmt: skip
    entries = []
    for source in sources_of(answer):
        values = {name: getattr(source, attribute) for name, attribute in names.items()}
        lines = [
            f"  {name} = {{{' '.join(visible(str(value)).split()).translate(_LATEX)}}},"
            for name, value in values.items()
            if value is not None
        ]
        entries.append("\n".join([f"@misc{{source{source.number},", *lines, "}\n"]))
    return "\n".join(entries)
