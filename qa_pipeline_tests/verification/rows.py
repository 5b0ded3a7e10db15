"""A small batch as tables: documents written as text, one chunk a section, and pairs that cite them."""

import re
from typing import Any

import polars as pl

from qa_pipeline.storage.tables import DOCUMENTS, PAIRS
from qa_pipeline_tests.curation import rows

_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)


def documents(texts: dict[str, str], language: str = "en") -> pl.DataFrame:
    return DOCUMENTS.frame([_document(path, text, language) for path, text in texts.items()])


def _document(path: str, text: str, language: str) -> dict[str, Any]:
    title = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    named = {"path": path, "content_sha256": f"sha-{path}", "title": title, "language": language}
    unknown = {"source_uri": None, "licence": None}
    return rows.document(f"doc-{path}", text, sections=sections(text), size=len(text), **named, **unknown)


def sections(text: str) -> list[dict[str, Any]]:
    marks = [(match.start(), len(match[1]), match[2]) for match in _HEADING.finditer(text)]
    found = []
    path: list[str] = []
    if text[: marks[0][0] if marks else len(text)].strip():
        end = marks[0][0] if marks else len(text)
        found.append({"heading_path": [], "level": 0, "start": 0, "end": end})
    for place, (start, level, heading) in enumerate(marks):
        end = marks[place + 1][0] if place + 1 < len(marks) else len(text)
        path = [*path[: level - 1], heading]
        found.append({"heading_path": path, "level": level, "start": start, "end": end})
    return found


def chunks(documents: pl.DataFrame) -> pl.DataFrame:
    made = []
    for document in documents.filter(pl.col("status") == "parsed").iter_rows(named=True):
        for position, section in enumerate(document["sections"]):
            text = document["text"][section["start"] : section["end"]].rstrip()
            made.append(
                rows.chunk(
                    f"{document['path']}:{position}",
                    text,
                    document_id=document["document_id"],
                    position=position,
                    char_start=section["start"],
                    char_end=section["start"] + len(text),
                    title=document["title"],
                    section_path=section["heading_path"],
                    tokens=len(text.split()),
                    language=document["language"],
                )
            )
    return rows.chunks(*made)


def citation(raw: str, **fields: Any) -> dict[str, Any]:
    return {
        "raw": raw,
        "document_id": None,
        "chunk_id": None,
        "quote": None,
        "number": None,
        "resolution": "document",
        **fields,
    }


def pair(
    answer: str, *, cites: str | list[dict[str, Any]], language: str = "en", **fields: Any
) -> dict[str, Any]:
    """A drafted pair that asks nothing; `cites` is a document's path or ready citations."""
    cited = [citation(cites, document_id=f"doc-{cites}")] if isinstance(cites, str) else cites
    imported = {"question_type": "imported", "origin": "imported", "generator": "test"}
    row = rows.pair("pair", question="", answer=answer, language=language, citations=cited, **imported)
    return row | fields


def pairs(*made: dict[str, Any]) -> pl.DataFrame:
    return PAIRS.frame([{**row, "pair_id": f"pair-{place}"} for place, row in enumerate(made)])
