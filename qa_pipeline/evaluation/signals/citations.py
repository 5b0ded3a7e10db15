"""Signals of citations: what an answer cites, whether that is there, and whether it proves what is said.

A citation is an entry of the row's `citations`, or a mark in the answer that no entry accounts for. [3] is
the third entry, and where there is none the third context; any other mark names a document. Without entries
and marks it is unknown whether the answer cites at all.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from qa_pipeline.evaluation.signals.base import RULES, Means, Row
from qa_pipeline.evaluation.signals.statements import SCORES_DECIDE
from qa_pipeline.text.quotes import locate_quote
from qa_pipeline.text.references import (
    NUMBER_MARK,
    SOURCE_MARK,
    mark_references,
    marked_numbers,
    normalise_path,
    split_reference,
    without_marks,
)
from qa_pipeline.text.sentences import sentence_spans

CITED = pl.Struct(
    {
        "document": pl.String(),
        "contexts": pl.List(pl.Int64()),
        "exists": pl.Boolean(),
        "quote_found": pl.Boolean(),
        "places": pl.List(pl.Int64()),
    }
)
"""One citation: its document, the contexts it names (from 0; those that hold its quote, where
it has one), whether it names anything known, whether its quote is there (null without quote, or without text
to look in), and where its marks stand in the answer."""
CITATION_SUPPORT = pl.Struct(
    {"score": pl.Float64(), "proves": pl.List(pl.Int64()), "decided_by": pl.String()}
)
"""How far a citation supports the statements it stands for: the best score of these against what it names
alone (null where its text or the verdict is unknown), and the positions of those it proves."""
_SUFFIX = re.compile(r"(?<=[^/])\.[a-z0-9]{1,8}$")


@dataclass
class _Citation:
    document: str | None
    quote: str | None = None
    places: list[int] = field(default_factory=list)


def find_cited(rows: pl.DataFrame, means: Means) -> list[list[Row] | None]:
    """Return the citations of each answer (`CITED`); None where there are no entries and no marks."""
    del means
    return [_cited(row) for row in rows.iter_rows(named=True)]


def _cited(row: Row) -> list[Row] | None:
    entries = [
        _Citation(citation["document"] or citation["raw"], citation["quote"])
        for citation in row["citations"] or ()
    ]
    of_marks: dict[str, _Citation] = {}
    for place, number, reference in _marks(row["answer"]):
        if number is None:
            matches = [entry for entry in entries if entry.document and _same(entry.document, reference)]
        else:
            matches = entries[max(0, number - 1) : number]
        citation = matches[0] if matches else of_marks.setdefault(reference, _Citation(reference))
        citation.places.append(place)
    if row["citations"] is None and not of_marks:
        return None
    return [_looked_up(citation, row) for citation in (*entries, *of_marks.values())]


def _marks(answer: str) -> Iterator[tuple[int, int | None, str]]:
    """Yield the offset, number and reference of each mark, in order; a named source has no number."""
    marks = [*SOURCE_MARK.finditer(answer), *NUMBER_MARK.finditer(answer)]
    for mark in sorted(marks, key=re.Match.start):
        references = mark_references(mark[0])
        yield from ((mark.start(), None, reference) for reference in references)
        if not references:
            yield from ((mark.start(), number, f"[{number}]") for number in marked_numbers(mark[0]))


def _looked_up(citation: _Citation, row: Row) -> Row:
    """Return a citation as a row of `CITED`."""
    documents = [context["document"] for context in row["contexts"]]
    texts = [context["text"] for context in row["contexts"]]
    reference = citation.document
    numbers = marked_numbers(reference) if reference and NUMBER_MARK.fullmatch(reference.strip()) else []
    if numbers:
        reference = None
        contexts = [number - 1 for number in numbers if 0 < number <= len(texts)]
        exists = len(contexts) == len(numbers)
    elif reference is None:
        contexts, exists = list(range(len(texts))), citation.quote is not None
    else:
        sources = [claim["source"] for claim in row["true_claims"] or ()]
        others = [*(row["relevant_documents"] or ()), *sources]
        contexts, elsewhere = _naming(reference, documents), _naming(reference, others)
        exists = bool(contexts or elsewhere)
        reference = others[elsewhere[0]] if elsewhere else reference
    quote_found = None
    if citation.quote and citation.quote.strip():
        readable = [at for at in contexts if texts[at] is not None]
        holding = [at for at in readable if locate_quote(citation.quote, texts[at])]
        quote_found = bool(holding) if readable else None
        contexts = holding or contexts
    return {
        "document": (documents[contexts[0]] if contexts else None) or reference,
        "contexts": contexts,
        "exists": exists,
        "quote_found": quote_found,
        "places": citation.places,
    }


def _naming(reference: str, documents: Sequence[str | None]) -> list[int]:
    """Return the documents that a reference names: those of its very path, else possible matches."""
    path = normalise_path(split_reference(reference)[0])
    exact = [at for at, name in enumerate(documents) if name and normalise_path(name) == path]
    return exact or [at for at, name in enumerate(documents) if name and _same(reference, name)]


def _same(reference: str, document: str) -> bool:
    """Return True if two paths are equal but for leading folders or a suffix that one lacks."""
    first, second = (normalise_path(split_reference(name)[0]) for name in (reference, document))
    suffixes = {match[0] for name in (first, second) if (match := _SUFFIX.search(name))}
    short, long = sorted((_SUFFIX.sub("", first), _SUFFIX.sub("", second)), key=len)
    return bool(short) and len(suffixes) < 2 and (short == long or long.endswith(f"/{short}"))


def find_citation_support(rows: pl.DataFrame, means: Means) -> list[list[Row]]:
    """Return how far each citation supports the statements it stands for (`CITATION_SUPPORT`).

    A mark stands for the statement it is in or behind, as in verification, and for the others of its sentence
    that have no mark; a citation without marks for all of them.
    """
    del means
    supports = []
    for row in rows.select("cited", "statements", "answer", "language").iter_rows(named=True):
        sentences = [start for start, _ in sentence_spans(without_marks(row["answer"]), row["language"])]
        owners = _owners([statement["start"] for statement in row["statements"]], row["cited"], sentences)
        supports.append(
            [
                _support(cited, [row["statements"][at] for at in owned])
                for cited, owned in zip(row["cited"], owners, strict=True)
            ]
        )
    return supports


def _owners(starts: Sequence[int], cited: Sequence[Row], sentences: Sequence[int]) -> list[list[int]]:
    """Return the indexes of the statements that each citation stands for."""
    everything = range(len(starts))
    marked = [{max(0, bisect_left(starts, place) - 1) for place in row["places"]} for row in cited]
    unmarked = {*everything}.difference(*marked)
    sentence_of = [bisect_right(sentences, start) for start in starts]
    owners = []
    for at in marked:
        of_sentences = {sentence_of[statement] for statement in at}
        owned = at | {other for other in unmarked if sentence_of[other] in of_sentences}
        owners.append(sorted(owned) if at else list(everything))
    return owners


def _support(cited: Row, statements: Sequence[Row]) -> Row:
    """Return the best score of the statements; one that a step or model denied has 0 everywhere."""
    if not cited["exists"] or cited["quote_found"] is False:
        return {"score": 0.0, "proves": [], "decided_by": RULES}
    support: Row = {"score": None, "proves": [], "decided_by": None}
    for statement in statements:
        verdict, decided_by = statement["verdict"], statement["decided_by"]
        is_scored = decided_by in SCORES_DECIDE
        is_denied = verdict == "contradicted" or (verdict == "unsupported" and not is_scored)
        scores = [0.0 if is_denied else statement["scores"][at] for at in cited["contexts"]]
        score = max((score for score in scores if score is not None), default=None)
        if score is None or verdict == "undecided":
            continue
        if support["score"] is None or score > support["score"]:
            support["score"] = score
            support["decided_by"] = decided_by if is_denied else statement["scored_by"]
        if verdict == "supported" and any(statement["holds"][at] for at in cited["contexts"]):
            support["proves"].append(statement["position"])
    return support
