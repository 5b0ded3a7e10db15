"""Citations of answers: their existence, and their support of the statements they belong to.

A citation is an entry of the row's `citations`, or a mark in the answer without an entry. [3] is the third
entry, or else the third context; any other mark names a document. Without entries and marks it is unknown
if the answer cites at all.
"""

import math
from collections import Counter
from dataclasses import replace
from itertools import islice

from qa_pipeline.curation.measures import HIGH, MIDDLE, WEIGHT_ACCURACY, WEIGHT_EXISTENCE, WEIGHT_GROUNDING
from qa_pipeline.evaluation.metrics.base import RULES, STATEMENTS_VERSION, Row, Setup, metric, share, signal
from qa_pipeline.evaluation.metrics.grounding import SCORES_DECIDE, by_contexts, faithfulness, verify
from qa_pipeline.text import references
from qa_pipeline.verification.splitting import Claim, split_claims, with_references
from qa_pipeline.verification.verify import Statement

_BY_SUPPORT = {"decided_by": ("citation_support",), "version": STATEMENTS_VERSION}
_BY_BOTH = {"decided_by": ("citation_support", "statements"), "version": STATEMENTS_VERSION}
"""Fields of metrics that the deciders of citation support and of statements decide."""


@signal("answer", "contexts", decided_by=RULES)
def find_cited(rows: list[Row], _setup: Setup) -> list[list[Row] | None]:
    """Return the citations of each answer (`_citation`, `_looked_up`); None without entries and marks."""
    return [_citations(row) for row in rows]


def _citations(row: Row) -> list[Row] | None:
    """Return the entries of `citations` with the marks that name them, and a citation for each other mark."""
    entries = [  # `raw` is the reference as written, for an unknown document
        _citation(entry["document"] or entry["raw"], entry["quote"]) for entry in row["citations"] or ()
    ]
    citations = [*entries]  # the same dictionaries, and below new ones of marks without an entry
    answer = row["answer"]
    # a single claim of the whole answer gets all its marks
    (whole_answer,) = with_references([Claim(answer, 0, len(answer))], answer)
    for mark, mentions in Counter(_marks(whole_answer)).items():
        citation = _marked_entry(mark, entries)
        if citation is None:
            citation = _citation(mark)
            citations.append(citation)
        citation["marks"].append(mark)
        citation["mentions"] += mentions
    is_unknown = row["citations"] is None and not citations
    return None if is_unknown else [_looked_up(citation, row) for citation in citations]


def _marked_entry(mark: str, entries: list[Row]) -> Row | None:
    """Return the third entry for the mark [3], or the first entry of the document that a mark names."""
    if numbers := _numbers(mark):
        return entries[numbers[0] - 1] if 1 <= numbers[0] <= len(entries) else None
    named = (entry for entry in entries if references.is_same_path(mark, entry["reference"] or ""))
    return next(named, None)


def _citation(reference: str | None, quote: str | None = None) -> Row:
    """Return a citation by a mark, the name of a document or only a quote, as yet without mentions.

    The mentions in the answer fill `marks` (such as ["[3]"]) and `mentions` (their number).
    """
    return {"reference": reference, "quote": quote, "marks": [], "mentions": 0}


def _marks(claim: Claim) -> list[str]:
    """Return the marks of a claim; `[1-3]` is split into `[1]`, `[2]` and `[3]`."""
    marks = [[f"[{number}]" for number in _numbers(name)] or [name] for name in claim.references]
    return [mark for of_reference in marks for mark in of_reference]


def _numbers(reference: str) -> list[int]:
    return references.marked_numbers(reference) if references.NUMBER_MARK.fullmatch(reference.strip()) else []


def _looked_up(citation: Row, row: Row) -> Row:
    """Return a citation with four columns; [3] is the third context, as marks of entries are resolved before.

    contexts: indices of the contexts that it names; of those, the contexts with its quote, if there are any.
    document: that of the first of these contexts, or else the named document.
    exists: True if it names a known document or only existing contexts, or has only a quote.
    quote_found: True if a context has its quote; None without a quote, or without text to search.
    """
    context_documents = [context["document"] or "" for context in row["contexts"]]
    texts = [context["text"] for context in row["contexts"]]
    reference, quote = citation["reference"], citation["quote"]
    named_document = None  # used if no context has the document
    if reference is None:  # the quote, if any, may be in any context
        contexts, exists = [*range(len(texts))], quote is not None
    elif numbers := _numbers(reference):  # such as [3], the third context
        contexts = [number - 1 for number in numbers if 0 < number <= len(texts)]
        exists = len(contexts) == len(numbers)
    else:  # the name or shortened path of a document, of a context or of the annotation
        sources = [claim["source"] or "" for claim in row["true_claims"] or ()]
        annotated_documents = (row["relevant_documents"] or []) + sources
        known_names = [name for name in annotated_documents if references.is_same_path(reference, name)]
        is_cited = [references.is_same_path(reference, name) for name in context_documents]
        contexts = [index for index, is_match in enumerate(is_cited) if is_match]
        # the annotation has the full path, which the citation may shorten
        named_document = known_names[0] if known_names else reference
        exists = bool(contexts or known_names)
    quote_found = None
    if quote and quote.strip():
        with_text = [index for index in contexts if texts[index] is not None]
        with_quote = [index for index in with_text if references.locate_quote(quote, texts[index])]
        quote_found = bool(with_quote) if with_text else None
        contexts = with_quote or contexts  # a quote that is not found excludes no context
    document = (context_documents[contexts[0]] if contexts else None) or named_document
    columns = {"document": document, "contexts": contexts, "exists": exists, "quote_found": quote_found}
    return citation | columns


@signal("cited", "statements")
def find_citation_support(rows: list[Row], setup: Setup) -> list[list[Row]]:
    """Return the support of each citation for its statements.

    `score` is the best of its statements against its contexts alone (None if unknown), and `proves` has the
    positions of the statements that it proves.
    """
    assigned_of_rows = [_assigned(row) for row in rows]
    texts: list[Statement | None] = []  # each statement of each citation, with the contexts of the citation
    for row, assigned in zip(rows, assigned_of_rows, strict=True):
        for cited, statements in assigned:
            contexts = [row["contexts"][index] for index in cited["contexts"]]
            texts += [by_contexts(statement["claim"], row, contexts) for statement in statements]
    # the models have split and decided the statements by all contexts; those of a citation alone are compared
    # only by local steps and scores
    local_setup = replace(setup, verifier=None, splitter=None, undecided="similarity")
    # a statement may have figures of several citations, so that a single citation lacks some of them
    verified = iter(verify(texts, local_setup, compare_figures=False))
    supports_of_rows = []
    for assigned in assigned_of_rows:  # in the order of `texts`, of which each citation takes its own
        supports = [_support(cited, own, [*islice(verified, len(own))]) for cited, own in assigned]
        supports_of_rows.append(supports)
    return supports_of_rows


def _assigned(row: Row) -> list[tuple[Row, list[Row]]]:
    """Return each citation of `find_cited` with its statements.

    A statement has the marks after its beginning, or else those of its sentence. In "It weighs 5 kg [1] and
    is red. It is new [2]." the first two statements belong to [1]. A citation without marks has them all.
    """
    sentences = split_claims(row["answer"], row["language"])
    with_sentence_marks = []  # the statements as claims, each with the references of its sentence
    for statement in row["statements"]:
        start = statement["start"]
        around = (sentence.references for sentence in sentences if sentence.start <= start < sentence.end)
        claim = Claim(statement["text"], start, statement["end"], references=next(around, ()))
        with_sentence_marks.append(claim)
    claims = with_references(with_sentence_marks, row["answer"])  # replaced by own marks, if any
    marks_of_statements = [{*_marks(claim)} for claim in claims]
    assigned = []
    for cited in row["cited"]:
        statements = row["statements"]
        if cited["marks"]:
            marked = zip(statements, marks_of_statements, strict=True)
            statements = [statement for statement, marks in marked if marks & {*cited["marks"]}]
        assigned.append((cited, statements))
    return assigned


def _support(cited: Row, statements: list[Row], verified_alone: list[list[Row] | None]) -> Row:
    """Return the best score of a citation, such as {"score": 0.9, "proves": [0, 2], "decided_by": "rules"}.

    The statements are verified against all contexts, and `verified_alone` against those of the citation, with
    one element for each statement; None if these contexts have no text. A citation of context 1 gets
        for a statement that context 1 supports, or that a step rejected for all contexts, this verdict;
        for a statement that context 2 supports, or that only a score rejected, the score by context 1.
    """
    if not cited["exists"] or cited["quote_found"] is False:
        return {"score": 0.0, "proves": [], "decided_by": RULES}
    support: Row = {"score": None, "proves": [], "decided_by": None}
    for statement, verified in zip(statements, verified_alone, strict=True):
        if statement["verdict"] == "undecided" or verified is None:
            continue
        is_supported = statement["verdict"] == "supported"
        has_cited_evidence = is_supported and statement["context"] in cited["contexts"]
        is_rejected_by_step = not is_supported and statement["decided_by"] not in SCORES_DECIDE
        is_decided = has_cited_evidence or is_rejected_by_step
        decision = statement if is_decided else verified[0]  # a statement is a single claim
        if is_supported and decision["verdict"] == "supported":
            support["proves"].append(statement["position"])
        if support["score"] is None or decision["score"] > support["score"]:
            support |= {"score": decision["score"], "decided_by": decision["scored_by"]}
    return support


def _band(support: float | None) -> float | None:
    """Return the band of a support: 1, 0.7 or 0."""
    if support is None:
        return None
    rounded = round(support, 9)
    return 1.0 if rounded > HIGH else 0.7 if rounded > MIDDLE else 0.0


def _is_known(row: Row) -> bool:
    return all(support["score"] is not None for support in row["citation_support"])


@metric("citation_support", **_BY_SUPPORT)
def citation_accuracy(row: Row) -> float | None:
    """Return the mean support of the citations for their statements, in bands."""
    return share(_band(support["score"]) for support in row["citation_support"])


@metric("cited", "citation_support", "statements", **_BY_BOTH)
def citation_quality(row: Row) -> float | None:
    """Return 0.4 of citations that exist, 0.3 of their accuracy and 0.3 of their grounding."""
    existence = share(citation["exists"] for citation in row["cited"])
    accuracy, grounded = citation_accuracy(row), _band(faithfulness(row))
    if existence is None or accuracy is None or grounded is None:
        return None
    return WEIGHT_EXISTENCE * existence + WEIGHT_ACCURACY * accuracy + WEIGHT_GROUNDING * grounded


@metric("citation_support", **_BY_SUPPORT)
def citation_precision(row: Row) -> float | None:
    """Return the share of the citations that prove any of their statements."""
    return share(bool(support["proves"]) for support in row["citation_support"]) if _is_known(row) else None


@metric("citation_support", "statements", **_BY_BOTH)
def citation_completeness(row: Row) -> float | None:
    """Return the share of the statements that their citations prove."""
    if not _is_known(row) or faithfulness(row) is None:
        return None
    proved = {position for support in row["citation_support"] for position in support["proves"]}
    return len(proved) / len(row["statements"])


@metric("cited", "citation_support", **_BY_SUPPORT)
def source_coverage(row: Row) -> float | None:
    """Return the share of the cited documents that prove a statement of the answer."""
    proves: dict[str | None, bool] = {}
    for citation, support in zip(row["cited"], row["citation_support"], strict=True):
        if citation["exists"]:
            document = citation["document"]
            proves[document] = proves.get(document, False) or bool(support["proves"])
    return share(proves.values()) if _is_known(row) and None not in proves else None


@metric("cited", range=(0.0, None), direction="lower")
def fabricated_citations(row: Row) -> float | None:
    """Return the number of citations of documents or quotes that do not exist."""
    return math.fsum(not citation["exists"] or citation["quote_found"] is False for citation in row["cited"])


@metric("cited", "relevant_documents", version=2)
def annotated_citation_accuracy(row: Row) -> float | None:
    """Return the share of the claims with a citation that cite a document people annotated."""
    annotated = {*map(references.normalise_path, row["relevant_documents"])}
    # each mention of a citation counts as a claim, and an entry without a mark as a single claim
    cited = [(citation["document"], max(1, citation["mentions"])) for citation in row["cited"]]
    if not cited or not annotated or any(document is None for document, _ in cited):
        return None
    correct = (claims for document, claims in cited if references.normalise_path(document) in annotated)
    return float(sum(correct) / sum(claims for _, claims in cited))
