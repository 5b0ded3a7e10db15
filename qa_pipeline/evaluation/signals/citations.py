"""Signals of citations: what an answer cites, whether it exists, and whether it proves what it stands for.

A citation is an entry of the row's `citations`, or a mark in the answer that no entry accounts for. [3] is
the third entry, and where there is none the third context; any other mark names a document. Without entries
and marks it is unknown whether the answer cites at all.
"""

from collections import Counter
from dataclasses import replace
from itertools import islice

from qa_pipeline.evaluation.signals.means import RULES, Means, Row
from qa_pipeline.evaluation.signals.statements import SCORES_DECIDE, Verified, by_contexts, verify
from qa_pipeline.text.references import NUMBER_MARK, is_same_path, locate_quote, marked_numbers
from qa_pipeline.verification.splitting import Claim, split_claims, with_references


def find_cited(rows: list[Row], _means: Means) -> list[list[Row] | None]:
    """Return the citations of each answer; None if there are no entries and no marks.

    A citation has its document, the contexts it names (from 0; those that hold its quote, if it has one), if
    it `exists` (names anything known), if its quote is there (None without quote, or without text to look
    in), the `marks` that name it, and how often the answer `mentions` it by these.
    """
    return [_citations(row) for row in rows]


def _citations(row: Row) -> list[Row] | None:
    entries = [
        _citation(entry["document"] or entry["raw"], entry["quote"]) for entry in row["citations"] or ()
    ]
    citations = [*entries]
    answer = row["answer"]
    marks = Counter(_marks(with_references([Claim(answer, 0, len(answer))], answer)[0]))
    for mark, mentions in marks.items():
        if numbers := _numbers(mark):
            entries_named = entries[max(0, numbers[0] - 1) : numbers[0]]
        else:
            entries_named = [entry for entry in entries if is_same_path(mark, entry["reference"] or "")]
        if not entries_named:
            entries_named = [_citation(mark)]
            citations += entries_named
        entries_named[0]["marks"].append(mark)
        entries_named[0]["mentions"] += mentions
    is_unknown = row["citations"] is None and not citations
    return None if is_unknown else [_looked_up(citation, row) for citation in citations]


def _citation(reference: str | None, quote: str | None = None) -> Row:
    return {"reference": reference, "quote": quote, "marks": [], "mentions": 0}


def _marks(claim: Claim) -> list[str]:
    """Return the marks of a claim; [1-3] is three."""
    marks = [[f"[{number}]" for number in _numbers(name)] or [name] for name in claim.references]
    return [mark for of_reference in marks for mark in of_reference]


def _numbers(reference: str) -> list[int]:
    return marked_numbers(reference) if NUMBER_MARK.fullmatch(reference.strip()) else []


def _looked_up(citation: Row, row: Row) -> Row:
    """Return a citation with the passage that it names."""
    documents = [context["document"] or "" for context in row["contexts"]]
    texts = [context["text"] for context in row["contexts"]]
    reference, quote = citation["reference"], citation["quote"]
    if reference is None:
        contexts, exists = [*range(len(texts))], quote is not None
    elif numbers := _numbers(reference):
        contexts = [number - 1 for number in numbers if 0 < number <= len(texts)]
        reference, exists = None, len(contexts) == len(numbers)
    else:
        sources = [claim["source"] or "" for claim in row["true_claims"] or ()]
        annotated = [
            name for name in (row["relevant_documents"] or []) + sources if is_same_path(reference, name)
        ]
        contexts = [index for index, name in enumerate(documents) if is_same_path(reference, name)]
        reference, exists = [*annotated, reference][0], bool(contexts or annotated)
    quote_found = None
    if quote and quote.strip():
        readable = [index for index in contexts if texts[index] is not None]
        holding = [index for index in readable if locate_quote(quote, texts[index])]
        quote_found = bool(holding) if readable else None
        contexts = holding or contexts
    document = (documents[contexts[0]] if contexts else None) or reference
    columns = {"document": document, "contexts": contexts, "exists": exists, "quote_found": quote_found}
    return citation | columns


def find_support(rows: list[Row], means: Means) -> list[list[Row]]:
    """Return how far each citation supports the statements it stands for.

    `score` is the best of its statements against what it names alone (None if unknown), `proves` has the
    positions of those it proves. A mark stands for the statement it is in or behind, and for those of its
    sentence that have none; a citation without marks for all statements.
    """
    pairs = [
        (row, cited, statement) for row in rows for cited, of_cited in _owned(row) for statement in of_cited
    ]
    texts = [
        by_contexts(statement["claim"], row, [row["contexts"][index] for index in cited["contexts"]])
        for row, cited, statement in pairs
    ]
    # no model is paid again for a statement that it decided, and its figures may be in several contexts
    local = replace(means, verifier=None, splitter=None, undecided="similarity")
    alone = iter(verify(texts, local, compare_figures=False))
    return [
        [_support(cited, statements, [*islice(alone, len(statements))]) for cited, statements in _owned(row)]
        for row in rows
    ]


def _owned(row: Row) -> list[tuple[Row, list[Row]]]:
    """Return each citation with the statements that it stands for."""
    sentences = split_claims(row["answer"], row["language"])
    claims = []
    for statement in row["statements"]:
        start = statement["start"]
        around = (sentence.references for sentence in sentences if sentence.start <= start < sentence.end)
        claims.append(Claim(statement["text"], start, statement["end"], next(around, ())))
    marks = [{*_marks(claim)} for claim in with_references(claims, row["answer"])]
    marked = [*zip(row["statements"], marks, strict=True)]
    return [
        (cited, [one for one, names in marked if not cited["marks"] or names & {*cited["marks"]}])
        for cited in row["cited"]
    ]


def _support(cited: Row, statements: list[Row], alone: list[Verified]) -> Row:
    """Return the support of a citation; what a step or model denied has 0 everywhere."""
    if not cited["exists"] or cited["quote_found"] is False:
        return {"score": 0.0, "proves": [], "decided_by": RULES}
    support: Row = {"score": None, "proves": [], "decided_by": None}
    for statement, verified in zip(statements, alone, strict=True):
        if statement["verdict"] == "undecided" or not verified:
            continue
        scored, is_proof = verified[0], verified[0]["verdict"] == "supported"
        if statement["verdict"] != "supported":
            is_proof = False
            scored = scored if statement["decided_by"] in SCORES_DECIDE else statement
        elif statement["context"] in cited["contexts"]:
            scored, is_proof = statement, True
        support["proves"] += [statement["position"]] if is_proof else []
        if support["score"] is None or scored["score"] > support["score"]:
            support |= {"score": scored["score"], "decided_by": scored["scored_by"]}
    return support
